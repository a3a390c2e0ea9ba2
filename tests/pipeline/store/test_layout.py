"""A run directory of another layout is refused in words, and no layout changes without its number."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tidalign.pipeline.errors import ManifestMismatch, MissingInput
from tidalign.pipeline.genome.manifest import write_manifest
from tidalign.pipeline.genome.parameters import GenomeParameters
from tidalign.pipeline.genome.results import GenomeResults
from tidalign.pipeline.pairs.aligner import PairParameters
from tidalign.pipeline.pairs.results import Results
from tidalign.pipeline.schema import ALIGNMENTS
from tidalign.pipeline.store import layout, rundir
from tidalign.pipeline.store.files import write_json
from tidalign.pipeline.store.layout import FORMAT, GENOMES, PAIRS, SEARCH, Layout

RECORD = {
    2: {
        "pairs": {"chunks": "aa2ae461e9ade2ed", "parts": "6671daca015adb7f"},
        "genome": {
            "parts": "7d54a22d0c188946",
            "extended": "6dcb6b21fc1d11c1",
            "stages/anchors": "80a89a73772c517f",
            "stages/anchors without gaps": "be3f9b28bdbc03b6",
            "stages/walk": "e0e85c451d602b2f",
            "stages/ahead": "4ab3fa21fb401ac9",
            "kept/hits": "49965505d9dd1f7f",
            "kept/hsps": "952f4e2c48171b3d",
            "kept/anchors": "18941c847bdfb605",
        },
    },
    3: {
        "pairs": {"chunks": "aa2ae461e9ade2ed", "parts": "138450324d3f6c4f"},
        "genome": {
            "parts": "b5ee12f10bbe66a4",
            "extended": "85c106508a2ec93a",
            "stages/anchors": "80a89a73772c517f",
            "stages/anchors without gaps": "be3f9b28bdbc03b6",
            "stages/walk": "e0e85c451d602b2f",
            "stages/ahead": "4ab3fa21fb401ac9",
            "kept/hits": "49965505d9dd1f7f",
            "kept/hsps": "952f4e2c48171b3d",
            "kept/anchors": "18941c847bdfb605",
        },
    },
    4: {
        "pairs": {"chunks": "aa2ae461e9ade2ed", "letters": "069f31fd9cec409e", "parts": "4634076690a41bf3"},
        "genome": {
            "parts": "b5ee12f10bbe66a4",
            "extended": "85c106508a2ec93a",
            "stages/anchors": "80a89a73772c517f",
            "stages/anchors without gaps": "be3f9b28bdbc03b6",
            "stages/hsps": "be3f9b28bdbc03b6",
            "stages/records": "70ba30f492431346",
            "stages/walk": "e0e85c451d602b2f",
            "stages/ahead": "4ab3fa21fb401ac9",
            "kept/hits": "49965505d9dd1f7f",
            "kept/hsps": "952f4e2c48171b3d",
            "kept/anchors": "18941c847bdfb605",
        },
        "search": {"database": "431dc9dc4c0ac4b1", "parts": "3200a9d9e5fb8cc2", "queries": "431dc9dc4c0ac4b1"},
    },
}
"""What was written to run directories, by FORMAT and kind: written by hand, only added to; the last changes until a release has it, and never after."""


def test_no_schema_changes_without_the_number_of_the_layout() -> None:
    digests = {kind.kind: dict(kind.digests()) for kind in (PAIRS, GENOMES, SEARCH)}
    raised = f"raise FORMAT in pipeline/store/layout.py above {max(RECORD)} and add a line to RECORD here"
    kept = f"or, if no release has format {max(RECORD)} yet (CHANGELOG.md), change its line"
    told = f"a table of run directories changed: {raised}, {kept}; with {digests}"
    assert max(RECORD) == FORMAT and RECORD[FORMAT] == digests, told


@pytest.mark.parametrize(
    "columns",
    [
        [("a", pa.int64()), ("b", pa.string()), ("c", pa.int64())],
        [("a", pa.int64())],
        [("b", pa.string()), ("a", pa.int64())],
        [("a", pa.int32()), ("b", pa.string())],
        [("a", pa.int64()), ("c", pa.string())],
        [pa.field("a", pa.int64(), nullable=False), ("b", pa.string())],
        [("a", pa.list_(pa.int64())), ("b", pa.string())],
    ],
    ids=["more", "less", "order", "type", "name", "null", "list"],
)
def test_the_digest_sees_every_change(columns: list[Any]) -> None:
    schema = pa.schema([("a", pa.int64()), ("b", pa.string())])
    changed, same, labelled = (Layout("x", {}, {"t": one}).digests() for one in (pa.schema(columns), pa.schema(schema), schema.with_metadata({"a": "b"})))
    assert changed != same == labelled


# ---- runs of another layout


@pytest.fixture(params=["pairs", "genome"])
def finished(request: pytest.FixtureRequest, tmp_path: Path, make_run: Any, row: Any) -> tuple[str, Callable[[], object], Callable[[], None]]:
    """Make a finished run: (directory, what opens its results, what a run does first that goes on there)."""
    if request.param == "pairs":
        run = str(make_run([row()]).path)
        plan = rundir.read_plan(run)
        return run, lambda: Results(run), lambda: rundir.compare(run, plan["parameters"], plan["source"])
    run, parameters, source = str(tmp_path / "run"), GenomeParameters().to_json(), {"genomes": [], "all_vs_all": False}
    rundir.create(run, parameters, source, GENOMES)
    write_manifest(run, [])
    rundir.finish(run, {"run": "x"}, partial=False)
    return run, lambda: GenomeResults(run), lambda: rundir.compare(run, parameters, source, GENOMES)


NAMES = ("version", "kind", "tables", "parameters", "source")
"""What plan.json has beside `format`."""


def without(*names: str) -> Callable[[dict[str, Any]], Any]:
    return lambda plan: {name: value for name, value in plan.items() if name not in names}


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (
            lambda plan: {**without("kind", "tables")(plan), "format": 1},
            rf"made by tidalign 0\.\S+ with another table layout \(format 1, now {FORMAT}\); run it ",
        ),
        (lambda plan: {**plan, "format": FORMAT + 1}, rf"\(format {FORMAT + 1}, now {FORMAT}\); run it again with --new, or export it with that version"),
        (lambda plan: {"format": 1}, r"made by tidalign of an unknown version"),
        (lambda plan: {**plan, "tables": {**plan["tables"], "parts": "0123"}}, r"\(other columns in parts\)"),
        (lambda plan: {**plan, "tables": without("parts")(plan["tables"])}, r"\(other columns in parts\)"),
        (lambda plan: {**plan, "tables": {**plan["tables"], "trees": "0123"}}, r"\(other columns in trees\)"),
        (lambda plan: {**plan, "kind": "trees"}, r"\(kind 'trees', now pairs, genome, search\)"),
        (lambda plan: {**plan, "format": "2"}, r"plan\.json: expected the plan of a run, found one without a valid 'format'; run it again with --new"),
        *((without(name), rf"without a valid '{name}'") for name in ("format", *NAMES)),
        *((lambda plan, name=name: {**plan, name: 7}, rf"without a valid '{name}'") for name in ("version", "kind", "tables", "parameters", "source")),
        (lambda plan: [plan], r"plan\.json: expected a JSON object, found list"),
        (lambda plan: None, r"expected a JSON object, found NoneType"),
    ],
)
def test_another_layout_is_refused(finished: Any, changed: Callable[[dict[str, Any]], Any], said: str) -> None:
    run, opened, go_on = finished
    opened()
    go_on()
    plan = changed(rundir.read_plan(run))
    if isinstance(plan, dict):
        write_json(f"{run}/plan.json", plan)
    else:
        Path(run, "plan.json").write_text(json.dumps(plan))
    for use in (opened, go_on):
        with pytest.raises(ManifestMismatch, match=said):
            use()


@pytest.mark.parametrize("name", ["plan.json", "manifest.json"])
@pytest.mark.parametrize("text", [b"", b"{", b'{"format": 2', b"\xff\xfe\x00", b"plan"])
def test_what_is_no_json_is_refused(finished: Any, name: str, text: bytes) -> None:
    run, opened, _ = finished
    Path(run, name).write_bytes(text)
    with pytest.raises(ManifestMismatch, match=rf"{name}: not the JSON that tidalign wrote .*--new"):
        opened()


def test_a_run_whose_table_has_another_column_now_is_refused(make_run: Any, row: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a version would see it that has one more."""
    results = make_run([row()])
    more = {**PAIRS.tables, "parts": ALIGNMENTS.append(pa.field("more", pa.string()))}
    monkeypatch.setitem(layout._LAYOUTS, "pairs", replace(PAIRS, tables=more))
    with pytest.raises(ManifestMismatch, match=r"other columns in parts"):
        Results(results.path)


def test_a_run_of_another_kind_is_named(finished: Any) -> None:
    run, _, _ = finished
    kind = json.loads(Path(run, "plan.json").read_text())["kind"]
    other, wanted = (GenomeResults, "genome") if kind == "pairs" else (Results, "pairs")
    with pytest.raises(MissingInput, match=rf"expected a run of `tidalign {wanted}`, found one of `tidalign {kind}`"):
        other(run)
    if kind == "genome":
        with pytest.raises(ManifestMismatch, match=r"kind 'genome', now 'pairs'"):
            rundir.compare(run, PairParameters().to_json(), {})
