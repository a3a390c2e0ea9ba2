"""Sides that lie together in a folder: each is there once, as it is read alone, and read again where its file is another."""

import random
from pathlib import Path

import numpy as np
import pytest

from tidalign.pipeline.errors import Damaged
from tidalign.pipeline.genome.input import folders as gathering
from tidalign.pipeline.genome.input.folders import folders, read_all
from tidalign.pipeline.genome.input.read import read_genome
from tidalign.pipeline.genome.input.sides import IN_A_FOLDER, folder_records, load_side, read_sides
from tidalign.pipeline.genome.input.source import GenomeSource, Pair

SMALL, TOGETHER = gathering.SMALL, gathering.TOGETHER


@pytest.mark.parametrize("seed", range(20))
def test_every_side_has_one_place(seed: int) -> None:
    chance = random.Random(seed)
    specs = [f"f{number}" for number in range(chance.randrange(1, 3000))]
    sizes = {spec: chance.choice([0, -1, 10, SMALL // 2, SMALL, SMALL + 1, 10 * SMALL]) for spec in specs}
    sides = list(dict.fromkeys((chance.choice(["target", "query"]), chance.choice(specs)) for _ in range(4000)))
    found = folders(sides, sizes)
    assert sorted(side for each in found.values() for side in each) == sorted(sides) and list(found) == list(range(len(found)))
    for each in found.values():
        of_file = list(dict.fromkeys(spec for _, spec in each))
        assert len(each) <= IN_A_FOLDER and sum(sizes[spec] for spec in of_file) <= max(TOGETHER, *(sizes[spec] for spec in of_file))
        assert len(of_file) == 1 or all(0 <= sizes[spec] <= SMALL for spec in of_file)
    assert all(sum((role, spec) in sides for role in ("target", "query")) == sum(side[1] == spec for side in of) for of in found.values() for _, spec in of)
    records = [{"id": folder * IN_A_FOLDER + place, "role": role, "spec": spec} for folder, of in found.items() for place, (role, spec) in enumerate(of)]
    more = folders([*sides, ("target", "new")], sizes | {"new": 5}, records)
    assert {folder: more[folder] for folder in found} == found and more[len(found)] == [("target", "new")]


def test_what_is_loaded_is_what_is_read(tmp_path: Path) -> None:
    texts = {"a": ">x\nACGTacgtNN\n>y\nGGG\n", "b": ">\nACGT\n", "c": ">x y\nTTTTTTAC\n>none\n"}
    for name, text in texts.items():
        (tmp_path / f"{name}.fa").write_text(text)
    a, b, c = (f"{tmp_path}/{name}.fa" for name in texts)
    pairs = (Pair("1", a, b), Pair("2", b, f"{c}[multiple]"), Pair("3", f"{c}[separator=A,nameparse=full]", a), Pair("4", f"{a}[2..3]", f"{a}[separator=N]"))
    records = read_all(f"{tmp_path}/run", GenomeSource(pairs))
    assert len(records) == 8 and {record["id"] // IN_A_FOLDER for record in records} == {0}
    assert (tmp_path / "run" / "sides" / "s0000" / "letters").stat().st_size == sum(
        len(read_genome(spec, role="query").letters) for spec in {record["spec"] for record in records}
    )
    for record in records:
        genome, codes = load_side(f"{tmp_path}/run", "id", record["id"])
        alone = read_genome(record["spec"], role=record["role"])
        assert genome.to_json() == alone.to_json() and np.array_equal(genome.letters, alone.letters) and np.array_equal(codes, alone.codes())
        assert record["sequences"] == len(alone) and record["bases"] == alone.lengths.sum() and record["empty"] == len(alone.empty)


def test_a_folder_is_read_again_where_its_files_are_others(tmp_path: Path) -> None:
    path, sides = tmp_path / "a.fa", [("target", f"{tmp_path}/a.fa")]
    path.write_text(">x\nACGT\n")
    first = read_sides(str(tmp_path), 3, sides, None, "one")
    path.write_text(">x\nGG\n")
    assert read_sides(str(tmp_path), 3, sides, None, "one") == first  # whoever says so has looked
    assert folder_records(str(tmp_path), 3, sides, "two") is None is folder_records(str(tmp_path), 3, [*sides, ("query", "b")], "one")
    (second,) = read_sides(str(tmp_path), 3, sides, None, "two")
    assert (second["id"], second["bases"]) == (3 * IN_A_FOLDER, 2) and load_side(str(tmp_path), "id", second["id"])[0].letters.tobytes() == b"GG"
    data = tmp_path / "sides" / "s0003" / "codes"
    data.write_bytes(bytes([data.read_bytes()[0] ^ 1]) + data.read_bytes()[1:])
    with pytest.raises(Damaged, match="codes"):
        load_side(str(tmp_path), "id", second["id"])
