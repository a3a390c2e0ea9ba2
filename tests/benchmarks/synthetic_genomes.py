"""Write a synthetic pair of genomes of any size: letters like a real region's, soft-masked repeat families, planted orthologues.

python tests/benchmarks/synthetic_genomes.py REGION.fa.gz TARGET_LETTERS QUERY_LETTERS TARGET.fa QUERY.fa [SEQUENCES_A_SIDE]

Order-6 Markov letters of REGION; 20 families of 300 and 20 of 6,000 letters, copies 5 to 25 % off, until they cover 45 % (36 % and 30 % masked in the end);
one orthologue of 1 to 8 kb at about 70 % identity for each 25 kb of query, half of them on the minus strand, from the target's sequence of the same number.
175 x 50 Mb takes 20 s, 250 x 230 Mb 45 s; of several sequences a side each core makes one at a time.
"""

import gzip
import multiprocessing
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import numba
import numpy as np

K = 6


@numba.njit
def counts(codes):
    table, context, known, mask = np.ones((4**K, 4)), 0, 0, 4**K - 1
    for x in codes:
        if x > 3:
            known = 0
            continue
        if known >= K:
            table[context, x] += 1
        context = ((context << 2) | x) & mask
        known += 1
    return table


@numba.njit
def sample(n, cumulative, seed):
    np.random.seed(seed)
    out, context, mask = np.empty(n, np.uint8), 0, 4**K - 1
    for i in range(n):
        r, x = np.random.random(), 0
        while x < 3 and r > cumulative[context, x]:
            x += 1
        out[i] = x
        context = ((context << 2) | x) & mask
    return out


@numba.njit
def mutate(codes, substitutions, indels, seed):
    np.random.seed(seed)
    out, j, i = np.empty(2 * len(codes) + 1000, np.uint8), 0, 0
    while i < len(codes):
        if np.random.random() < indels:
            length = 1 + int(np.random.exponential(3.0))
            if np.random.random() < 0.5:
                i += length
                continue
            for _ in range(length):
                out[j] = np.random.randint(4)
                j += 1
        x = codes[i]
        if np.random.random() < substitutions:
            x = (x + 1 + np.random.randint(3)) & 3
        out[j] = x
        j += 1
        i += 1
    return out[:j]


def genome(n, seed, families, cumulative):
    letters, low, rng, covered = sample(n, cumulative, seed), np.zeros(n, bool), np.random.default_rng(seed), 0
    while covered < 0.45 * n:
        family = families[rng.integers(len(families))]
        copy = mutate(family, rng.uniform(0.05, 0.25), 0.02, int(rng.integers(1 << 30)))
        if len(family) > 1000:
            copy = copy[-min(len(copy), int(rng.exponential(1500)) + 100) :]
        at = int(rng.integers(0, n - len(copy)))
        letters[at : at + len(copy)], low[at : at + len(copy)] = copy, True
        covered += len(copy)
    return letters, low


def text(letters, low):
    made = np.frombuffer(b"ACGT", np.uint8)[letters]
    made[low] += 32
    return made


def pair(n, m, families, cumulative, seed):
    """Make a target of n letters and a query of m: codes, and what is masked."""
    t, t_low = genome(n, 100 * seed + 1, families, cumulative)
    q, q_low = genome(m, 100 * seed + 2, families, cumulative)
    rng = np.random.default_rng(100 * seed + 5)
    for _ in range(m // 25_000):
        length = int(rng.integers(1000, 8000))
        at = int(rng.integers(0, n - length))
        copy = mutate(t[at : at + length], 0.3, 0.03, int(rng.integers(1 << 30)))
        if rng.random() < 0.5:
            copy = (3 - copy)[::-1]
        to = int(rng.integers(0, m - len(copy)))
        q[to : to + len(copy)], q_low[to : to + len(copy)] = copy, False
    return (t, t_low), (q, q_low)


def write(families, cumulative, sides, number):
    """Write a sequence of each side to its place. sides: (path, name, letters of each sequence), target's and query's."""
    made = pair(*(lengths[number] for _, _, lengths in sides), families, cumulative, number)
    for (path, name, lengths), sequence in zip(sides, made, strict=True):
        with Path(path).open("r+b") as out:
            out.seek(sum(lengths[:number]) + sum(len(f">{name}{i + 1}\n\n") for i in range(number)))
            out.write(b">%s%d\n" % (name.encode(), number + 1))
            text(*sequence).tofile(out)
            out.write(b"\n")


def main(region, n, m, target, query, sequences=1):
    raw = b"".join(gzip.decompress(Path(region).read_bytes()).split(b"\n")[1:]).upper()
    code = np.full(256, 255, np.uint8)
    code[np.frombuffer(b"ACGT", np.uint8)] = range(4)
    table = counts(code[np.frombuffer(raw, np.uint8)])
    cumulative = np.cumsum(table / table.sum(1, keepdims=True), 1)
    families = [sample(300, cumulative, 900 + i) for i in range(20)] + [sample(6000, cumulative, 1900 + i) for i in range(20)]
    pair(100_000, 100_000, families, cumulative, 0)  # compiled once, before processes begin
    sides = [(target, "target", [n // sequences] * sequences), (query, "query", [m // sequences] * sequences)]
    for path, _, _ in sides:
        Path(path).write_bytes(b"")
    workers = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(mp_context=workers) as pool:
        list(pool.map(partial(write, families, cumulative, sides), range(sequences)))


if __name__ == "__main__":
    region, n, m, target, query, *rest = sys.argv[1:]
    main(region, int(n), int(m), target, query, *map(int, rest))
