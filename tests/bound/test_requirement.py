"""Tests required rates and counts: the decision, its explanation, and the exit code."""

import re
import shlex

import pytest

from slowpath.bounds.requirement import Decision, decide, explain, parse_requirement, reproduce
from slowpath.core.errors import ExitCode, worst
from slowpath.core.schema.derived import metric_rate
from slowpath.core.schema.rates import CountLimit, Rate, Requirement
from slowpath.core.schema.results import Result
from support import ROOT, make_bound, make_path, make_result

LOWER = make_bound(exact=False, stopped="deadline")
SLOW = make_path(bitrate_bps=25e9, packetrate_pps=51e6)


COUNTS = {"instructions": 120, "memory accesses": 9}
COUNTED = make_result(
    target="ebpf",
    metric="instructions",
    guarantee=make_bound(counts=COUNTS, bitrate_bps=None, packetrate_pps=None),
    paths=[make_path(cost=COUNTS, bitrate_bps=None, packetrate_pps=None)],
)
LOOSE = COUNTED | {
    "guarantee": make_bound(counts=COUNTS, exact=False, stopped="deadline"),
    "paths": [],
}
WITNESSED = LOOSE | {"paths": [make_path(cost=COUNTS | {"instructions": 100})]}
PACKETS = make_result(metric="packetrate")
OPEN = make_result(guarantee=LOWER, paths=[])
SLOW_PATH = make_result(guarantee=LOWER, paths=[SLOW])
NOTHING = make_result(guarantee=None, naive=None, paths=[])
MET, FAILED, UNDECIDED = Decision.MET, Decision.FAILED, Decision.UNDECIDED


@pytest.mark.parametrize(
    ("result", "text", "decision", "sentence"),
    [
        (make_result(), "24Gbit/s", MET, "24.7 Gbit/s guaranteed, 24.0 Gbit/s required"),
        (make_result(), "40Gbit/s", FAILED, "only 24.7 Gbit/s guaranteed, 40.0 Gbit/s required"),
        (PACKETS, "50Mpps", MET, "50.6 Mpps guaranteed, 50.0 Mpps required"),
        (
            OPEN,
            "40Gbit/s",
            UNDECIDED,
            "undecided: 40.0 Gbit/s required, at least 24.7 Gbit/s guaranteed (deadline)",
        ),
        (OPEN, "24Gbit/s", MET, "24.7 Gbit/s guaranteed, 24.0 Gbit/s required"),
        (
            SLOW_PATH,
            "40Gbit/s",
            FAILED,
            "a known packet allows only 25.0 Gbit/s, 40.0 Gbit/s required",
        ),
        (
            make_result(),
            "24.709Gbit/s",
            FAILED,
            "only 24.708 Gbit/s guaranteed, 24.709 Gbit/s required",
        ),
        (NOTHING, "1bit/s", UNDECIDED, "1.00 bit/s required, but nothing is guaranteed"),
        (
            COUNTED,
            "<=120 instructions",
            MET,
            "120 instructions guaranteed, at most 120 instructions required",
        ),
        (
            COUNTED,
            "<=119 instructions",
            FAILED,
            "at most 120 instructions guaranteed, at most 119 instructions required",
        ),
        (
            LOOSE,
            "<=119 instructions",
            UNDECIDED,
            "undecided: at most 119 instructions required, at most 120 instructions guaranteed "
            "(deadline)",
        ),
        (
            WITNESSED,
            "<=99 instructions",
            FAILED,
            "a known packet causes 100 instructions, at most 99 instructions required",
        ),
    ],
)
def test_decision(result: Result, text: str, decision: Decision, sentence: str) -> None:
    required = parse_requirement(text)
    assert decide(result, required) is decision
    assert explain(result, required, decision) == sentence


@pytest.mark.parametrize(
    ("text", "required"),
    [
        ("<=4000 instructions", CountLimit(4000, "instructions")),
        (" <= 7 Memory Accesses ", CountLimit(7, "memory-accesses")),
        ("<=7memory-accesses", CountLimit(7, "memory-accesses")),
        ("40 Gbit/s", Rate(40e9, "bitrate")),
    ],
)
def test_requirements_are_read(text: str, required: Requirement) -> None:
    assert parse_requirement(text) == required


@pytest.mark.parametrize("text", ["<4 instructions", "<=instructions", "<=4", ">=4 x", "<=-4 x"])
def test_invalid_requirements(text: str) -> None:
    with pytest.raises(ValueError, match="write for example '<=4000 instructions'"):
        parse_requirement(text)


def test_a_rate_that_is_just_reached_is_met() -> None:
    rate = metric_rate(make_bound(), "bitrate")
    assert decide(make_result(), Rate(rate, "bitrate")) is Decision.MET


@pytest.mark.parametrize("file", ["a.asm", "with blank.asm", "it's.asm", "$(rm).asm", "-v"])
def test_reproduction_survives_the_shell(file: str) -> None:
    words = shlex.split(reproduce("bound", [file], ["--require", "40 Gbit/s"]))
    assert words[:2] == ["slowpath", "bound"]
    assert words[2].removeprefix("./") == file
    assert words[3:] == ["--require", "40 Gbit/s"]


@pytest.mark.parametrize("cpu", ["AuthenticAMD-25-1", "a b"])
def test_reproduction_sets_the_cpu_that_estimates_depend_on(
    monkeypatch: pytest.MonkeyPatch, cpu: str
) -> None:
    monkeypatch.setenv("SLOWPATH_CPU", cpu)
    words = shlex.split(reproduce("bound", ["a.o"], ["--target", "linux-xdp"]))
    assert words == [f"SLOWPATH_CPU={cpu}", "slowpath", "bound", "a.o", "--target", "linux-xdp"]
    for target in ("ebpf", "linux-xdp-zen3"):
        words = shlex.split(reproduce("bound", ["a.o"], ["--target", target]))
        assert words[0] == "slowpath"
    monkeypatch.delenv("SLOWPATH_CPU")
    assert reproduce("bound", ["a.o"], ["--target", "linux-xdp"]).startswith("slowpath ")


@pytest.mark.parametrize("text", ["10Mps", "10ps"])
def test_units_of_rates_are_named(text: str) -> None:
    with pytest.raises(ValueError, match=r"not a unit of a rate; write bit/s, .*, pps, .* such as"):
        parse_requirement(text)


def test_every_exit_code_has_a_severity() -> None:
    """Check that `worst` orders all exit codes by severity, with FINE as the least severe."""
    for code in ExitCode:
        assert worst([ExitCode.FINE, code, ExitCode.FINE]) is code
    codes = [*ExitCode]
    while codes:
        most = worst(codes)
        assert all(worst([one, most]) is worst([most, one]) is most for one in codes)
        codes.remove(most)
    text = (ROOT / "docs/reference/exit-codes.md").read_text()
    (order,) = re.findall(r"the worst code counts, in the order ([\d, ]+)\.", text)
    documented = [ExitCode(int(one)) for one in order.split(", ")]
    assert {*documented} == {*ExitCode}
    assert [worst(documented[at:]) for at in range(len(documented))] == documented


def test_worst_exit_code() -> None:
    fine, failed, bad = ExitCode.FINE, ExitCode.FAILED, ExitCode.INPUT
    undecided = ExitCode.UNDECIDED
    assert worst([fine, undecided, failed, bad]) == 3
    assert worst([fine, undecided, failed]) == 1
    assert worst([fine, undecided]) == 4
    assert worst([]) == 0
