"""Tests `chain verify --chain`, which compares two possible replacements of a chain's program."""

import json
from pathlib import Path
from typing import Any

import pytest

from slowpath.core.programs.loading import load_program
from slowpath.core.programs.sources import Clang
from support import slowpath
from test_rehearsal_devices import FRONT, PRELUDE, TRAILER
from test_schema import check

CHECKS = """
SEC("xdp") int behind(struct xdp_md *ctx)
{
	if (DATA + 40 > END)
		return 0;
	return DATA[30] ? 2 : 3;
}
"""
UNCHECKED = CHECKS.replace("return 0", "return 1")
"""A version of `CHECKS` with another result for packets that the first program drops."""
TAIL_BELIEVES = TRAILER.replace("if (adjust_tail(ctx, 100)) {", "if (adjust_tail(ctx, 100) && 0) {")
"""A version of the program `TRAILER` that assumes that `adjust_tail` succeeds."""


@pytest.fixture
def chain(tmp_path: Path) -> Path:
    """Write a chain of two programs, `FRONT` and `CHECKS`, and return its file."""
    (tmp_path / "front.bpf.c").write_text(PRELUDE + FRONT)
    (tmp_path / "behind.bpf.c").write_text(PRELUDE + CHECKS)
    programs = [{"name": name, "object": f"{name}.bpf.c"} for name in ("front", "behind")]
    edges = [{"from": "front", "on": ["XDP_PASS"], "to": "behind"}]
    file = tmp_path / "chain.yaml"
    file.write_text(json.dumps({"schema": 1, "programs": programs, "edges": edges}))
    return file


def verified(folder: Path, first: str, second: str, *words: str | Path) -> dict[str, Any]:
    files = folder / "first.bpf.o", folder / "second.bpf.o"
    for file, text in zip(files, (first, second), strict=True):
        source = file.with_suffix(".c")
        source.write_text(PRELUDE + text)
        file.write_bytes(load_program(str(source), Clang()))
    run = slowpath("chain", "verify", *files, *words, "--format", "json")
    check("verify", run.stdout)
    found: dict[str, Any] = json.loads(run.stdout)
    codes = {"equal": 0, "differ": 1, "undecided": 4}
    assert run.returncode == codes[found["outcome"]]
    return found


def test_programs_are_compared_for_what_gets_to_their_place(chain: Path) -> None:
    folder = chain.parent
    alone = verified(folder, CHECKS, UNCHECKED)
    assert (alone["outcome"], alone["place"]) == ("differ", None)
    assert len(alone["counterexample"]["packet"]) < 2 * 40
    behind = verified(folder, CHECKS, UNCHECKED, "--chain", chain)
    assert (behind["outcome"], behind["place"]) == ("equal", f"behind in {chain}")
    first = verified(folder, CHECKS, UNCHECKED, "--chain", chain, "--program", "front")
    assert (first["outcome"], first["place"]) == ("differ", f"front in {chain}")
    # The assumption is about packets that arrive at the first program.
    words = ("--chain", chain, "--program", "front", "--fact", "length >= 50")
    assert verified(folder, CHECKS, UNCHECKED, *words)["outcome"] == "equal"
    text = slowpath(
        "chain", "verify", folder / "first.bpf.o", folder / "second.bpf.o", "--chain", chain
    ).stdout
    assert f"  as behind in {chain}, for packets that reach it" in text


def test_how_packets_arrive_is_a_condition(chain: Path) -> None:
    any_device = verified(chain.parent, TRAILER, TAIL_BELIEVES, "--chain", chain)
    assert any_device["outcome"] == "differ"
    words = ("--chain", chain, "--receive", "native-page")
    pages = verified(chain.parent, TRAILER, TAIL_BELIEVES, *words)
    assert pages["outcome"] == "equal"
    (condition,) = pages["assumptions"]
    assert condition.startswith("packets arrive as native-page delivers them: ")


def test_a_place_that_is_not_there_is_refused(chain: Path) -> None:
    source = chain.parent / "front.bpf.c"
    run = slowpath("chain", "verify", source, source, "--chain", chain, "--program", "middle")
    assert (run.returncode, run.stdout) == (3, "")
    assert run.stderr == f"error: {chain}: does not have a program middle; it has front, behind\n"
    text = chain.read_text().replace("XDP_PASS", "XDP_TX")
    chain.write_text(text)
    run = slowpath("chain", "verify", source, source, "--chain", chain)
    assert run.returncode == 3
    assert "behind is never reached: front never returns XDP_TX" in run.stderr
