"""Random small pairs of genomes and options, for compare_lastz.py: what LASTZ and tidalign are both asked."""

import random
from dataclasses import dataclass, field
from pathlib import Path

FIELDS = "score,name1,zstart1,end1,name2,strand2,zstart2,end2,zstart2+,end2+,cigarx,nmatch,nmismatch,identity,coverage,continuity"
FORMATS = ["maf", "maf", "maf-", "axt", "paf", "paf:wfmash", "sam-", "softsam-", "cigar", "general", f"general-:{FIELDS}", "mapping", "rdotplot", "lav"]


@dataclass(frozen=True)
class Case:
    """One comparison. options: the command line's, of both programs.

    mode: `exact`; `independent`, LASTZ with --limitperquery; `apart`, tidalign's independent mode, where LASTZ has one anchor for each query; `pieces`, exact
    mode with a query whose pieces LASTZ takes as one. Of all but the first the lines are compared in any order.
    beside: whether the points of --rdotplot=FILE are compared, too.
    """

    name: str
    target: str
    query: str
    options: list[str] = field(default_factory=list)
    format: str = "maf"
    mode: str = "exact"
    beside: bool = False


def random_case(seed: int, folder: Path) -> Case:
    """Case number `seed`, its files written into `folder`."""
    rng = random.Random(seed)
    targets, queries = _pieces(random.Random(f"pieces {seed}"), _sides(rng))
    target, query = str(folder / "target.fa"), str(folder / "query.fa")
    single = len(targets) == 1
    options, nogapped = _options(rng, folder, [len(text) for text in targets], [len(text) for text in queries])
    _write(folder / "target.fa", "target", targets)
    _write(folder / "query.fa", "query", queries)
    actions = ["unmask"] * (rng.random() < 0.1) + ["nameparse=darkspace"] * (rng.random() < 0.1)
    if rng.random() < 0.06:
        actions.append("separator=N")
    if not single or rng.random() < 0.2:
        actions.insert(0, rng.choice(["multiple", "multi"]))
    elif rng.random() < 0.15 and len(targets[0]) > 100:
        actions.append(f"{rng.randint(1, 40)}..{len(targets[0]) - rng.randint(0, 40)}")
    of_query = ["unmask"] * (rng.random() < 0.1)
    if rng.random() < 0.25:
        of_query.append(rng.choice(["multiple", "multi"]))
        options = [option for option in options if option != "--filter=nmatch:20%"]  # LASTZ asks for a share of all of them
    subrange = len(queries) == 1 and len(queries[0]) > 100 and rng.random() < 0.15
    if subrange:
        of_query.append(f"{rng.randint(1, 40)}..{len(queries[0]) - rng.randint(0, 40)}")
    elif rng.random() < 0.05:
        (folder / "names").write_text(f"query{1 + next((i for i, text in enumerate(queries) if text), 0)}\n")
        of_query.append(f"subset={folder}/names")
    format = rng.choice([*FORMATS, "segments"] if nogapped else FORMATS)
    if format.startswith("softsam") and subrange:
        format = "maf"
    mode = "independent" if rng.random() < 0.2 and not nogapped and not _sequential(options) else "exact"
    if mode == "exact" and not nogapped and rng.random() < 0.06 and not _sequential(options) and "--nogfextend" not in options:
        mode = "pieces"
        options = [option for option in options if option != "--filter=nmatch:20%"]  # LASTZ asks for a share of all pieces
        of_query = [action for action in of_query if not action.startswith("multi")]
        of_query.append("separator=N")
    if mode in ("independent", "pieces"):
        format = f"general-:{FIELDS}"
    if mode == "independent":
        filters = ("--filter=", "--identity=", "--coverage=", "--continuity=", "--matchcount=")
        options = [option for option in options if not option.startswith(filters)]  # they may pass the first of equal ends and not the best
    if any(action.startswith("multi") for action in of_query):  # LASTZ reads segments of both strands in one go
        segments = folder / "segments"
        if segments.exists():
            segments.write_text("".join(sorted(segments.read_text().splitlines(keepends=True), key=lambda line: line.split("\t")[6][0] == "-")))
    if format == "lav" and any(action.startswith(("multi", "separator")) for action in (*actions, *of_query)):
        format = "axt"  # LASTZ refuses it
    return Case(f"random {seed}", target + _bracketed(actions), query + _bracketed(of_query), options, format, mode)


def _sequential(options: list[str]) -> bool:
    """Tell whether LASTZ would not extend each anchor on its own with these."""
    return any(option.startswith(("--segments", "--chain", "--queryhsp", "--allocate", "--inner")) for option in options)


def _bracketed(actions: list[str]) -> str:
    return "".join(f"[{action}]" for action in actions)


def _write(path: Path, name: str, texts: list[str]) -> None:
    with path.open("w") as file:
        for i, text in enumerate(texts, 1):
            file.write(f">{name}{i}{' of a random case' * (i % 2)}\n")
            file.writelines(f"{text[start : start + 60]}\n" for start in range(0, len(text), 60))


def _sides(rng: random.Random) -> tuple[list[str], list[str]]:
    """Related sequences with repeats, inversions, shuffled blocks, lower case, N and X."""
    base = _random(rng, rng.choice([120, 400, 800, 1500, 3000]))
    for _ in range(rng.randrange(4)):
        length, start, place = rng.randrange(30, 200), rng.randrange(len(base)), rng.randrange(len(base))
        base = base[:place] + _mutated(rng, base[start : start + length], 0.1, 0.01) + base[place:]
    if rng.random() < 0.3:
        base = base[: len(base) // 2] + rng.choice(["CA", "A", "GATA"]) * rng.randrange(10, 60) + base[len(base) // 2 :]
    sides = []
    for _ in range(2):
        text = _mutated(rng, base, rng.choice([0.0, 0.02, 0.1, 0.2, 0.3]), rng.choice([0, 0.01, 0.03]))
        if rng.random() < 0.4:
            blocks = [text[i : i + len(text) // 3 + 1] for i in range(0, len(text), len(text) // 3 + 1)]
            rng.shuffle(blocks)
            blocks[0] = _reversed(blocks[0])
            text = "".join(blocks)
        if rng.random() < 0.25:
            text = _reversed(text)
        text = _soiled(rng, text)
        count = rng.choice([1, 1, 1, 2, 3])
        cuts = sorted(rng.sample(range(1, len(text)), count - 1)) if count > 1 else []
        sides.append([text[start:stop] for start, stop in zip([0, *cuts], [*cuts, len(text)], strict=True)])
    return sides[0], sides[1]


def _pieces(rng: random.Random, sides: tuple[list[str], list[str]]) -> tuple[list[str], list[str]]:
    """Cut a side, in one case of three, into many sequences, or put tiny or empty ones between."""
    if rng.random() > 0.33:
        return sides
    made = []
    for texts in sides:
        way = rng.randrange(4)
        if way == 1:
            size = rng.choice([15, 40, 90])
            texts = [text[i : i + size] for text in texts for i in range(0, len(text), size)]
        if way >= 2:
            texts = list(texts)
            for _ in range(rng.randint(1, 4)):
                texts.insert(rng.randint(0, len(texts)), "" if way == 2 else _random(rng, rng.randint(1, 20)))
        made.append(texts)
    return made[0], made[1]


def _random(rng: random.Random, length: int) -> str:
    return "".join(rng.choices("ACGT", k=length))


def _mutated(rng: random.Random, text: str, substitutions: float, gaps: float) -> str:
    letters = []
    for letter in text:
        chance = rng.random()
        if chance < gaps / 2:
            continue
        if chance < gaps:
            letters.append(_random(rng, rng.choice([1, 1, 1, 2, 3, 8])))
        letters.append(rng.choice("ACGT") if rng.random() < substitutions else letter)
    return "".join(letters) or "A"


def _reversed(text: str) -> str:
    return text[::-1].translate(str.maketrans("ACGTacgt", "TGCAtgca"))


def _soiled(rng: random.Random, text: str) -> str:
    for _ in range(rng.choice([0, 0, 1, 3])):
        start = rng.randrange(len(text))
        text = text[:start] + text[start : start + 150].lower() + text[start + 150 :]
    for _ in range(rng.choice([0, 0, 0, 1, 2])):
        start = rng.randrange(len(text))
        run = rng.choice("NNNXnx") * rng.choice([1, 5, 40])
        text = text[:start] + run + text[start + rng.choice([0, len(run)]) :]
    return text


def _options(rng: random.Random, folder: Path, targets: list[int], queries: list[int]) -> tuple[list[str], bool]:
    """Draw options, and whether gapped extension is left out."""

    def maybe(chance: float, *choices: str) -> list[str]:
        return [rng.choice(choices)] if rng.random() < chance else []

    options = []
    nogapped = rng.random() < 0.1
    segments = not nogapped and rng.random() < 0.08
    if segments:
        (folder / "segments").write_text("".join(_segment(rng, targets, queries)))
        options.append(f"--segments={folder}/segments")
    else:
        seeds = ["--seed=12of19", "--seed=14of22", "--seed=match9", "--seed=match12", "--seed=half14", "--seed=111T0T10011T011", "--seed=11011001110101"]
        options += maybe(0.5, *seeds)
        options += maybe(0.5, "--notransition", "--transition", "--transition=2", "--transition=0")
        options += maybe(0.4, "--step=2", "--step=7", "--step=20")
        options += maybe(0.12, "--maxwordcount=1", "--maxwordcount=3", "--maxwordcount=90%", "--maxwordcount=50%")
        options += maybe(0.1, "--filter=2,9", "--filter=8", "--filter=0,7", "--filter=1,9", "--filter=15")
    options += maybe(0.3, "--strand=plus", "--strand=minus", "--strand=both")
    nogfextend = not segments and rng.random() < 0.35
    if nogfextend:
        both = ["--nogfextend", *maybe(0.3, "--xdrop=300", "--xdrop=50", "--xdrop=300", "--hspthresh=1800", "--entropy", "--noentropy")]
        rng.shuffle(both)  # --xdrop after it takes it back; LASTZ refuses the others, but for --noentropy, in either order
        options += both
        options += maybe(0.08, "--queryhspbest=1", "--queryhspbest=3")
    elif not segments:
        options += maybe(0.4, "--hspthresh=1000", "--hspthresh=1800", "--hspthresh=2500")
        options += maybe(0.2, "--xdrop=300", "--xdrop=50", "--xdrop=2000")
        options += maybe(0.25, "--noentropy", "--entropy")
        options += maybe(0.08, "--queryhspbest=1", "--queryhspbest=3", "--queryhsplimit=2", "--queryhsplimit=keep,nowarn:3", "--queryhsplimit=nowarn:5")
    if not segments:
        options += maybe(0.1, "--chain")
    options += maybe(0.2, *_scores(rng, folder))
    options += maybe(0.15, "--ambiguous=n", "--ambiguous=n,100,100", "--ambiguous=iupac", "--ambiguous=iupac,50,80")
    if nogapped:
        options.append(rng.choice(["--nogapped", "--ungapped"]))
        if nogfextend:  # LASTZ refuses scores that nothing uses
            options = [option for option in options if not option.startswith("--scores")]
    else:
        options += maybe(0.4, "--gappedthresh=1500", "--gappedthresh=2000", "--gappedthresh=4000", "--gappedthresh=500")
        options += maybe(0.3, "--ydrop=910", "--ydrop=3000", "--ydrop=9430", "--ydrop=300")
        options += maybe(0.15, "--noytrim")
        options += maybe(0.1, "--allocate:traceback=102400", "--allocate:traceback=200K", "--allocate:traceback=1M")
        options += maybe(0.25, "--inner=600", "--inner=1000", "--inner=1500", "--inner=2k", "--inner=4000", "--inner=0")
    filters = ["identity:80", "identity:60..90", "coverage:5..60", "continuity:95", "nmatch:60", "nmatch:20%", "nmismatch:0..20", "ngap:0..3", "cgap:0..5"]
    options += maybe(0.15, *(f"--filter={one}" for one in filters), "--identity=75..95", "--coverage=20", "--continuity=90..99.5", "--matchcount=100")
    options += maybe(0.1, "--notrivial")
    options += maybe(0.2, "--markend")
    options += maybe(0.1, "--verbosity=0", "--runtime", "--allocate:target=10M", "--notruncationreport")
    return options, nogapped


def _scores(rng: random.Random, folder: Path) -> list[str]:
    letters = rng.choice(["ACGT", "ACGT", "ACGTN"]), rng.choice(["ACGT", "ACGT", "ACGTN"])
    rows = [[rng.randint(50, 120) if i == j < 4 else -rng.randint(20, 160) for j in range(len(letters[1]))] for i in range(len(letters[0]))]
    if letters == ("ACGTN", "ACGTN"):
        rows[4][4] = rng.randint(-20, 60)
    text = f"# random\nbad_score = {-rng.choice([500, 1000])}\nfill_score = {-rng.choice([50, 100])}\n"
    text += rng.choice(
        [
            "",
            "gap_open_penalty = 300\ngap_extend_penalty = 20\n",
            "gap_open_penalty = 300.4\ngap_extend_penalty = 20.5\n",
            "hsp_threshold = 2000\ngapped_threshold = 2200\n",
            "hsp_threshold = 2e3\ngapped_threshold = 2200.6\n",
            "X = 400\nK = 2500\n",
            "O = 350\nE = 40\nY = 3000\n",
        ]
    )
    text += f"     {'    '.join(letters[1])}\n"
    parts = rng.choice([("",), ("",), ("", ".0", ".2", ".5", ".9", "e0")])
    text += "".join(f"{letter} {' '.join(f'{score:4}{rng.choice(parts)}' for score in row)}\n" for letter, row in zip(letters[0], rows, strict=True))
    (folder / "scores").write_text(text)
    return [
        f"--scores={folder}/scores",
        "--match=1,5",
        "--match=10,12",
        "--match=91",
        "--gap=600,50",
        "--gap=200,20",
        "--gap=400,30",
        "--gap=400.4,30.5",
        "--match=10.4,12.5",
    ]


def _segment(rng: random.Random, targets: list[int], queries: list[int]) -> list[str]:
    """Draw lines of a segment file, in the order of the queries, + before -."""
    lines = []
    for q, query in enumerate(queries, 1):
        for strand in "+-":
            for _ in range(rng.randrange(6)):
                t = rng.randrange(len(targets))
                length = rng.choice([1, 1, 19, 40])
                if min(query, targets[t]) <= length:
                    continue
                start, place = rng.randint(1, targets[t] - length), rng.randint(1, query - length)
                score = rng.choice(["", "\t100", "\t3000"])
                lines.append(f"target{t + 1}\t{start}\t{start + length - 1}\tquery{q}\t{place}\t{place + length - 1}\t{strand}{score}\n")
    return lines
