"""Tests that `slowpath sweep` finds the results of `slowpath bound` for each macro value."""

import csv
import json
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import oracles
from compiler import needs_clang
from running_kernel import needs_kernel
from slowpath import app as cli
from slowpath.core import codes
from slowpath.core.engine import kernel
from slowpath.core.errors import OptionError, UnavailableError
from slowpath.sweep.definitions import (
    Definition,
    check_definitions,
    flags,
    parse_definition,
    points,
)
from support import ROOT, heed_interrupts, refuses_pictures, slowpath, wait_until
from test_schema import check
from test_sources import stand_in

COUNT_MIN = "examples/count_min.bpf.c"
SOURCE = """
#include <linux/bpf.h>
#ifdef MORE
__attribute__((section("xdp"), used)) int second(struct xdp_md *ctx) { return MORE; }
#endif
#if VALUE < 9
__attribute__((section("xdp"), used)) int program(struct xdp_md *ctx)
{
	return VALUE + (ctx->data_end > ctx->data + 64);
}
#endif
"""
BOTH = ("--target", "agilio-cx-2x40,ebpf")
CARD = ("--target", "agilio-cx-2x40")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Write a program whose code depends on macro definitions, and return its path."""
    needs_clang()
    file = tmp_path / "program.bpf.c"
    file.write_text(SOURCE)
    return file


def swept(*words: str | Path, code: int = 0) -> dict[str, Any]:
    """Run `slowpath sweep` and return its JSON document."""
    run = slowpath("sweep", *words, "--format", "json")
    assert run.returncode == code, run.stderr
    check("sweep", run.stdout)
    document: dict[str, Any] = json.loads(run.stdout)
    return document


# --- definitions ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("N=1..4", ["1", "2", "3", "4"]),
        ("N=1..20+6", ["1", "7", "13", "19"]),
        ("N=1..20:6", ["1", "7", "13", "19"]),  # deprecated
        ("N=3..30*3", ["3", "9", "27"]),
        ("N=-1..1", ["-1", "0", "1"]),
        ("N=1,2,4", ["1", "2", "4"]),
        ("N=1..2,8,16..17", ["1", "2", "8", "16", "17"]),
        ("N=slow, fast", ["slow", "fast"]),
        ("N=a=b", ["a=b"]),
        ("_n1=0x10", ["0x10"]),
    ],
)
def test_values(text: str, values: list[str]) -> None:
    assert list(parse_definition(text).values) == values


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("N", "'N' is not NAME=VALUES; write for example HASHES=1..20"),
        ("1N=3", "'1N=3' is not NAME=VALUES"),
        ("N(x)=3", "is not NAME=VALUES"),
        ("N=", "N has an empty value; write for example N=1,2,4"),
        ("N=1,,2", "N has an empty value"),
        ("N=3..1", "'3..1' ends before it begins; write the smaller number first"),
        ("N=1..9+0", "'1..9+0' has steps below 1; write for example 1..20+2"),
        ("N=1..9*1", "'1..9*1' does not grow; write for example 1..1024*2"),
        ("N=0..9*2", "'0..9*2' does not grow"),
        ("N=1..2.5", "'1..2.5' is not a range of integers"),
        ("N=1..x", "'1..x' is not a range; write FIRST..LAST or FIRST..LAST+STEP"),
        ("N=1..99999999999", "has more than 10,000 values"),
        ("N=1..3,2", "N has the value 2 twice"),
    ],
)
def test_invalid_definitions(text: str, reason: str) -> None:
    with pytest.raises((OptionError, ValueError), match=re.escape(reason)):
        parse_definition(text)
    run = slowpath("sweep", COUNT_MIN, "-D", text)
    assert (run.returncode, run.stdout) == (2, "")
    assert "invalid value for '-D': " in run.stderr
    assert reason in run.stderr


@pytest.mark.parametrize("definitions", [["N=1", "N=2"], ["N=1..3,2"]])
def test_repeated_names_and_values_have_the_code_of_repeated_options(
    definitions: list[str],
) -> None:
    words = [word for one in definitions for word in ("-D", one)]
    run = slowpath("sweep", COUNT_MIN, *words, codes=True)
    assert run.returncode == 2
    assert "[SP0106]" in run.stderr


def test_several_definitions_are_a_grid() -> None:
    both = [Definition("A", ("1", "2")), Definition("B", ("x", "y"))]
    named = [dict(point) for point in points(both)]
    assert named == [{"A": a, "B": b} for a in "12" for b in "xy"]
    assert flags(next(points(both))) == ("-DA=1", "-DB=x")
    for wrong in ([both[0], both[0]], [Definition(n, tuple(map(str, range(200)))) for n in "AB"]):
        with pytest.raises((OptionError, ValueError), match=r"twice|40,000 programs"):
            check_definitions(wrong)


# --- results -------------------------------------------------------------------------------------


@pytest.mark.usefixtures("source")
def test_each_value_has_the_results_of_bound() -> None:
    document = swept(COUNT_MIN, "-D", "HASHES=1..7+6", *BOTH)
    assert document["complete"]
    assert document["definitions"] == [{"name": "HASHES", "values": ["1", "7"]}]
    assert [one["values"]["HASHES"] for one in document["results"]] == ["1", "7"]
    compared = 0
    for program in document["results"]:
        assert (program["program"], program["measured"]) == ("count_min", None)
        define = f"-DHASHES={program['values']['HASHES']}"
        for result in program["results"]:
            words = ["--target", result["target"], "--metric", result["metric"]]
            words += ["--cflags", define, "--format", "json"]
            run = slowpath("bound", COUNT_MIN, *words)
            (alone,) = json.loads(run.stdout)["results"]
            for key in ("packetrate_pps", "bitrate_bps", "counts", "verdict", "bottleneck"):
                assert result[key] == alone["guarantee"][key]
            compared += 1
    assert compared == 4
    slowest = [one["results"][1]["counts"]["instructions"] for one in document["results"]]
    assert slowest == sorted(set(slowest))


def test_the_table_has_a_row_for_each_value(source: Path) -> None:
    run = slowpath("sweep", source, "-D", "VALUE=1,nix,2", *BOTH)
    assert run.returncode == 3
    head, *rows = run.stdout.partition("\n\ncompiled by ")[0].splitlines()
    names = "VALUE agilio-cx-2x40 exact bottleneck ebpf instructions exact"
    assert " ".join(head.split()) == names
    assert [row.split()[0] for row in rows] == ["1", "nix", "2"]
    assert " ".join(rows[0].split()) == "1 54.4 Mpps yes mac 7 yes"
    assert rows[1].count("not analysed") == 2
    assert rows[1].count("clang: ") == 1  # the reason once, not for each target
    assert "undeclared identifier 'nix'" in rows[1]
    for target in ("agilio-cx-2x40", "ebpf"):
        assert f"{source}: 1 of 3 programs not analysed on {target}" in run.stderr


def test_a_failure_on_one_target_keeps_the_others(source: Path) -> None:
    source.write_text(SOURCE.replace("VALUE +", "(VALUE > 1 ? ctx->data % 7 : 0) +"))
    document = swept(source, "-D", "VALUE=1,2", *BOTH, code=3)
    first, second = document["results"]
    assert [one["error"] for one in first["results"]] == [None, None]
    card, count = second["results"]
    assert "remainder" in card["error"] or "cannot" in card["error"]
    assert (card["verdict"], count["error"]) == (None, None)
    run = slowpath("sweep", source, "-D", "VALUE=1,2", *BOTH)
    assert f"agilio-cx-2x40: {card['error']}" in run.stdout


def test_csv_has_a_line_for_each_target(source: Path) -> None:
    words = ["-D", "VALUE=1,2", "-D", "target=5,6", *BOTH, "--metric", "memory-accesses"]
    run = slowpath("sweep", source, *words, "--format", "csv")
    assert run.returncode == 0, run.stderr
    rows = list(csv.DictReader(run.stdout.splitlines()))
    assert len(rows) == 8
    assert [row["D_target"] for row in rows] == ["5", "5", "6", "6"] * 2
    assert [row["target"] for row in rows] == ["agilio-cx-2x40", "ebpf"] * 4
    assert {row["metric"] for row in rows} == {"packetrate", "memory-accesses"}
    for row in rows:
        counts = row["target"] == "ebpf"
        assert bool(row["memory_accesses"]) is counts
        assert bool(row["packetrate_pps"]) is not counts


def test_estimates_have_the_intervals_of_bound() -> None:
    words = ("--target", "linux-xdp", "--format")
    run = slowpath("sweep", COUNT_MIN, "-D", "HASHES=3", *words, "csv")
    (row,) = csv.DictReader(run.stdout.splitlines())
    bound = slowpath("bound", COUNT_MIN, "--cflags=-DHASHES=3", *words, "json")
    estimate = json.loads(bound.stdout)["results"][0]["estimate"]
    for name in ("warm", "cold"):
        for key in ("ns", "low_ns", "high_ns"):
            assert float(row[f"{name}_{key}"]) == pytest.approx(estimate[name][key])


def test_values_without_a_program_have_a_reason(source: Path) -> None:
    words = ("-D", "VALUE=1,9", "--target", "ebpf")
    document = swept(source, *words, code=3)
    assert "the object has no program" in document["results"][1]["results"][0]["error"]
    document = swept(source, *words, "-D", "MORE=2", "-n", "program", code=3)
    known, none = document["results"]
    assert known["program"] == "program"
    assert "no program matches" in none["results"][0]["error"]
    run = slowpath("sweep", source, *words, "-n", "nix")
    assert (run.returncode, run.stdout) == (2, "")
    assert "'--prog-name': no program matches" in run.stderr


def test_several_programs_have_a_row_each(source: Path) -> None:
    run = slowpath("sweep", source, "-D", "VALUE=1,9", "-D", "MORE=2", "--target", "ebpf")
    assert run.returncode == 0, run.stderr
    cells = [row.split()[:3] for row in run.stdout.partition("\n\ncompiled by ")[0].splitlines()]
    assert cells[0] == ["VALUE", "MORE", "program"]
    assert cells[1:] == [["1", "2", "second"], ["1", "2", "program"], ["9", "2", "second"]]


def test_unused_definitions_are_noted(source: Path) -> None:
    run = slowpath("sweep", source, "--cflags", "-DVALUE=1", "-D", "VALLUE=1,2")
    assert run.returncode == 0
    assert (
        run.stderr == f"note: VALLUE has no effect, because {source} does not contain this name\n"
    )
    same = slowpath("sweep", source, "-D", "VALUE=1,2", *CARD)
    assert same.stderr == ""  # both as fast as can be


@pytest.mark.parametrize(
    ("words", "code", "reason"),
    [
        (["examples/count_min.8.bpf.o", "-D", "N=1"], 2, "is not a C or P4 source (*.c, *.p4)"),
        (["missing.bpf.c", "-D", "N=1"], 3, "missing.bpf.c: no such file"),
        ([COUNT_MIN, "-D", "N=1", "-D", "N=2"], 2, "N is given twice; write all its values"),
        ([COUNT_MIN, "-D", "N=1", "--target", "ebpf,nix"], 2, "'nix' is not a target"),
        ([COUNT_MIN, "-D", "N=1", "--target", "ebpf,ebpf"], 2, "ebpf is named twice"),
        ([COUNT_MIN, "-D", "N=1", "--metric", "x"], 2, "they have instructions, memory-accesses"),
        ([COUNT_MIN, "-D", "N=1", *CARD, "--metric", "x"], 2, "they have bitrate, packetrate"),
        ([COUNT_MIN, "-D", "N=1", "--target", "ebpf", "--cores", "2"], 2, "has no cores"),
        ([COUNT_MIN, "-D", "N=1", "--plot", "x.pdf"], 2, "the file name must end in .svg or .png"),
        ([COUNT_MIN, "-D", "N=1", "--total-seconds", "2"], 2, "needs --measure"),
    ],
)
@pytest.mark.usefixtures("source")
def test_invalid_options(words: list[str], code: int, reason: str) -> None:
    run = slowpath("sweep", *words)
    assert (run.returncode, run.stdout) == (code, "")
    assert reason in run.stderr


def test_limits_of_loops_count_for_all_values(source: Path) -> None:
    words = ["-D", "VALUE=1,2", "--target", "ebpf", "--unroll", "3@nowhere.c:1"]
    run = slowpath("sweep", source, *words)
    assert run.returncode == 2
    assert "--unroll 3@nowhere.c:1: no analysed program has code" in run.stderr


# --- pictures ------------------------------------------------------------------------------------


def test_a_picture_has_a_panel_for_each_unit(source: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    words = [str(source), "-D", "VALUE=1..2", "-D", "MODE=$a,_b", *BOTH]
    for name in ("one.svg", "two.svg"):
        run = slowpath("sweep", *words, "--plot", tmp_path / name)
        assert run.returncode == 0, run.stderr
    text = (tmp_path / "one.svg").read_text()
    assert text == (tmp_path / "two.svg").read_text()
    for label in ("guaranteed Mpps", "instructions", "VALUE", "ebpf, MODE=_b", "ebpf, MODE=$a"):
        assert f">{label}<" in text, label
    words = [str(source), "-D", "VALUE=1", "--target", "ebpf"]
    run = slowpath("sweep", *words, "--plot", tmp_path / "three.png")
    assert run.returncode == 0, run.stderr
    assert (tmp_path / "three.png").read_bytes().startswith(b"\x89PNG")


def test_words_and_values_without_a_result_are_drawn(source: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    run = slowpath("sweep", source, "-D", "VALUE=1,XDP_PASS,$", "--plot", tmp_path / "a.svg")
    assert run.returncode == 3
    assert ">XDP_PASS<" in (tmp_path / "a.svg").read_text()
    run = slowpath("sweep", source, "-D", "VALUE=nix", "--plot", tmp_path / "b.svg")
    assert (tmp_path / "b.svg").read_text().startswith("<?xml")


def test_a_missing_matplotlib_is_reported_at_once(source: Path) -> None:
    assert refuses_pictures("sweep", source, "-D", "VALUE=1", "--plot", "a.svg")


# --- interrupts and deadlines --------------------------------------------------------------------


def test_an_interrupt_keeps_finished_values(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    began = tmp_path / "began"
    script = (
        "if '-DVALUE=3' in sys.argv:\n"
        f"    pathlib.Path({str(began)!r}).write_text('now')\n    time.sleep(600)\n"
        "shutil.copy(object, result)\n"
    )
    monkeypatch.setenv("CLANG", str(stand_in(tmp_path, script)))
    command = [sys.executable, "-m", "slowpath", "sweep", str(source), "-D", "VALUE=1..5"]
    with subprocess.Popen(
        [*command, "--target", "ebpf", "--format", "json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heed_interrupts,  # noqa: PLW1509 - no thread runs
    ) as run:
        wait_until(began.exists)
        run.send_signal(signal.SIGINT)
        output, errors = run.communicate(timeout=60)
    assert run.returncode == 4
    assert errors == "note: interrupted at value 3 of 5\n"
    document = json.loads(output)
    assert [one["values"]["VALUE"] for one in document["results"]] == ["1", "2"]
    assert not document["complete"]


def test_the_time_for_all_values_is_counted_from_the_start(source: Path) -> None:
    words = ["-D", "VALUE=1..3", "--target", "ebpf", "--total-deadline", "0.000001"]
    document = swept(source, *words, code=4)
    for program in document["results"]:
        assert "total deadline" in program["results"][0]["error"]


# --- the running kernel --------------------------------------------------------------------------


@pytest.mark.usefixtures("source")
def test_the_slowest_path_of_each_value_is_measured() -> None:
    needs_kernel()
    words = [COUNT_MIN, "-D", "HASHES=1,nix,8", *BOTH, "--measure", "--total-seconds", "0.1"]
    document = swept(*words, code=3)
    small, none, large = (one["measured"] for one in document["results"])
    assert none["ns"] is None
    assert "clang: " in none["error"]
    for timed, program in ((small, 0), (large, 2)):
        counts = document["results"][program]["results"][1]["counts"]
        assert timed["instructions"] == counts["instructions"]
        assert timed["ns"] > 0
        assert timed["error"] is None
    assert document["environment"]["kernel"]["release"]
    oracles.compared("kernel", 2, "programs of a sweep")


@pytest.mark.usefixtures("source")
def test_a_sweep_without_a_usable_kernel_continues(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def refuse() -> None:
        raise UnavailableError(codes.KERNEL_UNAVAILABLE, "the kernel runs no programs for us")

    monkeypatch.setattr(kernel, "open_kernel", refuse)
    monkeypatch.chdir(ROOT)
    words = ["sweep", COUNT_MIN, "-D", "HASHES=1,2", "--target", "ebpf", "--measure"]
    assert cli.app(words) == 3
    output, errors = capfd.readouterr()
    assert errors == "error: this machine: the kernel runs no programs for us [SP0801]\n"
    rows = output.partition("\n\ncompiled by ")[0].splitlines()[1:]
    assert [row.split()[:3] for row in rows] == [["1", "51", "yes"], ["2", "85", "yes"]]
    assert all("not measured: the kernel runs no programs for us" in row for row in rows)


def test_a_source_is_compiled_once_for_all_targets(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = shutil.which(needs_clang()[0])
    wrapper, calls = tmp_path / "clang", tmp_path / "calls"
    wrapper.write_text(
        f'#!/bin/sh\n[ "$1" = --version ] || echo call >> "{calls}"\nexec {found} "$@"\n'
    )
    wrapper.chmod(0o755)
    monkeypatch.setenv("CLANG", str(wrapper))
    swept(source, "-D", "VALUE=1,2", *BOTH)
    assert calls.read_text().split() == ["call", "call"]
