"""What heuristics are written as, and which are refused."""

import pytest

from tidalign.kernels.scoring.heuristic import KINDS, Heuristic


@pytest.mark.parametrize(
    ("text", "normal", "cut"),
    [
        ("adaptive", "adaptive:10,50,1", (1, 10, 50, 1)),
        ("adaptive:20", "adaptive:20,50,1", (1, 20, 50, 1)),
        ("adaptive:1,0,7", "adaptive:1,0,7", (1, 1, 0, 7)),
        ("band:-100,100", "band:-100,100", (2, -100, 100, 1)),
        ("adaptive-band:-5,9", "adaptive-band:-5,9,1", (3, -5, 9, 1)),
        ("adaptive-band:5,9,3", "adaptive-band:5,9,3", (3, 5, 9, 3)),
        ("xdrop:100", "xdrop:100,1", (4, 100, 0, 1)),
        (" zdrop:0,4 ", "zdrop:0,4", (5, 0, 0, 4)),
    ],
)
def test_normal_forms(text: str, normal: str, cut: tuple[int, int, int, int]) -> None:
    found = Heuristic.parse(text)
    assert str(found) == normal and found.cut() == cut and Heuristic.parse(normal) == found


@pytest.mark.parametrize(
    "text",
    ["", "greedy", "adaptive:", "adaptive:1,2,3,4", "adaptive:0,1,1", "adaptive:1,-1", "adaptive:1,1,0", "band", "band:5", "band:5,4", "band:1,x", "xdrop"]
    + ["xdrop:0", "zdrop:-1", "zdrop:1.5", "band:-999999999999,0", "xdrop:10,1,1", "adaptive:" + "9" * 30],
)
def test_others_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="heuristic") as raised:
        Heuristic.parse(text)
    assert len(str(raised.value)) <= 300


def test_each_kind_has_its_number() -> None:
    assert sorted(KINDS.values()) == [1, 2, 3, 4, 5]
