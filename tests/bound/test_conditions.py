"""Tests that the assumptions of a guarantee appear in all reports and requirement checks."""

import json
from pathlib import Path

import pytest

from slowpath import bound
from slowpath.bounds.report import text_reporter
from slowpath.bounds.report_path import exactness
from slowpath.bounds.report_rates import CompactTable
from slowpath.bounds.requirement import refusal, relied_on
from slowpath.core.schema.derived import NO_DETAIL
from slowpath.core.schema.rates import Rate
from slowpath.core.schema.results import PathDetail, Result
from support import ROOT, make_bound, make_result, slowpath

TRANSCODER = "examples/alaw2ulaw.bpf.o"
CARD = ("--target", "agilio-cx-2x40")
COUNT = ("--target", "ebpf")
PRICE = "writes to DRAM cost 5 engine cycles"
ENDLESS = (
    "alu[gprA_2, --, B, *l$index1[2]], gpr_wrboth",
    "mem[read32_swap, $xfer_0, gprA_2, 0x0, 1], ctx_swap[sig1]",
    "alu[gprA_4, --, B, $xfer_0], gpr_wrboth",
    "alu[--, gprA_4, AND, 0x1]",
    "bne[.1]",
    "br[.15000]",
)
"""C source of a loop whose number of iterations depends only on the packet's content."""


def conditional(*assumptions: str) -> Result:
    return make_result(guarantee=make_bound(verdict="conditional"), assumptions=list(assumptions))


def place() -> str:
    """Return file and line of the only loop in the example `alaw2ulaw`."""
    shown = json.loads(slowpath("show", TRANSCODER, "--format", "json").stdout)
    (loop,) = shown["results"][0]["programs"][0]["loops"]
    return f"{Path(loop['file']).name}:{loop['line']}"


def analyse(*options: str) -> Result:
    run = slowpath("bound", TRANSCODER, *(options or COUNT), "--format", "json")
    assert run.returncode == 0, run.stderr
    result: Result = json.loads(run.stdout)["results"][0]
    return result


# --- in texts -------------------------------------------------------------------------------------


def test_the_first_condition_follows_exact() -> None:
    assert exactness(make_result()) == "exact"
    assert exactness(conditional(PRICE)) == f"exact if {PRICE}"
    assert exactness(conditional("a.", "b", "c")) == "exact if a, and 2 more assumptions"


def test_full_report() -> None:
    reporter = text_reporter(["sample.asm"], verbose=False)
    path: PathDetail = {
        "ranges": [],
        "exit": 0,
        "listing": [],
        "stretches": [],
        "branches": [],
        "profile": None,
    }
    detail = NO_DETAIL | {"paths": [path]}
    lines = [line.text for line in reporter.add(conditional("a", "b"), detail, "")]
    assert "guaranteed   24.7 Gbit/s (exact if a, and 1 more assumption)" in lines
    assert "assuming     - b" in lines
    assert not any("(exact)" in line or "it is exact" in line for line in lines)


def test_rows_lead_to_conditions() -> None:
    table = CompactTable(["sample.asm"])
    row = table.row(conditional(PRICE)).text
    assert row.endswith(" [1]")
    assert " if " in row
    assert " yes " not in row
    assert table.notes()[0].text == f"[1] if {PRICE}"
    assert " yes " in table.row(make_result()).text


def test_notes_are_no_conditions() -> None:
    result = make_result(notes=["a result above XDP_TX drops the packet on the card"])
    assert exactness(result) == "exact"


# --- loops that are cut ---------------------------------------------------------------------------


def test_a_general_limit_keeps_derived_limits() -> None:
    plain = analyse()
    assert plain["guarantee"] is not None
    assert plain["guarantee"]["verdict"] == "exact"
    limited = analyse(*COUNT, "--unroll", "10")
    assert limited["guarantee"] == plain["guarantee"]
    assert limited["assumptions"] == []
    run = slowpath("bound", TRANSCODER, *CARD, "--unroll", "10", "--require", "10Gbit/s")
    assert run.returncode == 1


@pytest.mark.parametrize("target", ["agilio-cx-2x40", "linux-xdp"])
def test_every_format_states_a_cut_loop(target: str) -> None:
    cut = ("--target", target, "--unroll", f"10@{place()}")
    result = analyse(*cut)
    assert result["guarantee"] is not None
    assert (result["guarantee"]["verdict"], result["guarantee"]["exact"]) == ("conditional", False)
    assert result["cuts"] == result["assumptions"]
    (sentence,) = result["cuts"]
    assert "runs at most 10 times, less than the " in sentence
    assert "that are possible (--unroll)" in sentence
    for arguments in (["bound", TRANSCODER], ["annotate", TRANSCODER]):
        text = slowpath(*arguments, *cut).stdout
        assert f"(exact if {sentence})" in text
        assert "(exact)" not in text
    table = slowpath("bound", TRANSCODER, "examples/count_min.1.bpf.o", *cut).stdout
    assert f"[1] if {sentence}" in table
    header, row = slowpath("bound", TRANSCODER, *cut, "--format", "csv").stdout.splitlines()
    cells = dict(zip(header.split(","), row.split(","), strict=False))
    assert cells["exact"] == "false"
    assert cells["verdict"] == "conditional"
    annotated = json.loads(slowpath("annotate", TRANSCODER, *cut, "--format", "json").stdout)[
        "results"
    ][0]
    assert (annotated["verdict"], annotated["exact"]) == ("conditional", False)
    assert annotated["assumptions"] == [sentence]


def test_comparisons_mark_conditions(tmp_path: Path) -> None:
    saved = tmp_path / "cut.json"
    run = slowpath("bound", TRANSCODER, *COUNT, "--unroll", f"10@{place()}", "--format", "json")
    saved.write_text(run.stdout)
    compared = ("diff", TRANSCODER, saved, *COUNT)
    for form in ("table", "markdown"):
        text = slowpath(*compared, "--format", form).stdout
        assert "(if)" in text
        assert "only NEW of " in text
        assert "runs at most 10 times" in text
        same = slowpath("diff", saved, saved, "--format", form).stdout
        assert "OLD and NEW of " in same
    gate = slowpath(*compared, "--fail-on", "instructions_b < 100000")
    assert gate.returncode == 1
    assert "(NEW depends on assumptions)" in gate.stderr
    rows = json.loads(slowpath(*compared, "--format", "json").stdout)["results"]
    values = rows[0]["values"]
    assert (values["verdict_a"], values["verdict_b"]) == ("exact", "conditional")


def test_requirements_are_not_met_by_cutting_loops() -> None:
    cut = f"10@{place()}"
    arguments = ("bound", TRANSCODER, *CARD, "--unroll", cut, "--require", "10Gbit/s")
    refused = slowpath(*arguments)
    assert refused.returncode == 1
    assert "runs at most 10 times" in refused.stderr
    assert "--accept-assumptions" in refused.stderr
    options = {"target": CARD[1], "unroll": cut, "require": "10Gbit/s"}
    (program,) = bound(ROOT / TRANSCODER, **options)  # type: ignore[arg-type]
    assert program.met is False
    assert program.reason is not None
    assert program.reason in refused.stderr
    (program,) = bound(ROOT / TRANSCODER, accept_assumptions=True, **options)  # type: ignore[arg-type]
    assert program.met
    accepted = slowpath(*arguments, "--accept-assumptions")
    assert accepted.returncode == 0
    assert "--require is met if the loop at " in accepted.stderr
    # A requirement above the guarantee fails even with accepted assumptions.
    much = slowpath("bound", TRANSCODER, *CARD, "--unroll", cut, "--require", "1Tbit/s")
    assert much.returncode == 1
    assert "only " in much.stderr


def test_reproduction_accepts_as_well() -> None:
    arguments = ("--require", "1Tbit/s", "--accept-assumptions")
    run = slowpath("bound", "examples/two_protocols.asm", *arguments)
    assert run.returncode == 1
    assert run.stderr.rstrip().endswith("--require 1Tbit/s --accept-assumptions")
    alone = slowpath("bound", "examples/two_protocols.asm", "--accept-assumptions")
    assert alone.returncode == 2
    assert "--require" in alone.stderr


def test_locations_that_match_nothing_are_errors() -> None:
    for arguments in (
        ["bound", TRANSCODER],
        ["annotate", TRANSCODER],
        ["diff", TRANSCODER, "examples/alaw2ulaw_opt.bpf.o"],
    ):
        run = slowpath(*arguments, *COUNT, "--unroll", "10@nowhere.c:5")
        assert run.returncode == 2, arguments
        assert "error: --unroll 10@nowhere.c:5: " in run.stderr
    # A location in one of several programs is valid.
    programs = (TRANSCODER, "examples/header_parser.bpf.o")
    run = slowpath("bound", *programs, *COUNT, "--unroll", f"3@{place()}")
    assert run.returncode == 0
    assert run.stderr == ""


# --- gates ----------------------------------------------------------------------------------------


def test_what_a_requirement_relies_on() -> None:
    rate = Rate(1e6, "packetrate")
    assert relied_on(make_result(), rate) == []
    assert relied_on(conditional("a.", "b\n"), rate) == ["a", "b "]
    assert "only if a and b;" in refusal(make_result(cuts=["a", "b"]), rate)


def test_limits_of_listings_are_accepted_and_stated(tmp_path: Path) -> None:
    endless = tmp_path / "endless.asm"
    lines = (f"{8 * number:4x}:\t.{number}  {text}" for number, text in enumerate(ENDLESS))
    endless.write_text("\n".join(lines) + "\n")
    run = slowpath("bound", endless, "--unroll", "3", "--require", "1bps")
    assert run.returncode == 0, run.stderr
    assert run.stderr == (
        f"note: {endless}: --require is met if the loop at .1 runs at most 3 times (--unroll)\n"
    )
    assert "(exact if the loop at .1 runs at most 3 times (--unroll))" in run.stdout


COUNTED = ("--target", "ebpf", "--require")


def test_counts_can_be_required() -> None:
    result = analyse("--target", "ebpf")
    assert result["guarantee"] is not None
    assert result["guarantee"]["counts"] is not None
    most = result["guarantee"]["counts"]["instructions"]
    met = slowpath("bound", TRANSCODER, *COUNTED, f"<={most} instructions")
    assert (met.returncode, met.stderr) == (0, "")
    missed = slowpath("bound", TRANSCODER, *COUNTED, f"<= {most - 1} Instructions")
    assert missed.returncode == 1
    message = f"at most {most} instructions guaranteed, at most {most - 1} instructions required"
    assert message in missed.stderr
    again = missed.stderr.splitlines()[-1]
    assert again.endswith(f"--require '<= {most - 1} Instructions'")
    accesses = slowpath("bound", TRANSCODER, *COUNTED, "<=1 memory accesses")
    assert accesses.returncode == 1
    assert "memory accesses" in accesses.stderr


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((*CARD, "--require", "<=9 instructions"), "--target ebpf"),
        ((*COUNTED, "10Gbit/s"), "not rates"),
        ((*COUNTED, "<=9 cycles"), "not cycles"),
        ((*COUNTED, "<9 instructions"), "'<=4000 instructions'"),
        ((*COUNTED, "<=9 instructions", "--metric", "memory-accesses"), "memory accesses"),
    ],
)
def test_unsupported_requirements(options: tuple[str, ...], words: str) -> None:
    run = slowpath("bound", TRANSCODER, *options)
    assert run.returncode == 2
    assert run.stdout == ""
    assert words in run.stderr


# --- how packets arrive ---------------------------------------------------------------------------


RECEIVING = ("crates/slowpath/tests/objects/receive.bpf.o", "-n", "head_is_full")


def test_a_narrow_environment_is_a_condition() -> None:
    options = ("--target", "ebpf")
    wide = slowpath("bound", *RECEIVING, *options).stdout
    assert "exact" in wide
    assert "exact if" not in wide
    narrow = slowpath("bound", *RECEIVING, *options, "--receive", "native-page").stdout
    assert "exact if packets arrive as native-page delivers them: 14 to 1514 bytes long" in narrow
    (found,) = bound(
        ROOT / RECEIVING[0], prog_name="head_is_full", target="ebpf", receive="native-page"
    )
    guarantee = found.result["guarantee"]
    assert guarantee is not None
    assert guarantee["verdict"] == "conditional"


def test_a_gate_knows_the_environment() -> None:
    gate = (*RECEIVING, "--target", "ebpf", "--require", "<=30 instructions")
    assert slowpath("bound", *gate).returncode == 1
    narrow = (*gate, "--receive", "native-page")
    run = slowpath("bound", *narrow)
    assert run.returncode == 0
    assert "packets arrive as native-page delivers them" in run.stderr + run.stdout


def test_unknown_environments_are_rejected() -> None:
    run = slowpath("bound", *RECEIVING, "--target", "ebpf", "--receive", "native")
    assert run.returncode != 0
    assert "write any, native-page, veth, generic, test-run" in run.stderr + run.stdout
