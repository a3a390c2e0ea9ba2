"""Measure what an index of a target spares a run on cores: CPU seconds of reading, of building the table of words, of mapping both; and whole commands.

python tests/benchmarks/genome_index.py RESULT.json QUERY.fa TARGET.fa [TARGET.fa ..]

CPU seconds, the least of three: they hardly depend on what else the machine does. The targets may be made by `synthetic_genomes.py`. That both commands write
the same bytes is checked.
"""

import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import record

from tidalign.kernels.seed.index import SeedPattern, build_index
from tidalign.pipeline.genome.input import index, sides
from tidalign.pipeline.genome.parameters import GenomeParameters, genome_parameters

WORDS: dict[str, dict[str, Any]] = {
    "12of19": {},
    "12of19, step 20": {"step": 20},
    "12of19, maxwordcount 90%": {"max_word_count": "90%"},
    "14of22": {"seed": "14of22"},
}


def cpu(call: Callable[[], Any]) -> tuple[float, Any]:
    """Give the least CPU seconds of three calls, and what the last one gave."""
    best = float("inf")
    for _ in range(3):
        began = time.process_time()
        found = call()
        best = min(best, time.process_time() - began)
    return round(best, 3), found


def steps(target: str, folder: Path) -> dict[str, Any]:
    """Measure reading, and, by words, building and mapping."""
    number = iter(range(100))

    def read() -> Any:
        place = folder / str(next(number))
        sides.write_sides(str(place), [("target", target)], None)
        return place

    result: dict[str, Any] = {}
    result["read and pack"], _ = cpu(read)
    for name, options in WORDS.items():
        parameters: GenomeParameters = genome_parameters(**options)
        out = str(folder / "t.tgx")
        index.make(target, out, parameters)
        record_of, *_ = sides.read_sides(str(folder / f"run {name}"), 0, [("target", out)], None)
        codes = sides.load_side(str(folder / f"run {name}"), "run", 0)[1]
        wanted = SeedPattern.parse(parameters.seed), parameters.step, parameters.max_word_count

        def link(name: str = name, out: str = out) -> None:
            sides._fits.cache_clear()
            sides.write_sides(str(folder / f"{next(number)} {name}"), [("target", out)], None)

        def load(record_of: Any = record_of, codes: Any = codes, wanted: Any = wanted) -> Any:
            sides._fits.cache_clear()
            return index.load(record_of, codes, *wanted)

        built, table = cpu(lambda codes=codes, wanted=wanted: build_index(codes, *wanted).marks.sum())
        linked, _ = cpu(link)
        mapped, found = cpu(load)
        assert found.marks.sum() == table
        size = sum(array.nbytes for array in found.tables().values())
        result[name] = {"build": built, "link letters": linked, "map tables": mapped, "bytes of tables a letter": round(size / len(codes), 1)}
    return result


def command(target: str, query: str, out: Path) -> tuple[float, float]:
    """Run a whole command; CPU and wall seconds."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    words = [sys.executable, "-m", "tidalign", "genome", target, query, "-o", str(out), "--device=cpu", "--workers=0", "--quiet"]
    subprocess.run(words, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, time.monotonic() - began


def whole(target: str, query: str, folder: Path) -> dict[str, float]:
    """Measure `tidalign genome` from the file and from an index of it."""
    index.make(target, str(folder / "whole.tgx"), GenomeParameters())
    best: dict[str, float] = {}
    for _ in range(3):
        for name, side in (("from FASTA", target), ("from the index", str(folder / "whole.tgx"))):
            seconds, _ = command(side, query, folder / f"{name}.maf")
            best[name] = round(min(best.get(name, float("inf")), seconds), 2)
    assert (folder / "from FASTA.maf").read_bytes() == (folder / "from the index.maf").read_bytes()
    return best


def main() -> None:
    """Measure each target, and write the record."""
    path, query, *targets = sys.argv[1:]
    result: dict[str, Any] = {"unit": "CPU seconds", "query bytes": Path(query).stat().st_size, "targets": {}}
    for target in targets:
        with tempfile.TemporaryDirectory() as folder:
            said = {
                "bytes": Path(target).stat().st_size,
                **steps(str(Path(target).absolute()), Path(folder)),
                "whole command": whole(target, query, Path(folder)),
            }
        result["targets"][Path(target).name] = said
        print(Path(target).name, said, flush=True)
    record.write(path, result)


if __name__ == "__main__":
    main()
