"""Files of runs that lose a bit or their end: noticed by all who read them, made again by the same command."""

from pathlib import Path

import damage
import pytest


@pytest.mark.parametrize("count", [24, pytest.param(500, marks=pytest.mark.slow)])
def test_no_damage_goes_unnoticed(tmp_path: Path, count: int) -> None:
    found = damage.trials(count, count, tmp_path)
    assert sum(found.values()) == count
    assert found.keys() <= {"the same rows", "plan.json refused"}
