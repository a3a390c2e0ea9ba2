"""`tidalign check`: what is installed, what it runs on, and a test of it on known answers; or whether the files of a run are what was written."""

import argparse
import platform
import re
import time
from collections.abc import Iterable
from hashlib import sha256
from importlib import import_module
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Any

from tidalign.cluster.errors import NoWorkers
from tidalign.cluster.gpus import usable
from tidalign.cluster.task import cores
from tidalign.kernels.runtime import precompile
from tidalign.pipeline.device import CPU, GPU, Device
from tidalign.pipeline.errors import Damaged, ManifestMismatch, MissingInput
from tidalign.workflows.answer import answer
from tidalign.workflows.commands.export import RESULTS
from tidalign.workflows.compiling import LISTS
from tidalign.workflows.progress import Progress
from tidalign.workflows.status import Exit

KNOWN = {
    # The pair of WFA2-lib's README, and one with a long gap. Made with pywfa 0.6 (memory_mode high, no heuristic), its I and D read as SAM's D and I.
    ("TCTTTACTCGCGCGTTGGAGAAATACAATAGT", "TCTATACTGCGCGTTTGGAGAAATAAAATAGT"): {
        "edit": (4, "3=1X4=1I7=1D9=1X6="),
        "linear:4,2": (12, "3=1D1=1I3=1I7=1D9=1I2=1D4="),
        "affine:4,6,2": (24, "3=1X4=1I7=1D9=1X6="),
        "affine2p:4,6,2,24,1": (24, "3=1X4=1I7=1D9=1X6="),
    },
    ("GATTACAGATTACAGATTACAGATTACA", "GATTACAGATTACA" + "T" * 39 + "GATTACAGATCACA"): {
        "edit": (40, "14=39D10=1X3="),
        "linear:4,2": (82, "14=39D10=1X3="),
        "affine:4,6,2": (88, "14=39D10=1X3="),
        "affine2p:4,6,2,24,1": (67, "14=39D10=1X3="),
    },
}
"""Penalty and CIGAR by model, for each pair (query, target)."""

COLUMNS = ("score", "target_start", "target_end", "query_start", "query_end", "cigar")

GENOMES = "28ed3538f9c1a8acce54c71c156b27a1d1e39c7778b4265a48ffe4d845e73dfa"
"""Digest of what LASTZ 1.04.22 finds in two small genomes (`pipeline.genome.units.made_up`) by any score: tests/data/genomes/make_made_up.py."""


def command(args: argparse.Namespace) -> Exit:
    """Print one line for each thing looked at; status 0, 69 if something is missing, 1 if an answer is wrong; 78 if files of a run are damaged."""
    if args.run is not None:
        return _verify(args.run)
    answer(f"tidalign {version('tidalign')}, Python {platform.python_version()}, {platform.system()} {platform.machine()}")
    missing = _packages()
    if missing:
        raise NoWorkers(f"missing: {', '.join(missing)}; install what tidalign needs: python -m pip install --upgrade tidalign")
    devices = _machine()
    made = [_compile(devices)] if args.compile else []
    if args.calibrate:
        _calibrate(devices)
    LISTS[:] = lists = [each for device in devices if device.takes_gpu for each in _longest(device)]
    with precompile.ahead(lists, cores() - 1):
        return max([*made, *(_self_test(device, every=args.compile) for device in devices)])


def _longest(device: Device) -> precompile.Lists:
    """List the kernels for cores that take longest to compile of those that a GPU's test needs, too: the walk is a core's."""
    from tidalign.pipeline.genome.parameters import GenomeParameters
    from tidalign.pipeline.genome.stages.unit import costs_of

    return [("tidalign.kernels.commit.precompiled", (8 * costs_of(GenomeParameters()).compiled[3].dtype.itemsize, device.helpers > 1))]


def _compile(devices: list[Device]) -> Exit:
    """Compile all kernels, and show how far that is."""
    from tidalign.workflows.commands.compile import compiled

    progress, began, failed = Progress(), time.monotonic(), []
    try:
        for done, total, wrong in compiled(devices):
            progress("compile", done, total)
            failed += [wrong] * bool(wrong)
    finally:
        progress.close()
    for line in failed:
        answer(f"wrong: {line}")
    answer(f"kernels compiled and kept: {total - len(failed)} of {total} commands ran, {time.monotonic() - began:.0f} s")
    return Exit.BUG if failed else Exit.COMPLETE


def _calibrate(devices: list[Device]) -> None:
    """Measure every device, and keep what is found; a line for each."""
    from tidalign.workflows.estimate import calibrate, rates

    for device in devices:
        name = next(iter(usable().values())) if device.takes_gpu else ""
        progress, began, found = Progress(), time.monotonic(), None
        try:
            for done, total, measured in calibrate.calibrated(device, name):
                progress("calibrate", done, total)
                found = measured or found
        finally:
            progress.close()
        if found:
            rates.keep(found)
            answer(f"calibrated: {found.device}, {len(found.seconds)} kinds of work, {time.monotonic() - began:.0f} s; estimates use these figures from now on")


def _verify(run: str) -> Exit:
    """Look at every file of a run directory that is read again, a line for each that is damaged or lacks; or at those of an index."""
    from tidalign.pipeline.genome.input import index, source
    from tidalign.pipeline.store import rundir

    if source.index_at(run):
        answer(f"{run}: none of its files is damaged; an index of {index.verify(run)}")
        return Exit.COMPLETE
    plan = rundir.require(run)
    files = [path for path in sorted(Path(run).rglob("*")) if path.is_file()]
    wrong = {damaged.path: damaged.found for path in files if (damaged := _damage(path))}
    if not wrong and rundir.finished(run):
        module, name = RESULTS[plan["kind"]]
        try:
            _see_whole(getattr(import_module(module), name)(run))
        except MissingInput as error:
            raise ManifestMismatch(str(error)) from error
    for path, found in wrong.items():
        answer(f"{path}: {found}")
    if wrong:
        raise ManifestMismatch(f"{run}: {len(wrong)} of {len(files)} files are damaged; the command that made the run makes anew what it needs of them")
    answer(f"{run}: {len(files)} files, none of them damaged; the run is {'finished' if rundir.finished(run) else 'not finished'}")
    return Exit.COMPLETE


def _see_whole(results: Any) -> None:
    """Raise an error where a finished run lacks a file: a part, a genome that was read, a table that was kept."""
    from tidalign.pipeline.genome.input.sides import load_side
    from tidalign.pipeline.genome.manifest import read_manifest

    results.statuses()
    if results.kind != "genome":
        return
    manifest = read_manifest(str(results.path))
    for side in manifest.sides:
        load_side(str(results.path), manifest.run, side["id"])
    for stage in (folder.name for folder in Path(results.path, "kept").glob("*") if any(folder.iterdir())):
        results.stage(stage)


def _damage(path: Path) -> Damaged | None:
    """Check one file as those who read it do; those for people have nothing to check."""
    from tidalign.pipeline.genome.input.sides import check_folder
    from tidalign.pipeline.genome.stages.anchors_file import read_anchors
    from tidalign.pipeline.store import claims, files

    try:
        if path.suffix == ".tmp":
            pass  # of a writer that died
        elif path.name.endswith("_mqc.json"):
            pass  # for MultiQC
        elif path.suffix == ".json" or path.name in ("SUCCESS", "PARTIAL"):
            files.read_json(str(path))
            if path.name == "side.json":
                check_folder(str(path.parent))
        elif path.suffix == ".parquet":
            files.checked(str(path))
        elif path.suffix == ".arrow":
            read_anchors(str(path))
        elif path.parent.name == "claims":
            claims.check(str(path))
    except Damaged as damaged:
        return damaged
    except FileNotFoundError as error:
        return Damaged(str(path), f"useless without {error.filename}")
    return None


def _packages() -> list[str]:
    """Print the versions of what tidalign requires; the names of what is not there."""
    found, missing = [], []
    for requirement in requires("tidalign") or []:
        name = re.split(r"[^A-Za-z0-9._-]", requirement, maxsplit=1)[0]
        if "extra ==" in requirement:
            continue
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            missing.append(name)
    answer(f"packages: {', '.join(found)}")
    return missing


def _machine() -> list[Device]:
    """Print what alignments run on; gives the devices to test."""
    from tidalign.kernels.runtime import vectors as vectors_host
    from tidalign.kernels.runtime.bases import bases
    from tidalign.kernels.runtime.compiler import CUPYS_MOVED
    from tidalign.kernels.runtime.numba_internals import difference
    from tidalign.workflows.running import counted

    width = f"vectors of {vectors_host.VECTOR_LANES} lanes" if vectors_host.VECTOR_LANES > 1 else "plain loops (no vector instructions that the kernels use)"
    answer(f"processor: {counted(cores(), 'cores')} for this process, {width}")
    chosen = bases()
    passing = "" if chosen.lasting or not chosen.kept else " (for this command alone; set NUMBA_CACHE_DIR to a folder that lasts and can be written)"
    answer(f"compiled kernels: {chosen.kept or 'kept in memory only: no folder can be written; set NUMBA_CACHE_DIR to one that can'}{passing}")
    for refused, why in chosen.refused:
        answer(f"no folder for compiled kernels: {refused}: {why}; set NUMBA_CACHE_DIR to a folder that only you can write to")
    if chosen.kept and (unknown := difference()):
        answer(f"numba {version('numba')} keeps kernels in a way of its own ({unknown}): they come from its cache as it is, and commands start more slowly")
    try:
        gpus = usable()
    except NoWorkers as error:
        answer(f"GPUs: none used, pairs and genomes are aligned on the cores: {error}")
        return [CPU]
    answer(f"GPUs: {', '.join(f'{name} ({number})' for number, name in gpus.items())}; pairs and genomes are aligned there, with --device cpu on the cores")
    if CUPYS_MOVED:
        answer(f"no folder for what CuPy compiles: {CUPYS_MOVED}")
    return [CPU, GPU]


DEFAULT = "affine:4,6,2"


def _compare(device: Device, models: Iterable[str], *, genomes: bool) -> tuple[list[str], int]:
    """Align what is known by these gap models, and two small genomes. Returns a line for each that is wrong, and how many were compared."""
    from tidalign.workflows.table import align

    wrong, tried = [], 0
    for model in models:
        table = align([query for query, _ in KNOWN], [target for _, target in KNOWN], penalties=model, device=device.name)
        for row, answers in zip(table.to_pylist(), KNOWN.values(), strict=True):
            tried += 1
            if (row["penalty"], row["cigar"]) != answers[model]:
                wrong.append(f"{model} on the {device.name}: expected {answers[model]}, found {(row['penalty'], row['cigar'])}")
    if genomes:
        from tidalign.pipeline.genome.parameters import GenomeParameters
        from tidalign.pipeline.genome.units import warm_up

        tried += 1
        found = digest("\t".join(str(row[name]) for name in COLUMNS) for row in warm_up(GenomeParameters(), device).to_pylist())
        if found != GENOMES:
            wrong.append(f"two small genomes on the {device.name}: expected LASTZ's alignments, {GENOMES[:12]}, found {found[:12]}")
    return wrong, tried


def digest(lines: Iterable[str]) -> str:
    """Give the SHA-256 of lines, each with its end."""
    return sha256("".join(f"{line}\n" for line in lines).encode()).hexdigest()


def _self_test(device: Device, *, every: bool) -> Exit:
    """Compare alignments by the default penalties with known ones, and on a GPU genomes; every: by all models, each of which has kernels of its own to compile,
    and genomes."""
    from tidalign.workflows.running import showing

    began = time.monotonic()
    with showing():
        wrong, tried = _compare(device, next(iter(KNOWN.values())) if every else (DEFAULT,), genomes=every or device.takes_gpu)
    for line in wrong:
        answer(f"wrong: {line}")
    seconds = time.monotonic() - began
    answer(f"self-test on the {device.name}: {tried - len(wrong)} of {tried} known answers, {seconds:.1f} s{' (compiling included)' if seconds > 2 else ''}")
    if not wrong:
        return Exit.COMPLETE
    answer("Alignments cannot be trusted here. Remove the folder of compiled kernels and try again; if that does not help, please report all of the above.")
    return Exit.BUG
