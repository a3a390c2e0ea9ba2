"""What the server does is what a call does by itself: bytes, messages, statuses, files."""

import json
import os
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from serving import LASTZ, NOT_ALONE, Served, ended, environment, pair, server, until

from tidalign.workflows.serve import address, client

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only there a process with libraries can be forked")


@pytest.fixture(scope="module")
def sides(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return pair(tmp_path_factory.mktemp("sides"))


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with server(tmp_path_factory.mktemp("serve"), "--workers", "2") as found:
        yield found
        assert found.process.poll() is None, found.log.read_text()


def both(served: Served, *words: object, **options: Any) -> tuple[int, bytes, bytes]:
    """Make a call by the server and one without it, which must be equal; what came of it."""
    with_it, without = (served.call(*words, alone=alone, **options) for alone in (False, True))
    found = with_it.returncode, with_it.stdout, with_it.stderr
    assert found == (without.returncode, without.stdout, without.stderr)
    return found


@pytest.mark.parametrize("format", ["lav", "maf", "general:name1,start1,length1,cigarx", "sam", "paf:wfmash"])
def test_output(served: Served, sides: tuple[Path, Path], format: str) -> None:
    status, out, err = both(served, *sides, f"--format={format}")
    assert (status, err) == (0, b"") and out


def test_output_is_that_of_light_seeds(served: Served, sides: tuple[Path, Path]) -> None:
    for seed in ("match3", "match5", "half8"):
        assert both(served, *sides, f"--seed={seed}", "--step=20", "--format=maf-")[0] == 0


@pytest.mark.parametrize("words", [["none.fa"], ["--nonsense"], ["--step=x"], ["--format=none"], ["-o"]], ids=str)
def test_what_fails(served: Served, sides: tuple[Path, Path], words: list[str]) -> None:
    status, out, err = both(served, sides[0], *words)
    assert (status, out) == (1, b"") and err


def test_warnings_stand_where_they_stood(served: Served, sides: tuple[Path, Path], tmp_path: Path) -> None:
    """Output and messages in one file, in the order in which they are written."""
    twice = tmp_path / "twice.fa"
    twice.write_text(sides[0].read_text() + sides[1].read_text())
    texts = []
    for alone in (False, True):
        with (tmp_path / "all").open("w+b") as file:
            file.write(b"before\n")
            file.flush()
            done = served.call(sides[0], twice, "--nogfextend", "--cells=1", alone=alone, stdout=file, stderr=subprocess.STDOUT)
            texts.append((done.returncode, (tmp_path / "all").read_bytes()))
    assert texts[0] == texts[1] and texts[0][0] == 1
    assert texts[0][1].startswith(b"before\n#:lav\n") and b"guard --cells=1" in texts[0][1]


def test_standard_input(served: Served, sides: tuple[Path, Path]) -> None:
    """From a pipe and from a file."""
    target, query = sides
    status, piped, _ = both(served, target, "--format=lav", input=query.read_bytes())
    assert status == 0 and b'"/dev/stdin"' in piped
    with query.open() as file:
        assert served.call(target, "--format=lav", stdin=file).stdout == piped
    assert both(served, target, "/dev/stdin[unmask]", "--format=maf", input=query.read_bytes())[0] == 0
    assert both(served, target, input=b"")[0] == 1


def test_folder_and_files_are_the_callers(served: Served, sides: tuple[Path, Path], tmp_path: Path) -> None:
    for side in sides:
        (tmp_path / side.name).write_text(side.read_text())
    found = []
    for alone in (False, True):
        done = served.call("target.fa", "query.fa", "--format=maf", "--output=out", "--rdotplot=dots", cwd=tmp_path, alone=alone, umask=0o027)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
        paths = sorted(tmp_path.iterdir())
        found.append([(path.name, path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) for path in paths])
        (tmp_path / "out").unlink()
        (tmp_path / "dots").unlink()
    assert found[0] == found[1] and [name for name, *_ in found[0]] == ["dots", "out", "query.fa", "target.fa"]


def test_nothing_is_left_in_the_temporary_folder(served: Served, sides: tuple[Path, Path], tmp_path: Path) -> None:
    assert served.call(*sides, env={"TMPDIR": str(tmp_path)}).returncode == 0
    assert list(tmp_path.iterdir()) == []


def test_nobody_reads(served: Served, sides: tuple[Path, Path]) -> None:
    """A closed pipe, a full disk and a closed stream."""
    found = []
    for alone in (False, True):
        reading, writing = os.pipe()
        os.close(reading)
        done = served.call(*sides, stdout=writing, alone=alone)
        os.close(writing)
        with Path("/dev/full").open("wb") as full:
            other = served.call(*sides, stdout=full, alone=alone)
        found.append([(each.returncode, each.stderr) for each in (done, other)])
    assert found[0] == found[1] and found[0][0] == (141, b"") and b"no space left" in found[0][1][1]
    command = ["sh", "-c", 'exec "$@" >&-', "sh", *LASTZ, *map(str, sides)]
    closed = [subprocess.run(command, env=each, capture_output=True) for each in (served.surroundings, environment(Path("/none")))]
    assert closed[0].returncode == closed[1].returncode == 1 and closed[0].stderr == closed[1].stderr != b""


@pytest.mark.parametrize("place", ["fifo", "/dev/fd/{}"])
def test_what_only_the_caller_can_read_is_read_by_it(served: Served, sides: tuple[Path, Path], tmp_path: Path, place: str) -> None:
    """The call is not handed on."""
    if place == "fifo":
        os.mkfifo(tmp_path / "fifo")
        writer = subprocess.Popen(["sh", "-c", f"cat {sides[1]} > {tmp_path / 'fifo'}"])
        assert served.call(sides[0], tmp_path / "fifo").returncode == NOT_ALONE
        assert served.call(sides[0], tmp_path / "fifo", must=False).stdout
        writer.wait(60)
        return
    with sides[1].open() as file:
        name = place.format(file.fileno())
        assert served.call(sides[0], name, pass_fds=[file.fileno()]).returncode == NOT_ALONE


def test_a_caller_of_other_surroundings_works_by_itself(served: Served, sides: tuple[Path, Path]) -> None:
    assert served.call(*sides, env={"TIDALIGN_LANES": "1"}).returncode == NOT_ALONE
    assert served.call(*sides, env={"CUDA_VISIBLE_DEVICES": "7"}).returncode == NOT_ALONE


@pytest.mark.parametrize("line", ["tidalign.workflows.lastz", "tidalign.workflows.serve.client"])
def test_callers_load_little(line: str) -> None:
    """What of Python's own takes long, too."""
    heavy = ("numpy", "numba", "pyarrow", "argparse", "typing", "pathlib", "tempfile", "logging", "json", "importlib.metadata")
    code = f"import sys, {line}; print([m for m in {heavy!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-P", "-S", "-c", f"import sys; sys.path[:0] = {sys.path!r}; {code}"], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"


def test_only_the_users_own_folder_is_believed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    place = tmp_path / "tidalign"
    assert address.folder() == str(place) and address.listening() is None
    place.mkdir(mode=0o700)
    (place / address.LOCK).write_text(f"123\n{address.identity()}")
    assert address.listening() == (123, address.identity())
    place.chmod(0o750)
    assert address.listening() is None
    place.chmod(0o700)
    place.rename(tmp_path / "elsewhere")
    place.symlink_to(tmp_path / "elsewhere")
    assert address.listening() is None
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "none"))
    assert address.folder() == f"/tmp/tidalign-{os.geteuid()}"
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    assert not address.is_private(str(tmp_path))


def test_a_peer_of_another_user_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = socket.socketpair()
    with one, other:
        assert client.same_user(one)
        monkeypatch.setattr(os, "geteuid", lambda: 12345)
        assert not client.same_user(one)


def test_a_caller_who_talks_nonsense_or_nothing(served: Served, sides: tuple[Path, Path]) -> None:
    found = Path(served.surroundings["XDG_RUNTIME_DIR"], "tidalign", f"{served.process.pid}.socket")
    assert stat.S_IMODE(found.stat().st_mode) == 0o600 and stat.S_IMODE(found.parent.stat().st_mode) == 0o700
    for said in (b"", b"x" * 5, b"\xff" * 64, client.REQUEST_HEAD.pack(10, 99, 0) + b"0123456789"):
        with socket.socket(socket.AF_UNIX) as caller:
            caller.connect(str(found))
            caller.sendall(said)
            caller.shutdown(socket.SHUT_WR)
            with suppress(ConnectionResetError):
                assert caller.recv(10) == b""
    assert served.call(*sides).returncode == 0


def test_a_second_server_is_refused(served: Served) -> None:
    words = [sys.executable, "-m", "tidalign", "serve", "--device", "cpu"]
    done = subprocess.run(words, env=served.surroundings, capture_output=True, text=True, timeout=300)
    assert done.returncode == 73 and f"process {served.process.pid} serves already" in done.stderr


def test_signals_stop_the_call_alone(tmp_path: Path) -> None:
    """Messages and statuses are those of a call without a server, which goes on; a caller that is killed leaves no job and no folder behind."""
    sides = pair(tmp_path)
    with server(tmp_path, "--workers", "1", TIDALIGN_TEST_SLOW="3") as served:
        for number in (signal.SIGINT, signal.SIGTERM):
            found = []
            for alone in (False, True):
                process = served.begin(*sides, alone=alone, env={"TMPDIR": str(tmp_path)})
                if alone:
                    until(lambda: any(path.name == "journal.jsonl" and "read" in path.read_text() for path in tmp_path.glob("tidalign-*/run/*")))
                else:
                    until(lambda: any("read" in path.read_text() for path in tmp_path.glob("tidalign-*/tidalign-*/run/journal.jsonl")))
                process.send_signal(number)
                done = ended(process)
                found.append((done.returncode, done.stdout, done.stderr))
                until(lambda: not list(tmp_path.glob("tidalign-*")))
            assert found[0] == found[1] and found[0][0] == 128 + number and found[0][1] == b""
        process = served.begin(*sides, env={"TMPDIR": str(tmp_path)})
        until(lambda: list(tmp_path.glob("tidalign-*/tidalign-*/run/journal.jsonl")))
        process.kill()
        process.communicate()
        until(lambda: not list(tmp_path.glob("tidalign-*")))
        assert served.call(*sides).returncode == 0


def test_callers_share_gpus(tmp_path: Path) -> None:
    """Each worker has one GPU, for which the host's kernels stand in here; output is that of cores."""
    stand_in = str(Path(__file__).parents[1] / "stand_in")
    path = os.pathsep.join([stand_in, *filter(None, [os.environ.get("PYTHONPATH")])])
    sides = pair(tmp_path, 6000)
    code = "import sys; from tidalign.workflows.serve import client; sys.exit(client.call(sys.argv[1:]))"
    with server(tmp_path, "--device", "gpu", "--gpus", "2", PYTHONPATH=path, TIDALIGN_TEST_GPUS="2", TIDALIGN_TEST_SLOW="0.3") as served:
        assert len(served.workers()) == 4
        used: set[str] = set()
        for turn in range(20):  # until workers of both were ready
            places = [tmp_path / f"run{turn}.{number}" for number in range(4)]
            command = [sys.executable, "-c", code, "genome", *map(str, sides), "--quiet", "-o"]
            calls = [subprocess.Popen([*command, str(place)], env=served.surroundings) for place in places]
            assert [call.wait(300) for call in calls] == [0] * 4
            reports = [json.loads((place / "report.json").read_text()) for place in places]
            assert [(report["workers"], len(report["gpus"])) for report in reports] == [(0, 1)] * 4
            told = [json.loads(line) for place in places for line in (place / "journal.jsonl").read_text().splitlines()]
            used |= {event["gpu_held"].partition(" ")[0] for event in told if "gpu_held" in event}
            if len(used) == 2:
                break
        assert len(used) == 2
        done = served.call(*sides, "--format=lav")
    with server(tmp_path, "--workers", "1") as served:
        assert (done.returncode, done.stdout, done.stderr) == (0, served.call(*sides, "--format=lav").stdout, b"")


@pytest.mark.gpu
def test_a_call_is_done_on_a_gpu(tmp_path: Path) -> None:
    """The server's workers are forked, and each begins CUDA and NVML for itself."""
    sides = pair(tmp_path, 6000)
    with server(tmp_path, "--device", "gpu", "--gpus", "1") as served:
        done = served.call(*sides, "--format=lav")
        code = "import sys; from tidalign.workflows.serve import client; sys.exit(client.call(sys.argv[1:]))"
        words = [sys.executable, "-c", code, "genome", *map(str, sides), "--quiet", "-o", str(tmp_path / "run")]
        assert subprocess.run(words, env=served.surroundings).returncode == 0
        report = json.loads((tmp_path / "run" / "report.json").read_text())
        assert (report["workers"], len(report["gpus"])) == (0, 1)
    with server(tmp_path, "--workers", "1", "--device", "cpu") as served:
        assert (done.returncode, done.stdout, done.stderr) == (0, served.call(*sides, "--format=lav").stdout, b"")
