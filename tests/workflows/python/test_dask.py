"""What docs/python.md shows of Dask: a Client for `scheduler=`, `tidalign.align` in `client.map` and on partitions of a dask DataFrame."""

import json
from pathlib import Path
from typing import Any

import pytest
from distributed import Client, LocalCluster

import tidalign

QUERIES = ["ACGTACGT", "ACGT", "", "GATTACA"] * 3
TARGETS = ["ACGTTCGT", "AGT", "ACG", "GATTACA"] * 3


@pytest.fixture(scope="module")
def client() -> Any:
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0", host="127.0.0.1") as local,
        Client(local, set_as_default=False) as one,
    ):
        yield one


def test_a_client_does_a_run(client: Any, tmp_path: Path) -> None:
    for name, sequences in (("q", QUERIES), ("t", TARGETS)):
        (tmp_path / f"{name}.fa").write_text("".join(f">{i}\n{letters}\n" for i, letters in enumerate(sequences)))
    wanted = tidalign.align(QUERIES, TARGETS)["cigar"]
    for place, given in enumerate((client, client.cluster)):
        results = tidalign.align_pairs(tmp_path / "q.fa", tmp_path / "t.fa", out=tmp_path / f"run{place}", scheduler=given, device="cpu")
        assert results.to_table(["cigar"])["cigar"] == wanted
        report = json.loads((results.path / "report.json").read_text())
        when = {event["event"]: event["time"] for event in map(json.loads, (results.path / "journal.jsonl").read_text().splitlines())}
        assert report["workers"] == 2
        assert when["hired"] - when["start"] - 0.5 < report["stages"]["start"] < report["seconds"]  # they read, and so are there before that


def test_align_in_client_map(client: Any) -> None:
    batches = [(QUERIES[first : first + 5], TARGETS[first : first + 5]) for first in range(0, len(QUERIES), 5)]
    futures = client.map(lambda batch: tidalign.align(*batch), batches)
    cigars = [cigar for table in client.gather(futures) for cigar in table["cigar"].to_pylist()]
    assert cigars == tidalign.align(QUERIES, TARGETS)["cigar"].to_pylist()


def test_align_on_partitions_of_a_dask_dataframe(client: Any) -> None:
    pandas = pytest.importorskip("pandas")
    frames = pytest.importorskip("dask.dataframe")
    pairs = frames.from_pandas(pandas.DataFrame({"query": QUERIES, "target": TARGETS}), npartitions=3)
    meta = tidalign.align([], []).to_pandas()
    aligned = pairs.map_partitions(lambda part: tidalign.align(part).to_pandas(), meta=meta)
    found = client.compute(aligned).result()
    assert list(found["cigar"]) == tidalign.align(QUERIES, TARGETS)["cigar"].to_pylist()
    assert len(found) == len(QUERIES) and pairs.npartitions == 3
