"""Tests the waiting times at accelerators of functions with the run-to-completion pattern."""

import numpy as np
import pytest

from slowpath.contention.accelerators import (
    CoRun,
    IdentificationError,
    Others,
    Waits,
    measured_waits,
    others_round_time,
    wait_per_packet,
)
from slowpath.core.arrays import Floats


def others(*of: tuple[float, float]) -> Others:
    """Return accelerator clients from pairs of request time and request rate, one for each row."""
    times, rates = np.array(of).T[:, :, None]
    return Others(np.ones_like(times), times, rates)


def test_waits_come_back() -> None:
    solo = 4e5
    waits = {5e-7: 1e-7, 1e-6: 6e-7, 2e-6: 1.4e-6}
    runs = [CoRun(2, time / 2, 1 / (1 / solo + wait)) for time, wait in reversed(waits.items())]
    found = measured_waits(solo, runs)
    times = np.array([1e-7, 5e-7, 1.5e-6, 2e-6, 9e-6])
    assert found.at(times) == pytest.approx(np.array([1e-7, 1e-7, 1e-6, 1.4e-6, 1.4e-6]))


@pytest.mark.parametrize(
    ("runs", "message"),
    [
        ([CoRun(1, 1, 0.5), CoRun(1, 1, 0.4)], "the co-runs"),
        ([CoRun(1, 1, 0.5), CoRun(1, 2, 0.5)], "does not wait"),
        ([CoRun(1, 1, 0.5), CoRun(1, 2, 0.0)], "above zero"),
    ],
)
def test_co_runs_that_say_nothing(runs: list[CoRun], message: str) -> None:
    with pytest.raises(IdentificationError, match=message):
        measured_waits(1.0, runs)


WAITS = Waits(np.array([1.0, 3.0]), np.array([0.5, 2.0]))


def beside(solo: Floats, own: Floats, clients: Others) -> Floats:
    """Return the throughput of a function that waits for accelerator clients as in `WAITS`."""
    wait = WAITS.at(others_round_time(clients))
    return np.asarray(1 / (1 / solo + wait_per_packet(1 / solo, own, wait, clients)))


def test_throughput_falls_in_a_line_to_where_others_always_have_requests() -> None:
    solo, own = np.full(6, 0.25), np.full(6, 1.0)
    rates = (0.0, 0.1, 0.2, 0.4, 5.0, np.inf)
    found = beside(solo, own, others(*((1.0, rate) for rate in rates)))
    assert found[0] == pytest.approx(0.25)
    assert found[-1] == pytest.approx(1 / (4 + 0.5))
    assert found[-2] == pytest.approx(found[-1])
    # Others get at most the time that the function leaves: 1 - 2/9.
    slope = (found[-1] - 0.25) / (1 - found[-1])
    assert found[1:4] == pytest.approx(0.25 + slope * np.array([0.1, 0.2, 0.4]))


def test_several_others_are_as_one() -> None:
    solo = np.array([0.1])
    both = Others(np.array([[1.0, 2.0]]), np.array([[1.0, 1.0]]), np.full((1, 2), np.inf))
    found = beside(solo, np.ones(1), both)
    assert 1 / found == pytest.approx(10 + 2.0)
    gone = both._replace(rate=np.array([[np.inf, 0.0]]))
    assert 1 / beside(solo, np.ones(1), gone) == pytest.approx(10 + 0.5)
