"""Tests that the queues and request time of a function are found from co-runs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accelerator_queues import identify
from slowpath.contention.accelerators import CoRun, IdentificationError

FEW = st.integers(1, 4)
TIME = st.floats(0.05, 20)


@given(FEW, TIME, FEW, st.lists(TIME, min_size=2, max_size=5, unique=True))
def test_queues_and_request_time_come_back(
    queues: int, time: float, theirs: int, times: list[float]
) -> None:
    if max(times) / min(times) < 1.01:
        return
    runs = [
        CoRun(theirs, one, queues / (queues * time + theirs * one))
        for one in times  # Eq. 1, 2
    ]
    found = identify(runs)
    assert found.whole_queues == queues
    assert found.queues == pytest.approx(queues, rel=1e-6)
    assert found.request_time == pytest.approx(time, rel=1e-6)
    assert (found.residual is None) == (len(times) == 2)


@pytest.mark.parametrize(
    ("runs", "reason"),
    [
        ([CoRun(1, 1, 0.5)], "two co-runs"),
        ([CoRun(1, 1, 0.5), CoRun(1, 1, 0.4)], "two co-runs"),
        ([CoRun(1, 1, 0.5), CoRun(1, 2, 0.5)], "does not limit it"),
        ([CoRun(1, 1, 0.5), CoRun(1, 2, 0.1)], "something else"),
        ([CoRun(1, 1, 0.5), CoRun(1, 2, 0.38)], "no whole number"),
        ([CoRun(1, 1, 0.5), CoRun(1, 2, 0.0)], "above zero"),
    ],
)
def test_unusable_co_runs_are_refused(runs: list[CoRun], reason: str) -> None:
    with pytest.raises(IdentificationError, match=reason):
        identify(runs)
