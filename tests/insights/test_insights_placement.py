"""Compares placements of structures in memories with all placements, and with published results."""

import csv
import ctypes
import io
import itertools
import json
import math
import os
import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from insights_files import small, write
from oracles import compared, folder
from slowpath.core.schema.validation import schema
from slowpath.insights.placement.bounds import fix_variables, least, relaxed
from slowpath.insights.placement.integer_program import (
    IntegerProgram,
    Row,
    build_integer_program,
    least_cost,
)
from slowpath.insights.placement.problem import (
    COPY,
    COST,
    THROUGHPUT,
    Access,
    Card,
    Case,
    Objective,
    PartCounts,
    Structure,
    ThroughputLimits,
    Units,
    units,
    value,
)
from slowpath.insights.placement.solving import (
    OutOfTime,
    first_fit,
    fits,
    improved,
    local_search,
    place,
)
from support import CAMPAIGN, GOLDEN, ROOT, check_golden, slowpath

EXAMPLE = ROOT / "examples/insights/udp_counter.json"
LEVELS = ("near", "middle", "far")
OPERATIONS = ("read", "write")
Prices = dict[str, dict[str, float]]


# --- comparison with all placements ---------------------------------------------------------------


@st.composite
def cases(draw: st.DrawFn, most: int = 4) -> Case:
    """Draw small placement problems.

    Some lack access costs or memory, and some have equal structures.
    """
    names = [f"s{at}" for at in range(draw(st.integers(1, most)))]
    price = st.one_of(st.none(), st.integers(0, 50))

    def prices(rows: tuple[str, ...]) -> Prices:
        found = {row: {level: draw(price) for level in LEVELS} for row in rows}
        return {
            row: {at: float(one) for at, one in each.items() if one is not None}
            for row, each in found.items()
        }

    copying = draw(st.sets(st.sampled_from(names)))
    access = st.builds(Access, st.sampled_from(OPERATIONS), st.integers(0, 5).map(float), st.none())
    structures = []
    for name in names:
        accesses = draw(st.lists(access, max_size=2))
        parts = draw(st.integers(1, 2))
        if name in copying:
            parts = 1
            to = st.sampled_from(sorted(copying))
            copy = st.builds(Access, st.just(COPY), st.integers(0, 5).map(float), to)
            accesses += draw(st.lists(copy, max_size=2))
        structures.append(Structure(name, draw(st.sampled_from((1, 2, 5))), accesses, parts))
    capacity = {level: draw(st.integers(1, 8)) for level in LEVELS[:2]} | {"far": 100}
    card = Card(LEVELS, capacity, prices(OPERATIONS), prices(LEVELS))
    return Case("case", card, structures, draw(st.none() | rates()))


@st.composite
def rates(draw: st.DrawFn) -> ThroughputLimits:
    seconds = st.integers(0, 3).map(float)
    each = st.fixed_dictionaries(dict.fromkeys((*OPERATIONS, COPY), seconds))
    busy = draw(st.dictionaries(st.sampled_from(LEVELS), each))
    wanted = draw(st.none() | st.floats(0.01, 10))
    return ThroughputLimits(
        10.0, draw(st.integers(1, 4)), busy, draw(st.sampled_from((0.0, 7.0))), 2, wanted
    )


def spreads(case: Case) -> Iterator[PartCounts]:
    """Yield all placements of a problem's structures that fit into the memories."""
    each = [
        [
            counts
            for counts in itertools.product(range(one.parts + 1), repeat=len(LEVELS))
            if sum(counts) == one.parts
        ]
        for one in case.structures
    ]
    for spread in itertools.product(*each):
        sizes = [
            sum(
                one.part_size * counts[at]
                for one, counts in zip(case.structures, spread, strict=True)
            )
            for at in range(len(LEVELS))
        ]
        if all(
            size <= case.card.capacity[level] for size, level in zip(sizes, LEVELS, strict=True)
        ):
            yield spread


def defined_value(
    case: Case, spread: PartCounts, objective: Objective, *, free: bool
) -> tuple[float, float]:
    """Return the value of a placement by its definition, summed over the accesses of all parts.

    The value is the cost alone, or the time in seconds and the cost.
    """
    missing = 0.0 if free else math.inf
    cost, busy = 0.0, dict.fromkeys(LEVELS, 0.0)
    counts_of = {one.name: counts for one, counts in zip(case.structures, spread, strict=True)}
    seconds = {} if case.rates is None else case.rates.busy
    for one in case.structures:
        for access in one.accesses:
            if not access.times:
                continue
            for level, parts in zip(LEVELS, counts_of[one.name], strict=True):
                if not parts:
                    continue
                count = access.times * parts / one.parts
                busy[level] += count * seconds.get(level, {}).get(access.operation, 0.0)
                if access.to is None:
                    cost += count * case.card.access_cost[access.operation].get(level, missing)
                    continue
                to = LEVELS[counts_of[access.to].index(1)]
                busy[to] += count * seconds.get(to, {}).get(COPY, 0.0)
                cost += count * case.card.copy_cost[level].get(to, missing)
    if objective == COST:
        return (cost, 0.0)
    assert case.rates is not None
    limits = case.rates
    times = [
        (cost + limits.compute) / limits.clock / limits.contexts,
        limits.compute / limits.clock / (limits.cores or 1),
    ]
    times += [*busy.values(), 0.0 if limits.wanted is None else 1 / limits.wanted]
    return (max(times), cost)


@pytest.mark.parametrize(("most", "feasible"), [(1.0, True), (-1.0, False)])
def test_a_program_whose_variables_are_all_fixed_is_decided(most: float, feasible: bool) -> None:
    rows = [Row({0: 1.0}, -math.inf, most)]
    fixed = IntegerProgram({}, [0], {}, {}, {0: 2.0}, [0.0], rows, [], [0.0])
    found = least_cost(fixed, [], math.inf)
    assert (found is not None and found.proven) == feasible


@settings(max_examples=100 * CAMPAIGN)
@given(cases(), st.booleans())
def test_the_placement_is_the_best_of_all(case: Case, free: bool) -> None:
    objective = COST if case.rates is None else THROUGHPUT
    best = min(
        (defined_value(case, one, objective, free=free) for one in spreads(case)),
        default=None,
    )
    found = place(case, objective, free=free)
    if best is None or math.isinf(best[0]):
        assert found is None
        return
    assert found is not None
    assert found.proven
    assert fits(case, found.spread)
    assert found.value == pytest.approx(defined_value(case, found.spread, objective, free=free))
    assert found.value.first == pytest.approx(best[0], rel=1e-6)
    assert found.value.second == pytest.approx(best[1], rel=1e-6)
    assert found.bound == pytest.approx(best[0], rel=1e-6)


@settings(max_examples=80 * CAMPAIGN)
@given(cases(), st.booleans(), st.randoms(use_true_random=False))
def test_limits_leave_every_placement_that_costs_no_more(
    case: Case, free: bool, dice: random.Random
) -> None:
    found = units(case, free=free, alike=False)
    problem = build_integer_program(case, found)
    lacking = not all(row.terms for row in problem.rows)
    relaxation = None if lacking else relaxed(case, found, problem)
    priced = {
        tuple(map(tuple, one)): cost
        for one in spreads(case)
        if math.isfinite(cost := defined_value(case, one, COST, free=free)[0])
    }
    if relaxation is None:
        assert not priced
        return
    if not priced:
        return
    known = dice.choice(sorted(priced.values()))
    fixed = fix_variables(problem, relaxation, known)
    for spread, cost in priced.items():
        assert cost >= relaxation.bound * (1 - 1e-9) - 1e-12  # sums of the solver are not exact
        if cost > known:
            continue
        level_of = levels_by_unit(found, spread)
        for index, level in enumerate(level_of):
            assert fixed.most[problem.placed[index, level]] == 1
        for (one, other), joint in problem.together.items():
            assert fixed.most[joint[level_of[one], level_of[other]]] == 1


def levels_by_unit(found: Units, spread: PartCounts) -> list[int]:
    """Return the memory level of each unit of placement; each unit must have one part.

    A unit is a set of structures, or parts, that are placed together.
    """
    left = [list(counts) for counts in spread]
    levels = []
    for unit in found.units:
        level = next(at for at, count in enumerate(left[unit.members[0]]) if count)
        left[unit.members[0]][level] -= 1
        levels.append(level)
    return levels


@settings(max_examples=80 * CAMPAIGN)
@given(cases(), st.booleans(), st.tuples(*[st.integers(0, 3).map(float)] * 3))
def test_decisions_cost_what_the_best_solution_with_them_does(
    case: Case, free: bool, prices: tuple[float, ...]
) -> None:
    """Compare the least costs that dynamic programming finds with the minimum over all placements.

    Memory has prices per byte, but no limits of size.
    """
    endless = case._replace(card=case.card._replace(capacity=dict.fromkeys(LEVELS, 10**6)))
    found = units(endless, free=free, alike=True)
    decided = least(found, np.array(prices), [0, 0, 0])
    assert decided is not None
    alone = np.full_like(decided.alone, np.inf)
    both = {pair: np.full((3, 3), np.inf) for pair in found.pairs}
    for spread in spreads(endless):
        cost = defined_value(endless, spread, COST, free=free)[0]
        for one, counts in zip(case.structures, spread, strict=True):
            cost += sum(one.part_size * n * p for n, p in zip(counts, prices, strict=True) if n)
        unit_levels = [
            {level for at in unit.members for level, n in enumerate(spread[at]) if n}
            for unit in found.units
        ]
        for at, levels in enumerate(unit_levels):
            for level in levels:
                alone[at, level] = min(alone[at, level], cost)
        for first, second in found.pairs:
            for level, to in itertools.product(unit_levels[first], unit_levels[second]):
                both[first, second][level, to] = min(both[first, second][level, to], cost)
    np.testing.assert_allclose(decided.alone, alone)
    for pair, costs in both.items():
        np.testing.assert_allclose(decided.both[pair], costs)


def test_where_copies_need_large_tables_reduced_costs_do() -> None:
    """Check that placements are optimal even with too many copies for dynamic programming.

    Any two of twelve structures are copied to each other; there are five memory levels.
    """
    names = [f"s{at}" for at in range(12)]
    levels = ("a", "b", "c", "d", "e")
    price = {level: 10.0 * at for at, level in enumerate(levels, 1)}
    structures = [
        Structure(name, 3, [Access("read", 1.0), *(Access(COPY, 1.0, to) for to in names[:at])])
        for at, name in enumerate(names)
    ]
    capacity = {"a": 4, "b": 7, "c": 9, "d": 100, "e": 100}
    card = Card(levels, capacity, {"read": price}, dict.fromkeys(levels, price))
    case = Case("all with all", card, structures)
    assert least(units(case, free=False, alike=True), np.zeros(5), [*capacity.values()]) is None
    found = place(case, COST)
    assert found is not None
    assert found.proven
    assert fits(case, found.spread)


def test_the_solver_writes_nothing_to_standard_output(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Check that messages of the solver HiGHS do not reach standard output.

    It writes them from C++ when it repairs a solution, whatever its options are.
    """
    solver = scipy.optimize.milp

    def talkative(*given: object, **named: object) -> object:
        libc = ctypes.CDLL(None)
        libc.printf(b"tmpSolver.run();\n")
        os.write(1, b"more\n")
        return solver(*given, **named)

    monkeypatch.setattr(scipy.optimize, "milp", talkative)
    structures = [Structure(f"s{at}", 2, [Access("read", at + 1.0)]) for at in range(3)]
    prices = {"read": {"near": 1.0, "far": 9.0}}
    card = Card(("near", "far"), {"near": 3, "far": 100}, prices, {})
    found = place(Case("case", card, structures), COST)
    os.write(1, b"after\n")
    assert found is not None
    assert [list(one) for one in found.spread] == [[0, 1], [0, 1], [1, 0]]
    assert capfd.readouterr().out == "after\n"


@settings(max_examples=80 * CAMPAIGN)
@given(cases(), st.booleans())
def test_what_is_found_downhill_fits_and_costs_no_less_than_the_best(
    case: Case, free: bool
) -> None:
    best = min(
        (defined_value(case, one, COST, free=free)[0] for one in spreads(case)),
        default=math.inf,
    )
    everywhere = [[one.parts, *[0] * (len(LEVELS) - 1)] for one in case.structures]
    found = local_search(case, everywhere, free=free)
    if found is not None:
        assert fits(case, found)
        assert value(case, COST, found, free=free).first >= best * (1 - 1e-9)


@settings(max_examples=40 * CAMPAIGN)
@given(cases(), st.booleans())
def test_what_is_found_without_a_solver_fits_and_is_near(case: Case, free: bool) -> None:
    objective = COST if case.rates is None else THROUGHPUT
    start = first_fit(case, free=free)
    if start is None:
        return
    assert fits(case, start)
    found = improved(case, objective, start, free=free)
    assert fits(case, found)
    assert value(case, objective, found, free=free) <= value(case, objective, start, free=free)
    best = place(case, objective, free=free)
    assert best is not None
    assert best.value.first <= value(case, objective, found, free=free).first * (1 + 1e-6)


@settings(max_examples=40 * CAMPAIGN)
@given(cases(), st.booleans())
def test_a_search_that_is_stopped_has_a_bound_all_the_same(case: Case, free: bool) -> None:
    objective = COST if case.rates is None else THROUGHPUT
    try:
        found = place(case, objective, free=free, seconds=0.0)
    except OutOfTime:
        return
    best = place(case, objective, free=free)
    if found is None:  # found infeasible before the search
        assert best is None
        return
    assert best is not None
    assert fits(case, found.spread)
    assert found.bound <= best.value.first * (1 + 1e-6)
    assert found.value.first >= best.value.first * (1 - 1e-6)


def reads(name: str, size: int, count: float) -> Structure:
    return Structure(name, size, [Access("read", count)])


def card(near: int, far: int) -> Card:
    prices = {"near": 1.0, "far": 3.0}
    return Card(("near", "far"), {"near": near, "far": far}, {"read": prices}, {})


@pytest.mark.parametrize(("room", "cost"), [(8_000_000_001, 8.0), (8_000_000_000, 16.0)])
def test_a_byte_too_many_is_too_many(room: int, cost: float) -> None:
    """Check that a structure is not placed in a memory that is one byte too small.

    The solver tolerates this, so placements are checked in integers.
    """
    structures = [reads("a", 4_000_000_000, 4.0), reads("b", 4_000_000_001, 4.0)]
    found = place(Case("full", card(room, 10**10), structures), COST)
    assert found is not None
    assert (found.value.first, found.proven) == (cost, True)


def test_parts_that_are_alike_are_counted_not_told_apart() -> None:
    """Check that forty equal structures become one unit, of which 17 fit into near memory."""
    structures = [reads(f"s{at}", 10, 2.0) for at in range(40)]
    case = Case("alike", card(179, 10_000), structures)
    found = units(case, free=False, alike=True)
    assert [len(one.members) for one in found.units] == [40]
    placed = place(case, COST)
    assert placed is not None
    assert (placed.value.first, placed.proven) == (17 * 2.0 + 23 * 6.0, True)


def test_structures_that_copy_to_the_same_one_are_alike_too() -> None:
    copies = {one: {"near": 1.0, "far": 5.0} for one in ("near", "far")}
    each = [Structure(f"s{at}", 10, [Access(COPY, 2.0, "hub")]) for at in range(12)]
    structures = [*each, reads("hub", 10, 1.0)]
    case = Case("star", card(35, 10_000)._replace(copy_cost=copies), structures)
    found = units(case, free=False, alike=True)
    assert [len(one.members) for one in found.units] == [12, 1]
    placed = place(case, COST)
    assert placed is not None
    assert (placed.value.first, placed.proven) == (12 * 2.0 + 1.0, True)


def test_a_hundred_structures_are_placed_and_proved() -> None:
    """Check that a hundred structures are placed optimally, equal ones or all different."""
    for kinds in (10, 100):
        structures = [
            reads(f"s{at}", 50 + 37 * (at % kinds) % 400, 1.0 + at % kinds * 7 % 23)
            for at in range(100)
        ]
        case = Case("many", card(4000, 10**6), structures)
        found = place(case, COST)
        assert found is not None
        assert found.proven
        assert fits(case, found.spread)


# --- throughput -----------------------------------------------------------------------------------


def test_two_memories_of_one_kind_share_accesses() -> None:
    """Check that a table is divided between two equal memories, which doubles the throughput."""
    both = {"read": {"first": 10.0, "second": 10.0}}
    levels = Card(("first", "second"), {"first": 100, "second": 100}, both, {})
    busy = {level: {"read": 1e-8} for level in levels.levels}
    table = Structure("table", 80, [Access("read", 4.0)], parts=8)
    case = Case("two", levels, [table], ThroughputLimits(1e9, 1000, busy))
    found = place(case, THROUGHPUT)
    assert found is not None
    assert found.spread == [[4, 4]]
    assert 1 / found.value.first == pytest.approx(1 / (2 * 1e-8))


def test_where_contexts_limit_nothing_is_spread() -> None:
    """Check that all structures are placed in the nearest memory if its bandwidth is sufficient."""
    busy = {"near": {"read": 1e-9}, "far": {"read": 1e-9}}
    structures = [reads("a", 10, 2.0), reads("b", 10, 2.0)]
    case = Case("few", card(100, 100), structures, ThroughputLimits(1e6, 1, busy))
    found = place(case, THROUGHPUT)
    assert found is not None
    assert found.spread == [[1, 0], [1, 0]]
    assert 1 / found.value.first == pytest.approx(1e6 / 4)


def test_beyond_the_rate_that_is_wanted_cost_decides() -> None:
    busy = {"near": {"read": 1e-9}, "far": {"read": 1e-9}}
    structures = [reads("a", 10, 2.0), reads("b", 10, 2.0)]
    limits = ThroughputLimits(1e12, 1000, busy)
    spread = place(Case("fast", card(100, 100), structures, limits), THROUGHPUT)
    slow = place(Case("slow", card(100, 100), structures, limits._replace(wanted=1e8)), THROUGHPUT)
    assert spread is not None
    assert slow is not None
    assert (spread.value.second, slow.value.second) == (2.0 + 6.0, 4.0)


def test_the_example_is_what_the_documentation_says() -> None:
    """Check the figures of the example in the documentation: throughput, bottleneck, placement.

    In one memory, that memory limits a UDP counter; in two, the card's thread contexts limit it.
    """
    run = slowpath("insights", "placement", EXAMPLE.relative_to(ROOT), "--format", "json")
    (whole, divided) = json.loads(run.stdout)["results"]
    assert {one["level"] for one in whole["structures"]} == {"imem", "emem"}
    rates = [case["throughput"]["packetrate_pps"] / 1e6 for case in (whole, divided)]
    assert rates == pytest.approx([54.4, 22.71], abs=0.05)
    others = [{one["placement"]: one for one in case["compared"]} for case in (whole, divided)]
    alone = [other["least cost"]["throughput"] for other in others]
    assert [one["packetrate_pps"] / 1e6 for one in alone] == pytest.approx([29.99, 11.36], abs=0.05)
    assert {one["bottleneck"] for one in alone} == {"imem"}
    (table,) = {one["level"] for one in whole["structures"] if one["structure"] == "flow_table"}
    assert table == "imem"
    both = [one["level"] for one in divided["structures"] if one["structure"] == "flow_table"]
    assert both == ["imem", "emem"]


# --- published results ----------------------------------------------------------------------------


def published() -> Path:
    what = "published inputs and results for functions that are not ported yet"
    return folder("insights", "SLOWPATH_INSIGHTS", what) / "state-placement/placement.json"


@pytest.mark.parametrize(("words", "costs"), [((), (27904, 381074)), (("free",), (27904, 248276))])
def test_published_optima_are_reproduced(words: tuple[str, ...], costs: tuple[int, int]) -> None:
    file = published()
    options = [f"--unpriced={word}" for word in words]
    run = slowpath("insights", "placement", file, "--format", "json", *options)
    assert (run.returncode, run.stderr) == (0, "")
    found = json.loads(run.stdout)["results"]
    assert tuple(one["cost"] for one in found) == costs
    assert [one["verdict"] for one in found] == ["optimal", "optimal"]
    published_cases = {
        one["name"]: one["published"] for one in json.loads(file.read_text())["cases"]
    }
    for one in found:
        (other,) = (each for each in one["compared"] if each["placement"] == "published")
        assert other["cost"] == other["stated_cost"] == published_cases[one["case"]]["cost"]
    if words:
        placed = {one["structure"]: one["level"] for one in found[0]["structures"]}
        assert placed == published_cases["click-5-structures"]["placement"]
    else:
        assert found[0]["unpriced"] is None
        unpriced = found[1]["unpriced"]
        assert (unpriced["cost"], unpriced["verdict"]) == (248276, "optimal")
        assert [one["level"] for one in unpriced["levels"]] == ["lmem", "cls"]
        assert len(unpriced["structures"]) == 5
    compared("insights", len(found), "optimal placements")


# --- the command ----------------------------------------------------------------------------------


def test_texts_are_as_expected() -> None:
    """Compare text and CSV output with stored files, for the example with one best placement."""
    for name in ("txt", "csv"):
        words = ("--format", "csv") if name == "csv" else ()
        run = slowpath("insights", "placement", EXAMPLE.relative_to(ROOT), *words)
        assert (run.returncode, run.stderr) == (0, "")
        first = run.stdout[: run.stdout.index("udp-counter-long-chains")]
        check_golden(GOLDEN / f"insights/placement.{name}", first)


def test_levels_without_a_price_are_named(tmp_path: Path) -> None:
    found = small()
    found["access_cost"]["read"].pop("near")
    run = slowpath("insights", "placement", write(tmp_path, found))
    check_golden(GOLDEN / "insights/placement_unpriced.txt", run.stdout)


def test_json_has_its_shape(tmp_path: Path) -> None:
    validator = Draft202012Validator(schema("state_placement"))
    for words in ((EXAMPLE,), (write(tmp_path, small()), "--deadline", "0.000001")):
        run = slowpath("insights", "placement", *words, "--format", "json")
        validator.validate(json.loads(run.stdout))


def test_csv_has_a_line_for_each_structure_and_level() -> None:
    run = slowpath("insights", "placement", EXAMPLE, "--format", "csv")
    rows = [*csv.DictReader(io.StringIO(run.stdout))]
    parts = [int(one["parts"]) for one in rows if one["case"] == "udp-counter-long-chains"]
    whole = [int(one["of_parts"]) for one in rows if one["case"] == "udp-counter-long-chains"]
    assert sum(parts) == 4 + 8 + 8 + 1 + 1
    assert {*whole} == {1, 4, 8}
