"""`slowpath chain optimize --maps` and `--assume`: programs rewritten for a known configuration."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from oracles import compared
from running_kernel import needs_kernel
from support import ROOT, slowpath

EXAMPLES = ROOT / "examples/chain"
QUICK = ("--packets", "0")


def optimized(name: str, *words: str | Path) -> dict[str, Any]:
    """What is said of an example, alone."""
    run = slowpath("chain", "optimize", EXAMPLES / f"{name}.bpf.o", *words, "--format", "json")
    assert (run.returncode, run.stderr) == (0, "")
    (program,) = json.loads(run.stdout)["programs"]
    return dict(program)


def refused(name: str, *words: str | Path) -> tuple[int, str]:
    run = slowpath("chain", "optimize", EXAMPLES / f"{name}.bpf.o", *words, *QUICK)
    assert run.stdout == ""
    return run.returncode, run.stderr


def calls(program: dict[str, Any]) -> int:
    return sum("found by" in one["change"] for one in program["dropped"])


@pytest.mark.parametrize("name", ["rules", "backends"])
def test_what_is_frozen_is_behind_a_generation(name: str, tmp_path: Path) -> None:
    maps = EXAMPLES / f"{name}.toml"
    found = optimized(name, "--maps", maps, "-o", tmp_path, *QUICK)
    assert found["proved"]
    assert found["guard"]["generation"] == ".data.slowpath"
    assert [(one["used"], one["why_not"]) for one in found["frozen"]] == [(True, None)] * 2
    assert calls(found) > 0
    assert all(one["maps"] for one in found["dropped"] if "found by" in one["change"])
    trusting = optimized(name, "--maps", maps, "--trust", *QUICK)
    assert trusting["proved"]
    assert trusting["guard"] is None
    assert trusting["instructions_after"] < found["guard"]["instructions"]
    assert optimized(name, *QUICK)["frozen"] == []


def test_the_written_object_has_the_generation(tmp_path: Path) -> None:
    optimized("rules", "--maps", EXAMPLES / "rules.toml", "-o", tmp_path, *QUICK)
    zero, raised = tmp_path / "zero.toml", tmp_path / "raised.toml"
    text = (EXAMPLES / "rules.toml").read_text()
    zero.write_text(f'".data.slowpath" = [{{ key = 0, value = 0 }}]\n{text}')
    raised.write_text(f'".data.slowpath" = [{{ key = 0, value = 1 }}]\n{text}')

    def most(maps: Path) -> int:
        words = ("--target", "ebpf", "--maps", maps, "--format", "json")
        run = slowpath("bound", tmp_path / "rules.bpf.o", *words)
        (result,) = json.loads(run.stdout)["results"]
        return int(result["guarantee"]["counts"]["instructions"])

    assert most(zero) < 45 < most(raised)


def test_libbpf_loads_it(tmp_path: Path) -> None:
    needs_kernel()
    if shutil.which("bpftool") is None:
        pytest.skip("needs bpftool")
    optimized("rules", "--maps", EXAMPLES / "rules.toml", "-o", tmp_path, *QUICK)
    pin = Path("/sys/fs/bpf") / f"slowpath_{tmp_path.name}"
    load = ["bpftool", "prog", "load", str(tmp_path / "rules.bpf.o"), str(pin), "type", "xdp"]
    run = subprocess.run(load, capture_output=True, text=True, check=False)
    pin.unlink(missing_ok=True)
    assert run.returncode == 0, run.stderr


@pytest.mark.parametrize("name", ["rules", "backends"])
def test_the_kernel_agrees_with_either_generation(name: str) -> None:
    needs_kernel()
    found = optimized(name, "--maps", EXAMPLES / f"{name}.toml", "--packets", "3000")
    said = found["rehearsal"]
    assert said["why_not"] is None
    assert (said["agrees"], said["raised"]) == (True, True)
    compared("kernel", said["packets"] + said["arbitrary"], "packets with known configuration")


def test_what_a_program_writes_is_not_frozen(tmp_path: Path) -> None:
    maps = tmp_path / "maps.toml"
    maps.write_text("blocked = []")
    found = optimized("blocklist", "--maps", maps, *QUICK)
    (one,) = found["frozen"]
    assert not one["used"]
    assert "blocklist may write it: section xdp, instruction 31" in one["why_not"]
    assert found["guard"] is None


def test_indices_have_to_be_in_range(tmp_path: Path) -> None:
    maps = tmp_path / "maps.toml"
    maps.write_text("open = [{ key = 1, value = 1 }, { key = 2, value = 1 }]")
    found = optimized("port_filter", "--maps", maps, *QUICK)
    (one,) = found["frozen"]
    assert one["why_not"] is None  # an array of 1024 elements, each known
    maps.write_text("open = [{ key = 1024, value = 1 }]")
    code, said = refused("port_filter", "--maps", maps)
    assert code == 3
    assert "`key` is not below 1024" in said


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("nowhere = []", "there is no map of this name"),
        ("rules = [{ key = 'zz', value = 1 }]", "rules"),
        ("rules = [{ key = 1, value = 1, other = 2 }]", "unknown key `other`"),
        ("rules = [", "--maps:1: "),
    ],
)
def test_content_that_does_not_fit_is_refused(tmp_path: Path, text: str, why: str) -> None:
    maps = tmp_path / "maps.toml"
    maps.write_text(text)
    code, said = refused("rules", "--maps", maps)
    assert code == 3
    assert why in said


def in_words(fact: dict[str, Any]) -> str:
    """A fact as `slowpath chain facts` shows it, whole."""
    match fact["kind"]:
        case "length":
            return f"{fact['min']} to {fact['max']} bytes"
        case "bits":
            return f"byte {fact['offset']} & {fact['mask']} = {fact['value']}"
        case _:
            last = fact["offset"] + len(fact["value"]) // 2 - 1
            return f"bytes {fact['offset']}-{last} = {fact['value']}"


def test_what_a_chain_establishes_can_be_assumed() -> None:
    run = slowpath("chain", "facts", EXAMPLES / "chain.yaml", "--format", "json")
    balancer = json.loads(run.stdout)["programs"][1]
    words = [word for fact in balancer["facts"] for word in ("--assume", in_words(fact))]
    guarded = optimized("load_balancer", *words, *QUICK)
    assert guarded["proved"]
    assert (guarded["guard"]["generation"], guarded["guard"]["comparisons"] > 4) == (None, True)
    trusting = optimized("load_balancer", *words, "--trust", *QUICK)
    assert trusting["proved"]
    assert trusting["instructions_after"] < trusting["instructions_before"] / 8
    assert [fact | {"established": []} for fact in balancer["facts"][1:]] == trusting["facts"][1:]


@pytest.mark.parametrize(
    ("facts", "why"),
    [
        (["length > 64"], "write `length >= N`"),
        (["bytes 12-13 = 86d"], "two digits for each byte"),
        (["byte 12 = 08", "byte 12 = 86"], "no packet is like that"),
    ],
)
def test_what_is_no_fact_is_refused(facts: list[str], why: str) -> None:
    words = [word for fact in facts for word in ("--assume", fact)]
    code, said = refused("rules", *words)
    assert code == 2
    assert "Invalid value for '--assume'" in said
    assert why in said
