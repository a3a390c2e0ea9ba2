"""Simulated pairs: length x error rate x kind of difference, from a seed."""

import numpy as np

Pair = tuple[bytes, bytes]

ERRORS = ("substitution", "indel", "mixed")
"""Kinds of `mutate`."""

LETTERS = np.frombuffer(b"ACGT", np.uint8)


def sequence(random: np.random.Generator, length: int) -> bytes:
    """Uniform ACGT."""
    return LETTERS[random.integers(0, 4, length)].tobytes()


def repeat(random: np.random.Generator, length: int) -> bytes:
    """Draw a unit of 1 to 6 letters over and over: many alignments of equal penalty, the test of ties."""
    unit = sequence(random, int(random.integers(1, 7)))
    return (unit * (length // len(unit) + 1))[:length]


def mutate(random: np.random.Generator, letters: bytes, rate: float, kind: str = "mixed") -> bytes:
    """Change `letters` by about `rate` differences a letter: substitutions, single-letter insertions and deletions, or a third of each."""
    text = np.frombuffer(letters, np.uint8)
    hit = random.random(len(text)) < rate
    choice = {"substitution": (0, 1), "indel": (1, 3), "mixed": (0, 3)}[kind]
    change = np.where(hit, random.integers(*choice, len(text)), -1)
    other = LETTERS[(np.searchsorted(LETTERS, text) + random.integers(1, 4, len(text))) % 4]
    doubled = np.stack([np.where(change == 0, other, text), LETTERS[random.integers(0, 4, len(text))]], axis=1)
    kept = np.stack([change != 1, change == 2], axis=1)  # 1 deletes the letter, 2 adds one after it
    return doubled[kept].tobytes()


def long_gap(random: np.random.Generator, letters: bytes, share: float = 0.3) -> bytes:
    """Cut one stretch of up to `share` out of `letters`, then put an unrelated stretch in elsewhere."""
    most = max(1, int(len(letters) * share))
    start, cut = int(random.integers(0, len(letters) + 1)), int(random.integers(0, most + 1))
    letters = letters[:start] + letters[start + cut :]
    place = int(random.integers(0, len(letters) + 1))
    return letters[:place] + sequence(random, int(random.integers(0, most + 1))) + letters[place:]


def ambiguous(random: np.random.Generator, letters: bytes, rate: float = 0.1) -> bytes:
    """Put N and other IUPAC letters in place of about `rate` of the letters."""
    text = np.frombuffer(letters, np.uint8)
    other = np.frombuffer(b"NNNNRYKM", np.uint8)[random.integers(0, 8, len(text))]
    return np.where(random.random(len(text)) < rate, other, text).tobytes()


def lower(random: np.random.Generator, letters: bytes) -> bytes:
    """Put about half of the letters into lower case."""
    text = np.frombuffer(letters, np.uint8)
    return np.where(random.random(len(text)) < 0.5, text | 0x20, text).tobytes()


def pair(random: np.random.Generator, length: int, rate: float, kind: str) -> Pair:
    """Draw one pair of about `length` letters. `kind`: one of ERRORS, `repeats`, `gaps`, `unrelated`, `ambiguous` or `lower`."""
    if kind == "unrelated":
        return sequence(random, length), sequence(random, int(random.integers(0, length + 1)))
    query = repeat(random, length) if kind == "repeats" else sequence(random, length)
    target = mutate(random, query, rate, kind if kind in ERRORS else "mixed")
    if kind == "gaps":
        target = long_gap(random, target)
    if kind == "ambiguous":
        return ambiguous(random, query), ambiguous(random, target)
    if kind == "lower":
        return lower(random, query), lower(random, target)
    return query, target


KINDS = (*ERRORS, "repeats", "gaps", "unrelated", "ambiguous", "lower")


def pairs(seed: int, count: int, length: int, rate: float, kind: str = "mixed") -> list[Pair]:
    """Draw `count` pairs like `pair`; the same for the same arguments."""
    random = np.random.default_rng([seed, count, length, int(rate * 1e6), KINDS.index(kind)])
    return [pair(random, length, rate, kind) for _ in range(count)]
