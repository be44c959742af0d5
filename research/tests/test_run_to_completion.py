"""Tests the model of run-to-completion functions at several accelerators."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from nic_profiles import Settings, Traffic, function, run_all
from nic_simulation import SimulatedClient
from run_to_completion import (
    Accelerator,
    Completion,
    beside,
    beside_all,
    completion,
)
from slowpath.contention.accelerators import CoRun, IdentificationError, Others, measured_waits
from time_distributions import (
    STEPS,
    convolved,
    fixed,
    mean,
    normal_times,
    poisson_times,
    residual_time,
)

Floats = NDArray[np.float64]

OWN = (0.3, 0.15)
SOLO = 1.0
LENGTHS = (0.05, 0.2, 0.5, 1.0, 1.5)
RATE = st.one_of(st.just(np.inf), st.just(0.0), st.floats(0.01, 20.0))
LENGTH = st.floats(0.05, 1.5)


def no_clients(count: int) -> Others:
    return Others(np.ones((count, 1)), np.full((count, 1), 1e-3), np.zeros((count, 1)))


def others(*of: tuple[float, float]) -> Others:
    """Return accelerator clients from pairs of request time and request rate, one for each row."""
    times, rates = np.array(of).T[:, :, None]
    return Others(np.ones_like(times), times, rates)


def runs(*waits: float) -> list[CoRun]:
    """Return a co-run for each request time in LENGTHS; `waits` has the function's waits."""
    return [CoRun(1, time, 1 / (1 + wait)) for time, wait in zip(LENGTHS, waits, strict=True)]


def identified_function(scatter: float = 0.1) -> Completion:
    """Return a function that uses two accelerators and has no unexplained waits."""
    each = (Accelerator(OWN[0], 0.05, 0.3, []), Accelerator(OWN[1], 0.0, 0.0, []))
    none = measured_waits(1.0, runs(0.0, 0.0, 0.0, 0.0, 1e-9))
    return Completion(SOLO, each, scatter, [none._replace(wait=0 * none.wait)] * 2)


# --- remaining time of a request -----------------------------------------------------------------


def drawn(draw: np.random.Generator, away: Floats, kind: tuple[float, float, float]) -> Floats:
    """Simulate the rest of the request in progress at the end of each absence in `away`.

    `kind` has the mean, the least time and the time per match of requests.
    """
    mean, least, grain = kind
    left = []
    for gone in away:
        at = 0.0
        while at < gone:
            number = draw.poisson((mean - least) / grain) if grain else 0
            at += least + grain * number if grain else mean
        left.append(at - gone)
    return np.array(left)


@pytest.mark.parametrize(
    ("kind", "away", "deviation"),
    [((90.0, 20.0, 60.0), 150.0, 20.0), ((90.0, 0.0, 0.0), 150.0, 40.0), ((200, 0, 0), 90, 5)],
)
def test_what_is_left_is_what_drawn_requests_leave(
    kind: tuple[float, float, float], away: float, deviation: float
) -> None:
    draw = np.random.default_rng(3)
    found = drawn(draw, draw.normal(away, deviation, 20_000), kind)
    there = normal_times(np.array([away]), np.array([deviation]))
    requests = poisson_times(*(np.array([float(one)]) for one in kind))
    left = residual_time(there, requests)
    assert mean(requests) == pytest.approx(kind[0])
    # Times are rounded to steps.
    assert mean(left) == pytest.approx(found.mean(), abs=1 + 4 * found.std() / 20_000**0.5)
    spread = (left[0] @ (np.arange(STEPS) - mean(left)) ** 2) ** 0.5
    assert spread == pytest.approx(found.std(), rel=0.03, abs=1)


@given(st.floats(1, 400), st.floats(1, 400), st.floats(0, 50))
def test_times_that_follow_each_other_add_up(first: float, second: float, deviation: float) -> None:
    both = convolved(
        fixed(np.array([first])),
        normal_times(np.array([second + 6 * deviation]), np.array([deviation])),
    )
    assert both.sum() == pytest.approx(1)
    assert both.min() >= 0
    assert mean(both) == pytest.approx(first + second + 6 * deviation, rel=1e-3)


# --- several accelerators ------------------------------------------------------------------------


@given(st.floats(0.0, 5.0))
def test_with_nobody_there_only_the_rest_takes_longer(elsewhere: float) -> None:
    found = beside_all(identified_function(), np.array([elsewhere]), [no_clients(1), no_clients(1)])
    assert found == pytest.approx(1 / (1 + elsewhere))


def test_one_accelerator_is_as_where_there_is_only_one() -> None:
    """Check that a second accelerator without other clients does not change the throughput."""
    plain = identified_function()
    two = plain.accelerators
    expected = [
        float(1 / beside_all(plain, np.zeros(1), [others((time, np.inf)), no_clients(1)])[0] - 1)
        for time in LENGTHS
    ]
    measured = runs(
        *(wait + 0.01 + 0.02 * time for wait, time in zip(expected, LENGTHS, strict=True))
    )
    alone = runs(*(
        float(1 / beside_all(plain, np.zeros(1), [no_clients(1), others((time, np.inf))])[0] - 1)
        for time in LENGTHS
    ))  # fmt: skip
    given_runs = (two[0]._replace(runs=measured), two[1]._replace(runs=alone))
    function = completion(SOLO, given_runs)
    assert function.scatter == pytest.approx(plain.scatter, abs=0.021)
    asked = [(time, rate) for time in LENGTHS for rate in (0.1, 0.5, np.inf)]
    count = len(asked)
    found = beside_all(function, np.zeros(count), [others(*asked), no_clients(count)])
    before = beside(
        np.ones(count), np.full(count, OWN[0]), measured_waits(SOLO, measured), others(*asked)
    )
    np.testing.assert_allclose(found, before, rtol=0.01)


@settings(deadline=None, max_examples=25)
@given(st.tuples(LENGTH, RATE), st.tuples(LENGTH, RATE), st.floats(0.0, 0.5), st.floats(1.2, 5.0))
def test_more_of_others_is_never_good(
    here: tuple[float, float], there: tuple[float, float], elsewhere: float, factor: float
) -> None:
    (first, often), (second, seldom) = here, there
    asked = [others((first, often), (first, often * factor)), others((second, seldom))]
    asked[1] = Others(*(np.repeat(one, 2, axis=0) for one in asked[1]))
    found = beside_all(identified_function(), np.full(2, elsewhere), asked)
    assert found[1] <= found[0] * 1.002
    assert (found <= 1 / (1 + elsewhere) * (1 + 1e-9)).all()
    # A wait is at most the longest round of the other clients, with a margin for random matches.
    assert (1 / found <= 1 + elsewhere + 2 * (first + second) + 1.0).all()


def test_time_has_no_scale() -> None:
    asked = [others((0.4, np.inf), (0.9, 0.5)), others((0.7, np.inf), (0.2, 1.0))]
    found = beside_all(identified_function(), np.full(2, 0.1), asked)
    small = identified_function()
    smaller = [
        one._replace(own=one.own * 1e-6, least=one.least * 1e-6, grain=one.grain * 1e-6)
        for one in small.accelerators
    ]
    micro = Completion(SOLO * 1e6, smaller, small.scatter, small.rest)
    faster = [Others(one.queues, one.request_time * 1e-6, one.rate * 1e6) for one in asked]
    assert beside_all(micro, np.full(2, 1e-7), faster) == pytest.approx(found * 1e6, rel=1e-4)


def test_the_longer_it_is_away_the_less_is_left_of_a_long_request() -> None:
    """Check the wait for a very long request: its length minus the time since its start."""
    long = others((1.5, np.inf))
    kept = identified_function(0.0)
    exact = kept._replace(accelerators=[one._replace(grain=0.0) for one in kept.accelerators])
    waits = [
        1 / beside_all(exact, np.array([elsewhere]), [no_clients(1), long])[0] - 1 - elsewhere
        for elsewhere in (0.0, 0.2, 0.4)
    ]
    assert waits == pytest.approx([1.5 - 0.85, 1.5 - 1.05, 1.5 - 1.25], abs=0.01)
    # A wait at one accelerator shortens the wait at the other.
    both = (
        1 / beside_all(exact._replace(scatter=0.1), np.zeros(1), [others((0.2, np.inf)), long])[0]
    )
    assert both == pytest.approx(1.5 + 0.15, abs=0.01)


def test_three_accelerators_settle() -> None:
    one = Accelerator(0.2, 0.05, 0.1, [])
    rest = identified_function().rest[0]
    function = Completion(SOLO, [one] * 3, 0.1, [rest] * 3)
    there = others((0.5, np.inf), (1.5, np.inf), (0.3, 0.4))
    found = beside_all(function, np.zeros(3), [there] * 3)
    single = beside_all(function, np.zeros(3), [there, no_clients(3), no_clients(3)])
    assert (found < single).all()
    # The waits at three equal accelerators are at most about three times the wait at one.
    assert (1 / found - 1 < 3.5 * (1 / single - 1)).all()


@pytest.mark.parametrize(
    ("solo", "co_runs", "reason"),
    [
        (1.0, [CoRun(1, 1, 0.5), CoRun(1, 1, 0.4)], "two co-runs"),
        (1.0, [CoRun(1, 1, 0.5), CoRun(1, 2, 0.0)], "above zero"),
        (4.0, [CoRun(1, 1, 0.5), CoRun(1, 2, 0.4)], "longer than all"),
    ],
)
def test_unusable_co_runs_are_refused(solo: float, co_runs: list[CoRun], reason: str) -> None:
    with pytest.raises(IdentificationError, match=reason):
        completion(solo, [Accelerator(0.3, 0.1, 0.1, co_runs)])


def test_two_accelerators_are_as_on_the_simulated_nic() -> None:
    settings = Settings(5.0, 30.0, noise=False)
    traffic = Traffic(500, 1500, 600.0)
    target = function("NF2-run-to-completion", traffic)

    def throughput(*clients: SimulatedClient) -> float:
        return float(run_all([clients], settings)[0]["clients"][0]["throughput"])

    def bench(accelerator: str, level: float) -> SimulatedClient:
        if accelerator == "regex":
            return {"function": "regex-bench", "packet_bytes": 1500, "mtbr": level}
        return {"function": "compression-bench", "packet_bytes": int(level)}

    def time(accelerator: str, level: float) -> float:
        return 1 / throughput(bench(accelerator, level))

    levels = {"regex": (0.0, 300.0, 600.0, 1200.0), "compression": (700.0, 3000.0, 5000.0, 9000.0)}
    runs = {
        name: [CoRun(1, time(name, at), throughput(target, bench(name, at))) for at in some]
        for name, some in levels.items()
    }
    least = time("regex", 0.0)
    own = {"regex": time("regex", 600.0), "compression": time("compression", 1500.0)}
    grain = (own["regex"] - least) / (600e-6 * 1446)
    identified_function = [
        Accelerator(own["regex"], least, grain, runs["regex"]),
        Accelerator(own["compression"], 0.0, 0.0, runs["compression"]),
    ]
    # Level and rate of the client at each accelerator.
    asked = [((250.0, np.inf), (7500.0, np.inf)), ((900.0, np.inf), (8500.0, np.inf)),
             ((450.0, 3e5), (8000.0, np.inf)), ((1100.0, np.inf), (6000.0, 4e5))]  # fmt: skip
    measured = []
    for pair in asked:
        clients = [bench(name, level) for name, (level, _) in zip(levels, pair, strict=True)]
        for client, (_, rate) in zip(clients, pair, strict=True):
            if np.isfinite(rate):
                client["rate"] = rate
        measured.append(throughput(target, *clients))
    there = [
        others(*((time(name, pair[at][0]), pair[at][1]) for pair in asked))
        for at, name in enumerate(levels)
    ]
    solo = throughput(target)
    found = beside_all(completion(solo, identified_function), np.zeros(len(asked)), there)
    np.testing.assert_allclose(found, measured, rtol=0.03)
    assert max(measured) < 0.8 * solo


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
