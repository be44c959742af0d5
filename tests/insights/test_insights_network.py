"""Tests the queueing network that predicts throughput: equations, bounds, fits to made-up data."""

import numpy as np
import pytest

from insights_tables import drawn, plain
from slowpath.insights.cores import network
from slowpath.insights.cores.functions import Array, functions_of
from slowpath.insights.cores.model import Measured, fit
from slowpath.insights.cores.network import (
    COMPUTING,
    COUNT,
    LINE,
    RESOURCES,
    SHARED,
    TIMES,
    WAITING,
    Amounts,
    amounts,
    demands,
    select_amounts,
    sensitivity,
    throughput,
    works,
)
from slowpath.insights.cores.queueing import THREADS, Demands, busy, solve

IMEM = 0


def made_up(seed: int = 1) -> Array:
    """Return made-up parameters of the queueing network.

    With them, cores limit some typical functions, and shared resources limit others.
    """
    random = np.random.default_rng(seed)
    typical = {COMPUTING.name: 20.0, WAITING.name: 100.0, SHARED[-1].name: 0.1}
    times = [
        random.uniform(0.2, 1.0, len(one.work)) * typical.get(one.name, 0.6) for one in RESOURCES
    ]
    queues = [random.uniform(*np.log(one.queueing)) for one in SHARED]
    return np.concatenate([*times, queues])


def setting(count: int, classes: int, seed: int = 5) -> tuple[Amounts, Array]:
    """Return random functions that share a card in groups, and the number of cores of each.

    There are `count` groups of `classes` functions.
    """
    random = np.random.default_rng(seed)
    one = amounts(works(functions_of(drawn(count * classes, seed))))
    places = np.arange(count * classes).reshape(classes, count)
    return select_amounts(one, list(places)), random.integers(6, 61, (count, classes)).astype(float)


def random_demands(classes: int, seed: int) -> tuple[Demands, Array]:
    random = np.random.default_rng(seed)
    shape = (200, classes)
    found = Demands(
        random.uniform(100, 9000, shape),
        random.uniform(10, 4000, shape),
        random.uniform(0, 60, (*shape, 3)) * random.integers(0, 2, (*shape, 3)),
        random.uniform(0.01, 50, 3),
    )
    return found, random.integers(1, 61, shape).astype(float)


def of_classes(needed: Demands, which: slice) -> Demands:
    """Return the resource demands of the functions that the slice `which` selects."""
    waiting, computing, shared, queueing = needed
    return Demands(waiting[:, which], computing[:, which], shared[:, which], queueing)


@pytest.mark.parametrize("classes", [1, 2, 3])
def test_the_equations_hold(classes: int) -> None:
    needed, cores = random_demands(classes, classes)
    rates = solve(needed, cores)
    state = busy(needed, cores, rates)
    assert (rates > 0).all()
    assert state.resources.max() < 1
    assert state.cores.max() < 1
    # By Little's law at each resource, the threads there add up to all threads.
    queues = needed.queueing * state.resources / (1 - state.resources)
    waiting = rates * needed.waiting
    in_cores = cores * state.cores / (1 - 0.75 * state.cores)
    queued = rates * np.einsum("sjk,sk->sj", needed.shared, queues)
    assert waiting + in_cores + queued == pytest.approx(THREADS * cores, rel=1e-7)


def test_asymptotic_bounds_are_bounds_and_are_reached() -> None:
    needed, cores = random_demands(1, 9)
    rates = solve(needed, cores)[:, 0]
    unhindered = THREADS * cores[:, 0] / (needed.waiting + needed.computing)[:, 0]
    full = 1 / np.maximum(needed.shared.max((1, 2)), 1e-12)
    core = cores[:, 0] / needed.computing[:, 0]
    bound = np.minimum.reduce([unhindered, full, core])
    assert (rates < bound).all()
    nothing = needed._replace(shared=0 * needed.shared, computing=0 * needed.computing + 1e-9)
    alone = solve(nothing, cores)[:, 0]
    assert alone == pytest.approx(THREADS * cores[:, 0] / nothing.waiting[:, 0])
    crowd = solve(needed._replace(queueing=np.full(3, 1e-3)), 1e4 * cores)[:, 0]
    busiest = needed.shared.max((1, 2)) > 1
    assert crowd[busiest] == pytest.approx(full[busiest], rel=0.01)


def test_more_cores_never_take_throughput_away() -> None:
    needed, cores = random_demands(1, 3)
    rates = [solve(needed, cores + more) for more in range(0, 40, 4)]
    assert (np.diff(rates, axis=0) > 0).all()


def test_members_that_are_swapped_swap_results() -> None:
    needed, cores = random_demands(2, 4)
    swapped = of_classes(needed, slice(None, None, -1))
    assert solve(swapped, cores[:, ::-1])[:, ::-1] == pytest.approx(solve(needed, cores), rel=1e-9)


def test_somebody_beside_makes_nobody_faster() -> None:
    needed, cores = random_demands(2, 6)
    both = solve(needed, cores)
    for one in (0, 1):
        own = of_classes(needed, slice(one, one + 1))
        assert (solve(own, cores[:, [one]])[:, 0] >= both[:, one] * (1 - 1e-9)).all()


@pytest.mark.parametrize("classes", [1, 2])
def test_slopes_are_those_of_differences(classes: int) -> None:
    parameters = made_up()
    work, cores = setting(30, classes)
    found = sensitivity(parameters, work, cores)
    assert found.throughput == pytest.approx(throughput(parameters, work, cores))
    random = np.random.default_rng(0)
    for at in [*random.choice(TIMES, 25, replace=False), *range(TIMES, COUNT)]:
        step = np.zeros(COUNT)
        step[at] = 1e-5 * max(abs(parameters[at]), 0.1)
        up, down = (throughput(parameters + sign * step, work, cores) for sign in (1, -1))
        slope = (np.log(up) - np.log(down)) / (2 * step[at])
        assert found.slopes[..., at] == pytest.approx(slope, rel=1e-4, abs=1e-9)


def test_a_fit_predicts_functions_that_it_has_not_seen() -> None:
    truth, number = made_up(), np.array([24.0, 36.0, 48.0, 60.0])

    def settings(count: int, seed: int) -> tuple[Amounts, Array, Array]:
        one = amounts(works(functions_of(drawn(count, seed))))
        work = select_amounts(one, [np.repeat(np.arange(count), len(number))])
        cores = np.tile(number, count)[:, None]
        return work, cores, throughput(truth, work, cores)

    found = fit([Measured(*settings(150, 1))], seed=0)
    work, cores, rates = settings(60, 2)
    errors = np.abs(throughput(found, work, cores) / rates - 1)
    # A constant prediction has much larger errors.
    assert errors.mean() < 0.02
    assert np.abs(rates / np.exp(np.log(rates).mean()) - 1).mean() > 0.15
    assert (found[:TIMES] >= 0).all()


def test_parameters_and_weights_are_the_same_after_a_file() -> None:
    parameters = made_up()
    again = network.read(network.written(parameters))
    assert again == pytest.approx(parameters, rel=1e-5)
    weights = np.linspace(-5, 7, network.LATENCY_COUNT)
    assert network.read_latency(network.written_latency(weights)) == pytest.approx(
        weights, rel=1e-5
    )


def test_the_line_is_where_its_place_says() -> None:
    assert SHARED[LINE].name == "line"
    assert SHARED[IMEM].name == "IMEM"


def test_latencies_of_a_linear_truth_are_found() -> None:
    functions = functions_of(drawn(200, 4))
    known = {name: one[:, None] for name, one in works(functions).items()}
    work = amounts(works(functions))
    cores = np.full((200, 1), 30.0)
    rates = throughput(made_up(), work, cores)
    times = network.times((made_up(),), work, cores, rates)
    assert (times.line >= 0).all()
    assert (times.line < times.packet).all()
    cycles = 0.9 * (times.packet - times.line) + 300 + 5 * known["rules"]
    wild = cycles.copy()
    wild[::40] *= 3
    weights = network.fit(known, times, wild)
    inliers = np.arange(200) % 40 > 0
    errors = network.latency(weights, known, times)[inliers] / cycles[inliers] - 1
    assert np.abs(errors).mean() < 0.02


def test_only_what_is_there_counts_and_third_blocks_read_first_counts() -> None:
    def needs(**changes: int) -> Demands:
        return demands(made_up(), amounts(works(functions_of([plain(**changes)]))))

    def same(one: Demands, other: Demands) -> bool:
        return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))

    assert same(needs(), needs(ipfilter1_rules=30, webgen_slots=5, compute2_iterations=9))
    third = {"has_compute3": 1, "has_accel3": 1}
    assert same(needs(**third), needs(**third, compute3_iterations=30, accel3_iterations=30))
    assert not same(needs(**third), needs(**third, compute1_iterations=30))
    assert not same(needs(**third), needs(**third, accel1_iterations=30))
    assert not same(needs(has_webgen=1), needs(has_webgen=1, webgen_slots=5))
    assert same(needs(), needs(**{f"has_imem{at}": 1 for at in range(5)}))
    # The rules of both filters are in internal memory.
    rules = needs(has_ipfilter1=1, ipfilter1_rules=20).shared[0, 0, IMEM]
    others = needs(has_ipfilter2=1, ipfilter2_rules=20).shared[0, 0, IMEM]
    assert rules == pytest.approx(others)
