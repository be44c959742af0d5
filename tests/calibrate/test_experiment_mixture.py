"""Tests the random instructions in programs of experiments: their number and their kinds."""

import pytest

from slowpath.calibrate.experiments.components import MIXES
from slowpath.calibrate.testbeds.xdp_programs import MAKERS, mixture


@pytest.mark.parametrize("mix", MIXES)
@pytest.mark.parametrize("count", [2, 3, 64, 512])
def test_a_mixture_has_as_many_instructions_as_asked_for(mix: str, count: int) -> None:
    lines = mixture(mix, count)
    assert sum(2 if "goto" in line else 1 for line in lines) == count
    assert mixture(mix, count) == lines
    assert mixture(mix, count + 64) != lines


def test_a_mixture_has_no_others_than_its_kinds() -> None:
    assert {kind for mix in MIXES.values() for kind in mix} == MAKERS.keys()
    assert not any("goto" in line or "*=" in line for line in mixture("turn", 512))
    assert any("*=" in line for line in mixture("compute", 512))
