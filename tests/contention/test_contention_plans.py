"""Tests the choice of mixes that a profile measures, on simulated machines."""

import itertools
import json
import math
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from slowpath.contention.memory.features import Rows
from slowpath.contention.memory.intervals import range_of
from slowpath.contention.memory.recipes import RECIPES, fit_stage
from slowpath.contention.profiling import profiler
from slowpath.contention.profiling.folder import write_profile
from slowpath.contention.profiling.machine import Machine
from slowpath.contention.profiling.mixes import (
    CpuAssignment,
    Measured,
    MemBench,
    MixSpec,
    Point,
    Rate,
    Turns,
)
from slowpath.contention.profiling.plans import MachineProperties, planner
from slowpath.contention.profiling.profiler import Audience, Found, Profiling
from slowpath.contention.profiling.run import load_setup, read_setup
from slowpath.contention.profiling.setup import (
    PLANS,
    MemoryRange,
    PlanRecord,
    Setup,
    Span,
    TrafficRange,
)
from slowpath.contention.reading import read_memory
from slowpath.core import codes
from slowpath.core.errors import InputError, StoppedError
from slowpath.core.jobs import Stopping
from support import ROOT, slowpath

TINY = ROOT / "tests/contention/contention_tiny.yaml"
ALL = ("memory", "accelerator", "both")
CLIFF = 150_000
WIDE = TrafficRange(Span(1000, 1_000_000), Span(64, 1500), Span(0, 0))
BENCHES = MemoryRange(Span(500_000, 64_000_000), None, ("updates", "copies"), 12)


def tiny(**effort: Any) -> Setup:
    """Return the profiling setup of `contention_tiny.yaml`, with changes of its `effort`."""
    setup = load_setup(str(TINY))
    return setup._replace(effort=setup.effort._replace(**effort))


def wide(**effort: Any) -> Setup:
    """Return a profiling setup with wide ranges of traffic, and without accelerator clients."""
    return tiny(**effort)._replace(traffic=WIDE, memory=BENCHES, client=None)


def score(competitor: MemBench) -> float:
    """Return a made-up score of a competitor: its working set in MB."""
    return competitor.working_set / 1e6


def cliff(point: Point) -> tuple[float, float]:
    """Return made-up throughputs of a function, alone and with competitors.

    They drop at a certain number of flows, which is smaller with competitors.
    """
    mb_beside = 0.0 if point.memory is None else score(point.memory)
    rates = [1e6 / (1 + (point.traffic.flows > CLIFF / (1 + mb / 8))) for mb in (0.0, mb_beside)]
    return rates[0], rates[1]


def slope(point: Point) -> tuple[float, float]:
    """Return made-up throughputs of a function, alone and with competitors.

    Both fall with the logarithm of flows, the latter faster.
    """
    mb_beside = 0.0 if point.memory is None else score(point.memory)
    flows = math.log10(point.traffic.flows / 100)
    rates = [1e6 / (1 + flows * (0.3 + mb / (mb + 8))) for mb in (0.0, mb_beside)]
    return rates[0], rates[1]


def planned(
    setup: Setup,
    simulate: Callable[[Point], tuple[float, float]] = cliff,
    kinds: Sequence[str] = ("memory",),
    spread: float | None = 0.01,
    stop: int | None = None,
) -> tuple[list[Measured], PlanRecord]:
    """Let a planner choose measurements of a simulated machine.

    Return the measurements and the planner's record. `simulate` returns the throughputs of a point,
    alone and with competitors; `stop` ends the profile after this number of measurements.
    """
    chosen, measured = planner(setup, kinds, MachineProperties(spread, score)), list[Measured]()
    while len(measured) != stop and (point := chosen.next(measured)) is not None:
        alone, beside = (Rate(value, value, value, 1, 0) for value in simulate(point))
        measured.append(Measured(point, alone, beside, None))
    return measured, chosen.record


def points(*args: Any, **options: Any) -> list[Point]:
    return [one.point for one in planned(*args, **options)[0]]


def flows(found: Sequence[Point]) -> list[int]:
    return [one.traffic.flows for one in found]


def near(found: Sequence[Point]) -> int:
    """Count the points whose number of flows is within a factor of two of the simulated drop."""
    return sum(CLIFF / 2 < one < CLIFF * 2 for one in flows(found))


# --- all plans ------------------------------------------------------------------------------------


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("mixes", [1, 15])
def test_plans_keep_their_quota_and_ranges(plan: Any, mixes: int) -> None:
    found, record = planned(tiny(plan=plan, mixes=mixes), kinds=ALL)
    assert len(found) == mixes
    assert record["name"] == plan
    assert found == planned(tiny(plan=plan, mixes=mixes), kinds=ALL)[0]
    for at, (point, *_) in enumerate(found):
        others = {1: "accelerator", 2: "both"} if plan in ("random", "grid") else {4: "a", 5: "b"}
        turn = at % (3 if plan in ("random", "grid") else 6)
        assert (point.client is not None) == (turn in others)
        assert (point.memory is None) == (turn == min(others))
        assert 100 <= point.traffic.flows <= 1000
        assert 128 <= point.traffic.size <= 512
        assert 0 <= point.traffic.mtbr <= (1000 if turn in others else 0)
    used = {one.point.memory for one in found if one.point.memory}
    if mixes > 1:
        assert {one.touch for one in used} == {"updates", "copies"}
        assert sorted(one.working_set for one in used) == [10_000, 1_000_000]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("mixes", [6, 24])
def test_rows_of_each_kind_cover_the_declared_ranges(mixes: int, seed: int) -> None:
    """Check that measurements of each kind cover the declared ranges of traffic."""
    setup = load_setup(str(ROOT / "examples/contention/flow-monitor.yaml"))
    setup = setup._replace(effort=setup.effort._replace(mixes=mixes, seed=seed))
    setup = setup._replace(traffic=setup.traffic._replace(size=Span(64, 1500)))
    found, _ = planned(setup, kinds=ALL)
    for turn in range(len(ALL)):
        traffic = [one.point.traffic for one in found[turn :: len(ALL)]]
        flows, sizes = sorted(one.flows for one in traffic), sorted(one.size for one in traffic)
        assert (flows[0], flows[-1]) == (1000, 1_000_000)
        assert (sizes[0], sizes[-1]) == (64, 1500)
        # Neighbours are at most two strata apart.
        widest = 2 * math.log(1000) / len(traffic) + 0.01
        assert max(math.log(b / a) for a, b in itertools.pairwise(flows)) <= widest
        if turn:
            assert {0.0, 1000.0} <= {one.mtbr for one in traffic}


def test_another_seed_has_other_mixes() -> None:
    for plan in PLANS:
        assert points(wide(plan=plan, seed=1)) != points(wide(plan=plan, seed=2))


# --- adaptive -------------------------------------------------------------------------------------


def test_adaptive_looks_where_throughput_alone_changes() -> None:
    setup = wide(plan="adaptive", mixes=40)
    found, record = planned(setup)
    assert (record["relevant"], record["threshold"]) == (["flow_count"], 0.05)
    chosen = [one.point for one in found]
    # First the default traffic, then both ends of each attribute; flows on a logarithmic scale.
    middle = 31_623
    assert flows(chosen)[:4] == [middle, 1000, 1_000_000, middle]
    assert [one.traffic.size for one in chosen[:5]] == [1500, 1500, 1500, 64, 1500]
    # After two passes through the regions, the remaining mixes are random.
    adapted = chosen[:20]
    assert {one.traffic.size for one in adapted[4:]} == {1500}
    # Draws in strata have 20 ln 4 / ln 1000 = 4 of 20 points near the cliff.
    assert near(adapted) >= 8 >= 2 * near(points(wide(plan="random", mixes=20)))
    # Halving stops early: neighbours differ by at least a fifth.
    visited = sorted(set(flows(adapted)))
    assert min(more / less for less, more in itertools.pairwise(visited)) > 1.2


def test_throughput_alone_comes_along_with_every_mix() -> None:
    """Check that each chosen mix has competitors and is chosen once.

    Each measurement includes the solo throughput, so no mix without competitors is needed.
    """
    chosen = points(wide(plan="adaptive", mixes=40))
    assert all(one.memory is not None for one in chosen)
    assert len(set(chosen)) == 40
    # If the plan asks for solo throughput, competitors take turns.
    assert len({one.memory for one in chosen[:4]}) == 4
    assert max(Counter(one.memory for one in chosen).values()) < 12


def test_adaptive_goes_into_the_widest_difference_first() -> None:
    """Check that adaptive profiling measures in both halves of the range of flows.

    If throughput falls steadily, a depth-first search would spend its quota in the upper half.
    """
    found = flows(points(wide(plan="adaptive", mixes=30), slope))
    halves = [sum(low < one < high for one in found) for low, high in ((1e3, 3e4), (4e4, 1e6))]
    assert min(halves) >= 6


def test_differences_that_noise_makes_are_none() -> None:
    def small(point: Point) -> tuple[float, float]:
        rate = 1e6 if point.traffic.flows < CLIFF else 0.8e6
        return rate, rate

    setup = wide(plan="adaptive", mixes=20)
    assert planned(setup, small)[1]["relevant"] == ["flow_count"]
    found, record = planned(setup, small, spread=0.1)
    assert record["relevant"] == []
    assert record["threshold"] == pytest.approx(0.1 * 2 * math.sqrt(2))
    # The other points are random, over the whole range of traffic.
    assert len({one.point.traffic.size for one in found}) > 12
    assert planned(setup, small, spread=None)[1]["threshold"] == 0.05


def test_adaptive_is_interrupted_before_it_knows() -> None:
    found, record = planned(wide(plan="adaptive", mixes=20), stop=3)
    assert len(found) == 3
    assert record["relevant"] is None


def test_what_can_be_measured_is_used_up() -> None:
    """Check that all possible rows for the memory model are measured before mixes of other kinds.

    With fixed traffic and two competitors, there are only two such rows.
    """
    setup = tiny(mixes=18)
    fixed = setup.traffic._replace(flows=Span(500, 500), size=Span(256, 256))
    for plan in ("adaptive", "active"):
        setup = setup._replace(traffic=fixed, effort=setup.effort._replace(plan=plan))
        chosen = points(setup, kinds=ALL)
        assert sum(one.client is None for one in chosen) == 2
        assert len(chosen) == 2 + 6


# --- active ---------------------------------------------------------------------------------------


def test_active_knows_scores_before_it_begins() -> None:
    calls = list[MemBench]()

    def counted(competitor: MemBench) -> float:
        calls.append(competitor)
        return score(competitor)

    planner(wide(plan="active"), ["memory"], MachineProperties(0.01, counted))
    assert len(set(calls)) == len(calls) == 12
    for plan in ("random", "grid", "adaptive"):
        planner(wide(plan=plan), ["memory"], MachineProperties(0.01, counted))
    assert len(calls) == 12


def rows_of(found: Sequence[Measured]) -> Rows:
    """Convert measurements to training rows of the memory model, with and without competitors."""
    rows = [
        (one.point.traffic.flows, one.point.traffic.size, mb, rate.value)
        for one in found
        for mb, rate in ((score(cast("MemBench", one.point.memory)), one.beside), (0.0, one.alone))
    ]
    *columns, throughput = (np.array(one, dtype=float) for one in zip(*rows, strict=True))
    names = ("flow_count", "packet_size_bytes", "score")
    return Rows(dict(zip(names, columns, strict=True)), throughput, 32.0)


@pytest.mark.filterwarnings("ignore")  # of scikit-learn, about bounds of kernels
def test_active_tells_a_process_more_than_chance() -> None:
    tests = rows_of(planned(wide(plan="random", mixes=120, seed=99), slope)[0])

    def off(plan: str, seed: int) -> float:
        learnt = rows_of(planned(wide(plan=plan, mixes=16, seed=seed), slope)[0])
        message = np.exp(fit_stage(RECIPES["process-plain"], learnt).log_throughput(tests.columns))
        return float(np.abs(message / tests.throughput - 1).mean())

    by_uncertainty, by_chance = (
        np.mean([off(plan, at) for at in range(3)]) for plan in ("active", "random")
    )
    assert by_uncertainty < by_chance


# --- whole profiles, on a simulated machine -------------------------------------------------------


class SimulatedProfiling(Profiling):
    """A profile of a simulated function, which requests a stop at a chosen measurement."""

    def __init__(
        self,
        setup: Setup,
        simulate: Callable[[Point], tuple[float, float]],
        stop: int | None = None,
    ) -> None:
        self.shown = list[str]()
        machine = Machine("made up", CpuAssignment([0, 1]), 32 << 20, 4 << 20, None)
        super().__init__(setup, machine, Audience(Stopping(), self.shown.append, None))
        self.setup, self.machine = setup, machine
        self._simulate, self._stop = simulate, stop
        self.calls = 0

    def measure(self, point: Point) -> Measured:
        if point.memory is not None:
            self.calls += 1
            if self.calls == self._stop:
                raise StoppedError(
                    codes.INTERRUPTED, "this machine", "stopped before anything was measured"
                )
        alone, beside = (Rate(one, one, one, 3, 0) for one in self._simulate(point))
        return Measured(point, alone, beside, None)

    def _turns(self, spec: MixSpec, _reference: MixSpec | None = None) -> Turns:
        one = Rate(1e6, 1e6, 1e6, 3, 0)
        size = spec.competitors[0].get("bytes", 1 << 20) if spec.competitors else 1
        slower = 1 + math.log2(1 + cast("int", size) / (1 << 20)) / 4
        return Turns(one, one._replace(value=1e6 / slower), None)

    def profile(self) -> Found:
        return self.run(lambda known: planner(self.setup, ["memory"], known))


@pytest.fixture(autouse=True)
def _no_surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    monitor = SimpleNamespace(misplaced=0.0)
    monkeypatch.setattr(profiler, "CpuMonitor", lambda _cpus, _limit, **_: monitor)


def headers_alone(**effort: Any) -> Setup:
    setup = wide(**effort)
    return setup._replace(function=setup.function._replace(service=None))


@pytest.mark.parametrize("plan", PLANS)
def test_what_was_measured_before_an_interruption_is_kept(plan: Any) -> None:
    profiling = SimulatedProfiling(headers_alone(plan=plan, mixes=20), cliff, stop=8)
    found = profiling.profile()
    assert found.stopped
    assert len(found.points) == 7
    assert found.plan["name"] == plan
    assert found.plan["relevant"] == (["flow_count"] if plan == "adaptive" else None)
    assert {one.point.memory for one in found.points} <= found.scores.keys()
    with pytest.raises(StoppedError):
        SimulatedProfiling(headers_alone(plan=plan), cliff, stop=1).profile()


def test_scores_are_measured_once_and_shown() -> None:
    profiling = SimulatedProfiling(headers_alone(plan="active", mixes=10), cliff)
    found = profiling.profile()
    told = [at for at, text in enumerate(profiling.shown) if text.startswith("measuring the score")]
    assert len(told) == 12 == len(found.scores)
    assert profiling.shown.index("mix 1 of 10") > max(told)
    assert profiling.shown[-1] == "mix 10 of 10"


def test_models_of_an_adaptive_profile_say_what_they_do_not_know(tmp_path: Path) -> None:
    """Check that a model warns about packet sizes that its profile did not measure.

    Adaptive profiling fixes the packet size once a measurement has shown that it has no effect.
    """
    folder, model = tmp_path / "nf.profile", tmp_path / "nf.model.json"
    profiling = SimulatedProfiling(headers_alone(plan="adaptive", mixes=30), slope)
    found = profiling.profile()
    assert [found.points[at].point.traffic.size for at in (2, 3, 4)] == [1500, 64, 1500]
    records = (cast("Any", {"plan": found.plan}), cast("Any", {}))
    write_profile(str(folder), profiling.setup, profiling.machine, found, records)
    plan = json.loads((folder / "profile.json").read_text())["plan"]
    assert (plan["relevant"], plan["unused"]) == (["flow_count"], ["mix-4"])
    memory = read_memory([str(folder / "memory.csv")])
    assert len(memory.rows) == 2 * 29
    asked = {
        "flow_count": np.array([2e3, 1e5, 9e5, 1e5, 5e6]),
        "packet_size_bytes": np.array([1500.0, 1500, 1500, 700, 1500]),
        "score": np.full(5, float(np.median(memory.columns["score"][::2]))),
    }
    outside = range_of(memory.columns).outside(asked)
    assert outside == [[], [], [], ["packet_size_bytes"], ["flow_count"]]
    words = ("--recipe", "ridge-pressure", "--pattern", "run-to-completion", "-o", str(model))
    train = slowpath("contention", "train", str(folder), *words)
    assert train.returncode == 0, train.stderr
    traffic = ("--traffic", "flows=100000,size=700", "--format", "csv")
    run = slowpath("contention", "predict", str(model), *traffic)
    assert run.returncode == 0, run.stderr
    assert "packet_size_bytes" in run.stdout.splitlines()[-1]


def test_rows_are_used_where_random_ones_follow() -> None:
    """Check that adaptive profiling measures random points once no region is left to divide.

    The simulated throughput has one step, so few regions are divided. Random points have all packet
    sizes.
    """
    found, record = planned(wide(plan="adaptive", mixes=60))
    assert record["relevant"] == ["flow_count"]
    assert record["unused"] == []
    assert len({one.point.traffic.size for one in found}) > 20


# --- wrong input ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("effort", "message"),
    [
        (
            "plan: best",
            "t.yaml:9: effort.plan: 'best' is not one of random, grid, adaptive, active",
        ),
        ("mixes: 0", "t.yaml:9: effort.mixes: 0 is not between 1 and 100,000"),
        ("mixes: -4", "t.yaml:9: effort.mixes: '-4' is not a whole number"),
    ],
)
def test_efforts_that_make_no_sense(effort: str, message: str) -> None:
    text = TINY.read_text().replace("effort: {mixes: 15", f"effort: {{{effort}")
    with pytest.raises(InputError) as problem:
        read_setup("t.yaml", text)
    assert message in str(problem.value)


def no_memory(effort: str) -> str:
    lines = TINY.read_text().replace("mixes: 15", effort).splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith("  memory:"))


@pytest.mark.parametrize("plan", ["adaptive", "active"])
def test_plans_without_anything_to_choose(plan: str, tmp_path: Path) -> None:
    message = f"{plan} needs competitors for memory in the description; add some"
    with pytest.raises(InputError) as problem:
        read_setup("t.yaml", no_memory(f"plan: {plan}"))
    assert str(problem.value) == f"t.yaml:8: effort.plan: {message}"
    file = tmp_path / "t.yaml"
    file.write_text(no_memory("plan: grid"))
    words = ("-o", str(tmp_path / "p"), "--plan", plan)
    run = slowpath("contention", "profile", str(file), *words)
    assert run.returncode == 2
    assert f"invalid value for '--plan': {message}\n" in run.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--plan", "best"), "--plan: no value 'best'"),
        (("--mixes", "0"), "error: --mixes: "),
        (("--mixes", "-1"), "error: --mixes: "),
    ],
)
def test_options_that_make_no_sense(words: tuple[str, str], message: str, tmp_path: Path) -> None:
    run = slowpath("contention", "profile", str(TINY), "-o", str(tmp_path / "p"), *words)
    assert run.returncode == 2
    assert message in run.stderr
