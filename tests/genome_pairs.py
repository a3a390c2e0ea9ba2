"""Small random targets and queries of whole-genome alignment: related, with repeats, inversions, masks, N, X, and targets of several sequences."""

import numpy as np
import simulate

COMPLEMENT = bytes.maketrans(b"ACGTacgt", b"TGCAtgca")


def related(random: np.random.Generator, length: int = 600) -> tuple[bytes, bytes]:
    """Draw the letters of a target and of a query; a target of several sequences has a NUL before each, as LASTZ keeps it."""
    base = simulate.sequence(random, length)
    for _ in range(random.integers(0, 4)):  # copies that give a place several HSPs
        size, source, place = random.integers(30, 150), random.integers(0, length), random.integers(0, length)
        base = base[:place] + simulate.mutate(random, base[source : source + size], 0.1, "substitution") + base[place:]
    if random.random() < 0.3:
        base = base[: length // 2] + simulate.repeat(random, 60) + base[length // 2 :]
    target, query = (simulate.mutate(random, base, random.choice([0.02, 0.1, 0.2]), random.choice(["substitution", "mixed"])) for _ in range(2))
    third = len(query) // 3
    if random.random() < 0.5:
        query = query[2 * third :].translate(COMPLEMENT)[::-1] + query[:third] + query[third : 2 * third]
    target, query = spoiled(random, target), spoiled(random, query)
    if random.random() < 0.4:
        cut = int(random.integers(1, len(target)))
        target = b"\0" + target[:cut] + b"\0" + target[cut:]
    return target, query


def spoiled(random: np.random.Generator, letters: bytes) -> bytes:
    """Put some of the letters into lower case, or in their place N or X."""
    for _ in range(random.integers(0, 4)):
        start, size = int(random.integers(0, len(letters))), int(random.integers(1, 30))
        found = letters[start : start + size]
        kind = random.integers(0, 4)
        letters = letters[:start] + (found.lower() if kind == 0 else b"NXn"[kind - 1 : kind] * (len(found) if size > 20 else 1)) + letters[start + len(found) :]
    return letters


def sharing_a_record(followed: bool) -> tuple[bytes, bytes]:
    """Make two sequences of a target as one array, and a query. The query's first 100 letters end at the end of the second sequence, 65,536 diagonals beyond
    that of 19 letters which follow in the query and are in the first one. followed: by a third sequence, so that a separator stands at that end."""
    random = np.random.default_rng(5)
    second, apart, tail = (random.choice(np.frombuffer(b"ACGT", np.uint8), length).tobytes() for length in (200, 19, 40))
    place = 66_000 + 1 + 200 - 65_536
    first = b"N" * place + apart + b"N" * (66_000 - 19 - place)
    target = b"\0" + first + b"\0" + second + (b"\0" + b"N" * 300 if followed else b"")
    return target, second[100:] + apart + tail


def dense(random: np.random.Generator, apart: int) -> tuple[bytes, bytes]:
    """A target and a query in which words of five letters make as many hits a diagonal as words of twelve do in whole chromosomes: most of them chance, some
    of which hide others. apart: letters between four copies that the target has of what it shares with the query."""
    shared = simulate.sequence(random, min(apart, 3000))
    target = b"".join(simulate.sequence(random, apart) + simulate.mutate(random, shared, 0.2, "mixed") for _ in range(4))
    low, other = simulate.mutate(random, shared, 0.15, "substitution").lower(), simulate.mutate(random, shared, 0.25, "mixed")
    return target, simulate.sequence(random, len(shared) // 2) + low + other
