"""Tests advice on cores and neighbours that is computed from counts, and costs of memory.

The tested module is `cores/assessment.py`.
"""

import json
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from compiler import needs_clang
from insights_tables import drawn as drawn_functions
from insights_tables import (
    group_rows,
    query_rows,
    write_csv,
    write_lines,
)
from slowpath.core.errors import InputError
from slowpath.insights.advice.resources import work_of
from slowpath.insights.cores.assessment import (
    CORE_COUNTS,
    LIMITS,
    advise,
    assess,
    beside,
    card,
    curve,
    numbered,
    read_neighbours,
    typical,
)
from slowpath.insights.cores.assessment_documents import CardPart, CardUse, CardWork
from slowpath.insights.cores.curves import CORES
from slowpath.insights.cores.functions import functions_of
from slowpath.insights.cores.network import TIMES
from slowpath.insights.cores.prices import (
    ELEMENTS,
    EMEM,
    HALF,
    IMEM,
    PLACES,
    Draws,
    drawn,
    packets_of,
    prices_of,
    published,
    throughput,
)
from slowpath.insights.trace import RunSettings
from slowpath.insights.trace.running import run
from support import ROOT

KNOWN = card()
TWIN = ROOT / "tests/advice/elements.c"
TRACE = ROOT / "examples/insights/udp_counter.pcap"


def part(memory: str = "emem", most: float = 2.0, fewest: float | None = None) -> CardPart:
    found: Any = {"structure": "s", "memory": memory, "most": most}
    found["fewest"] = most if fewest is None else fewest
    return cast("CardPart", found)


def work(instructions: float = 300.0, *parts: CardPart) -> CardWork:
    return {"instructions": instructions, "parts": list(parts)}


def rates(one: CardWork) -> np.ndarray:
    """Return a function's throughput for 60 random draws of card parameters, by number of cores."""
    return throughput(drawn(KNOWN.alone, packets_of(one), draws=60), CORES)[:, 0]


@pytest.mark.parametrize("seed", range(20))
def test_more_work_never_raises_throughput_in_any_draw(seed: int) -> None:
    random = np.random.default_rng(seed)
    parts = [
        part(("imem", "emem")[int(random.integers(2))], float(most), float(most * share))
        for most, share in random.uniform(0, [20, 1], (int(random.integers(1, 5)), 2))
    ]
    less = work(float(random.uniform(0, 2000)), *parts)
    base = rates(less)
    more = [work(less["instructions"] + float(random.uniform(1, 500)), *parts)]
    for at, one in enumerate(parts):
        extra = float(random.uniform(0.1, 5))
        changed: Any = {**one, "most": one["most"] + extra, "fewest": one["fewest"] + extra}
        more.append(work(less["instructions"], *parts[:at], changed, *parts[at + 1 :]))
    more.append(work(less["instructions"], *parts, part("emem", 1.0)))
    for heavier in more:
        assert (rates(heavier) < base).all()


def test_accesses_that_are_fetched_together_cost_less_and_never_more_than_one_by_one() -> None:
    separate, together = rates(work(300, part(most=10))), rates(work(300, part(most=10, fewest=2)))
    assert (together >= separate).all()
    assert together.mean() > 1.1 * separate.mean()


def test_more_cores_never_lower_throughput_and_the_knee_is_in_its_interval() -> None:
    for one in (work(), work(5000), work(300, part(most=60)), work(300, part("imem", 60))):
        draws = drawn(KNOWN.alone, packets_of(one), draws=80)
        found = curve(draws, 0.9)[:, 0]
        assert (np.diff(found, axis=1) > 0).all()
        assert (found[0] < found[1]).all()
        assert (found[1] < found[2]).all()
        advice, limits = advise(draws, KNOWN.noise, 0.9)
        narrow = advise(draws, KNOWN.noise, 0.5).advice
        assert CORES[0] <= advice.low[0] <= narrow.low[0] <= advice.cores[0]
        assert advice.cores[0] <= narrow.high[0] <= advice.high[0] <= CORES[-1]
        assert sum(limits[0].values()) == pytest.approx(1)


@pytest.mark.parametrize(
    ("one", "limit"),
    [
        (work(0), "line"),
        (work(8000), "computation"),
        (work(100, part("imem", 200)), "IMEM"),
        (work(100, part("emem", 40)), "EMEM"),
    ],
)
def test_what_holds_a_function_back_is_what_it_has_most_of(one: CardWork, limit: str) -> None:
    found = assess(KNOWN, one)["cores"]
    assert found["limits"][0]["limit"] == limit
    assert {each["limit"] for each in found["limits"]} <= set(LIMITS)
    if limit == "line":  # 37 million packets/s are published
        assert found["throughput_pps"] == pytest.approx(36e6, rel=0.06)
    if limit == "computation":
        assert found["knee_cores"] > 50


def without_sharing(draws: Draws) -> Draws:
    return draws._replace(shared=np.zeros_like(draws.shared))


def test_a_neighbour_that_shares_nothing_costs_nothing_and_others_never_help() -> None:
    own = drawn(KNOWN.paired, packets_of(work(300, part(most=20))), draws=50)
    other = drawn(KNOWN.paired, packets_of(work(30, part("imem", 40))), seed=1, draws=50)
    kept = beside(own, without_sharing(other))
    assert kept.own == pytest.approx(1, abs=1e-9)
    assert kept.others == pytest.approx(1, abs=1e-9)
    both, swapped = beside(own, other), beside(other, own)
    assert (both.own < 1).all()
    assert both.own == pytest.approx(swapped.others, rel=1e-9)
    assert both.others == pytest.approx(swapped.own, rel=1e-9)
    heavier = drawn(KNOWN.paired, packets_of(work(30, part("imem", 80))), seed=1, draws=50)
    assert (beside(own, heavier).others < 1).all()


def test_two_of_a_kind_share_evenly_and_a_memory_that_both_fill_costs_most() -> None:
    filling = work(50, part("imem", 80))
    found = {one["neighbour"]: one for one in assess(KNOWN, filling)["neighbours"]}
    itself = found["itself"]
    assert itself["kept"] == pytest.approx(itself["others"], rel=1e-3)
    assert itself["kept"] < 0.75
    near = found["a function bound by IMEM"]["kept"]
    assert near < found["a function bound by computation"]["kept"]
    assert near < found["a function bound by EMEM"]["kept"]
    kept = [one["kept"] for one in assess(KNOWN, filling)["neighbours"]]
    assert kept == sorted(kept, reverse=True)


def test_typical_neighbours_are_held_back_by_what_they_stand_for() -> None:
    found = typical(KNOWN.parameters, 1)
    assert [one.about.rpartition(": ")[2].partition(" ")[0] for one in found] == list(PLACES)
    shares = [int(one.about.rpartition(" % busy")[0].rpartition(" ")[2]) for one in found]
    assert min(shares) >= 60


def test_prices_scale_with_the_times_that_they_come_from() -> None:
    parameters = KNOWN.parameters.copy()
    one = prices_of([parameters])
    parameters[:TIMES] *= 2
    two = prices_of([parameters])
    for before, after in (
        (one.instruction, two.instruction),
        *zip((*one.waiting, *one.service), (*two.waiting, *two.service), strict=True),
    ):
        assert (before.each > 0).all()
        assert after.each == pytest.approx(2 * before.each)
        assert after.spread == pytest.approx(before.spread)
    without = prices_of([KNOWN.parameters], "filter")
    assert without.service[IMEM].each != pytest.approx(one.service[IMEM].each)
    assert without.service[EMEM].each == pytest.approx(one.service[EMEM].each)


def test_the_internal_memory_takes_for_a_rule_what_was_published_of_it() -> None:
    """Check the modelled time of a read of internal memory against published measurements.

    A table rule of 32 bytes takes 2.26 ns, which are two reads.
    """
    price = prices_of([KNOWN.parameters], None).service[0]
    assert price.each[0] == pytest.approx(1.3, abs=0.3)
    assert price.spread < 0.4


def test_published_chains_have_the_work_of_all_their_elements() -> None:
    rows = drawn_functions(30, 3)
    found = published(functions_of(rows))
    for at, row in enumerate(rows):
        rules = sum(row[f"has_ipfilter{one}"] * row[f"ipfilter{one}_rules"] for one in (1, 2))
        assert found.imem[at, list(ELEMENTS).index("filter")] == 2 * rules
        webgen = 2 + HALF * (row["webgen_slots"] - 1)
        assert found.emem[at, list(ELEMENTS).index("webgen")] == row["has_webgen"] * webgen
        assert found.emem[at].sum() >= 3 * row["has_iprewriter"]


def counted(entry: str, amount: int) -> float:
    """Return the instructions per packet of our own implementation of a published element.

    `amount` is the element's parameter.
    """
    found = run(str(TWIN), str(TRACE), RunSettings(entry), flags=(f"-DAMOUNT={amount}",)).report
    return float(sum(one["instructions"] * one["per_packet"] for one in found["blocks"]))


TWINS = {
    "filter": ("filter", True, True),
    "avgcounter": ("average", False, False),
    "counter": ("counter", False, False),
    "udpipencap": ("encap", False, False),
    "compute": ("rounds", False, True),
    "iprewriter": ("rewriter", True, False),
    "webgen": ("webgen", True, False),
    "tcpdemux": ("demux", True, True),
    "tcpconn": ("conn", True, False),
}
"""For each C function, three facts about the published element that it re-implements.

They are its name, true if it reads headers, and true if its work depends on an amount, such as a
number of rules.
"""


def test_instructions_of_elements_are_those_of_their_twins() -> None:
    pytest.importorskip("llvmlite.binding")
    needs_clang()
    without = {looks: counted("headers" if looks else "nothing", 1) for looks in (True, False)}
    for entry, (name, looks, amount) in TWINS.items():
        one, first = ELEMENTS[name], counted(entry, 1)
        if amount:
            each = (counted(entry, 5) - first) / 4
            assert one.each_instructions == pytest.approx(each, rel=0.05), name
        if name not in ("filter", "rounds"):  # their first rule or round counts as an amount
            assert one.instructions == pytest.approx(first - without[looks], rel=0.05), name


def test_a_report_a_table_and_groups_are_neighbours(tmp_path: Path) -> None:
    rows = drawn_functions(4, 5)
    table = write_csv(tmp_path / "f.csv", query_rows(rows, [24, 30]))
    lines = write_lines(tmp_path / "g.jsonl", group_rows(rows))
    use: CardUse = assess(KNOWN, work(300, part()))
    report = tmp_path / "other.json"
    report.write_text(json.dumps({"file": "other.c", "card": use}))
    tabled, members, reported = (read_neighbours(KNOWN, str(one)) for one in (table, lines, report))
    assert [one.name for one in tabled] == ["f0", "f1", "f2", "f3"]
    assert [one.name for one in members] == [f"0, function {at}" for at in (1, 2, 3, 4)]
    for one, other in zip(tabled, members, strict=True):
        assert one.draws.shared == pytest.approx(other.draws.shared)
    assert [one.name for one in reported] == ["other.c"]
    found = assess(KNOWN, work(), [*tabled, *reported])["neighbours"]
    assert {"f0", "f3", "other.c", "itself"} <= {one["neighbour"] for one in found}


WRONG = {
    "no_trace": (
        {"file": "a.c", "card": None},
        "line 1, card: the report lacks data about the card: the function uses floating-point "
        "numbers, ",
    ),
    "no_work": (
        {"file": "a.c", "card": {}},
        "line 1, card: the file is not output of slowpath insights FILE",
    ),
    "negative": (
        {"card": {"work": work(-1)}},
        "line 1, instructions: the value is not a number from 0",
    ),
    "memory": (
        {"card": {"work": work(1, part("ctm"))}},
        "line 1, part 1: the value is not a structure in",
    ),
    "order": (
        {"card": {"work": work(1, part("imem", 1, 2))}},
        "the smallest value, 2, is above the largest value, 1",
    ),
    "text": (
        {"card": {"work": {"instructions": 1, "parts": ["x"]}}},
        "part 1: the value is not a structure",
    ),
    "other": ({"group": 1}, "line 1, functions: the value is not a list of 4 functions"),
}


@pytest.mark.parametrize(("written", "reason"), WRONG.values(), ids=WRONG)
def test_wrong_files_are_named_with_their_place(
    tmp_path: Path, written: dict[str, Any], reason: str
) -> None:
    file = tmp_path / "other.json"
    file.write_text(json.dumps(written))
    with pytest.raises(InputError) as error:
        read_neighbours(KNOWN, str(file))
    assert str(file) in str(error.value)
    assert reason in str(error.value)


def test_neighbours_have_names_that_differ() -> None:
    same = [typical(KNOWN.parameters, 2)[0]] * 3
    first = same[0].name
    assert [one.name for one in numbered(same)] == [first, f"{first} (2)", f"{first} (3)"]


def test_more_neighbours_than_anybody_reads_are_refused(tmp_path: Path) -> None:
    table = write_csv(tmp_path / "f.csv", query_rows(drawn_functions(101, 5), [24]))
    with pytest.raises(InputError, match="have 101 functions; at most 100 can be compared"):
        read_neighbours(KNOWN, str(table))


def test_accesses_are_windows_of_16_bytes_or_those_of_the_source() -> None:
    """Check the conversion of accesses to reads of memory: one per 16 bytes, or as in the source.

    One structure is read in pieces, one is copied as a whole, and one has members of unknown size.
    """

    def structure(name: str, reads: int, *members: tuple[int, int]) -> Any:
        listed = [{"size_bytes": size, "reads": count, "writes": 0} for size, count in members]
        return {"structure": name, "reads": reads, "writes": 0, "members": listed}

    counts: Any = {
        "traffic": {"packets": 10},
        "blocks": [
            {"symbol": "f", "file": "", "line": 0, "support": False}
            | {"instructions": 7, "per_packet": 2.0}
        ],
        "structures": [
            structure("pieces", 40, (4, 40)),
            structure("copied", 10, (32, 10)),
            structure("unknown", 30, (0, 30)),
        ],
        "elsewhere": [
            {"what": "other", "reads": 5, "writes": 5},
            {"what": "packet", "reads": 99, "writes": 0},
        ],
    }
    found = work_of(counts, None)
    assert found["instructions"] == 14
    assert {one["memory"] for one in found["parts"]} == {"emem"}  # without a placement
    accesses = {one["structure"]: (one["fewest"], one["most"]) for one in found["parts"]}
    assert accesses == {
        "pieces": (1, 4),
        "copied": (2, 2),
        "unknown": (3, 3),
        "memory without a name": (1, 1),
    }


def test_a_curve_says_where_nothing_was_measured() -> None:
    points = assess(KNOWN, work())["cores"]["points"]
    assert [one["cores"] for one in points] == list(CORE_COUNTS)
    assert {one["cores"] for one in points if one["outside"]} == set(range(1, 24))
