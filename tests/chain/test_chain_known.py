"""Tests `chain optimize --maps` and `--fact`, which rewrite programs for known maps and packets."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from oracles import compared, missing
from running_kernel import needs_kernel
from slowpath.chain.facts import fact_text
from support import ROOT, slowpath

EXAMPLES = ROOT / "examples/chain"
QUICK = ("--packets", "0")


def optimized(name: str, *words: str | Path) -> dict[str, Any]:
    """Rewrite a single example program, and return the report on it."""
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
        missing(
            "libbpf", "bpftool, which loads with libbpf, is not installed (apt install bpftool)"
        )
    optimized("rules", "--maps", EXAMPLES / "rules.toml", "-o", tmp_path, *QUICK)
    pin = Path("/sys/fs/bpf") / f"slowpath_{tmp_path.name}"
    load = ["bpftool", "prog", "load", str(tmp_path / "rules.bpf.o"), str(pin), "type", "xdp"]
    run = subprocess.run(load, capture_output=True, text=True, check=False)
    pin.unlink(missing_ok=True)
    assert run.returncode == 0, run.stderr
    compared("libbpf", 1, "objects with frozen maps")


@pytest.mark.parametrize("name", ["rules", "backends"])
def test_the_kernel_agrees_with_either_generation(name: str) -> None:
    needs_kernel()
    found = optimized(name, "--maps", EXAMPLES / f"{name}.toml", "--packets", "3000")
    rehearsal = found["rehearsal"]
    assert rehearsal["why_not"] is None
    assert (rehearsal["agrees"], rehearsal["raised"]) == (True, True)
    packets = rehearsal["packets"] + rehearsal["arbitrary"]
    compared("kernel", packets, "packets with known configuration")


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
    assert one["why_not"] is None  # the array has 1024 elements; elements that are not given are 0
    maps.write_text("open = [{ key = 1024, value = 1 }]")
    code, message = refused("port_filter", "--maps", maps)
    assert code == 3
    assert "`key` must be below 1024" in message


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("nowhere = []", "unknown map"),
        ("rules = [{ key = 'zz', value = 1 }]", "rules"),
        ("rules = [{ key = 1, value = 1, other = 2 }]", "unknown key `other`"),
        ("rules = [", "maps.toml: line 1: "),
        ("rules = []\nrules = []", "maps.toml: line 2: "),
        ("rules = [{ key = 'c0', value = 1 }]", "maps.toml: map rules: entry 1: `key`"),
        ("rules = 3", "maps.toml: map rules: must be a list"),
        ('{"rules": [}', "maps.toml: line 1: not JSON"),
    ],
)
def test_content_that_does_not_fit_is_refused(tmp_path: Path, text: str, why: str) -> None:
    maps = tmp_path / "maps.toml"
    maps.write_text(text)
    code, message = refused("rules", "--maps", maps)
    assert code == 3
    assert message.startswith(f"error: {maps}: ")
    assert why in message


def in_words(fact: dict[str, Any]) -> str:
    """Format a fact about packet bytes as `slowpath chain facts` does, but with its full value."""
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
    # `--receive` rather than `--fact` states the memory in front of packets.
    facts = [fact for fact in balancer["facts"] if fact["kind"] not in {"headroom", "metadata"}]
    words = [word for fact in facts for word in ("--fact", in_words(fact))]
    guarded = optimized("load_balancer", *words, *QUICK)
    assert guarded["proved"]
    assert (guarded["guard"]["generation"], guarded["guard"]["comparisons"] > 4) == (None, True)
    trusting = optimized("load_balancer", *words, "--trust", *QUICK)
    assert trusting["proved"]
    assert trusting["instructions_after"] < trusting["instructions_before"] / 8
    assumed = {"established": [], "assumed": True}
    assert [fact | assumed for fact in facts[1:]] == trusting["facts"][1:]


@pytest.mark.parametrize(
    ("facts", "why"),
    [
        (["length > 64"], "write `length >= N`"),
        (["bytes 12-13 = 86d"], "two hexadecimal digits for each"),
        (["byte 12 = 08", "byte 12 = 86"], "contradicts the facts"),
        (["byte 12 = 08", "byte 12 in {86, 88}"], "contradicts the facts"),
        (["byte 12 = 08", "byte 13 = 09", "byte 12 = byte 13"], "contradicts the facts"),
        (["byte 100 = 01", "length <= 60"], "so byte 100 does not exist"),
        (["byte 65535 = 01"], "is not a number from 0 to 65534"),
    ],
)
def test_what_is_no_fact_is_refused(facts: list[str], why: str) -> None:
    words = [word for fact in facts for word in ("--fact", fact)]
    code, message = refused("rules", *words)
    assert code == 2
    assert "invalid value for '--fact'" in message
    assert why in message


def between(tmp_path: Path, on: str = "XDP_TX", name: str = "rules") -> Path:
    """Write a chain of two copies of a program, and return its file.

    The first copy hands packets to the second one by returning `on`.
    """
    programs = [
        {"name": which, "object": str(EXAMPLES / f"{name}.bpf.o")} for which in ("first", "second")
    ]
    edge = {"from": "first", "on": [on], "to": "second"}
    file = tmp_path / "chain.yaml"
    file.write_text(json.dumps({"schema": 1, "programs": programs, "edges": [edge]}))
    return file


def of_first(tmp_path: Path, action: str = "03000000") -> Path:
    """Write a file with map content: two TCP rules for the first firewall of a chain.

    `action` is the return value of the rules, as hexadecimal bytes; 3 is XDP_TX.
    """
    keys = [f"c000020{host} 0050 06 00" for host in (1, 2)]
    rules = [{"key": key, "value": f"{action} 00000000"} for key in keys]
    maps = tmp_path / "first.json"
    maps.write_text(json.dumps({"first:blocked": [], "first:rules": rules}))
    return maps


def of_chain(*words: str | Path) -> dict[str, Any]:
    """Run a `chain` command on a chain of two programs; return the report on the second one."""
    run = slowpath("chain", *words, "--format", "json")
    assert (run.returncode, run.stderr) == (0, "")
    (_, second) = json.loads(run.stdout)["programs"]
    return dict(second)


def known(program: dict[str, Any]) -> set[str]:
    """Return facts about the packets that arrive at a program, as texts."""
    return {fact_text(one) for one in program["facts"]}


FIRST = ["first:blocked", "first:rules"]


def test_content_of_frozen_maps_tells_what_gets_through(tmp_path: Path) -> None:
    chain, maps = between(tmp_path), of_first(tmp_path)
    anyhow = of_chain("facts", chain)
    assert anyhow["facts_with"] == []
    assert "byte 23 in {06, 11}" in known(anyhow)
    given = of_chain("facts", chain, "--maps", maps)
    assert given["facts_with"] == FIRST
    rules = {"byte 23 = 06", "bytes 36-37 = 0050", "bytes 30-33 in {c0000201, c0000202}"}
    assert rules <= known(given)
    assert not rules & known(anyhow)


def test_what_no_rule_says_reaches_nothing(tmp_path: Path) -> None:
    chain = between(tmp_path)
    found = of_chain("facts", chain, "--maps", of_first(tmp_path, "02000000"))
    assert not found["reached"]
    assert found["facts_with"] == FIRST
    assert of_chain("facts", chain)["reached"]


def test_what_rests_on_maps_in_front_is_checked_or_said(tmp_path: Path) -> None:
    chain, maps = between(tmp_path), of_first(tmp_path)
    words = ("optimize", chain, "--maps", maps, *QUICK)
    guarded = of_chain(*words)
    assert guarded["proved"]
    # The guard compares packet bytes; it does not check a generation of maps.
    assert guarded["guard"]["generation"] is None
    assert guarded["guard"]["comparisons"] > 0
    text = slowpath("chain", *words).stdout
    assert (
        "second: valid with any content of maps first:blocked, first:rules, because it checks "
        "packets itself" in text
    )
    trusting = of_chain(*words, "--trust")
    assert trusting["proved"]
    assert trusting["facts_with"] == FIRST
    text = slowpath("chain", *words, "--trust").stdout
    assert "second: valid while maps first:blocked, first:rules keep their given content" in text


def test_the_kernel_agrees_behind_frozen_maps(tmp_path: Path) -> None:
    needs_kernel()
    chain, maps = between(tmp_path), of_first(tmp_path)
    for mode in ([], ["--trust"]):
        second = of_chain("optimize", chain, "--maps", maps, *mode, "--packets", "1000")
        result = second["rehearsal"]
        assert (result["why_not"], result["agrees"], result["packets"]) == (None, True, 1000)
        compared("kernel", result["packets"] + result["arbitrary"], "packets behind frozen maps")


def test_a_map_that_a_program_of_the_chain_writes_tells_nothing(tmp_path: Path) -> None:
    chain = between(tmp_path, "XDP_PASS", "blocklist")
    maps = tmp_path / "maps.toml"
    maps.write_text("'first:blocked' = []")
    found = of_chain("facts", chain, "--maps", maps)
    assert found["facts_with"] == []
    assert found["facts"] == of_chain("facts", chain)["facts"]


def test_facts_that_are_the_same_for_any_content_rest_on_none(tmp_path: Path) -> None:
    # For packets without a matching rule, the first program returns XDP_PASS, too.
    chain, maps = between(tmp_path, "XDP_PASS"), of_first(tmp_path)
    assert of_chain("facts", chain, "--maps", maps)["facts_with"] == []


def test_packets_that_are_assumed_are_tried_with_trust_as_well() -> None:
    needs_kernel()
    words = ["--fact", "bytes 12-13 = 0800", "--fact", "byte 23 in {06, 11}"]
    words += ["--fact", "byte 14 = 45", "--fact", "length >= 60"]
    found = optimized("rules", *words, "--trust", "--packets", "2000")
    result = found["rehearsal"]
    assert (result["why_not"], result["agrees"], result["packets"]) == (None, True, 2000)
    assert result["original_ns"] is not None
    compared("kernel", result["packets"], "packets that are as they are assumed to be")


def test_assumed_facts_are_told_from_those_that_a_program_establishes(tmp_path: Path) -> None:
    run = slowpath(
        *("chain", "facts", between(tmp_path), "--fact", "byte 14 = 45", "--format", "json")
    )
    first, second = json.loads(run.stdout)["programs"]
    assert [one["kind"] for one in first["facts"] if one["assumed"]] == ["bytes"]
    assert not any(one["assumed"] for one in second["facts"])
