"""How long functions that run to completion wait for accelerators."""

import numpy as np
import pytest
from numpy.typing import NDArray

from slowpath.contention.accelerator.service import CoRun, IdentificationError
from slowpath.contention.accelerator.waiting import Others, Waits, beside, measured_waits
from slowpath.contention.simulated import Settings, Traffic, function, run_all
from slowpath.core.engine.simulations import SimulatedClient

Floats = NDArray[np.float64]


def others(*of: tuple[float, float]) -> Others:
    """One client in each row: request time and rate."""
    times, rates = np.array(of).T[:, :, None]
    return Others(np.ones_like(times), times, rates)


def test_waits_come_back() -> None:
    solo = 4e5
    waits = {5e-7: 1e-7, 1e-6: 6e-7, 2e-6: 1.4e-6}
    runs = [CoRun(2, time / 2, 1 / (1 / solo + wait)) for time, wait in reversed(waits.items())]
    found = measured_waits(solo, runs)
    asked = np.array([1e-7, 5e-7, 1.5e-6, 2e-6, 9e-6])
    assert found.at(asked) == pytest.approx(np.array([1e-7, 1e-7, 1e-6, 1.4e-6, 1.4e-6]))


@pytest.mark.parametrize(
    ("runs", "said"),
    [
        ([CoRun(1, 1, 0.5), CoRun(1, 1, 0.4)], "two co-runs"),
        ([CoRun(1, 1, 0.5), CoRun(1, 2, 0.5)], "does not wait"),
        ([CoRun(1, 1, 0.5), CoRun(1, 2, 0.0)], "above zero"),
    ],
)
def test_co_runs_that_say_nothing(runs: list[CoRun], said: str) -> None:
    with pytest.raises(IdentificationError, match=said):
        measured_waits(1.0, runs)


WAITS = Waits(np.array([1.0, 3.0]), np.array([0.5, 2.0]))


def test_throughput_falls_in_a_line_to_where_others_always_have_requests() -> None:
    solo, own = np.full(6, 0.25), np.full(6, 1.0)
    rates = (0.0, 0.1, 0.2, 0.4, 5.0, np.inf)
    found = beside(solo, own, WAITS, others(*((1.0, rate) for rate in rates)))
    assert found[0] == pytest.approx(0.25)
    assert found[-1] == pytest.approx(1 / (4 + 0.5))
    assert found[-2] == pytest.approx(found[-1])
    # Others have no more than the function leaves: 1 - 2/9.
    slope = (found[-1] - 0.25) / (1 - found[-1])
    assert found[1:4] == pytest.approx(0.25 + slope * np.array([0.1, 0.2, 0.4]))


def test_several_others_are_as_one() -> None:
    solo = np.array([0.1])
    both = Others(np.array([[1.0, 2.0]]), np.array([[1.0, 1.0]]), np.full((1, 2), np.inf))
    found = beside(solo, np.ones(1), WAITS, both)
    assert 1 / found == pytest.approx(10 + 2.0)
    gone = both._replace(rate=np.array([[np.inf, 0.0]]))
    assert 1 / beside(solo, np.ones(1), WAITS, gone) == pytest.approx(10 + 0.5)


def test_waits_are_those_of_the_simulated_nic() -> None:
    settings = Settings(2.0, 12.0, noise=False)
    traffic = Traffic(1000, 1500, 300.0)

    def throughput(*clients: SimulatedClient) -> float:
        return float(run_all([clients], settings)[0]["clients"][0]["throughput"])

    def bench(mtbr: float) -> SimulatedClient:
        return {"function": "regex-bench", "packet_bytes": 1500, "mtbr": mtbr}

    target = function("NF1-run-to-completion", traffic)
    solo = throughput(target)
    time = {mtbr: 1 / throughput(bench(mtbr)) for mtbr in (200.0, 300.0, 800.0, 1400.0)}
    runs = [CoRun(1, time[mtbr], throughput(target, bench(mtbr))) for mtbr in time]
    waits = measured_waits(solo, runs)
    asked = [(800.0, 2e5), (800.0, 4e5), (300.0, 4e5)]
    measured = [throughput(target, {**bench(mtbr), "rate": rate}) for mtbr, rate in asked]
    count = len(asked)
    there = others(*((time[mtbr], rate) for mtbr, rate in asked))
    found = beside(np.full(count, solo), np.full(count, time[300.0]), waits, there)
    np.testing.assert_allclose(found, measured, rtol=0.03)
    assert max(measured) < 0.97 * solo
