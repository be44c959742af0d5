"""Tests the formats for code review, with made-up measurements and one in the running kernel."""

from typing import Any

import pytest

from review_formats import check_junit, check_sarif, place_of, read_github, steps_of
from running_kernel import needs_kernel
from slowpath.core.review import junit_lines, sarif_lines
from slowpath.measure.documents import MeasuredPath, MeasuredProgram
from slowpath.measure.review import review
from slowpath.measure.settings import parse_gate
from support import slowpath

OLD, NEW = "old/lb.bpf.o", "new/lb.bpf.o"


def program(file: str, name: str = "lb", **changes: Any) -> Any:
    """Return the made-up record of a program with two measured paths; the second is slower."""
    record: Any = dict.fromkeys(MeasuredProgram.__annotations__)
    paths = []
    for rank, ns in ((1, 10.0), (2, 30.0)):
        path: Any = dict.fromkeys(MeasuredPath.__annotations__)
        source = [("lb.c", 3), ("lb.c", 3), ("lb.c", 4 + rank)]
        paths.append(path | {"rank": rank, "measured_ns": ns, "source": source})
    known = {"file": file, "section": "xdp", "program": name, "mode": "test-run", "seconds": 1.5}
    return record | known | {"paths": paths, "conclusion": "It takes 30 ns."} | changes


def pair(ratio: float | None, low: float = 0, high: float = 0, name: str = "lb") -> Any:
    row = {"path": "slowest", "ratio": ratio, "low": low, "high": high, "error": "too few loads"}
    row["code"] = None
    row["significant"] = not low <= 1 <= high
    conclusion = None if ratio is None else f"{ratio} times as long."
    return {
        "old": f"{OLD}:{name}",
        "new": f"{NEW}:{name}",
        "paths": [row],
        "conclusion": conclusion,
    }


def reviewed(results: list[Any], pairs: list[Any] | None, *gates: str) -> Any:
    settings: Any = type("Settings", (), {"gates": [parse_gate(text) for text in gates]})
    document: Any = {"slowpath": "0.2.0", "results": results, "comparison": pairs}
    found = review(document, settings, OLD)
    check_sarif("".join(sarif_lines(found)))
    check_junit("\n".join(junit_lines(found)))
    return found


def rules(found: Any) -> list[list[str]]:
    return [[finding.rule for finding in case.findings] for case in found.cases]


def test_a_measured_program_has_its_conclusion_at_the_slowest_path() -> None:
    found = reviewed([program(NEW)], None)
    (finding,) = found.cases[0].findings
    assert (finding.rule, finding.level, finding.message) == (
        "guarantee",
        "note",
        "It takes 30 ns.",
    )
    assert [step.place.line for step in finding.path] == [3, 6]
    assert finding.place.line == 3
    assert found.cases[0].seconds == 1.5


def test_the_stretch_that_takes_longest_is_marked() -> None:
    stretches = [
        {"file": "lb.c", "line": 8, "text": "a", "ns": 5.0},
        {"file": "lb.c", "line": 9, "text": "b", "ns": 9.0},
        {"file": None, "line": None, "text": None, "ns": 99.0},
    ]
    found = reviewed([program(NEW, breakdown={"stretches": stretches})], None)
    assert found.cases[0].findings[0].place.line == 9


def test_a_program_that_was_not_measured_is_an_error() -> None:
    wrong = program(NEW, paths=[], conclusion=None, error="no XDP program")
    (finding,) = reviewed([wrong], None).cases[0].findings
    assert (finding.rule, finding.level, finding.message) == (
        "not-analysed",
        "error",
        "no XDP program",
    )


@pytest.mark.parametrize(
    ("compared", "gates", "rule"),
    [
        (pair(1.2, 1.1, 1.3), [], "regression"),
        (pair(0.9, 0.8, 0.95), [], "guarantee"),
        (pair(1.01, 0.99, 1.02), [], "guarantee"),
        (pair(1.2, 1.1, 1.3), ["ratio > 1.05"], "failed-gate"),
        (pair(1.05, 1.0, 1.1), ["ratio > 1.05"], "undecided-gate"),
        (pair(0.9, 0.8, 0.95), ["ratio > 1.05"], "guarantee"),
        (pair(None), ["ratio > 1.05"], "failed-gate"),
        (pair(None), [], "not-analysed"),
    ],
)
def test_two_versions_are_one_case(compared: Any, gates: list[str], rule: str) -> None:
    found = reviewed([program(OLD), program(NEW)], [compared], *gates)
    assert rules(found) == [[rule]]
    assert found.cases[0].file == NEW


def test_programs_of_one_file_only_fail_a_gate() -> None:
    results = [program(OLD, "gone"), program(OLD), program(NEW), program(NEW, "new")]
    pairs = [pair(0.9, 0.8, 0.95)]
    assert rules(reviewed(results, pairs)) == [["gone-program"], ["guarantee"], ["new-program"]]
    gated = reviewed(results, pairs, "ratio > 1.05", "ratio > 2")
    assert rules(gated) == [["failed-gate"] * 2, ["guarantee"], ["failed-gate"] * 2]


def test_a_measurement_in_the_kernel_is_reported(tmp_path: Any) -> None:
    needs_kernel()
    files = [tmp_path / f"report.{end}" for end in ("sarif", "xml", "md")]
    reports = [word for file in files for word in ("--report", file)]
    words = ("measure", "examples/firewall.bpf.o", "--seconds", "0.3", "--format", "github")
    run = slowpath(*words, *reports)
    assert run.returncode == 0, run.stderr
    (command,) = read_github(run.stdout)
    assert command["level"] == "notice"
    assert command["file"].startswith("examples/")
    assert "packets a second on one core" in command["message"]
    (result,) = check_sarif(files[0].read_text())["results"]
    assert place_of(result["locations"][0]) == f"{command['file']}:{command['line']}"
    assert len(steps_of(result)) > 5
    (case,) = check_junit(files[1].read_text())
    assert float(case.attrib["time"]) > 0
    assert files[2].read_text().startswith("### slowpath measure: 1 program\n")
