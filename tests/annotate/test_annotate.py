"""Tests of `slowpath annotate`: the costs of source lines and instructions."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from slowpath.annotate.documents import Annotation
from slowpath.annotate.report import annotation, annotation_report, headline
from slowpath.core.programs.sources import find_source
from slowpath.core.schema.derived import main_component
from slowpath.core.schema.results import Detail
from support import ROOT, make_bound, make_profile, make_result, slowpath

PLAIN = "examples/alaw2ulaw.bpf.o"
OPTIMISED = "examples/alaw2ulaw_opt.bpf.o"
COUNT = ("--target", "ebpf")
CODE: Detail = {
    "paths": [],
    "code": [
        {
            "instruction": 0,
            "text": "immed[gprA_0, 0x0]",
            "source": {"file": "./a.c", "line": 7, "text": "    x = *p;"},
        },
        {"instruction": 3, "text": "nop", "source": {"file": "./a.c", "line": 8, "text": ""}},
        {
            "instruction": 4,
            "text": "br[.9]",
            "source": {"file": "./a.c", "line": 30, "text": "    drop();"},
        },
    ],
    "failure": None,
    "blocks": [],
    "unmatched": [],
}


def annotate(*arguments: str | Path) -> str:
    run = slowpath("annotate", *arguments)
    assert (run.returncode, run.stderr) == (0, "")
    return run.stdout


def annotations(*arguments: str | Path) -> list[dict[str, Any]]:
    found = json.loads(annotate(*arguments, "--format", "json"))["results"]
    assert isinstance(found, list)
    return found


def ticks(cost: float) -> int:
    """Convert a cost to billionths as an integer, so that sums of costs are exact."""
    return round(cost * 10**9)


CARD = ("--target", "agilio-cx-2x40")


@pytest.mark.parametrize(
    ("file", "target"),
    [
        (PLAIN, COUNT),
        ("examples/tunnel.bpf.o", COUNT),
        (PLAIN, CARD),
        ("examples/count_min.4.bpf.o", CARD),
        ("examples/dram_reads.asm", CARD),
        ("examples/counter_loop.asm", CARD),
    ],
)
def test_costs_of_lines_and_overhead_add_up(file: str, target: tuple[str, ...]) -> None:
    (found,) = annotations(file, *target)
    for component, whole in found["cost"].items():
        rows = [found["overhead"], *(entry["cost"] for entry in found["instructions"])]
        assert sum(ticks(row[component]) for row in rows) == ticks(whole)
        if found["lines"]:
            lost = [entry["cost"] for entry in found["instructions"] if entry["line"] is None]
            rows = [found["overhead"], *lost, *(line["cost"] for line in found["lines"])]
            assert sum(ticks(row[component]) for row in rows) == ticks(whole)
    overhead = found["overhead"][found["component"]] / found["cost"][found["component"]]
    shares = sum(entry["share"] for entry in found["instructions"])
    assert overhead + shares == pytest.approx(1)


def test_every_printed_row_is_part_of_the_total() -> None:
    rows = annotate(PLAIN, *COUNT).splitlines()
    assert rows[-1].split()[:2] == ["100.0", "%"]
    costs = [row.split("%")[1].split() for row in rows if " % " in row]
    numbers = [[int(n) for n in row[:3] if n.isdigit()] for row in costs]
    assert sum(row[1] for row in numbers[:-1]) == numbers[-1][0]
    assert sum(row[2] for row in numbers[:-1]) == numbers[-1][1]


def test_json_and_bound_agree() -> None:
    (found,) = annotations(PLAIN, *COUNT)
    run = slowpath("bound", PLAIN, *COUNT, "--format", "json")
    (result,) = json.loads(run.stdout)["results"]
    assert found["cost"] == result["paths"][0]["cost"] == result["profile"]["cost"]
    executed = [entry["instruction"] for entry in found["instructions"] if entry["runs"]]
    assert executed == [entry["instruction"] for entry in result["profile"]["instructions"]]


def made(**changes: Any) -> Annotation:
    return annotation(make_result(**changes), CODE)


def report(annotated: Annotation, *, instructions: bool = False) -> list[str]:
    return [line.text for line in annotation_report(annotated, {}, instructions=instructions)]


def test_code_that_is_not_on_the_path_has_no_cost() -> None:
    lines = {line["line"]: line for line in made()["lines"]}
    assert [lines[number]["runs"] for number in (7, 8, 30)] == [2, 2, 0]
    assert lines[30]["cost"] == {"processing": 0, "dram": 0}


def test_text_of_rows() -> None:
    assert report(made()) == [
        "     share  runs  processing cycles  dram cycles  line  code",
        "                                                        ./a.c",
        ">   63.3 %     2                500         4.05     7      x = *p;",
        ">    8.4 %     2                 66            0     8      return x;",
        "                                                        ...",
        "               0                                    30      drop();",
        "    28.4 %                      224            0        per-packet overhead of the device",
        "   100.0 %                      790         4.05        total",
    ]


def test_a_component_without_work_has_no_column() -> None:
    profile = make_profile()
    for part in (profile, *profile["lines"], *profile["instructions"]):
        part["cost"] = {"processing": part["cost"]["processing"], "dram": 0}
    assert "dram" not in report(made(profile=profile))[0]


def test_inlined_lines_are_joined() -> None:
    profile = make_profile()
    profile["lines"].append(profile["lines"][0] | {"function": "other"})
    line = made(profile=profile)["lines"][0]
    assert (line["runs"], line["instructions"]) == (4, 8)
    assert line["cost"] == {"processing": 1000, "dram": 8.10492607}


def test_shares_refer_to_the_component_of_the_guarantee() -> None:
    assert main_component(make_result()) == "processing"
    slow = make_bound(components={"processing": 9e6, "dram": 4e6, "mac": 1e6, "line": None})
    assert main_component(make_result(guarantee=slow)) == "dram"
    idle = make_bound(components={"processing": None, "dram": None, "mac": 1e6})
    assert main_component(make_result(guarantee=idle)) == "processing"
    assert main_component(make_result(guarantee=None)) is None
    counts = make_result(metric="memory-accesses")
    counts["profile"] = make_profile(cost={"instructions": 5, "memory accesses": 2})
    assert main_component(counts) == "memory accesses"


def test_costs_of_a_bound_are_marked() -> None:
    assert made()["exact"] is True
    stopped = made(guarantee=make_bound(exact=False, stopped="deadline"), paths=[])
    assert (stopped["exact"], stopped["stopped"]) == (False, "deadline")
    assert report(stopped) == report(made())


def test_a_failed_program_has_no_rows() -> None:
    failed = made(guarantee=None, profile=None, error="no such thing")
    assert report(failed) == []
    assert failed["error"] == "no such thing"


def test_a_bound_says_that_no_packet_needs_to_take_its_path() -> None:
    stopped = make_result(guarantee=make_bound(exact=False, stopped="deadline"), paths=[])
    text = [line.text for line in headline(stopped)]
    assert text[-1].endswith("on the path that sets this bound; perhaps no packet takes it")
    assert not any("no packet needs" in line.text for line in headline(make_result()))


# --- source files ---------------------------------------------------------------------------------


def test_source_files_fill_gaps_of_the_object() -> None:
    text = annotate(PLAIN, *COUNT)
    assert "linear = (linear + 32) << (segment - 1);" in text  # has no code of its own


def test_without_source_files_the_object_suffices(tmp_path: Path) -> None:
    shutil.copy(ROOT / PLAIN, tmp_path / "alone.o")
    run = slowpath("annotate", tmp_path / "alone.o", *COUNT, cwd=tmp_path)
    assert (run.returncode, run.stderr) == (0, "")
    assert "linear = linear * 2 + 33;" in run.stdout
    assert "linear = (linear + 32) << (segment - 1);" not in run.stdout
    assert "..." in run.stdout


def test_another_source_file_is_not_used(tmp_path: Path) -> None:
    shutil.copy(ROOT / PLAIN, tmp_path / "old.o")
    source = (ROOT / "examples/alaw2ulaw.bpf.c").read_text()
    (tmp_path / "alaw2ulaw.bpf.c").write_text(source.replace("linear * 2 + 33", "linear * 2"))
    run = slowpath("annotate", tmp_path / "old.o", *COUNT)
    assert run.returncode == 0
    assert run.stderr.count("note: ") == 1
    assert "differs from the compiled source in line 25" in run.stderr
    assert "linear = linear * 2 + 33;" in run.stdout


def test_a_long_line_agrees_with_its_start(tmp_path: Path) -> None:
    line = "\tone " + "two " * 60
    (tmp_path / "a.p4").write_text(f"{line}\nshort line\n")
    program = str(tmp_path / "a.spec")
    found = find_source("a.p4", program, {1: line[:200].replace("\t", "    ").rstrip()})
    assert found.text(1) == line.rstrip().replace("\t", "    ")
    assert find_source("a.p4", program, {1: line}).remark is None
    for known in ({1: line[:190]}, {1: line[:199] + "x"}, {1: line + "x"}, {2: "short"}):
        assert find_source("a.p4", program, known).remark is not None


def test_where_sources_are_looked_for(tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text("\tone\ntwo\n")
    program = str(tmp_path / "a.o")
    for name in ("a.c", "./a.c", "/nowhere/src/a.c", str(tmp_path / "a.c")):
        found = find_source(name, program, {1: "    one"})
        assert (found.text(1), found.text(2), found.text(99)) == ("    one", "two", None)
    assert find_source("b.c", program, {}).lines == ()
    assert find_source("a.c", program, {9: "nine"}).remark is not None
    (tmp_path / "a.c").write_bytes(b"\xff")
    assert "UTF-8" in (find_source("a.c", program, {}).remark or "")


def test_failures() -> None:
    run = slowpath("annotate", "examples/no-such.o", PLAIN, *COUNT)
    assert run.returncode == 3
    assert run.stderr == "error: examples/no-such.o: no such file\n"
    assert "total" in run.stdout
    assert slowpath("annotate", PLAIN, "--metric", "bitrate", *COUNT).returncode == 2
    assert slowpath("annotate", PLAIN, "--deadline", "1e-9", *COUNT).returncode == 4
