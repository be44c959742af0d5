"""Tests `slowpath chain facts`, and `chain optimize`, which rewrites programs by these facts."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from oracles import compared
from running_kernel import needs_kernel
from slowpath.app import app
from slowpath.chain.report import fused_lines
from slowpath.core import codes
from slowpath.core.engine import kernel
from slowpath.core.engine.kernel import RewrittenRefusedError
from slowpath.core.engine.report_types import RehearsalReport
from support import CAMPAIGN, ROOT, remembered, slowpath
from test_schema import check

EXAMPLES = ROOT / "examples/chain"
CHAIN = EXAMPLES / "chain.yaml"


def report(*words: str | Path) -> dict[str, Any]:
    """Run `chain facts` or `chain optimize`; return the JSON report.

    The rewritten programs do not run in the kernel unless `words` contain `--packets`.
    """
    quick = () if words[0] == "facts" or "--packets" in words else ("--packets", "0")
    run = slowpath("chain", *words, *quick, "--format", "json")
    assert (run.returncode, run.stderr) == (0, "")
    check("chain", run.stdout)
    found: dict[str, Any] = json.loads(run.stdout)
    return found


def program(found: dict[str, Any], name: str) -> dict[str, Any]:
    (one,) = [one for one in found["programs"] if one["name"] == name]
    return dict(one)


def chain(folder: Path, *names: str, on: str = "XDP_PASS") -> Path:
    """Write a chain of example programs; each hands packets to the next by returning `on`."""
    programs = [{"name": name, "object": str(EXAMPLES / f"{name}.bpf.o")} for name in names]
    edges = [{"from": a, "on": [on], "to": b} for a, b in pairwise(names)]
    file = folder / "written.yaml"
    file.write_text(json.dumps({"schema": 1, "programs": programs, "edges": edges}))
    return file


def instructions(file: Path) -> int:
    """Return the guaranteed maximum number of instructions per packet of a program."""
    output = remembered("bound", file, "--target", "ebpf", "--format", "json")
    (result,) = json.loads(output)["results"]
    assert result["guarantee"]["verdict"] == "exact"
    return int(result["guarantee"]["counts"]["instructions"])


def test_what_is_left_out_is_told_with_the_facts_and_the_lines_that_establish_them() -> None:
    run = slowpath("chain", "optimize", CHAIN, "--packets", "0")
    lines = run.stdout.splitlines()
    at = lines.index("load_balancer: omitted work, by reason")
    rows = [line.split() for line in lines[at + 2 : lines.index("", at)]]
    balancer = program(report("optimize", CHAIN), "load_balancer")
    (types,) = (row for row in rows if row[:2] == ["bytes", "12-13"])
    changes = [one for one in balancer["dropped"] if {12, 13} & set(one["bytes"])]
    branches = [one for one in changes if one["change"] in {"always taken", "never taken"}]
    assert types[2:5] == ["=", "86dd", "firewall.bpf.c:96,"]
    assert types[-2:] == [str(len(branches)), str(len(changes) - len(branches))]
    reasons = {"length": "length", "headroom": "room", "metadata": "room"}
    relied_on = [
        any(
            one[reasons[fact["kind"]]]
            if fact["kind"] in reasons
            else fact["offset"] in one["bytes"]
            for one in balancer["dropped"]
        )
        for fact in balancer["facts"]
    ]
    assert len(rows) == sum(relied_on)


def test_facts_are_what_the_firewall_writes_and_lets_through() -> None:
    found = report("facts", CHAIN)
    balancer = program(found, "load_balancer")
    assert balancer["reached"]
    known = {fact["kind"]: fact for fact in balancer["facts"]}
    assert known["length"]["min"] == 106
    types = next(fact for fact in balancer["facts"] if fact.get("offset") == 12)
    assert (types["kind"], types["value"]) == ("bytes", "86dd")
    (line, *_) = types["established"]
    assert (line["program"], Path(line["file"]).name) == ("firewall", "firewall.bpf.c")
    header = next(fact for fact in balancer["facts"] if fact.get("offset") == 54)
    assert header["value"].startswith("0603")  # next header TCP, length 4 * 8 bytes
    branches = {one["change"] for one in balancer["dropped"]}
    assert branches == {"always taken", "never taken"}
    assert balancer["proved"] is None


def test_facts_say_how_often_loops_begin(tmp_path: Path) -> None:
    path = chain(tmp_path, "firewall", "load_balancer_rolled")
    loops = program(report("facts", path), "load_balancer_rolled")["loops"]
    # One loop runs over the 24 bytes of the mark that the firewall inserts.
    mark = [one for one in loops if one["least"] == one["most"] == 24]
    assert [Path(one["line"]["file"]).name for one in mark] == ["load_balancer.h"]
    shown = slowpath("chain", "facts", path).stdout
    line = mark[0]["line"]["line"]
    assert f"loop at load_balancer.h:{line}: begins exactly 24 times" in shown
    # Without the firewall, fewer loops have a known number of iterations.
    path = chain(tmp_path, "load_balancer_rolled")
    alone = program(report("facts", path), "load_balancer_rolled")["loops"]
    assert {one["slot"] for one in alone} < {one["slot"] for one in loops}


@pytest.mark.parametrize("name", ["load_balancer", "load_balancer_rolled"])
def test_a_trusting_program_has_an_eighth_of_its_instructions(name: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    found = report("optimize", chain(tmp_path, "firewall", name), "--trust", "-o", out)
    balancer = program(found, name)
    assert balancer["proved"]
    unrolled = program(report("facts", CHAIN), "load_balancer")["instructions_before"]
    assert balancer["instructions_after"] <= 0.12 * unrolled
    assert balancer["guard"] is None
    assert [file.name for file in out.iterdir()] == [f"{name}.bpf.o"]
    assert instructions(out / f"{name}.bpf.o") < instructions(EXAMPLES / f"{name}.bpf.o") / 8


def test_a_guarded_program_has_the_original_beside_it(tmp_path: Path) -> None:
    found = report("optimize", CHAIN, "-o", tmp_path)
    balancer = program(found, "load_balancer")
    guard = balancer["guard"]
    before, after = balancer["instructions_before"], balancer["instructions_after"]
    assert balancer["proved"]
    assert guard["instructions"] + before == after
    assert guard["instructions"] < before / 8
    shown = slowpath("show", tmp_path / "load_balancer.bpf.o", "--format", "json")
    (written,) = json.loads(shown.stdout)["results"]
    (one,) = written["programs"]
    assert (one["name"], one["instructions"]) == ("load_balancer", after)


def test_a_fused_program_depends_on_what_its_programs_depend_on(tmp_path: Path) -> None:
    described = chain(tmp_path, "firewall", "counter")
    options = ("--fuse", "--receive", "native-page", "--packets", "0")
    found = report("optimize", described, *options)
    (condition,) = found["fused"]["assumptions"]
    assert condition.startswith("packets arrive as native-page delivers them: ")
    as_read: Any = found
    assert f"fused: if {condition}" in list(fused_lines(as_read, None))
    assert report("optimize", described, "--fuse", "--packets", "0")["fused"]["assumptions"] == []


def test_programs_of_an_interface_become_one(tmp_path: Path) -> None:
    names = ["counter", "blocklist", "port_filter", "firewall"]
    if CAMPAIGN > 1:  # takes 10 times as long
        names.append("load_balancer")
    found = report("optimize", chain(tmp_path, *names), "--fuse", "-o", tmp_path)
    fused = found["fused"]
    assert found["not_fused"] is None
    assert fused["instructions_after"] < fused["instructions_fused"]
    assert fused["proved"]
    assert fused["proof"]["queries"] > 0
    members = found["programs"]
    assert fused["instructions_before"] == sum(one["instructions_before"] for one in members)
    assert fused["instructions_rewritten"] == sum(one["instructions_after"] for one in members)
    before, now = fused["instructions_before"], fused["instructions_rewritten"]
    as_read: Any = found
    (line,) = fused_lines(as_read, "a.bpf.o")
    assert f"fused: {before} instructions in the original programs, {now} rewritten, " in line
    shown = slowpath("show", tmp_path / "written.bpf.o", "--format", "json")
    (written,) = json.loads(shown.stdout)["results"]
    (one,) = written["programs"]
    assert (one["name"], one["instructions"]) == ("written", fused["instructions_after"])


def test_a_program_that_nothing_reaches_says_why(tmp_path: Path) -> None:
    found = report("facts", chain(tmp_path, "firewall", "load_balancer", on="XDP_TX"))
    balancer = program(found, "load_balancer")
    assert not balancer["reached"]
    assert balancer["facts"] == []
    (why,) = balancer["never"]
    assert why.startswith("load_balancer is never reached: firewall never returns XDP_TX")
    assert "firewall.bpf.c:" in why


def test_one_object_is_a_chain_of_one() -> None:
    found = report("optimize", EXAMPLES / "firewall.bpf.o", "--trust")
    (one,) = found["programs"]
    assert (one["name"], one["program"]) == ("firewall", "firewall")
    assert one["proved"] or one["remarks"] == ["the facts let the rewriter omit nothing"]


def test_the_report_is_a_table(tmp_path: Path) -> None:
    run = slowpath("chain", "optimize", CHAIN, "-o", tmp_path / "out", "--packets", "0")
    assert run.returncode == 0
    header, firewall, balancer, *_ = run.stdout.splitlines()
    assert header.split()[:4] == ["program", "before", "after", "left"]
    assert firewall.endswith("unchanged")
    assert balancer.endswith(str(tmp_path / "out/load_balancer.bpf.o"))


@pytest.mark.parametrize("mode", [["--trust"], []], ids=["trust", "guard"])
def test_the_kernel_runs_both_alike(mode: list[str]) -> None:
    needs_kernel()
    found = report("optimize", CHAIN, *mode, "--packets", "2000")
    rehearsal = program(found, "load_balancer")["rehearsal"]
    assert rehearsal["why_not"] is None
    assert rehearsal["agrees"]
    assert rehearsal["packets"] == 2000
    assert rehearsal["arbitrary"] == (0 if mode else 2000)
    assert min(rehearsal["rewritten_ns"], rehearsal["original_ns"]) > 0
    low, high = rehearsal["rate_ratio_quartiles"]
    assert low <= rehearsal["rate_ratio"] <= high
    assert program(found, "load_balancer")["measured_rate_ratio"] == rehearsal["rate_ratio"]
    proof = program(found, "load_balancer")["proof"]
    # One pair of paths may need a packet without head room, which test runs cannot make.
    assert proof["pairs"] - 1 <= rehearsal["paths"] <= proof["pairs"]
    assert proof["paths"] <= proof["pairs"]
    compared("kernel", rehearsal["packets"] + rehearsal["paths"], "packets in rehearsals")


@pytest.mark.parametrize("what", ["refuses", "differs"])
def test_what_the_kernel_does_not_confirm_is_not_written(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    needs_kernel()
    done = kernel.rehearse

    def rehearse(*words: Any) -> RehearsalReport:
        if what == "refuses":
            raise RewrittenRefusedError(
                codes.REWRITING_REJECTED, "the running kernel", "an endless loop"
            )
        found = done(*words)
        found["difference"] = {"what": "they do", "packet": "00", "metadata": "", "before": 0}
        return found

    monkeypatch.setattr(kernel, "rehearse", rehearse)
    words = ["chain", "optimize", str(CHAIN), "--packets", "100", "-o", str(tmp_path / "out")]
    assert app(words) == 0
    text = capsys.readouterr().out
    assert "  unchanged" in text.splitlines()[2]
    assert "not written" in text
    assert not list(tmp_path.rglob("*.o"))


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    run = slowpath("chain", "optimize", CHAIN, "-o", file)
    assert (run.returncode, run.stdout) == (2, "")
    assert f"{file} is a file, not a folder" in run.stderr


def test_no_time_is_said(tmp_path: Path) -> None:
    run = slowpath("chain", "optimize", CHAIN, "--deadline", "0.000001", "-o", tmp_path / "out")
    assert run.returncode == 4
    assert not (tmp_path / "out").exists()
