"""An index of a target on disk: what a run reads of it is what it reads of the file; what is damaged, of another kind or half is refused."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import simulate

from tidalign.kernels.seed import index as seed
from tidalign.kernels.seed.index import TABLES, SeedPattern, build_index, hits
from tidalign.pipeline.errors import CannotWrite, InputError, MissingInput
from tidalign.pipeline.genome.input import folders, index
from tidalign.pipeline.genome.input.read import read_genome
from tidalign.pipeline.genome.input.sequences import Genome
from tidalign.pipeline.genome.input.sides import load_side, read_roles_of, read_sides
from tidalign.pipeline.genome.input.source import INDEX, GenomeSource, Pair, identity, index_at, pair_name
from tidalign.pipeline.genome.parameters import GenomeParameters, genome_parameters
from tidalign.pipeline.store.files import write_json

DEFAULT = GenomeParameters()

RECORD = {1: "4aac9eac532d5ae1"}
"""Of the files of one index, by FORMAT: written by hand, only added to; the last changes until a release has it, and never after."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Write a target of three sequences: small letters, N, a repeat, one that is empty."""
    random = np.random.default_rng(3)
    letters = [simulate.sequence(random, length) for length in (700, 90, 1500)]
    letters[2] = letters[2][:800].lower() + letters[0][:300] * 3 + b"N" * 40 + letters[2][800:]
    text = b"".join(b">%d of\n%b\n" % (number, each) for number, each in enumerate([*letters, b""]))
    (tmp_path / "t.fa").write_bytes(text)
    (tmp_path / "q.fa").write_bytes(b">q\n" + simulate.mutate(random, letters[0], 0.1, "mixed") + b"\n")
    return tmp_path


def same(one: Genome, other: Genome) -> bool:
    return one.to_json() == other.to_json() and all(np.array_equal(array, other.mapped()[name]) for name, array in one.mapped().items())


def source(folder: Path, target: str = "t.tgx") -> GenomeSource:
    return GenomeSource((Pair("pair", f"{folder}/{target}", f"{folder}/q.fa"),))


def read(folder: Path, role: str = "target") -> tuple[dict[str, Any], Any]:
    """Read an index as a run does: the record of the side, and its codes."""
    shutil.rmtree(folder / "run", ignore_errors=True)
    (record,) = read_sides(str(folder / "run"), 0, [(role, str(folder / "t.tgx"))], None)
    return record, load_side(str(folder / "run"), "run", 0)[1]


def loaded(folder: Path, parameters: GenomeParameters = DEFAULT) -> Any:
    record, codes = read(folder)
    return index.load(record, codes, SeedPattern.parse(parameters.seed), parameters.step, parameters.max_word_count)


@pytest.mark.parametrize("actions", ["", "[multiple]", "[unmask]", "[separator=N]", "[subset={0}/names.txt]", "[5..80,nameparse=darkspace]"])
def test_both_roles_are_read_as_from_the_file(folder: Path, actions: str) -> None:
    (folder / "names.txt").write_text("2\n")
    spec = f"{folder}/t.fa{actions.format(folder)}"
    index.make(spec, str(folder / "t.tgx"), DEFAULT)
    for role in ("target", "query"):
        (found,) = read_roles_of(str(folder / "t.tgx"), (role,))
        expected = read_genome(spec, role=role)
        assert same(found, expected)
        record, codes = read(folder, role)
        assert np.array_equal(codes, expected.codes())
        assert (record["sequences"], record["bases"], record["empty"]) == (len(expected), expected.lengths.sum(), len(expected.empty))
        assert record["of"] == spec
    assert pair_name(str(folder / "t.tgx"), "q.fa") == "t__q"


def test_qualities_are_kept(folder: Path) -> None:
    (folder / "t.fq").write_text("@a\nACGTACGTAC\n+\nIIIIIHHHHH\n")
    index.make(str(folder / "t.fq"), str(folder / "t.tgx"), DEFAULT)
    (found,) = read_roles_of(str(folder / "t.tgx"), ("target",))
    assert found.qualities is not None and found.qualities.tobytes() == b"IIIIIHHHHH"


@pytest.mark.parametrize(
    "options",
    [{}, {"step": 20}, {"max_word_count": "2"}, {"max_word_count": "50%", "seed": "14of22"}, {"seed": "match6", "step": 3}, {"seed": "1T1T011"}],
    ids=str,
)
def test_tables_are_those_that_would_be_built(folder: Path, options: dict[str, Any]) -> None:
    parameters = genome_parameters(**options)
    index.make(str(folder / "t.fa"), str(folder / "t.tgx"), parameters)
    found, codes = loaded(folder, parameters), read_genome(str(folder / "t.fa"), role="target").codes()
    built = build_index(codes, SeedPattern.parse(parameters.seed), parameters.step, parameters.max_word_count)
    for name in TABLES:
        one, other = getattr(found, name), getattr(built, name)
        assert (one.dtype, one.tolist()) == (other.dtype, other.tolist())
    assert (found.shift, found.step, found.pattern) == (built.shift, built.step, built.pattern)
    assert not found.places.flags.writeable
    query = read_genome(str(folder / "q.fa"), role="query").codes()
    there = [[array.copy() for array in tile] for tile in hits(found, query)]
    assert len(there) > 0 and np.array_equal(np.concatenate(there, axis=1), np.concatenate([[a.copy() for a in tile] for tile in hits(built, query)], axis=1))


def test_places_of_the_largest_targets_have_64_bits(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seed, "LETTERS_OF_32_BITS", 1000)
    index.make(str(folder / "t.fa"), str(folder / "t.tgx"), DEFAULT)
    monkeypatch.undo()
    found, narrow = loaded(folder), build_index(read_genome(str(folder / "t.fa"), role="target").codes(), SeedPattern.parse(DEFAULT.seed))
    assert (found.places.dtype, narrow.places.dtype) == (np.int64, np.uint32)
    assert found.places.tolist() == narrow.places.tolist() and found.begins.tolist() == narrow.begins.tolist()


def test_a_target_without_words(folder: Path) -> None:
    (folder / "t.fa").write_text(">t\nacgtacgtacgtacgtacgtacgtacgt\n")
    index.make(str(folder / "t.fa"), str(folder / "t.tgx"), DEFAULT)
    assert len(loaded(folder).places) == 0


def test_a_large_one_is_linked_and_stays(folder: Path) -> None:
    """A run has its letters where the index is gone, and shares the bytes on disk as long as it is there."""
    index.make(str(folder / "t.fa"), str(folder / "t.tgx"), DEFAULT)
    record, codes = read(folder)
    expected = codes.tolist()
    for name in ("letters", "codes"):
        assert (folder / "t.tgx" / name).samefile(folder / "run" / "sides" / "s0000" / name)
    assert {path.name for path in (folder / "run" / "sides" / "s0000").iterdir()} == {"letters", "codes", "genome.json", "side.json"}
    shutil.rmtree(folder / "t.tgx")
    assert load_side(str(folder / "run"), "other", 0)[1].tolist() == expected
    assert index.load(record, codes, SeedPattern.parse(DEFAULT.seed), 1, None) is None


def test_small_ones_lie_with_others(folder: Path) -> None:
    index.make(str(folder / "t.fa"), str(folder / "t.tgx"), DEFAULT)
    records = folders.read_all(str(folder / "run"), source(folder))
    assert [record["id"] for record in records] == [0, 1] and records[0]["index"] == str(folder / "t.tgx") and "index" not in records[1]
    expected = read_genome(str(folder / "t.fa"), role="target"), read_genome(str(folder / "q.fa"), role="query")
    assert all(same(load_side(str(folder / "run"), "run", side)[0], genome) for side, genome in enumerate(expected))


def test_files_are_copied_where_they_cannot_be_linked(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise OSError(18, "Invalid cross-device link")

    index.make(str(folder / "t.fa"), str(folder / "t.tgx"), DEFAULT)
    monkeypatch.setattr(os, "link", refused)
    _, codes = read(folder)
    assert np.array_equal(codes, read_genome(str(folder / "t.fa"), role="target").codes())
    assert not (folder / "t.tgx" / "codes").samefile(folder / "run" / "sides" / "s0000" / "codes")


def test_tables_of_another_that_took_its_name_are_not_used(folder: Path) -> None:
    index.make(str(folder / "t.fa"), str(folder / "t.tgx"), DEFAULT)
    record, codes = read(folder)
    pattern = SeedPattern.parse(DEFAULT.seed)
    assert index.load(record, codes, pattern, 1, None) is not None
    for target, step in (("t.fa", 20), ("q.fa", 1)):
        index.make(str(folder / target), str(folder / "t.tgx"), replace(DEFAULT, step=step))
        assert index.load(record, codes, pattern, 1, None) is None


# ---- refused


@pytest.mark.parametrize("name", ["letters", "codes", "genome.json", "side.json", INDEX, *TABLES])
@pytest.mark.parametrize("damage", ["bit", "cut", "emptied", "gone"])
def test_damage_is_named(folder: Path, name: str, damage: str) -> None:
    index.make(str(folder / "t.fa"), str(folder / "t.tgx"), DEFAULT)
    path = folder / "t.tgx" / name
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 4
    path.write_bytes(data[: {"cut": len(data) // 2, "emptied": 0}.get(damage, len(data))])
    if damage == "gone":
        path.unlink()

    def use() -> None:
        index.check(source(folder), DEFAULT)
        assert loaded(folder) is not None

    if (name, damage) == (INDEX, "gone"):  # no index any more
        assert index_at(str(folder / "t.tgx")) is None
        with pytest.raises(MissingInput, match=r"t\.tgx: a directory; name the files in it"):
            read_roles_of(str(folder / "t.tgx"), ("target",))
        return
    with pytest.raises(InputError, match=rf"{path}: expected what `tidalign genome-index` wrote, found .*; make t\.tgx again"):
        use()


@pytest.mark.parametrize(
    ("made", "wanted", "message"),
    [
        ({}, {"step": 20}, "expected an index for --step=20, found one for --step=1; make it again with `tidalign genome-index` and these options, or give"),
        ({"step": 2}, {}, "expected an index for --step=1, found one for --step=2"),
        ({}, {"seed": "match12"}, "expected an index for --seed=111111111111, found one for --seed=1110100110010101111"),
        ({"max_word_count": "90%"}, {"max_word_count": "9"}, "expected an index for --maxwordcount=9, found one for --maxwordcount=90%"),
        ({"ambiguous": ("iupac", 0, 0)}, {"ambiguous": ("n", 0, 0)}, "expected an index for these options, found one made with --ambiguous=iupac; give that"),
    ],
)
def test_other_words_are_refused(folder: Path, made: dict[str, Any], wanted: dict[str, Any], message: str) -> None:
    index.make(str(folder / "t.fa"), str(folder / "t.tgx"), genome_parameters(**made))
    with pytest.raises(InputError, match=message) as found:
        index.check(source(folder), genome_parameters(**wanted))
    assert str(found.value).startswith(f"{folder}/t.tgx: ")
    index.check(source(folder), genome_parameters(**made))


def test_what_words_do_not_depend_on_is_free(folder: Path) -> None:
    index.make(str(folder / "t.fa"), str(folder / "t.tgx"), DEFAULT)
    more = {"transitions": 0, "hspthresh": 2000, "strand": "minus", "mode": "independent", "ambiguous": ("iupac", 0, 0)}
    index.check(source(folder), genome_parameters(**more))
    # As a query it has no words that count.
    index.check(GenomeSource((Pair("pair", f"{folder}/q.fa", f"{folder}/t.tgx"),)), genome_parameters(step=7))


def test_letters_that_were_not_allowed_are_not(folder: Path) -> None:
    (folder / "t.fa").write_text(">t\nACGTRYACGTACGTACGT\n")
    with pytest.raises(InputError, match="expected A, C, G, T, N and X, found 'R'"):
        index.make(str(folder / "t.fa"), str(folder / "t.tgx"), DEFAULT)
    assert sorted(path.name for path in folder.iterdir()) == ["q.fa", "t.fa"]


def test_actions(folder: Path) -> None:
    """Those that it was made with may be named again, others not."""
    index.make(f"{folder}/t.fa[multiple][unmask]", str(folder / "t.tgx"), DEFAULT)
    index.check(source(folder, "t.tgx[unmask,multiple]"), DEFAULT)
    for actions in ("[unmask]", "[5..9]", "[multiple,unmask,nameparse=darkspace]"):
        with pytest.raises(InputError, match=r"expected no actions, or those it was made with \(\[multiple\]\[unmask\]\), found others; give them to"):
            index.check(source(folder, f"t.tgx{actions}"), DEFAULT)


def test_a_file_that_changed(folder: Path) -> None:
    """It counts as long as it is there; not to another place moved, or gone."""
    (folder / "names.txt").write_text("0\n2\n")
    index.make(f"{folder}/t.fa[subset={folder}/names.txt]", str(folder / "t.tgx"), DEFAULT)
    for name in ("t.fa", "names.txt"):
        text = (folder / name).read_text()
        (folder / name).unlink()
        index.check(source(folder), DEFAULT)
        (folder / name).write_text(f"{text} ")
        with pytest.raises(InputError, match=rf"t\.tgx: expected {folder}/{name} as it was read, found one that has changed since; make it again with"):
            index.check(source(folder), DEFAULT)
        (folder / name).unlink()


def test_a_file_that_was_touched(folder: Path) -> None:
    """It is the same where all its bytes are, and not by the size and the samples of its identity alone, nor for an index that knows no more."""
    (folder / "t.fa").write_bytes(b">t\n" + simulate.sequence(np.random.default_rng(1), 3 << 20) + b"\n")
    index.make(str(folder / "t.fa"), str(folder / "t.tgx"), DEFAULT)
    os.utime(folder / "t.fa", ns=(1, 1))
    index.check(source(folder), DEFAULT)
    said = json.loads((folder / "t.tgx" / INDEX).read_text())
    write_json(f"{folder}/t.tgx/{INDEX}", {name: said[name] for name in said if name not in ("sums", "seal")})
    with pytest.raises(InputError, match="changed since"):
        index.check(source(folder), DEFAULT)
    write_json(f"{folder}/t.tgx/{INDEX}", {name: said[name] for name in said if name != "seal"})
    before = identity(f"{folder}/t.fa")
    with (folder / "t.fa").open("r+b") as file:
        file.seek(100_000)  # between two samples
        file.write(b"N")
    os.utime(folder / "t.fa", ns=(1, 1))
    assert identity(f"{folder}/t.fa") == before
    os.utime(folder / "t.fa", ns=(2, 2))
    with pytest.raises(InputError, match="changed since"):
        index.check(source(folder), DEFAULT)


def test_another_format(folder: Path) -> None:
    index.make(str(folder / "t.fa"), str(folder / "t.tgx"), DEFAULT)
    said = json.loads((folder / "t.tgx" / INDEX).read_text())
    del said["seal"]
    write_json(f"{folder}/t.tgx/{INDEX}", said | {"format": 0})
    with pytest.raises(
        InputError, match=r"t\.tgx: expected an index of format 1, found one of format 0, of tidalign .*; make it again with `tidalign genome-ind"
    ):
        index.check(source(folder), DEFAULT)


def test_no_file_changes_without_the_number_of_the_format(tmp_path: Path) -> None:
    letters = simulate.sequence(np.random.default_rng(1), 5000)
    (tmp_path / "t.fa").write_bytes(b">t\n%b\n" % letters)
    index.make(str(tmp_path / "t.fa"), str(tmp_path / "t.tgx"), genome_parameters(step=2))
    digest = hashlib.sha256()
    for path in sorted((tmp_path / "t.tgx").iterdir()):
        digest.update(path.name.encode() + (path.read_bytes() if path.suffix != ".json" else " ".join(sorted(json.loads(path.read_bytes()))).encode()))
    found = digest.hexdigest()[:16]
    told = f"raise FORMAT in pipeline/genome/input/index.py, and add a line to RECORD here with {found}; where no release has it yet change its line"
    assert max(RECORD) == index.FORMAT and RECORD[index.FORMAT] == found, told


# ---- written whole or not at all


def test_where_it_is_written(folder: Path) -> None:
    for name, is_folder in (("file", False), ("folder", True)):
        (folder / name).mkdir() if is_folder else (folder / name).write_text("")
        with pytest.raises(CannotWrite, match=rf"{name}: expected a new name, or an index to replace, found a {name}; choose another with -o"):
            index.make(str(folder / "t.fa"), str(folder / name), DEFAULT)
    index.make(str(folder / "t.fa"), str(folder / "t.tgx"), DEFAULT)
    with pytest.raises(CannotWrite, match=r"t\.tgx: an index already; give the sequences that it was made of"):
        index.make(str(folder / "t.tgx"), str(folder / "u.tgx"), DEFAULT)
    index.make(str(folder / "q.fa"), str(folder / "t.tgx"), DEFAULT)
    assert read_roles_of(str(folder / "t.tgx"), ("target",))[0].names == ["q"]
    assert sorted(path.name for path in folder.iterdir()) == ["file", "folder", "q.fa", "t.fa", "t.tgx"]


KILLED = """
import os, signal, sys
from pathlib import Path
from tidalign.pipeline.genome.input import index
from tidalign.pipeline.genome.parameters import GenomeParameters

where, when, calls = sys.argv[3], int(sys.argv[4]), 0
place = os if where == "fsync" else Path
real = getattr(place, where)

def killed(*arguments):
    global calls
    calls += 1
    if calls == when:
        os.kill(os.getpid(), signal.SIGKILL)
    return real(*arguments)

setattr(place, where, killed)
index.make(sys.argv[1], sys.argv[2], GenomeParameters())
"""


@pytest.mark.parametrize(("where", "when"), [("fsync", 4), ("fsync", 11), ("rename", 1), ("rename", 2)])
@pytest.mark.parametrize("before", [False, True], ids=["new", "replaced"])
def test_a_kill_leaves_nothing_that_is_taken_for_an_index(folder: Path, where: str, when: int, before: bool) -> None:
    """What was there before stays whole, or has left its name; what is left is removed by the next one that is made."""
    out = folder / "t.tgx"
    if before:
        index.make(str(folder / "q.fa"), str(out), DEFAULT)
    killed = subprocess.run([sys.executable, "-c", KILLED, str(folder / "t.fa"), str(out), where, str(when)], capture_output=True, text=True, timeout=120)
    assert killed.returncode == -9, killed.stderr
    left = [path for path in folder.iterdir() if path.name.startswith("t.tgx.")]
    assert left and all(path.suffix == ".tmp" for path in left)
    if before and (where, when) != ("rename", 2):
        assert read_roles_of(str(out), ("target",))[0].names == ["q"]
    else:
        assert not out.exists()
    index.make(str(folder / "t.fa"), str(out), DEFAULT)
    assert sorted(path.name for path in folder.iterdir()) == ["q.fa", "t.fa", "t.tgx"]
    assert same(read_roles_of(str(out), ("target",))[0], read_genome(str(folder / "t.fa"), role="target"))
    assert loaded(folder) is not None
