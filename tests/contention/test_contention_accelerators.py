"""Compares models of shared accelerators with a simulated accelerator, and with the paper."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slowpath.contention.accelerators import fit_request_time, throughputs
from slowpath.contention.columns import AcceleratorProfile, Origin
from slowpath.core.arrays import Floats
from slowpath.core.errors import InputError

FEW = st.integers(1, 4)
TIME = st.floats(0.05, 20.0)
RATE = st.one_of(st.just(np.inf), st.just(0.0), st.floats(1e-3, 10.0))
CLIENTS = st.lists(st.tuples(FEW, TIME, RATE), min_size=1, max_size=5)


def simulated(clients: Sequence[tuple[int, float, float]], visits: int) -> Floats:
    """Simulate an accelerator that several clients share; return the throughput of each client.

    `clients` has the number of queues, request time and request rate of each. Requests of a queue
    arrive at equal distances, shifted between the queues of a client. The server visits one queue
    after the other. If no request waits anywhere, it stops until the next arrival.
    """
    queues = [
        (client, time, 0.0 if np.isinf(rate) else (n / rate if rate else np.inf), at / n)
        for client, (n, time, rate) in enumerate(clients)
        for at in range(n)
    ]
    arrivals = [gap * phase for _, _, gap, phase in queues]
    arrivals = [0.0 if np.isnan(one) else one for one in arrivals]
    served = np.zeros(len(clients))
    now, half, done_by_half, at = 0.0, 0.0, served, 0
    for visit in range(visits):
        if visit == visits // 2:
            half, done_by_half = now, served.copy()
        for _ in queues:
            if arrivals[at] <= now:
                break
            at = (at + 1) % len(queues)
        else:
            now = min(arrivals)
            if np.isinf(now):
                return np.zeros(len(clients))
            while arrivals[at] > now:
                at = (at + 1) % len(queues)
        client, time, gap, _ = queues[at]
        now += time
        arrivals[at] = arrivals[at] + gap if gap else now
        served[client] += 1
        at = (at + 1) % len(queues)
    return np.asarray((served - done_by_half) / (now - half))


def columns(clients: Sequence[tuple[int, float, float]]) -> tuple[Floats, Floats, Floats]:
    n, time, rate = (np.array(column, dtype=float) for column in zip(*clients, strict=True))
    return n, time, rate


@settings(max_examples=150)
@given(CLIENTS)
def test_throughputs_are_those_of_a_simulation(
    clients: list[tuple[int, float, float]],
) -> None:
    predicted = throughputs(*columns(clients))
    queues = sum(n for n, _, _ in clients)
    visits = 2400 * queues
    found = simulated(clients, visits)
    # A request or a round can be cut off at both ends of the observed time.
    seconds = visits / 2 / max(predicted.sum(), 1e-9)
    assert found == pytest.approx(predicted, rel=0.02, abs=3 * queues / seconds)


def test_the_simulation_tells_other_rules_apart() -> None:
    """Check that the simulated accelerator serves its queues in turn (round-robin).

    A server that gave clients equal counts or equal times would have very different results.
    """
    clients = [(3, 1.0, np.inf), (1, 4.0, np.inf), (1, 1.0, 0.02)]
    found = simulated(clients, 20000)
    assert found == pytest.approx(throughputs(*columns(clients)), rel=0.01)
    by_client = np.array([1.0, 1.0]) / 5.0 * 0.98
    assert not np.allclose(found[:2], by_client, rtol=0.2)


@given(CLIENTS)
def test_nobody_gets_more_than_arrives_and_nothing_is_wasted(
    clients: list[tuple[int, float, float]],
) -> None:
    n, time, rate = columns(clients)
    found = throughputs(n, time, rate)
    busy = float((found * time).sum())
    assert (found <= rate).all()
    assert busy <= 1 + 1e-9
    short = found < rate * (1 - 1e-9)
    if short.any():
        assert busy == pytest.approx(1)
        each = found / n
        assert each[short] == pytest.approx(each[short].max())
        assert (each <= each[short].max() * (1 + 1e-9)).all()


@given(CLIENTS.filter(lambda them: len(them) > 1), st.floats(0.1, 3.0))
def test_more_of_others_is_never_good(
    clients: list[tuple[int, float, float]], factor: float
) -> None:
    n, time, rate = columns(clients)
    first = throughputs(n, time, rate)[0]
    more = rate.copy()
    more[1:] *= 1 + factor
    slower = time.copy()
    slower[1:] *= 1 + factor
    assert throughputs(n, time, more)[0] <= first * (1 + 1e-9)
    assert throughputs(n, slower, rate)[0] <= first * (1 + 1e-9)


@given(st.lists(st.tuples(FEW, TIME), min_size=1, max_size=6))
def test_saturating_clients_are_those_of_equation_2(them: list[tuple[int, float]]) -> None:
    n, time = (np.array(column, dtype=float) for column in zip(*them, strict=True))
    found = throughputs(n, time, np.full(len(n), np.inf))
    assert found == pytest.approx(n / (n @ time))


@given(TIME, TIME, st.floats(0, 1))
def test_one_client_below_saturation_is_equation_8_up_to_the_equilibrium(
    time: float, other: float, share: float
) -> None:
    at_equilibrium = 1 / (time + other)
    rate = share * at_equilibrium
    found = throughputs(np.ones(2), np.array([time, other]), np.array([np.inf, rate]))
    assert found[0] == pytest.approx((1 - rate * other) / time)
    beyond = throughputs(np.ones(2), np.array([time, other]), np.array([np.inf, 2 / other]))
    assert beyond == pytest.approx([at_equilibrium] * 2)


def test_many_at_once_are_each_by_itself() -> None:
    draw = np.random.default_rng(1)
    n, time = draw.integers(1, 4, (50, 4)).astype(float), draw.uniform(0.1, 2, (50, 4))
    rate = np.where(draw.random((50, 4)) < 0.3, np.inf, draw.uniform(0, 2, (50, 4)))
    together = throughputs(n, time, rate)
    for row in range(50):
        assert together[row] == pytest.approx(throughputs(n[row], time[row], rate[row]))


# --- request times from measurements -------------------------------------------------------------


def profile(mtbr: Sequence[float], times: Sequence[float]) -> AcceleratorProfile:
    rows = tuple(str(row) for row in range(len(mtbr)))
    return AcceleratorProfile(Origin(("regex.csv",)), rows, np.array(mtbr), np.array(times))


@given(st.floats(1e-5, 1e-2), st.floats(0, 1e-5), st.integers(2, 6))
def test_request_times_are_a_line(base: float, per_match: float, points: int) -> None:
    mtbr = np.linspace(100, 900, points)
    found = fit_request_time(profile(list(mtbr), list(base + per_match * mtbr)))
    wanted = pytest.approx([base, base + 500 * per_match])
    # Without measured sizes, the size has no effect.
    for size in (60.0, 1500.0):
        assert found.at(np.array([0.0, 500.0]), np.array(size)) == wanted
    assert list(found.outside(np.array([99.0, 100.0, 900.0, 901.0]))) == [True, False, False, True]
    assert (found.spread is None) == (points == 2)


def test_request_times_depend_on_sizes_where_these_were_measured() -> None:
    mtbr, size = (one.ravel() for one in np.meshgrid([100.0, 500.0, 900.0], [300.0, 900.0, 1500.0]))
    payload = size - 54
    times = 3e-8 + 8e-11 * payload + 1.4e-12 * payload * mtbr
    found = fit_request_time(profile(list(mtbr), list(times))._replace(size=size))
    sizes = np.array([600.0, 1000.0, 1500.0, 9000.0])
    wanted = 3e-8 + 8e-11 * (sizes - 54) + 1.4e-12 * (sizes - 54) * 200.0
    wanted[3] = wanted[2]  # sizes beyond the measured range are clipped to it
    assert found.at(np.full(4, 200.0), sizes) == pytest.approx(wanted)
    assert found.scaled(2.0).at(np.full(4, 200.0), sizes) == pytest.approx(2 * wanted)
    assert "bytes" in found.formula()


def test_sizes_that_do_not_vary_with_match_ratios_are_refused() -> None:
    few = profile([100, 500, 900], [1e-6, 2e-6, 3e-6])
    with pytest.raises(InputError, match="two match ratios for each of two sizes"):
        fit_request_time(few._replace(size=np.array([500.0, 1000.0, 1500.0])))
    # A single size does not vary.
    found = fit_request_time(few._replace(size=np.full(3, 1500.0)))
    assert found.at(np.array(500.0), np.array(300.0)) == pytest.approx(2e-6)


def test_request_times_that_fall_by_chance_are_constant() -> None:
    mtbr = [0.0, 250.0, 500.0, 750.0, 1000.0]
    # The line through these times falls by 2 % of its height; they scatter by 10 %.
    found = fit_request_time(profile(mtbr, [1.1e-6, 0.9e-6, 1e-6, 1.1e-6, 0.96e-6]))
    assert found.per_match == 0
    assert found.base == pytest.approx(1e-6, rel=0.02)
    assert found.spread == pytest.approx(0.1, rel=0.2)
    # Here each request is a little faster than the one before.
    with pytest.raises(InputError, match="request times"):
        fit_request_time(profile(mtbr, [1.1e-6, 1.06e-6, 1e-6, 0.97e-6, 0.9e-6]))


def test_request_times_that_fall_are_refused() -> None:
    with pytest.raises(InputError, match="request times"):
        fit_request_time(profile([100, 200], [2e-3, 1e-3]))
    with pytest.raises(InputError, match="below zero"):
        fit_request_time(profile([100, 200], [1e-3, 3e-3]))
