"""Tests the formats for code review: Markdown, SARIF, GitHub's workflow commands, JUnit."""

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from review_formats import (
    check_junit,
    check_sarif,
    place_of,
    read_github,
    steps_of,
)
from slowpath.core.findings import (
    RULES,
    Case,
    Finding,
    Names,
    Place,
    Review,
    SlowestPath,
    Step,
    guaranteed,
    repository_root,
)
from slowpath.core.review import (
    escape_data,
    escape_property,
    github_lines,
    junit_lines,
    markdown_lines,
    sarif_lines,
)
from support import ROOT, make_path, make_profile, make_result, slowpath

PLACE = Place("xdp/lb.c", 7, "x = 1;")
PLAIN = "examples/alaw2ulaw.bpf.o"
CARD = ("--target", "agilio-cx-2x40")


def finding(rule: str = "regression", message: str = "slower", **changes: object) -> Finding:
    base = Finding(rule, "warning", message, PLACE, ("xdp/lb.o", "lb"), [Step(PLACE, "once")])
    return base._replace(**changes)  # type: ignore[arg-type]


def review(*findings: Finding, program: str = "lb", file: str = "xdp/lb.o") -> Review:
    return Review("bound", "0.2.0", [Case(file, program, "agilio", 1.25, findings)])


def text(write: Callable[[Review], Iterator[str]], reviewed: Review) -> str:
    return "".join(f"{line}\n" for line in write(reviewed))


def test_escapes_are_those_of_github() -> None:
    """Check escapes against the examples in GitHub's `@actions/core` (`command.test.ts`)."""
    assert escape_data("percent % percent % cr \r cr \r lf \n lf \n colon : comma ,") == (
        "percent %25 percent %25 cr %0D cr %0D lf %0A lf %0A colon : comma ,"
    )
    assert escape_property("percent % percent % cr \r cr \r lf \n lf \n colon : comma ,") == (
        "percent %25 percent %25 cr %0D cr %0D lf %0A lf %0A colon %3A comma %2C"
    )


def test_a_workflow_command_has_place_title_and_message() -> None:
    (command,) = read_github(text(github_lines, review(finding(message="5 % slower\nmore: a, b"))))
    assert command == {
        "level": "warning",
        "file": "xdp/lb.c",
        "line": "7",
        "title": "slowpath SP1306: Program became slower: lb on agilio",
        "message": "5 % slower\nmore: a, b",
    }


def test_errors_come_first_because_github_shows_only_ten() -> None:
    found = [finding(level=level) for level in ("note", "warning", "error")]
    levels = [one["level"] for one in read_github(text(github_lines, review(*found)))]
    assert levels == ["error", "warning", "notice"]


TEXTS = st.text(st.characters(codec="utf-8") | st.sampled_from("%:,\n\r{}[]<>&\"'`|\x1b\u202e"))


@given(TEXTS, TEXTS, TEXTS, st.sampled_from(RULES))
def test_no_text_breaks_a_format(name: str, message: str, file: str, rule: object) -> None:
    one = finding(getattr(rule, "id"), message, place=Place(f"x{file}", 3, message))  # noqa: B009
    reviewed = review(one, program=name)
    assert len(read_github(text(github_lines, reviewed))) == 1
    assert len(check_junit(text(junit_lines, reviewed))) == 1
    assert len(check_sarif(text(sarif_lines, reviewed))["results"]) == 1
    rows = [line for line in markdown_lines(reviewed) if line.startswith("| warning")]
    assert len(rows) == 1
    for write in (github_lines, junit_lines, sarif_lines, markdown_lines):
        assert all(line.isprintable() for line in write(reviewed))


def test_rules_link_to_the_page_that_the_environment_names(monkeypatch: pytest.MonkeyPatch) -> None:
    bare = check_sarif(text(sarif_lines, review(finding())))
    assert all("helpUri" not in rule for rule in bare["tool"]["driver"]["rules"])
    monkeypatch.setenv("SLOWPATH_DOCS", "https://example.org/o/slowpath/blob/v1/")
    linked = check_sarif(text(sarif_lines, review(finding())))
    page = "https://example.org/o/slowpath/blob/v1/docs/reference/codes.md"
    assert [rule["helpUri"] for rule in linked["tool"]["driver"]["rules"]] == [
        f"{page}#{rule.code.lower()}-{rule.id}" for rule in RULES
    ]


def test_braces_are_no_placeholders() -> None:
    run = check_sarif(text(sarif_lines, review(finding(message="map{0}"))))
    assert run["results"][0]["message"]["text"] == "lb on agilio: map{{0}}"


def test_a_fingerprint_survives_a_moved_line_only() -> None:
    moved = finding(place=PLACE._replace(line=70))
    other = finding(identity=("xdp/lb.o", "other"))
    assert moved.fingerprint == finding().fingerprint
    assert finding("costlier-line").fingerprint != finding().fingerprint != other.fingerprint


def test_equal_fingerprints_of_a_run_are_numbered() -> None:
    run = check_sarif(text(sarif_lines, review(finding(), finding())))
    prints = [one["partialFingerprints"]["primaryLocationLineHash"] for one in run["results"]]
    assert [one.rpartition(":")[2] for one in prints] == ["1", "2"]


def test_junit_counts_failures_and_errors() -> None:
    cases = [
        Case("a.o", "fine", "t", 0.5, [finding("guarantee", level="note")]),
        Case("a.o", "slow", "t", 0.5, [finding("failed-gate", level="error"), finding()]),
        Case("b.o", "b.o", "t", 0.0, [finding("not-analysed", "no ELF", level="error")]),
    ]
    text_of = text(junit_lines, Review("diff", "0.2.0", cases))
    assert 'tests="3" failures="1" errors="1" time="1.000"' in text_of
    found = check_junit(text_of)
    assert [[child.tag for child in case] for case in found] == [
        ["system-out"],
        ["failure", "system-out"],
        ["error"],
    ]
    assert found[2][0].attrib == {"type": "SP1310 not-analysed", "message": "no ELF"}
    assert found[1][0].text == "xdp/lb.c:7: error: slower"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Return a repository with a source file in the folder `xdp`, and an empty folder `build`."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "xdp").mkdir()
    (tmp_path / "xdp/lb.c").touch()
    (tmp_path / "build").mkdir()
    return tmp_path


@pytest.mark.parametrize(
    ("file", "folder"),
    [
        ("xdp/lb.c", "."),
        ("./lb.c", "xdp"),
        ("../xdp/lb.c", "build"),
        ("{root}/xdp/lb.c", "."),
        ("/elsewhere/r/xdp/lb.c", "."),  # compiled on another machine
        ("/src/lb.c", "build"),  # beside the object
    ],
)
def test_files_are_named_from_the_root_of_the_repository(
    checkout: Path, file: str, folder: str
) -> None:
    names = Names(checkout / folder)
    program = os.path.relpath(checkout / "xdp/lb.o", checkout / folder)
    assert names.name(file.format(root=checkout), program) == "xdp/lb.c"


def test_files_outside_of_the_repository_keep_their_path(checkout: Path) -> None:
    assert Names(checkout).name("/usr/include/linux/none.h") == "/usr/include/linux/none.h"
    assert repository_root(checkout / "xdp") == checkout
    run = check_sarif(text(sarif_lines, review(finding(place=Place("/usr/include/a b.h", 3)))))
    assert place_of(run["results"][0]["locations"][0]) == "file:///usr/include/a%20b.h:3"


def test_the_costliest_line_in_the_repository_is_marked(checkout: Path) -> None:
    profile = make_profile()
    first = {**profile["lines"][0], "file": "/usr/include/none.h", "line": 5}
    cheap = {**profile["lines"][0], "file": "lb.c", "line": 2, "cost": {"processing": 1}}
    result = make_result(file="xdp/lb.o", profile={**profile, "lines": [first, cheap]})
    assert SlowestPath(result, Names(checkout)).costliest()[:2] == ("xdp/lb.c", 2)
    bare = make_result(file="xdp/lb.o", profile={**profile, "lines": []}, paths=[])
    assert guaranteed(bare, Names(checkout)).place == Place("xdp/lb.o")


def test_a_long_path_has_each_line_once() -> None:
    source = [("lb.c", 1 + step % 3) for step in range(2000)]
    result = make_result(paths=[make_path(source=source, lines=[])])
    steps = SlowestPath(result, Names()).steps()
    assert [step.place.line for step in steps] == [1, 2, 3]
    short = make_result(paths=[make_path(source=[*source[:5], source[4]], lines=[])])
    found = [step.place.line for step in SlowestPath(short, Names()).steps()]
    assert found == [1, 2, 3, 1, 2]


def test_bound_reports_guarantees_requirements_and_errors(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.bpf.o"
    wrong.write_text("no object")
    words = ("bound", PLAIN, "examples/alaw2ulaw_opt.bpf.o", wrong, *CARD)
    gate = ("--require", "5Gbit/s", "--format")
    log = slowpath(*words, *gate, "sarif")
    assert log.returncode == 3
    results = check_sarif(log.stdout)["results"]
    assert [(one["ruleId"], one["level"]) for one in results] == [
        ("SP1302", "error"),
        ("SP1301", "note"),
        ("SP0231", "error"),
    ]
    missed = results[0]
    assert "only 3.90 Gbit/s guaranteed" in missed["message"]["text"]
    assert "Reproduce: slowpath bound examples/alaw2ulaw.bpf.o" in missed["message"]["text"]
    assert place_of(missed["locations"][0]) == "examples/alaw2ulaw.bpf.c:44"
    # The code flow follows the path from its first line to the return.
    flow = [place_of(step) for step in steps_of(missed)]
    path = slowpath("bound", PLAIN, *CARD, "--format", "json").stdout
    source = json.loads(path)["results"][0]["paths"][0]["source"]
    assert flow[0] == f"examples/{Path(source[0][0]).name}:{source[0][1]}"
    assert flow[-1] == f"examples/{Path(source[-1][0]).name}:{source[-1][1]}"
    assert 10 < len(flow) <= 500
    commands = read_github(slowpath(*words, *gate, "github").stdout)
    assert [one["level"] for one in commands] == ["error", "error", "notice"]
    assert (commands[0]["file"], commands[0]["line"]) == ("examples/alaw2ulaw.bpf.c", "44")
    cases = check_junit(slowpath(*words, *gate, "junit").stdout)
    assert [[child.tag for child in case] for case in cases] == [
        ["failure"],
        ["system-out"],
        ["error"],
    ]
    assert cases[0].attrib["classname"] == PLAIN
    assert cases[0].attrib["name"] == "alaw2ulaw on agilio-cx-2x40"
    page = slowpath(*words, *gate, "markdown").stdout
    assert page.startswith("### slowpath bound: 3 programs, 2 errors\n")


def test_an_undecided_requirement_is_an_error() -> None:
    words = ("bound", "examples/path_explosion.bpf.o", *CARD, "--deadline", "0.01")
    log = slowpath(*words, "--require", "40Gbit/s", "--format", "sarif")
    assert log.returncode == 4
    (result,) = check_sarif(log.stdout)["results"]
    assert result["level"] == "error"
    assert result["ruleId"] in {"SP1303", "SP0505"}


def test_fingerprints_survive_lines_above(tmp_path: Path) -> None:
    """Check that the fingerprint of a finding stays the same if lines are inserted above it."""
    folder = tmp_path / "examples"
    folder.mkdir()
    (tmp_path / ".git").mkdir()
    logs = []
    for shift in (0, 5):
        source = (ROOT / "examples/alaw2ulaw.bpf.c").read_text()
        (folder / "alaw2ulaw.bpf.c").write_text("\n" * shift + source)
        for header in (ROOT / "examples").glob("*.h"):
            shutil.copy(header, folder)
        words = ("bound", "examples/alaw2ulaw.bpf.c", *CARD, "--format", "sarif")
        run = slowpath(*words, cwd=tmp_path)
        assert run.returncode == 0, run.stderr
        logs.append(check_sarif(run.stdout)["results"][0])
    before, after = logs
    assert before["partialFingerprints"] == after["partialFingerprints"]
    line = [one["locations"][0]["physicalLocation"]["region"]["startLine"] for one in logs]
    assert line[1] == line[0] + 5
