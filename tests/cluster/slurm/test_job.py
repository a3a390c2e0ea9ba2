"""Scripts of jobs and the profile of a site: what they hold, and what is refused."""

import json
import os
import re
import signal
import subprocess
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tidalign.cluster.errors import NoWorkers, Stopped
from tidalign.cluster.slurm import job, site
from tidalign.cluster.slurm.site import Profile, read
from tidalign.cluster.task import cores
from tidalign.workflows import cli, stopped
from tidalign.workflows.commands import submit


def script(profile: Profile, *, folder: str = "/data", requeue: bool = False) -> list[str]:
    return job.script(["tidalign", "pairs", "a b.fa"], profile, name="n", folder=folder, log="/data/o.%j.log", requeue=requeue).splitlines()


def test_a_script_asks_for_what_the_profile_says() -> None:
    lines = script(Profile("gpu", "me", 2, 4, 64, "4:00:00", 100, ("--qos=high",), "module load cuda\nmodule list"), requeue=True)
    for option in ("partition=gpu", "account=me", "nodes=2", "gpus-per-node=4", "cpus-per-task=64", "time=4:00:00", "signal=B:USR1@100", "requeue", "qos=high"):
        assert f"#SBATCH --{option}" in lines
    assert lines[0] == "#!/bin/bash" and lines[-3:] == ["module load cuda", "module list", "exec tidalign pairs 'a b.fa'"]
    assert not any("exclusive" in line or "mem" in line for line in lines)
    plain = script(Profile(), folder="/a folder")
    assert "#SBATCH --no-requeue" in plain and '#SBATCH --chdir="/a folder"' in plain and not any("gpus" in line or "time" in line for line in plain)
    with pytest.raises(NoWorkers, match="without quotes"):
        script(Profile(), folder='/a"b')


@pytest.mark.parametrize(
    ("profile", "asked"),
    [
        (Profile(), ["--exclusive", "--mem=0"]),
        (Profile(options=("--mem=9G",)), ["--exclusive", "--mem=9G"]),
        (Profile(gpus_per_node=4), ["--cpus-per-task=32"]),
        (Profile(gpus_per_node=4, cpus_per_node=6), ["--cpus-per-task=6"]),
        (Profile(gpus_per_node=4, options=("--cpus-per-gpu=6",)), ["--cpus-per-gpu=6"]),
        (Profile(gpus_per_node=4, options=("--exclusive",)), ["--exclusive"]),
        (Profile(options=("-c8", "-C h200")), ["-c8"]),
    ],
)
def test_a_script_says_how_many_processors(profile: Profile, asked: list[str]) -> None:
    """Slurm gives one a node by itself, however many GPUs it gives. It takes one of these ways to say so, not two."""
    options = [line.removeprefix("#SBATCH ") for line in script(profile)]
    assert [option for option in options if option.startswith(("--exclusive", "--mem", "--cpus", "-c"))] == asked


SINFO = "cpu*|up|10|128|(null)|2-00:00:00\ngpu|up|4|64+|gpu:h200:4(S:0-1)|infinite\ngpu|up|2|24|gpu:2|infinite\n"


@pytest.mark.parametrize(
    ("profile", "said", "cpus"),
    [
        (Profile("gpu", gpus_per_node=1), SINFO.partition("\n")[2], 12),
        (Profile("gpu", gpus_per_node=3), SINFO.partition("\n")[2], 48),
        (Profile("gpu", gpus_per_node=5), SINFO.partition("\n")[2], None),
        (Profile(gpus_per_node=1), SINFO, None),
        (Profile(gpus_per_node=2), SINFO.replace("gpu|", "gpu*|"), 24),
        (Profile("gpu", gpus_per_node=4, cpus_per_node=3), SINFO, 3),
        (Profile("gpu", gpus_per_node=4, options=("--cpus-per-gpu=6",)), SINFO, None),
        (Profile(), SINFO, None),
        (Profile(gpus_per_node=1), "slurm_load_partitions: Unable to contact\n", None),
    ],
)
def test_a_job_with_gpus_asks_for_their_share_of_a_node(profile: Profile, said: str, cpus: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(site.shutil, "which", lambda name: name)
    monkeypatch.setattr(site.subprocess, "run", lambda *_, **__: subprocess.CompletedProcess([], 0, said, ""))
    assert site.with_share(profile).cpus_per_node == cpus
    monkeypatch.setattr(site.shutil, "which", lambda name: None)
    assert site.with_share(profile) == profile


@pytest.mark.parametrize(
    ("text", "seconds"), [("5", 300), ("1:30", 90), ("2:00:00", 7200), ("1-0", 86400), ("1-2:30", 95400), ("1-00:00:10", 86410), ("10:00:00", 36000)]
)
def test_times_of_slurm(text: str, seconds: int) -> None:
    assert job.seconds(text) == seconds


def test_a_short_job_is_told_in_time() -> None:
    assert "#SBATCH --signal=B:USR1@30" in script(Profile(time="1"))
    assert "#SBATCH --signal=B:USR1@120" in script(Profile(time="60"))
    assert "#SBATCH --signal=B:USR1@120" in script(Profile(time="UNLIMITED"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("slurm: [", "cannot be read"),
        ("- a", "expected `slurm:`"),
        ("{}", "expected `slurm:`"),
        ("slurm: {nods: 1}", "'nods' is not known; expected some of partition,"),
        ("slurm: {nodes: many}", "nodes: expected int, found 'many'"),
        ("slurm: {nodes: true}", "nodes: expected int"),
        ("slurm: {time: 4:00:00}", "put it in quotes"),
        ("slurm: {time: soon}", "time: expected minutes, H:M:S, D-H:M:S or the like, found 'soon'"),
        ("slurm: {time: '1:2:3:4'}", "time: expected minutes"),
        ("slurm: {nodes: -3}", "nodes: expected 1 or more, found -3"),
        ("slurm: {time: '0:00'}", "time: expected more than 0"),
        ("slurm: {options: [qos=normal]}", "options: expected options of sbatch, as --qos=normal, found 'qos=normal'"),
        ("slurm: {options: [{--qos: normal}]}", "options: expected options of sbatch"),
        ("slurm: {options: [5]}", "options: expected options of sbatch, as --qos=normal, found 5"),
        ("slurm: {options: ['--exclusive', '--output=log']}", "options: --output is said by tidalign itself"),
        ("slurm: {options: ['--signal USR2@10']}", "options: --signal is said by tidalign itself"),
        ("slurm: {options: ['-olog']}", "options: -o is said by tidalign itself"),
        ("slurm: {options: ['--no-requeue']}", "options: --no-requeue is said by tidalign itself"),
    ],
)
def test_what_is_no_profile(text: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "cluster.yaml"
    file.write_text(text)
    file.chmod(0o600)
    with pytest.raises(NoWorkers) as error:
        read(file)
    assert said in str(error.value) and len(str(error.value).replace(str(file), "")) < 250


def test_a_profile_that_others_may_write_is_not_run(tmp_path: Path) -> None:
    file = tmp_path / "cluster.yaml"
    assert read(file) == Profile()
    file.write_text("slurm: {nodes: 3, gpus-per-node: 2, time: '60', options: [--exclusive]}\n")
    file.chmod(0o600)
    assert read(file).override({"nodes": None, "partition": "p", "follow": True}) == Profile("p", None, 3, 2, None, "60", options=("--exclusive",))
    file.chmod(0o622)
    with pytest.raises(NoWorkers, match=f"others may write to it, .*: chmod go-w {file}$"):
        read(file)
    file.chmod(0o600)
    tmp_path.chmod(0o770)
    with pytest.raises(NoWorkers, match=f"others may write to it, .*: chmod go-w {tmp_path}$"):
        read(file)


def test_a_profile_of_somebody_else_is_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "cluster.yaml"
    file.write_text("slurm: {nodes: 3}\n")
    file.chmod(0o600)
    owner = file.stat().st_uid
    monkeypatch.setattr(site, "_see_who_may_write", partial(_as_another, site._see_who_may_write))
    with pytest.raises(NoWorkers, match=f"expected one of your own, .* found one of user {owner + 1}; set XDG_CONFIG_HOME .* `tidalign cluster init`"):
        read(file)


def _as_another(see: Any, place: Path, found: os.stat_result) -> None:
    """Take what is there for somebody else's."""
    see(place, os.stat_result([*found[:4], found.st_uid + 1, *found[5:10]]))


def test_init_takes_the_partition_with_gpus(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = "cpu*|up|10|128|(null)|2-00:00:00\ngpu|up|4|64+|gpu:h200:4(S:0-1)|infinite\nold|down|1|8|gpu:8|1:00:00\n"
    monkeypatch.setattr(site.shutil, "which", lambda name: name)
    monkeypatch.setattr(site.subprocess, "run", lambda *_, **__: subprocess.CompletedProcess([], 0, said, ""))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert cli.main(["cluster", "init"]) == 0
    file = tmp_path / "tidalign" / "cluster.yaml"
    assert read(file) == Profile("gpu", None, 1, 4, 64, "1-00:00:00") and file.stat().st_mode & 0o777 == 0o600
    assert cli.main(["cluster", "init"]) == 73 and "there is a profile already" in capsys.readouterr().err
    assert cli.main(["cluster", "init", "--new"]) == 0


def test_without_slurm_one_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert cli.main(["cluster", "init"]) == 69
    for name in ("c.fa", "d.fa"):
        (tmp_path / name).write_text(">a\nACGT\n")
    assert cli.main(["--cluster", "slurm", "pairs", str(tmp_path / "c.fa"), str(tmp_path / "d.fa"), "-o", str(tmp_path / "o.sam")]) == 69
    err = capsys.readouterr().err.splitlines()
    assert "sinfo is not found" in err[0] and "sbatch is not found" in err[1]
    assert cli.main(["--cluster=slurm", "--dry-run", "--time", "9", "pairs", "a.fa", "b.fa", "-o", str(tmp_path / "o.sam")]) == 0
    out, err_of_dry = capsys.readouterr()
    assert "exec " in out and "#SBATCH --time=9\n" in out and out.endswith(f"pairs a.fa b.fa -o {tmp_path}/o.sam\n")
    assert "no estimate: " in err_of_dry and "a.fa: No such file" in err_of_dry


def test_a_dry_run_shows_the_script_and_what_the_job_would_take(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    for name in ("a.fa", "b.fa"):
        (tmp_path / name).write_text("".join(f">{number}\n{'ACGT' * 25}\n" for number in range(30)))
    words = ["pairs", *(str(tmp_path / name) for name in ("a.fa", "b.fa")), "-o", str(tmp_path / "o.sam")]
    asked = ["--cluster", "slurm", "--dry-run", "--nodes", "2"]
    assert cli.main([*asked, "--cpus-per-node", "3", "--time", "7", *words]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("#!/bin/bash") and "pairs  " in err and "30" in err.splitlines()[0]
    assert "6 processors of 2 nodes, " in err and "time asked for: 7" in err
    assert cli.main([*asked[:2], "estimate", *words]) == 0 and capsys.readouterr().out.startswith("#!/bin/bash")
    assert cli.main([*asked, "--gpus-per-node", "4", "--json", *words]) == 0
    assert json.loads(capsys.readouterr().err)["job"].startswith("8 GPUs of 2 nodes, ")
    assert cli.main([*asked, *words]) == 0
    out, err = capsys.readouterr()
    assert "#SBATCH --exclusive\n" in out and f"all processors of 2 nodes, taken for {cores()} each as here (--cpus-per-node says how many), " in err


@pytest.mark.parametrize(("option", "what"), [("--nogfextend", r"every hit \(--nogfextend\)"), ("--mode=independent", r"each anchor \(--mode=independent\)")])
def test_work_that_no_gpu_was_timed_at(option: str, what: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Say why, what is known, and how to get to know the rest: `check --calibrate` measures none of it."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "a.fa").write_text(f">a\n{'GATTACACCTGAGTCATTGCCA' * 40}\n")
    asked = ["--cluster", "slurm", "--dry-run", "--nodes", "2", "--gpus-per-node", "4", "--cpus-per-node", "3"]
    assert cli.main([*asked, "genome", str(tmp_path / "a.fa"), str(tmp_path / "a.fa"), option, "-o", str(tmp_path / "o.maf")]) == 0
    *_, gpus, _, job = capsys.readouterr().err.splitlines()
    assert re.match(rf"GPUs +not known, as extension of {what} was timed on a core; a run on GPUs with --shard 1/50 does a part, and 50 times `work`", gpus)
    assert re.match(
        rf"job +8 GPUs of 2 nodes, time not known, as extension of {what} was timed on a core; without them 6 processors of 2 nodes, [\d.]+ s; ", job
    )


def test_options_of_a_profile_are_not_those_of_a_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Those of `genome` have the name in the program that the profile's have."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "tidalign").mkdir()
    (tmp_path / "tidalign" / "cluster.yaml").write_text("slurm: {options: [--qos=normal]}\n")
    assert cli.main(["--cluster", "slurm", "--dry-run", "genome", "a.fa", "b.fa", "--step=20", "-o", str(tmp_path / "o.maf")]) == 0
    out = capsys.readouterr().out
    assert "#SBATCH --qos=normal\n" in out and "#SBATCH step" not in out


def test_who_follows_a_job_no_longer_does_not_end_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nor is the same command to be given again, which would submit another."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setattr(job, "submit", lambda text: "77")
    monkeypatch.setattr(job, "follow", lambda *_: signal.raise_signal(signal.SIGINT))
    monkeypatch.setattr(submit, "_see_inputs", lambda _: None)
    assert cli.main(["--cluster", "slurm", "--follow", "pairs", "a.fa", "b.fa", "-o", str(tmp_path / "o.sam")]) == 130
    err = capsys.readouterr().err
    assert "job 77 goes on, its log no longer shown; scancel 77 ends it" in err and "again" not in err


@pytest.fixture
def sbatch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a program that stands in for sbatch: it writes a job's script into a file, which this gives."""
    script = tmp_path / "script"
    (tmp_path / "sbatch").write_text(f"#!/bin/sh\ncat > {script}\necho 77\n")
    (tmp_path / "sbatch").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    return script


def test_a_refusal_of_slurms_has_the_way_out(sbatch: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("a.fa", "b.fa"):
        (tmp_path / name).write_text(">a\nACGT\n")
    (tmp_path / "sbatch").write_text("#!/bin/sh\necho 'sbatch: error: CPU count per node can not be satisfied' >&2\nexit 1\n")
    assert cli.main(["--cluster", "slurm", "pairs", str(tmp_path / "a.fa"), str(tmp_path / "b.fa"), "-o", str(tmp_path / "o.sam")]) == 69
    assert "CPU count per node can not be satisfied; --nodes, --gpus-per-node, --cpus-per-node and --partition before" in capsys.readouterr().err


def test_what_a_job_would_not_see_is_not_submitted(sbatch: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe")
    for name in ("a.fa", "b.fa"):
        Path(name).write_text(">a\nACGT\n")
    Path("jobs.tsv").write_text("target\tquery\na.fa\tgone.fa\n")
    with Path("a.fa").open() as opened:
        here = f"/dev/fd/{opened.fileno()}"
        for words, status, said in (
            (["pairs", "-", "b.fa"], 65, "-: expected a file that the nodes of a job see, found a pipe or a device of this machine"),
            (["pairs", "a.fa", here], 65, f"{here}: expected a file"),
            (["search", "pipe", "b.fa"], 65, "pipe: expected a file"),
            (["genome", "a.fa", "/dev/stdin[unmask]"], 65, "/dev/stdin: expected a file"),
            (["genomes", "-"], 65, "-: expected a file"),
            (["pairs", "a.fa", "gone.fa"], 66, "gone.fa: expected a file that the nodes of a job see, found none"),
            (["genome", "a.fa[multiple]", "gone.fa[unmask]"], 66, "gone.fa: expected a file"),
            (["genomes", "jobs.tsv"], 66, "gone.fa"),
        ):
            assert cli.main(["--cluster", "slurm", *words, "-o", "out.sam" if words[0] == "pairs" else "out"]) == status, words
            assert said in (err := capsys.readouterr().err), err
    assert not sbatch.exists()
    assert cli.main(["--cluster", "slurm", "genome", "a.fa[multiple]", "b.fa", "-o", "out.maf"]) == 0 and sbatch.exists()


def test_a_percent_sign_of_a_path_is_none_of_slurms(sbatch: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("a.fa", "b.fa"):
        (tmp_path / name).write_text(">a\nACGT\n")
    (folder := tmp_path / "50%j").mkdir()
    assert cli.main(["--cluster", "slurm", "pairs", str(tmp_path / "a.fa"), str(tmp_path / "b.fa"), "-o", str(folder / "%A.sam")]) == 0
    assert f"#SBATCH --output={tmp_path}/50%%j/%%A.sam.%j.log\n" in sbatch.read_text()
    assert f"log {tmp_path}/50%j/%A.sam.77.log; scancel 77" in capsys.readouterr().err


PAIRS = ["pairs", "a.fa", "b.fa", "-o", "o.sam"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([*PAIRS, "--cluster", "none"], "--cluster stands before the command"),
        (["--nodes", "2", *PAIRS], "--nodes goes with --cluster slurm"),
        (["--follow", *PAIRS], "--follow goes with --cluster slurm"),
        (["--requeue", *PAIRS], "--requeue goes with --cluster slurm, or inside a job"),
        (["--cluster", "slurm", "check"], "--stop-after are for pairs, genome, genomes, search"),
        (["--dry-run", "check"], "an estimate is for pairs, genome, genomes, search"),
        (["--json", *PAIRS], "--json goes with --dry-run"),
        (["--cluster", "slurm", "--time", "soon", *PAIRS], "expected a time as Slurm has it"),
        (["--cluster", "slurm", "--time", "0", *PAIRS], "expected more than 0, as for Slurm that is no limit, found '0'"),
        (["--cluster", "slurm", "--time", "0-00:00", *PAIRS], "expected more than 0"),
        (["--stop-after", "0", *PAIRS], "expected a time such as 90s"),
        (["--cluster", "slurm", "genome", "a.fa", "b.fa", "--format=maf"], "a job has no terminal"),
        (["--cluster", "slurm", "--scheduler=x", *PAIRS], "unrecognized|required|invalid"),
        (["--cluster", "slurm", *PAIRS, "--scheduler", "x"], "--scheduler has workers already"),
    ],
)
def test_wrong_usage(words: list[str], said: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    with pytest.raises(SystemExit) as ended:
        cli.main(words)
    assert ended.value.code == 2
    assert any(word in (err := capsys.readouterr().err) for word in said.split("|")), err


@pytest.mark.parametrize(("number", "requeued"), [(10, True), (14, True), (15, False)])
def test_a_job_is_put_back_when_its_time_is_over_and_not_when_it_is_cancelled(
    number: int, requeued: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[Any] = []
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    monkeypatch.setattr(stopped, "put_back", asked.append)
    monkeypatch.setattr(stopped.signal, "signal", lambda *_: None)
    assert stopped.tell(Stopped(number), ["--requeue", "pairs", "a b", "--new"], requeue=True) == 143
    why, goes_on = capsys.readouterr().err.splitlines()
    assert (asked, "Slurm starts job 7 again" in why) == ((["7"], True) if requeued else ([], False))
    assert goes_on == "tidalign --requeue pairs 'a b'" and len(why) <= 300


@pytest.mark.parametrize(
    ("environment", "named"),
    [
        ({"SLURM_JOB_ID": "7"}, "7"),
        ({"SLURM_JOB_ID": "7", "SLURM_ARRAY_JOB_ID": "7", "SLURM_ARRAY_TASK_ID": "3"}, "7_3"),
        ({"SLURM_JOB_ID": "9", "SLURM_ARRAY_JOB_ID": "7", "SLURM_ARRAY_TASK_ID": "0"}, "7_0"),
    ],
)
def test_of_an_array_its_own_job_alone_is_put_back(
    environment: dict[str, str], named: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scontrol = tmp_path / "scontrol"
    scontrol.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/asked\n')
    scontrol.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    for name in ("SLURM_JOB_ID", "SLURM_ARRAY_JOB_ID", "SLURM_ARRAY_TASK_ID"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(stopped.signal, "signal", lambda *_: None)
    assert stopped.tell(Stopped(signal.SIGUSR1), ["pairs", "a", "b"], requeue=True) == 143
    assert (tmp_path / "asked").read_text() == f"requeue {named}\n" and f"Slurm starts job {named} again" in capsys.readouterr().err
