"""What users of types see: with pyarrow-stubs results are tables, not Any; and nothing that is public gives Any."""

import inspect
import subprocess
import sys
import typing
from pathlib import Path

import tidalign
import tidalign.cigar
import tidalign.genome

SCRIPT = """
import tidalign
import tidalign.genome
from tidalign import cigar

table = tidalign.align(["ACGT"], ["ACGT"], tidalign.Affine(4, 6, 2), threads=None)
reveal_type(table)
reveal_type(tidalign.search(["ACGT"], ["ACGT"]))
reveal_type(tidalign.align_genomes({"t": "ACGT"}, "q.fa", step=20))
results = tidalign.align_genomes("t.fa", "q.fa", out="run", step=20)
reveal_type(results)
reveal_type(results.to_table())
reveal_type(next(tidalign.Results("run").to_batches()))
reveal_type(tidalign.genome.seeds("ACGT", "ACGT"))
reveal_type(cigar.identity("3="))
tidalign.align(["A"], ["A"], device=3)
tidalign.align_genomes({"t": "ACGT"}, "q.fa", out="run")
"""

REVEALED = [
    *("Table", "Table", "Table", "GenomeResults", "Table", "RecordBatch", "Table", "float | None"),
]

CONFIG = """
[mypy]
strict = true
follow_imports = silent
ignore_missing_imports = true
"""


def test_tables_are_tables_to_who_has_the_stubs(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    (tmp_path / "mypy.ini").write_text(CONFIG)
    done = subprocess.run([sys.executable, "-m", "mypy", "--config-file", "mypy.ini", "script.py"], cwd=tmp_path, capture_output=True, text=True, timeout=900)
    lines = done.stdout.splitlines()
    revealed = [line.partition('"')[2].rstrip('"') for line in lines if "Revealed type" in line]
    assert [each.rpartition(".")[2] for each in revealed] == REVEALED, done.stdout + done.stderr
    errors = [line for line in lines if "error:" in line]
    assert len(errors) == 2 and 'Argument "device"' in errors[0] and "No overload variant" in errors[1], done.stdout


def public() -> dict[str, object]:
    """List every public function, and every public method of a public class, by name."""
    found: dict[str, object] = {}
    for module in (tidalign, tidalign.cigar, tidalign.genome):
        for name in module.__all__:
            each = getattr(module, name)
            if inspect.isclass(each):
                members = inspect.getmembers(each, lambda member: inspect.isfunction(member) or isinstance(member, property))
                found |= {f"{name}.{method}": member for method, member in members if not method.startswith("_")}
            elif inspect.isfunction(each):
                found[f"{module.__name__}.{name}"] = each
    return found


def test_nothing_public_gives_any() -> None:
    named = public()
    assert {"Results.to_table", "Results.schema", "tidalign.align", "tidalign.genome.seeds", "GenomeResults.stage"} <= named.keys()
    wrong = []
    for name, each in named.items():
        function = inspect.unwrap(each.fget if isinstance(each, property) else each)  # type: ignore[arg-type]
        given = function.__annotations__.get("return")
        inner = [given] if given is not None and not typing.get_args(given) else [one for one in typing.get_args(given) if typing.get_origin(given) is not dict]
        if "return" not in function.__annotations__ or typing.Any in inner:
            wrong.append(name)
    assert wrong == []
