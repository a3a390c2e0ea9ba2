"""Whole runs of `tidalign pairs`, file to finished run directory or file: seconds, pairs/s and the largest process.

python whole_run.py RESULT.json --folder DIR [--pairs N ...] [--length L] [--error E] [--workers N] [--to run|paf ...] [--times N] [--peer PAIRS]
                    [-- MORE OPTIONS OF tidalign pairs]

Pairs are simulated (random bases; each base changed, dropped or doubled with probability E / 3 each) into two FASTQ files under DIR, kept for the next call.
`--peer` also runs that many of the same pairs through pywfa in one Python process, reading them with dnaio: what a user would write without tidalign.
"""

import argparse
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import psutil

sys.path.insert(0, str(Path(__file__).parent))
import record

SLICE = 100_000


def simulate(folder: Path, pairs: int, length: int, error: float) -> tuple[Path, Path]:
    """Write FASTQ files of the pairs; seeded, so that the same arguments give the same files."""
    files = tuple(folder / f"{pairs}x{length}_{error}_{side}.fastq" for side in ("query", "target"))
    if all(file.exists() for file in files):
        return files[0], files[1]
    letters = np.frombuffer(b"ACGT", np.uint8)
    with files[0].open("wb") as queries, files[1].open("wb") as targets:
        for start in range(0, pairs, SLICE):
            rng = np.random.default_rng([start, length])
            count = min(SLICE, pairs - start)
            query = rng.integers(0, 4, (count, length), np.uint8)
            draw = rng.random((count, length))
            target = np.where(draw < error / 3, (query + rng.integers(1, 4, (count, length), np.uint8)) & 3, query)
            copies = np.where(draw < error / 3, 1, np.where(draw < 2 * error / 3, 0, np.where(draw < error, 2, 1)))
            flat = letters[np.repeat(target.ravel(), copies.ravel())]
            ends = np.concatenate([[0], np.cumsum(copies.sum(axis=1))])
            quality = b"I" * (2 * length)
            for i in range(count):
                queries.write(b"@r%d\n%s\n+\n%s\n" % (start + i, letters[query[i]].tobytes(), quality[:length]))
                text = flat[ends[i] : ends[i + 1]].tobytes()
                targets.write(b"@r%d\n%s\n+\n%s\n" % (start + i, text, quality[: len(text)]))
    return files[0], files[1]


def watch(command: list[str], accepted: tuple[int, ...] = (0,), interval: float = 0.1) -> tuple[float, float, int]:
    """Wall seconds, CPU seconds of the whole process tree, and the largest resident set of any process in it (sampled every so many seconds)."""
    start = time.perf_counter()
    process = psutil.Popen(command)
    largest, spent = 0, {}
    while process.poll() is None:
        try:
            tree = [process, *process.children(recursive=True)]
        except psutil.NoSuchProcess:
            break
        for one in tree:
            try:
                largest = max(largest, one.memory_info().rss)
                times = one.cpu_times()
                spent[one.pid] = times.user + times.system
            except psutil.NoSuchProcess:
                continue
        time.sleep(interval)
    if process.wait() not in accepted:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
    return time.perf_counter() - start, sum(spent.values()), largest


def peer(queries: Path, targets: Path, pairs: int) -> float:
    """Time one process that reads and aligns with dnaio and pywfa (affine 4,6,2, exact, with CIGAR)."""
    import dnaio
    from pywfa import WavefrontAligner

    aligner = WavefrontAligner(heuristic=None)
    start = time.perf_counter()
    with dnaio.open(queries, targets) as reader:
        for done, (query, target) in enumerate(reader):
            if done == pairs:
                break
            aligner.wavefront_align(target.sequence, query.sequence)
            aligner.cigarstring  # noqa: B018  the string is made on access
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("result")
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--pairs", type=int, nargs="+", default=[1_000_000])
    parser.add_argument("--length", type=int, default=150)
    parser.add_argument("--error", type=float, default=0.05)
    parser.add_argument("--workers", type=int)
    parser.add_argument("--to", choices=("run", "paf"), nargs="+", default=["run"])
    parser.add_argument("--times", type=int, default=1)
    parser.add_argument("--peer", type=int, default=0)
    parser.add_argument("more", nargs="*")
    arguments = parser.parse_args()
    rows = []
    for pairs in arguments.pairs:
        queries, targets = simulate(arguments.folder, pairs, arguments.length, arguments.error)
        for to in arguments.to:
            out = arguments.folder / {"run": "run", "paf": "run.paf"}[to]
            command = [str(Path(sys.executable).parent / "tidalign"), "pairs", str(queries), str(targets), "-o", str(out), "--new", "--quiet", *arguments.more]
            if arguments.workers is not None:
                command += ["--workers", str(arguments.workers)]
            runs = []
            for _ in range(arguments.times):
                subprocess.run(["rm", "-rf", str(out)], check=True)
                runs.append(watch(command, interval=0.02))
            row = {
                "pairs": pairs,
                "to": to,
                "input bytes": queries.stat().st_size + targets.stat().st_size,
                "seconds": [round(wall, 2) for wall, _, _ in runs],
                "cpu seconds": round(min(cpu for _, cpu, _ in runs), 2),
                "pairs/s": round(pairs / min(wall for wall, _, _ in runs)),
                "largest process MB": round(max(largest for _, _, largest in runs) / 1e6),
            }
            if arguments.peer:
                spent = peer(queries, targets, count := min(arguments.peer, pairs))
                row["peer"] = {"what": "dnaio + pywfa, one process", "pairs": count, "seconds": round(spent, 2), "pairs/s": round(count / spent)}
                row["ratio to peer"] = round(row["pairs/s"] / (count / spent), 2)
            rows.append(row)
            print(row, flush=True)
    settings = {name: getattr(arguments, name) for name in ("length", "error", "workers", "more")}
    record.write(arguments.result, {"what": "tidalign pairs, whole commands", **settings, "runs": rows})


if __name__ == "__main__":
    main()
