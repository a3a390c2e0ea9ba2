"""PSL and PAF with tags against the MAF of the same rows, column by column, by the words of UCSC's and minimap2's descriptions."""

import re
from dataclasses import replace
from itertools import groupby
from typing import Any

import genome_golden as golden
import pytest
from genome_written import written

from tidalign.pipeline.genome.input.sequences import Genome

RUNS = ["fly", "mt_chimp", "fly_letters", "hla", "enm002"]


def alignments(run: str) -> list[tuple[str, str, list[Any], list[Any]]]:
    """Give the gapped texts of target and query of each alignment, and the words of both lines, of LASTZ's MAF as we write it."""
    lines = [line.split() for line in written(run, "maf").splitlines() if line.startswith("s ")]
    return [(target[6], query[6], target, query) for target, query in zip(lines[::2], lines[1::2], strict=True)]


known = golden.side


def spoiled(side: Genome) -> Genome:
    """Put N in the place of every ninth letter of a side: of what its rows say of letters nothing is left but the letters themselves."""
    letters = side.letters.copy()
    letters[::9][letters[::9] != 0] = ord("N")
    return replace(side, letters=letters)


def columns(target: str, query: str) -> list[str]:
    """Say of each column what PSL counts it as."""
    kinds = []
    for t, q in zip(target, query, strict=True):
        if "-" in (t, q):
            kinds.append("I" if t == "-" else "D")
        elif "N" in (t.upper(), q.upper()):
            kinds.append("n")
        elif t.upper() != q.upper() or t.upper() not in "ACGT":
            kinds.append("x")
        else:
            kinds.append("=" if t.isupper() and q.isupper() else "r")
    return kinds


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("unknown", [False, True])
def test_psl_counts_the_columns_of_maf(run: str, unknown: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if unknown:
        monkeypatch.setattr(golden, "side", lambda *names: spoiled(known(*names)))
    lines = [line.split("\t") for line in written(run, "psl").splitlines()]
    rows = golden.rows(run).to_pylist()
    assert len(lines) == len(alignments(run)) == len(rows) > 0
    assert any(int(line[3]) for line in lines) == unknown
    for line, (target, query, t_words, q_words), row in zip(lines, alignments(run), rows, strict=True):
        kinds = columns(target, query)
        runs = [(kind, len(list(group))) for kind, group in groupby(kinds, key=lambda kind: kind if kind in "ID" else "M")]
        assert len(line) == 21
        assert [int(word) for word in line[:4]] == [kinds.count(kind) for kind in "=xrn"]
        gaps = [[length for kind, length in runs if kind == letter] for letter in "ID"]
        assert [int(word) for word in line[4:8]] == [len(gaps[0]), sum(gaps[0]), len(gaps[1]), sum(gaps[1])]
        assert line[8:13] == [row["strand"], row["query_name"], str(row["query_length"]), str(row["query_start"]), str(row["query_end"])]
        assert line[13:17] == [row["target_name"], str(row["target_length"]), str(row["target_start"]), str(row["target_end"])]
        q, t = int(q_words[2]), int(t_words[2])  # of MAF: on the strand that is aligned
        blocks = []
        for kind, length in runs:
            if kind == "M":
                blocks.append((length, q, t))
            q, t = q + length * (kind != "D"), t + length * (kind != "I")
        assert int(line[17]) == len(blocks) and all(length for length, _, _ in blocks)
        assert line[18:] == ["".join(f"{block[place]}," for block in blocks) for place in range(3)]
        assert sum(map(int, line[:4])) == sum(length for length, _, _ in blocks)


def test_psl_of_both_strands_and_of_masked_letters() -> None:
    """What the cases above would not show if they were all alike."""
    lines = [line.split("\t") for run in RUNS for line in written(run, "psl").splitlines()]
    assert {line[8] for line in lines} == {"+", "-"}
    assert any(int(line[2]) for line in lines) and any(int(line[17]) > 3 for line in lines)


@pytest.mark.parametrize("run", RUNS)
def test_paf_with_tags(run: str) -> None:
    plain, tagged = ([line.split("\t") for line in written(run, format).splitlines()] for format in ("paf:wfmash", "paf:tagged"))
    for line, known, (target, query, _, _) in zip(tagged, plain, alignments(run), strict=True):
        kinds = columns(target, query)
        tags = {tag[:2]: tag[5:] for tag in line[12:]}
        assert line[:12] == known[:12] and [tag[:5] for tag in line[12:]] == ["NM:i:", "AS:i:", "tp:A:", "de:f:", "cg:Z:"]
        assert tags["cg"] == next(tag[5:] for tag in known if tag.startswith("cg:Z:")) and set(re.sub(r"\d", "", tags["cg"])) <= set("=XID")
        same = sum(kind in "=r" for kind in kinds)
        gaps = sum(1 for kind, _ in groupby(kinds) if kind in "ID")
        unlike = sum(kind in "xn" for kind in kinds)
        assert (int(tags["NM"]), tags["tp"]) == (len(kinds) - same, "P")
        assert abs(float(tags["de"]) - (unlike + gaps) / (same + unlike + gaps)) <= 0.00005001
