"""Tests the selection of programs in an object without options, and notes on other programs."""

import json
from pathlib import Path

import pytest

from slowpath.core.engine.objects import ProgramInfo
from slowpath.core.programs.selection import Selection, choose
from support import ROOT, slowpath

OBJECT = ROOT / "examples/count_min.1.bpf.o"
COUNT = ("--target", "ebpf")


def renamed(folder: Path, section: str) -> Path:
    """Return a copy of the object `OBJECT` with its program in another section of three letters.

    The argument's type is renamed, too, so that only the section can tell the program type.
    """
    content = OBJECT.read_bytes()
    for old, new in ((b".relxdp\0", f".rel{section}\0".encode()), (b"xdp_md\0", b"our_md\0")):
        assert content.count(old) == 1
        content = content.replace(old, new)
    made = folder / f"{section}.bpf.o"
    made.write_bytes(content)
    return made


@pytest.mark.parametrize("command", ["bound", "annotate", "compile"])
def test_the_only_program_in_a_section_of_unknown_type_is_taken_for_xdp(
    tmp_path: Path, command: str
) -> None:
    file = renamed(tmp_path, "prg")
    run = slowpath(command, file, "--format", "json")
    note = "count_min: section 'prg' does not state the type of the program; XDP is assumed"
    assert (run.returncode, run.stderr) == (0, f"note: {file}: {note}\n")
    known = json.loads(slowpath(command, OBJECT, "--format", "json").stdout)
    taken = json.loads(run.stdout)
    if command == "bound":
        (known,), (taken,) = known["results"], taken["results"]
        assert (known["kind"], taken["kind"]) == ("xdp", "unknown")
        assert taken["guarantee"]["counts"] == known["guarantee"]["counts"]
        assert (known["guarantee"]["verdict"], taken["guarantee"]["verdict"]) == (
            "exact",
            "conditional",
        )
        assert taken["assumptions"] == [*known["assumptions"], "the program is of type XDP"]
    elif command == "annotate":
        assert taken["results"][0]["cost"] == known["results"][0]["cost"]
    else:
        assert taken["listing"] == known["listing"]


def test_a_comparison_accepts_unknown_types(tmp_path: Path) -> None:
    run = slowpath("diff", OBJECT, renamed(tmp_path, "prg"), *COUNT)
    assert run.returncode == 0
    assert ": 1 same\n" in run.stdout
    assert run.stderr.count("XDP is assumed") == 1


MANY = "XDP, tc, cgroup_skb and socket"


@pytest.mark.parametrize("command", ["bound", "compile"])
def test_programs_of_other_types_are_not_analysed(tmp_path: Path, command: str) -> None:
    """Check that the error about a program of an unsupported type suggests no useless option."""
    file = renamed(tmp_path, "lwt")
    kinds = (MANY.replace(" and ", " or "), MANY) if command == "bound" else ("XDP", "XDP")
    run = slowpath(command, file)
    reason = (
        f"no {kinds[0]} program in the object; it has lwt: count_min (lwt); only {kinds[1]} "
        "programs are analysed"
    )
    assert (run.returncode, run.stderr) == (3, f"error: {file}: {reason}\n")
    run = slowpath(command, file, "-n", "count_min")
    assert run.returncode == 3
    assert f"the program is of type lwt; only {MANY} programs are analysed" in run.stderr


def test_a_failed_result_has_the_kind_too(tmp_path: Path) -> None:
    run = slowpath("bound", renamed(tmp_path, "lwt"), "-n", "*", "--format", "json")
    (result,) = json.loads(run.stdout)["results"]
    assert (result["kind"], result["section"]) == ("lwt", "lwt")
    run = slowpath("bound", "examples/two_protocols.asm", "--format", "json")
    assert json.loads(run.stdout)["results"][0]["kind"] is None


def test_one_of_several_of_unknown_type_is_chosen_by_name_only() -> None:
    unknown = [ProgramInfo(at, "prog", f"f{at}", "unknown", False) for at in range(2)]
    tc = ProgramInfo(2, "tc", "cls", "sched_cls", False)
    assert choose(unknown[:1], Selection()) == (unknown[:1], [])
    assert choose(unknown, Selection()) == ([], unknown)
    assert choose([unknown[0], tc], Selection()) == ([], [unknown[0], tc])
    assert choose(unknown, Selection(names=("f1",))) == (unknown[1:], [])


def test_the_hint_names_options_where_they_help(tmp_path: Path) -> None:
    """Check that the error about programs of unknown type suggests `--section`."""
    legacy = (ROOT / "crates/bpf/tests/data/legacy.bpf.o").read_bytes()
    assert legacy.count(b"xdp_filter\0") >= 1
    file = tmp_path / "legacy.bpf.o"
    file.write_bytes(legacy.replace(b"xdp_filter\0", b"our_filter\0"))
    run = slowpath("bound", file, *COUNT)
    assert run.returncode == 3
    assert "our_filter (unknown)" in run.stderr
    assert run.stderr.endswith("; select programs of unknown type with --section or --prog-name\n")
    run = slowpath("bound", file, *COUNT, "-n", "our_filter", "--format", "json")
    (result,) = json.loads(run.stdout)["results"]
    assert (result["kind"], result["program"]) == ("unknown", "our_filter")
    assert "our_filter: section 'prog' does not state" in run.stderr
