"""Tests guarantees that hold even while other CPUs change maps, in requirements and reports."""

import csv

from slowpath.bounds import report_rates
from slowpath.bounds.report import COLUMNS, csv_row
from slowpath.bounds.report_counts import guarantee_lines
from slowpath.bounds.requirement import Decision, judge, parse_requirement
from slowpath.core.schema.results import Bound, Result
from support import make_bound, make_result

_CONDITION = "no other CPU changes bucket meanwhile"


def _count(instructions: int, verdict: str, stopped: str | None = None) -> Bound:
    counts = {"instructions": instructions, "memory accesses": 4}
    return make_bound(
        bitrate_bps=None,
        packetrate_pps=None,
        components=None,
        bottleneck=None,
        counts=counts,
        verdict=verdict,
        exact=verdict == "exact",
        stopped=stopped,
    )


def _result(any_number: Bound) -> Result:
    return make_result(
        target="ebpf",
        metric="instructions",
        cores=None,
        guarantee=_count(53, "conditional"),
        interleaved=any_number,
        assumptions=[_CONDITION],
        paths=[],
    )


def test_requirements_are_held_against_any_number_of_cpus() -> None:
    result = _result(_count(1200, "exact"))
    for most, decision in ((53, Decision.FAILED), (1199, Decision.FAILED), (1200, Decision.MET)):
        required = parse_requirement(f"<={most} instructions")
        assert judge(result, required, accept=False).decision is decision
    judged = judge(result, parse_requirement("<=1200 instructions"), accept=False)
    assert judged.relied_on == []
    judged = judge(result, parse_requirement("<=100 instructions"), accept=False)
    assert (
        judged.reason == "at most 1200 instructions guaranteed, at most 100 instructions required"
    )


def test_a_search_that_stopped_decides_nothing() -> None:
    result = _result(_count(1200, "bound", "deadline"))
    for most, decision in ((1199, Decision.UNDECIDED), (1200, Decision.MET)):
        required = parse_requirement(f"<={most} instructions")
        assert judge(result, required, accept=False).decision is decision


def test_both_numbers_are_printed() -> None:
    result = _result(_count(1200, "exact"))
    assert result["guarantee"] is not None
    text = "\n".join(line.text for line in guarantee_lines(result, result["guarantee"]))
    assert f"53 instructions per packet (exact if {_CONDITION})" in text
    assert "any CPUs     1200 instructions per packet" in text
    row = dict(zip(COLUMNS, next(csv.reader([csv_row(result)])), strict=True))
    assert (row["instructions"], row["interleaved_instructions"]) == ("53", "1200")
    assert row["conditions"] == _CONDITION


def test_both_rates_are_printed() -> None:
    alone = make_bound(bitrate_bps=9e9, packetrate_pps=8e6, verdict="conditional", exact=False)
    others = make_bound(bitrate_bps=4e9, packetrate_pps=2e6, verdict="bound", stopped="deadline")
    result = make_result(guarantee=alone, interleaved=others, assumptions=[_CONDITION], paths=[])
    lines = "\n".join(line.text for line in report_rates.guarantee_lines(result, alone))
    assert "any cores" in lines
    assert "4.00 Gbit/s while other cores write to these maps (a lower bound" in lines
    row = dict(zip(COLUMNS, next(csv.reader([csv_row(result)])), strict=True))
    assert float(row["interleaved_packetrate_pps"]) == others["packetrate_pps"]
