"""The page of a finished run: it parses, needs no network, says what report.json says, and a browser shows it."""

import json
import os
import re
import shutil
import struct
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tidalign.pipeline.genome import manifest as genome_manifest
from tidalign.pipeline.genome.results import GenomeResults
from tidalign.pipeline.pairs.results import Results
from tidalign.workflows.commands.genome import align_genomes
from tidalign.workflows.commands.genomes import align_many_genomes
from tidalign.workflows.commands.pairs import align_pairs
from tidalign.workflows.commands.search import search_files
from tidalign.workflows.report import history
from tidalign.workflows.report.charts import median_of
from tidalign.workflows.report.dots import drawn
from tidalign.workflows.report.make import refresh
from tidalign.workflows.report.rows import gather

DATA = Path(__file__).parents[2] / "data"
VOID = {"meta", "br", "hr", "img", "link"}


class Page(HTMLParser):
    """Reads a page: its values by key, its titles, and what it would load; AssertionError where a tag is closed that is not open."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.open: list[str] = []
        self.values: dict[str, str] = {}
        self.tags: list[str] = []
        self.loads: list[str] = []
        self._key: str | None = None
        self.text = path.read_text()
        self.feed(self.text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        given = dict(attrs)
        self.loads += [value for name, value in attrs if name in ("src", "href", "srcset", "data") and value]
        if "data-key" in given:
            self._key = given["data-key"]
            self.values[str(self._key)] = given.get("title") or ""
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        if self._key and not self.values[self._key]:
            self.values[self._key] = data
        self._key = None

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Make a run of each kind."""
    folder = tmp_path_factory.mktemp("runs")
    letters = ["GATTACACCTGAGTCATTGCCA" * 2, "GATTACACCTGAGTGATTGCCATT" * 2, "CCTGAGTCA" * 5]
    (folder / "q.fa").write_text("".join(f">q{i}\n{text}\n" for i, text in enumerate(letters * 30)))
    (folder / "t.fa").write_text("".join(f">t{i}\n{text}\n" for i, text in enumerate(letters[::-1] * 30)))
    align_pairs(folder / "q.fa", folder / "t.fa", out=folder / "pairs", workers=0, device="cpu")
    align_genomes(DATA / "genomes/fly_slice.fa.gz", DATA / "genomes/fly_contigs.fa.gz", out=folder / "genome", workers=0, device="cpu")
    search_files(folder / "q.fa", folder / "t.fa", out=folder / "search", scoring="match:2,mismatch:-3,gap:5,2", workers=0, device="cpu")
    return {kind: folder / kind for kind in ("pairs", "genome", "search")}


@pytest.mark.parametrize("kind", ["pairs", "genome", "search"])
def test_a_page_says_what_the_report_says(runs: dict[str, Path], kind: str) -> None:
    page, report = Page(runs[kind] / "report.html"), json.loads((runs[kind] / "report.json").read_text())
    assert page.values.keys() >= {"total_seconds", "device", "workers", "deaths", "retries", "run"} and "script" not in page.tags
    for key, text in page.values.items():
        wanted = report
        for name in key.split("."):
            wanted = wanted[name]
        assert text == (f"{wanted:,}" if isinstance(wanted, int | float) else str(wanted)), key
    assert {key.partition(".")[2] for key in page.values if key.startswith("statuses.")} == set(report["statuses"])
    assert page.tags.count("svg") >= 3
    assert page.loads == [] and not re.search(r"url\((?!#)|@import|https?://(?!www\.w3\.org/2000/svg)", page.text)


@pytest.mark.parametrize("count", [1, 2, 7, 100])
def test_the_median_is_numpys(count: int) -> None:
    values = np.random.default_rng(count).normal(size=count).round(1)
    assert median_of(values) == pytest.approx(float(np.median(values)))


def test_histograms_hold_every_row(runs: dict[str, Path]) -> None:
    """The counts that bars say when they are pointed at, summed, are the rows."""
    page = (runs["pairs"] / "report.html").read_text()
    charts = re.findall(r'aria-label="(identity|query length|penalty)">(.*?)</svg>', page, re.DOTALL)
    sums = {name: sum(int(count.replace(",", "")) for count in re.findall(r"<title>[^<]*: ([\d,]+)</title>", inside)) for name, inside in charts}
    assert sums == dict.fromkeys(("identity", "query length", "penalty"), 90)
    table = Results(runs["pairs"]).to_table(["identity"])
    assert gather(Results(runs["pairs"])).identity.mean() == pytest.approx(100 * sum(table["identity"].to_pylist()) / 90)


def test_genomes_have_their_dot_plot(runs: dict[str, Path]) -> None:
    page = (runs["genome"] / "report.html").read_text()
    (dots,) = re.findall(r'<svg [^>]*class="dots".*?</svg>', page, re.DOTALL)
    rows = GenomeResults(runs["genome"]).to_table().to_pylist()
    said = re.findall(r"<title>([^<]*), score ([\d,]+)</title>", dots)
    assert sorted(int(score.replace(",", "")) for _, score in said) == sorted(row["score"] for row in rows) != []


def test_the_pairs_with_the_most_letters_are_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether all rows are looked at for the rest of the page, or some."""
    monkeypatch.setattr(genome_manifest, "TOGETHER_SECONDS", 0.0)  # several parts
    letters = "".join(np.random.default_rng(7).choice(list("ACGT"), 4000))
    (tmp_path / "all.fa").write_text("".join(f">s{length}\n{letters[:length]}\n" for length in (1500, 4000, 2500, 3500)))
    results = align_many_genomes(tmp_path / "all.fa", out=tmp_path / "run", all_vs_all=True, workers=0, device="cpu")
    for most, some in ((1_000_000, False), (1, True)):
        rows = gather(results, most)
        pictures, others = drawn(results, rows)
        assert (rows.seen < rows.all) == some and others == 2
        assert [name for name, _ in pictures] == ["s1500__s4000", "s4000__s2500", "s4000__s3500", "s2500__s3500"]


def test_a_run_is_not_worse_for_a_page_that_cannot_be_made(runs: dict[str, Path], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    from tidalign.workflows.report import make as module

    def broken(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(module, "page", broken)
    (runs["search"] / "report.html").unlink()
    refresh(results := search_results(runs["search"]))
    assert "tidalign report" in caplog.text and len(results) > 0
    monkeypatch.undo()
    refresh(results)
    assert (runs["search"] / "report.html").exists()


def search_results(run: Path) -> Any:
    from tidalign.pipeline.search.results import SearchResults

    return SearchResults(run)


def test_the_command_makes_it_again(runs: dict[str, Path], tmp_path: Path, command: Any) -> None:
    before = (runs["pairs"] / "report.html").read_bytes()
    (runs["pairs"] / "report.html").unlink()
    assert command("report", runs["pairs"], "--quiet").returncode == 0
    assert (runs["pairs"] / "report.html").read_bytes() == before
    assert command("report", runs["pairs"], "-o", tmp_path / "x.html", "--multiqc", tmp_path / "x_mqc.json").returncode == 0
    assert (tmp_path / "x.html").read_bytes() == before
    assert (tmp_path / "x_mqc.json").read_bytes() == (runs["pairs"] / "tidalign_mqc.json").read_bytes()
    assert command("report", tmp_path).returncode == 66
    assert command("check", runs["pairs"]).returncode == 0


def test_outputs_that_are_no_files(runs: dict[str, Path], tmp_path: Path, command: Any) -> None:
    """Written to, not replaced."""
    page = (runs["pairs"] / "report.html").read_bytes()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link_mqc.json").symlink_to("real.json")
    with subprocess.Popen(["cat", tmp_path / "pipe"], stdout=subprocess.PIPE) as reader:
        assert command("report", runs["pairs"], "-o", tmp_path / "pipe", "--multiqc", tmp_path / "link_mqc.json").returncode == 0
        assert reader.communicate(timeout=60)[0] == page
    assert (tmp_path / "pipe").is_fifo() and (tmp_path / "link_mqc.json").is_symlink()
    assert (tmp_path / "real.json").read_bytes() == (runs["pairs"] / "tidalign_mqc.json").read_bytes()


def test_a_page_on_standard_output(runs: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Any) -> None:
    monkeypatch.chdir(tmp_path)
    done = command("report", runs["pairs"], "-o", "-")
    assert (done.returncode, done.stdout, done.stderr) == (0, (runs["pairs"] / "report.html").read_text(), "tidalign: standard output\n")
    assert not list(tmp_path.iterdir())


def test_files_of_a_run_are_no_outputs(runs: dict[str, Path], tmp_path: Path, command: Any) -> None:
    run, before = runs["pairs"], (runs["pairs"] / "plan.json").read_bytes()
    (tmp_path / "link.html").symlink_to(run / "plan.json")
    for words in (("-o", run / "plan.json"), ("--multiqc", run / "new.json"), ("-o", tmp_path / "link.html"), ("-o", run / "parts" / "x.html")):
        done = command("report", run, *words)
        assert done.returncode == 73 and "expected a name outside the run directory" in done.stderr
    assert (run / "plan.json").read_bytes() == before and not (run / "new.json").exists()
    assert command("report", run, "-o", run / "report.html", "--multiqc", run / "tidalign_mqc.json").returncode == 0
    assert command("check", run).returncode == 0


def test_multiqc_gets_a_table(runs: dict[str, Path]) -> None:
    """As MultiQC documents custom content in JSON: an id, a plot's type, headers, and data by sample."""
    said = json.loads((runs["genome"] / "tidalign_mqc.json").read_text())
    report = json.loads((runs["genome"] / "report.json").read_text())
    assert (said["id"], said["plot_type"]) == ("tidalign_genome", "table") and said["data"].keys() == {"genome"}
    line = said["data"]["genome"]
    assert line.keys() == said["headers"].keys() and (line["alignments"], line["input"]) == (report["rows"], report["pairs"])


def test_a_file_without_its_run_has_no_page(tmp_path: Path, runs: dict[str, Path], command: Any) -> None:
    inputs = (runs["pairs"].parent / "q.fa", runs["pairs"].parent / "t.fa")
    assert command("pairs", *inputs, "-o", tmp_path / "out.paf", "--device", "cpu").returncode == 0
    assert [path.name for path in tmp_path.iterdir()] == ["out.paf"]
    assert command("pairs", *inputs, "-o", tmp_path / "out.paf", "--device", "cpu", "--keep-run").returncode == 0
    assert (tmp_path / "out.paf.run" / "report.html").exists()


def test_time_of_a_journal(tmp_path: Path) -> None:
    """Two calls an hour apart, one death; what was done is whole however long the steps of time become."""
    lines: list[dict[str, Any]] = [{"time": 1000.0, "event": "start"}]
    lines += [{"time": 1000.0 + i, "event": "done", "task": f"b00000-07-000.{i}-{i + 1}", "amount": 5, "seconds": 0.5} for i in range(1, 301)]
    lines += [{"time": 1300.5, "event": "died", "task": "x"}, {"time": 4900.0, "event": "start"}]
    lines += [{"time": 4901.0, "event": "done", "task": "j000000.u0.seed.0-9", "seconds": 1.0}]
    (tmp_path / "journal.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines) + '{"time": 49')
    found = history.read(str(tmp_path))
    assert found.calls == [0.0, 300.5] and found.marks == [(300.5, "died")] and found.length == 301.5
    assert {name: (round(sum(one.amounts), 6), round(sum(one.seconds), 6)) for name, one in found.series.items()} == {"align": (1500, 150), "seed": (9, 1)}
    assert found.steps <= history.MAX_STEPS


BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")


@pytest.mark.parametrize("kind", ["pairs", "genome", "search"])
def test_a_browser_shows_it(runs: dict[str, Path], kind: str, tmp_path: Path) -> None:
    """It is laid out as high as what it holds, without the network and without an error."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if not browser:
        pytest.skip("no Chromium here")
    flags = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}/profile", "--host-resolver-rules=MAP * ~NOTFOUND"]
    address = (runs[kind] / "report.html").as_uri()
    picture = tmp_path / "page.png"
    done = subprocess.run([browser, *flags, f"--screenshot={picture}", "--window-size=1040,1600", address], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and "CONSOLE" not in done.stderr, done.stderr
    data = picture.read_bytes()
    assert struct.unpack(">II", data[16:24]) == (1040, 1600) and len(data) > 30_000  # an empty page is 5 kB
    dumped = subprocess.run([browser, *flags, "--dump-dom", address], capture_output=True, text=True, timeout=300).stdout
    (tmp_path / "dom.html").write_text(dumped)
    assert Page(tmp_path / "dom.html").values == Page(runs[kind] / "report.html").values
