"""Tests the times of a path's pieces, called stretches, which are computed from measurements.

Some tests cut paths in the running kernel. No test depends on measured times.
"""

import jsonschema
import pytest

import oracles
from running_kernel import HOT, measured, needs_kernel
from slowpath.core.schema.validation import schema
from slowpath.measure.conclusions import conclude_where
from slowpath.measure.documents import Breakdown, MeasuredStretch
from slowpath.measure.programs import PrefixTimes, stretch_times
from support import ROOT, remembered


def test_stretches_of_a_load_add_up_to_the_path() -> None:
    # Each check takes 2 ns. The third end has no time, but later prefixes include its check.
    load = PrefixTimes(30.0, [7.0, 19.0, 38.0])
    parts = stretch_times([load], [1, 2, 4])
    assert parts.asking is not None
    assert parts.whole is not None
    assert parts.asking.value == 2
    values = [part.value for part in parts.parts if part is not None]
    assert values == [5, 10, 15]
    assert sum(values) == parts.whole.value


def test_a_disturbed_end_makes_two_stretches_unknown() -> None:
    loads = [PrefixTimes(30.0, [5.0, None, 30.0]), PrefixTimes(None, [5.0, 10.0, 30.0])]
    parts = stretch_times(loads, [0, 0, 0])
    first, *others = parts.parts
    assert first is not None
    assert first.value == 5
    assert others == [None, None]
    assert stretch_times([PrefixTimes(None, [None])], [1]).whole is None


def stretch(call: str | None, ns: float, half: float) -> MeasuredStretch:
    return {
        "from_instruction": 3,
        "to_instruction": 9,
        "instructions": 6,
        "call": call,
        "file": "./src/lb.c",
        "line": 88,
        "text": "",
        "ns": ns,
        "low_ns": ns - half,
        "high_ns": ns + half,
        "share": ns / 100,
    }


def breakdown(*stretches: MeasuredStretch) -> Breakdown:
    return {
        "rank": 1,
        "program_ns": 100.0,
        "asking_ns": 0.5,
        "loads": 9,
        "stretches": list(stretches),
        "uncut": [],
        "error": None,
        "code": None,
    }


def test_only_a_significantly_largest_stretch_is_named() -> None:
    lookup = stretch("bpf_map_lookup_elem", 61, 4)
    sentence = "bpf_map_lookup_elem at lb.c:88 takes 61% of the program's time."
    assert conclude_where(breakdown(stretch(None, 39, 4), lookup)) == sentence
    assert conclude_where(breakdown(stretch(None, 39, 30), lookup)) is None
    assert conclude_where(breakdown(*[stretch(None, 20, 1)] * 5)) is None
    around = "code around lb.c:88 takes 60% of the program's time."
    assert conclude_where(breakdown(stretch(None, 60, 1))) == around
    assert conclude_where(breakdown()) is None


@pytest.fixture
def _kernel() -> None:
    needs_kernel()


@pytest.mark.usefixtures("_kernel")
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("firewall", ()),
        ("tunnel", ("--cache", "hot", "--paths", "3")),
        ("count_min.8", ("--cache", "hot", "--paths", "2")),
    ],
)
def test_the_slowest_path_is_taken_apart(name: str, words: tuple[str, ...]) -> None:
    document = measured(ROOT / f"examples/{name}.bpf.o", *words)
    jsonschema.validate(document, schema("measure"))
    (program,) = document["results"]
    found = program["breakdown"]
    assert found["error"] is None
    slowest = max(program["paths"], key=lambda path: path["measured_ns"] or 0)
    assert found["rank"] == slowest["rank"]
    stretches = found["stretches"]
    assert sum(each["instructions"] for each in stretches) == slowest["instructions"]
    assert stretches[0]["from_instruction"] == 0
    assert stretches[-1]["to_instruction"] is None
    assert all(each["file"] and each["line"] for each in stretches)
    for each in stretches:
        # On a disturbed machine, there may be only one load, whose interval is unbounded.
        assert (each["low_ns"] is None) == (each["high_ns"] is None)
        if None not in (each["ns"], each["low_ns"]):
            assert each["low_ns"] <= each["ns"] <= each["high_ns"]
    assert any(each["low_ns"] is not None for each in stretches)
    oracles.compared("kernel", len(stretches), "stretches timed")


@pytest.mark.usefixtures("_kernel")
def test_the_report_has_a_table_of_stretches() -> None:
    words = ("measure", ROOT / "examples/firewall.bpf.o", "--seconds", "0.1")
    lines = remembered(*words, "--paths", "2", "--cache", "cold").splitlines()
    start = next(number for number, line in enumerate(lines) if "  breakdown of the " in line)
    assert lines[start + 1].split()[:4] == ["share", "ns", "instructions", "call"]
    assert any("bpf_map_lookup_elem" in line for line in lines[start:])
    assert "  breakdown of the " not in remembered(*words, "--paths", "1", *HOT)


@pytest.mark.usefixtures("_kernel")
def test_the_breakdown_can_be_skipped() -> None:
    (program,) = measured(ROOT / "examples/firewall.bpf.o", *HOT)["results"]
    assert program["breakdown"] is None
