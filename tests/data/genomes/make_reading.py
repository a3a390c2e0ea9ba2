"""Make reading.json, options.json, letters.json, separated.json and small.json: what LASTZ 1.04.22 reads of small files, the scores that it derives from its
options, what each letter scores with each, what it aligns of a query with a separator, and what it prints of small cases. By hand, where `lastz` is:

python tests/data/genomes/make_reading.py
"""

import itertools
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))
from twobit_file import write as write_twobit

HERE = Path(__file__).parent

Case = dict[str, Any]


def bases(seed: int, count: int) -> str:
    return "".join(random.Random(seed).choices("ACGT", k=count))


def lastz(folder: str, *arguments: str) -> tuple[int, str]:
    done = subprocess.run(["lastz", *arguments], capture_output=True, text=True, cwd=folder)
    return done.returncode, done.stdout


def write(folder: str, files: dict[str, str]) -> None:
    for name, content in files.items():
        if name.endswith(".2bit"):
            records = [tuple(record) for record in json.loads(content)]
            write_twobit(Path(folder, name), records)
        else:
            Path(folder, name).write_bytes(content.encode())


def reading(files: dict[str, str], actions: str) -> Case:
    """Read one file as the target by LASTZ: name, size of the full sequence, first place, letters of each sequence; None where LASTZ refuses it.

    A query that is equal to a sequence as it was read gives the trivial alignment, which spells all of it.
    """
    name = next(iter(files))
    with tempfile.TemporaryDirectory() as folder:
        write(folder, files)
        fields = "--format=general-:name1,size1,zstart1,text1,zstart2,size2,size1,strand2"
        query = f"{name}{actions}".replace("[multiple]", "").replace("[multi]", "").replace("multi,", "")
        status, out = lastz(folder, f"{name}{actions}", query, "--ambiguous=iupac", "--strand=plus", fields)
    rows = [line.split("\t") for line in out.splitlines()]
    sequences = [[row[0], int(row[1]), int(row[2]), row[3]] for row in rows if "-" not in row[3] and row[2] == row[4]]
    return {"files": files, "actions": actions, "sequences": None if status else sequences}


def reading_cases() -> list[Case]:
    a, b, c = bases(1, 90), bases(2, 70), bases(3, 50)
    plain = f">a one\n{a[:60]}\n{a[60:]}\n>b\n{b}\n>c\n{c}\n"
    masked = f">a\n{a[:30].lower()}NNN{a[30:60]}nn{a[60:]}X{b}\n"
    layouts = {
        "plain": plain,
        "crlf": plain.replace("\n", "\r\n"),
        "no end": plain.rstrip("\n"),
        "blanks": f">a\n  {a[:20]} {a[20:50]}\t{a[50:]}  \n\n>b\n\n{b}\n\n",
        "empty": f">a\n{a}\n>none\n>b\n{b}\n>last\n",
        "masked": masked,
        "iupac": f">a\n{a}R{b}y{c}\n",
    }
    headers = ["a|b x", "a:1-2 x", "dir/a.fa", "a.fasta x", "a.2bit|y", " a x", "a\tx", "a,b;c", "a.fa.gz", "a>b", "a_1-b"]
    cases = [reading({"f.fa": text}, "[multiple]") for text in layouts.values()]
    cases += [
        reading({"f.fa": layouts["masked"]}, actions) for actions in ("", "[unmask]", "[separator=N]", "[separator=n]", "[separator=X]", "[unmask,separator=N]")
    ]
    cases += [reading({"f.fa": plain}, f"[multi]{actions}") for actions in ("[5..40]", "[5..]", "[..40]", "[5#20]", "[40..80]", "[60..]", "[0..9]")]
    cases += [reading({"f.fa": f">a\n{a}\n"}, actions) for actions in ("[5..40]", "[multi,5..]", "[1..91]", "[91..]", "[foo]", "[5..40", "[MULTI]")]
    cases += [reading({"f.fa": plain, "names": names}, "[multi][subset=names]") for names in ("b\n", "# some\na more words\n\nc\n", "z\n", "a b\n")]
    for header, rule in itertools.product(headers, ("", "[nameparse=darkspace]", "[nameparse=alphanum]", "[nameparse=full]")):
        if "full" in rule and "\t" in header:
            continue  # its name breaks LASTZ's tables, and is refused
        cases.append(reading({"f.fa": f">{header}\n{a}\n"}, rule))
    twobit = json.dumps([["chr1", masked.split("\n")[1].replace("X", "A")], ["b|c", b], ["last", c]])
    cases += [
        reading({"f.2bit": twobit}, actions) for actions in ("[multi]", "[multi,unmask]", "[multi,separator=N]", "[multi,5..40]", "[multi,nameparse=full]")
    ]
    cases += [reading({"f.2bit": twobit, "names": "last\n"}, "[multi,subset=names]")]
    cases += [reading({"f.2bit": twobit}, actions) for actions in ("[multi,nameparse=full]", "/b|c", "/chr1[5,40][multiple]", "/nothing")]
    rules = ("", "[nameparse=darkspace]", "[nameparse=alphanum]")
    cases += [reading({"f.fa": f">{header}\n{a}\n"}, rule) for header in ("", " \t", "|b x") for rule in rules]
    return cases


POOL = [
    *("--match=1", "--match=2,3", "--match=1,5", "--gap=600,50", "--gap=7", "O=500", "E=20", "--ydrop=777", "--xdrop=50", "K=2000", "L=2500"),
    *("--hspthresh=2200", "--gappedthresh=-100", "--nogfextend", "--nogapped", "--hspthresh=1.5k", "Y=9.4k", "Q=s.txt", "--noytrim", "--noentropy"),
    *("--chain", "--chain=0,0", "--queryhspbest=3", "--queryhsplimit=4", "--queryhsplimit=keep,nowarn:4", "--step=3", "T=2", "--seed=match12", "P=0"),
    *("--notransition", "--transition=2", "--seed=14of22", "--strand=minus", "C=2", "m=100M", "--ambiguous=iupac,100,100", "--identity=90..95"),
]

MATRIX = "     A    C    G    T\n    91 -114  -31 -123\n  -113  100 -125  -31\n   -31 -125  100 -114\n  -123  -31 -114   92\n"
FILES = [
    f"# one\nbad_score = X:-5000 # X\nfill_score=-7\n{MATRIX}",
    *(f"{line}\n{MATRIX}" for line in ("gap_open_penalty = 55", "extend=7", "O=55\nE=7", "K = 2222", "L=2223", "X=444", "Y=5555", "O=5.5", "hsp_threshold=1k")),
    *(f"{line}\n{MATRIX}" for line in ("T=4", "seed = 14of22,notransition", "seed=12of19,transition", "Z=3", "foo = 1", "T=5", "seed=14of22", "X=0", "O=five")),
    "  T G C A\nG 1 2 3 4\nA 5 6 7 8\nC 9 10 11 12\nT 13 14 15 16\n",
    "A C G T\n1 2 3 4\n5 6 7 8\n9 10 11 12\n",
    "A C G T\n1 2 3 4\n5 6 7\n9 10 11 12\n1 2 3 4\n",
    "A C G T\nA 1 2 3 4\nA 5 6 7 8\nC 9 10 11 12\nT 1 2 3 4\n",
    f"{MATRIX}1 2 3 4\n",
    f"{MATRIX}O=55\n",
    "O=55\n",
    "A C G T N\nA 1 2 3 4 5\nC 5 6 7 8 9\nG 9 10 11 12 13\nT 13 14 15 16 17\nN -1 -2 -3 -4 -5\n",
    "A C G T N\n1 2 3 4 5\n5 6 7 8 9\n9 10 11 12 13\n13 14 15 16 17\n-1 -2 -3 -4 -5\n",
    "A C G T N\n1 2 3 4 5\n5 6 7 8 9\n9 10 11 12 13\n13 14 15 16 17\n",
    "N A C G T\nN 9 1 2 3 4\nA -5 91 -4 -1 -3\nC -6 -4 90 -5 -1\nG -7 -1 -5 90 -4\nT -8 -3 -1 -4 91\n",
    "A C G T N\nA 1 2 3 4 5\nC 5 6 7 8 9\nG 9 10 11 12 13\nT 13 14 15 16 17\n",
    "A C G T\nA 1 2 3 4\nC 5 6 7 8\nG 9 10 11 12\nT 13 14 15 16\nN -1 -2 -3 -4\n",
    "A C G T\nA 1 2 3 4\nC 5 6 7 8\nG 9 10 11 12\nT 13 14 15 16\nN -1 -2 -3 -4\nN -1 -2 -3 -4\n",
    "A C G T\n1 2 3 4\n5 6 7 8\n9 10 11 12\n13 14 15 16\n-1 -2 -3 -4\n",
    "41 43 47 54\n41 1 2 3 4\n43 5 6 7 8\n47 9 10 11 12\n54 13 14 15 16\n",
    *(f"A C G T {other}\nA 1 2 3 4 5\nC 5 6 7 8 9\nG 9 10 11 12 13\nT 13 14 15 16 17\n{other} -1 -2 -3 -4 -5\n" for other in ("4E", "X", "R", "n", "a", "*")),
    "A C G T N N\nA 1 2 3 4 5 5\nC 5 6 7 8 9 9\nG 9 10 11 12 13 13\nT 13 14 15 16 17 17\n",
    "A C G T\nA 1 2 3 4\nC 5 6 7 8\nG 9 10 11 12\nT 13 14 15 16\nR -1 -2 -3 -4\n",
    "A C G T\n1 2 3 4\nC 5 6 7 8\nG 9 10 11 12\nT 13 14 15 16\n",
    "A C G\nA 1 2 3\nC 5 6 7\nG 9 10 11\n",
]


def option(arguments: list[str], scores: str) -> Case:
    """Ask LASTZ for K, L, X, Y, O, E, the matrix, seed, transitions and step that it shows for some arguments; None where it refuses them."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "t.fa").write_text(f">t\n{bases(1, 100)}\n")
        Path(folder, "s.txt").write_text(scores)
        status, out = lastz(folder, "t.fa", "t.fa", "--format=maf", *arguments)
        shown = lastz(folder, "t.fa", "t.fa", "--show=defaults", "--format=general-", *arguments)[1]
    if status:
        return {"arguments": arguments, "scores": scores, "values": None}
    lines = out.splitlines()
    numbers = [int(line.rpartition("=")[2]) for line in lines if line.startswith("# ") and "= " in line]
    letters, *rows = [line[1:].split() for line in lines if line.startswith("#    ") or line.startswith("#   ") and line[4] in "ACGTN"]
    cells = {(row[0], letter): int(score) for row in rows for letter, score in zip(letters, row[1:], strict=True)}
    words = {word.partition("=")[0]: word.partition("=")[2] for word in shown.split() if word.startswith("--")}
    values = dict(zip(("hspthresh", "gappedthresh", "xdrop", "ydrop", "gap_open", "gap_extend"), numbers, strict=True))
    transitions = 0 if "--notransition" in words else int(words.get("--transition") or 1)
    seed = {"seed": words["--seed"], "transitions": transitions, "step": int(words["--step"])}
    rows = [t for t in "ACGTN" if (t, "A") in cells]
    matrix = [[cells[t, q] for q in "ACGTN" if ("A", q) in cells] for t in rows]
    return {"arguments": arguments, "scores": scores, "values": values | seed | {"matrix": matrix}}


def option_cases() -> list[Case]:
    choose = random.Random(5)
    drawn = [choose.sample(POOL, count) for count in (2, 3, 4) for _ in range(40)]
    # LASTZ refuses to hear of seeds twice; here the last counts.
    chosen = [[argument] for argument in POOL] + [some for some in drawn if not ("T=2" in some and any(word.startswith("--seed") for word in some))]
    cases = [option(arguments, MATRIX.replace("100", "110")) for arguments in chosen]
    cases += [option([f"--match={choose.randint(1, 99)},{penalty}"], "") for penalty in (*range(1, 12), 16, 49, 80, 121, 160)]
    cases += [option(["--scores=s.txt"], scores) for scores in FILES]
    # --xdrop after --nogfextend takes it back.
    both = [["--nogfextend", "--xdrop=50"], ["--nogfextend", "X=50", "K=2000"], ["L=2500", "--nogfextend", "--xdrop=50"], ["--nogfextend", "--noentropy"]]
    both += [["--nogfextend", "--xdrop=50", "--match=1,5"], ["--nogfextend", "K=2000"], ["--nogfextend", "P=1"], ["--nogfextend", "Q=s.txt"]]
    cases += [option(arguments, f"X=444\nK=2222\n{MATRIX}") for some in both for arguments in (some, some[::-1])]
    over = "O=55\nE=7\nY=99\nK=88\nL=77\nX=66\nT=4\nZ=9\n" + MATRIX
    cases += [option(["--scores=s.txt", *extra], over) for extra in (["--gap=1,2"], ["--ydrop=3"], ["K=4"], ["--seed=12of19"], ["--transition", "--step=2"])]
    return cases


def letter_case(letters: str, arguments: list[str], scores: str) -> Case:
    """Measure the scores of every target letter (rows) with every query letter, `plain` in gapped extension and `masked` in gap-free extension."""
    choose, flank = random.Random(7), 60
    pairs = [(t, q, bases(choose.randrange(1 << 30), 2 * flank)) for t in letters for q in letters]
    expensive = ["--gap=100000,1000", "--ydrop=200000", "--gappedthresh=0", "--xdrop=5000", "--hspthresh=2000"]  # no gaps, and no end before the sequences'
    tables = {}
    with tempfile.TemporaryDirectory() as folder:
        for side, name in enumerate("tq"):
            before = "A" * (1 - side)  # else those of equal letters are equal, and LASTZ aligns them in capitals
            texts = [f">{i}\n{before}{around[:flank]}{pair[side]}{around[flank:]}\n" for i, (*pair, around) in enumerate(pairs)]
            Path(folder, f"{name}.fa").write_text("".join(texts))
        Path(folder, "s.txt").write_text(scores)
        for table, ways in (("plain", expensive), ("masked", ["--nogapped", "--noentropy", "--xdrop=200000", "--hspthresh=2000"])):
            fields = "--format=general-:name1,name2,zstart1,end1,score"
            status, out = lastz(folder, "t.fa[multi]", "q.fa", "--strand=plus", "--notransition", *arguments, *ways, fields)
            whole = {row[0]: int(row[4]) for row in map(str.split, out.splitlines()) if row[0] == row[1] and row[2:4] == ["1", str(2 * flank + 2)]}
            assert not status
            found = [whole[str(i)] - sum(91 if letter in "AT" else 100 for letter in pair[2]) for i, pair in enumerate(pairs)]
            tables[table] = [found[i : i + len(letters)] for i in range(0, len(found), len(letters))]
    return {"letters": letters, "arguments": arguments, "scores": scores, **tables}


def letter_cases() -> list[Case]:
    four = "A 91 -114 -31 -123{}\nC -114 100 -125 -31{}\nG -31 -125 100 -114{}\nT -123 -31 -114 91{}\n"
    head, five, row = "bad_score=-700\nfill_score=-77\nA C G T{}\n", four.format(" -5", " -6", " -7", " -8"), "N -1 -2 -3 -4{}\n"
    four = four.format("", "", "", "")
    files = [head.format("") + four, head.format(" N") + five + row.format(" 9"), head.format(" N") + five, head.format("") + four + row.format("")]
    every, usual = "ACGTacgtNnXxRrY", "ACGTacgtNnXx"
    cases = [letter_case(every, [f"--ambiguous=iupac{more}"], "") for more in ("", ",50,60")]
    cases += [letter_case(usual, more, "") for more in ([], ["--ambiguous=n"], ["--ambiguous=n,50,60"])]
    cases += [letter_case(usual, ["--scores=s.txt", *more], text) for text in files for more in ([], ["--ambiguous=n,50,60"])]
    return cases + [letter_case(every, ["--scores=s.txt", "--ambiguous=iupac,50,60"], text) for text in files]


def separated_case(seed: int, query: str, options: list[str]) -> Case:
    """Align by LASTZ a target with two relatives of it that have N and inversions in them. query: its actions."""
    choose = random.Random(seed)
    target, complement = bases(seed, 1600), str.maketrans("ACGT", "TGCA")
    relatives = []
    for _ in range(2):
        text = "".join(choose.choice("ACGT") if choose.random() < 0.08 else "" if choose.random() < 0.01 else letter for letter in target)
        start = choose.randrange(600)
        text = text[:start] + text[start : start + 700][::-1].translate(complement) + text[start + 700 :]
        for _ in range(6):
            place = choose.randrange(len(text))
            text = text[:place] + "N" * choose.choice([1, 1, 4, 30]) + text[place:]
        relatives.append(text)
    files = {"t.fa": f">t\n{target}\n", "q.fa": "".join(f">q{i}\n{text}\n" for i, text in enumerate(relatives, 1))}
    with tempfile.TemporaryDirectory() as folder:
        write(folder, files)
        status, out = lastz(folder, "t.fa", f"q.fa{query}", *options, f"--format={SEPARATED}")
    assert not status
    return {"files": files, "query": f"q.fa{query}", "options": options, "format": SEPARATED, "lines": out.splitlines()}


SEPARATED = "general-:score,zstart1,end1,name2,strand2,size2,zstart2,end2,cigarx,coverage,text2"


def separated_cases() -> list[Case]:
    every = ["[separator=N]", "[multi,separator=N]", "[separator=N][30..1500]"]
    options: list[list[str]] = [[], ["--hspthresh=2000", "--noytrim"], ["--nogfextend"], ["--nogapped", "--strand=minus"]]
    return [separated_case(10 * i + j, query, some) for i, query in enumerate(every) for j, some in enumerate(options)]


def small_case(files: dict[str, str], target: str, query: str, options: list[str], format: str) -> Case:
    """Run LASTZ on small files, and give what it prints without its own comments."""
    with tempfile.TemporaryDirectory() as folder:
        write(folder, files)
        status, out = lastz(folder, target, *filter(None, [query]), *options, f"--format={format}")
    assert not status
    lines = [line for line in out.splitlines() if not line.startswith("#")]
    return {"files": files, "target": target, "query": query, "options": options, "format": format, "lines": lines}


def small_cases() -> list[Case]:
    """Empty sequences, which count in places and numbers; sequences that are not asked for, which count in numbers; a small x beside a score file."""
    core, more = bases(1, 30), bases(2, 200)
    queries = f">none\n>q\n{core}\n>also none\n\n>r\n{more}\n"
    targets = [f">e\n>t\n{core}\n", f">t\n{core}\n>e\n", f">a\n>t\n{core}\n>b\n>c\n\n>u\n{more}{core}\n>z\n"]
    numbers = "general-:name1,number1,size1,zstart1,end1,name2,number2,zstart2,end2,score"
    cases = []
    for text in targets:
        files = {"t.fa": text, "q.fa": queries, "names": "r\n", "others": "a\nt\nu\n" if "u" in text else "t\n"}
        seeded = ["--hspthresh=1000", "--nogapped", "--strand=plus"]
        cases += [small_case(files, "t.fa[multiple]", "q.fa", [f"--step={step}", *seeded], numbers) for step in (1, 7, 11, 13, 20)]
        cases += [small_case(files, "t.fa[multiple]", "q.fa", ["--hspthresh=1000"], format) for format in ("sam", "maf", "axt", numbers)]
        cases += [small_case(files, "t.fa[multi,subset=others]", "q.fa[subset=names]", ["--hspthresh=1000"], format) for format in ("sam", numbers)]
    choose, letters = random.Random(4), bases(3, 1500)
    with_n = "A C G T N\nA 91 -114 -31 -123 -5\nC -114 100 -125 -31 -6\nG -31 -125 100 -114 -7\nT -123 -31 -114 91 -8\n"
    for matrix in (MATRIX, with_n):
        other = "".join(choose.choice("ACGTx") if choose.random() < 0.08 else letter.lower() if choose.random() < 0.01 else letter for letter in letters)
        files = {"t.fa": f">t\n{letters[:700]}{'x' * 9}{letters[700:]}\n", "q.fa": f">q\n{other}\n", "s.txt": f"bad_score=-700\nfill_score=-77\n{matrix}"}
        for extra in ([], ["--nogapped"], ["--ambiguous=n,50,60"], ["--nogfextend"]):
            cases.append(small_case(files, "t.fa", "q.fa", ["--scores=s.txt", *extra], numbers))
    return cases


def main() -> None:
    version = subprocess.run(["lastz", "--version"], capture_output=True, text=True).stdout.split()[2]
    for name, cases in (
        ("reading", reading_cases()),
        ("options", option_cases()),
        ("letters", letter_cases()),
        ("separated", separated_cases()),
        ("small", small_cases()),
    ):
        text = ",\n".join(json.dumps(case) for case in cases)
        (HERE / f"{name}.json").write_text(f'{{"lastz": "{version}", "cases": [\n{text}\n]}}\n')


if __name__ == "__main__":
    main()
