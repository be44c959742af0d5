"""Tests `slowpath chain bound` by comparing bounds of chains with those of single programs."""

import json
from pathlib import Path
from typing import Any

import pytest

from support import ROOT, slowpath
from test_schema import check

OBJECTS = ROOT / "crates/slowpath/tests/objects"
CHAIN = OBJECTS / "chain.yaml"
PASS = [("first", ["XDP_PASS"], "second")]


def described(
    *edges: tuple[str, list[str], str], names: tuple[str, ...] = ("first", "second"), **more: Any
) -> str:
    """Return the description of a chain of test programs; `edges` connect the programs.

    A program's object has the name of the program without digits at its end. `more` has further
    keys of the description.
    """
    files = {name: OBJECTS / f"chain_{name.rstrip('0123456789')}.bpf.o" for name in names}
    programs = [{"name": name, "object": str(file)} for name, file in files.items()]
    written = [{"from": a, "on": on, "to": b} for a, on, b in edges]
    return json.dumps({"schema": 1, "programs": programs, "edges": written} | more)


@pytest.fixture
def chain(tmp_path: Path) -> Path:
    return tmp_path / "upstream.yaml"


def counted(*words: str | Path) -> dict[str, Any]:
    """Run a command with `--target ebpf`, and return its only result.

    The guarantee must be exact. It may only assume that other CPUs do not change maps.
    """
    run = slowpath(*words, "--target", "ebpf", "--format", "json")
    assert (run.returncode, run.stderr) == (0, "")
    check("bound", run.stdout)
    (result,) = json.loads(run.stdout)["results"]
    allowed = [text for text in result["assumptions"] if text.startswith("no other CPU changes ")]
    assert result["guarantee"]["verdict"] == ("conditional" if allowed else "exact")
    assert result["assumptions"] == allowed
    return dict(result)


def instructions(result: dict[str, Any]) -> int:
    return int(result["guarantee"]["counts"]["instructions"])


def failure(chain: Path, text: str) -> str:
    """Return the error message of `chain bound` about a wrong description, written to `chain`."""
    chain.write_text(text)
    run = slowpath("chain", "bound", chain)
    assert (run.returncode, run.stdout) == (3, "")
    (line,) = run.stderr.splitlines()
    assert line.startswith(f"error: {chain}: ")
    return line.removeprefix(f"error: {chain}: ")


def test_a_chain_is_less_than_its_programs() -> None:
    first, second = (
        instructions(counted("bound", OBJECTS / f"chain_{name}.bpf.o"))
        for name in ("first", "second")
    )
    result = counted("chain", "bound", CHAIN)
    assert first < instructions(result) < first + second
    assert (result["program"], result["section"]) == ("chain", None)
    parts = result["profile"]["programs"]
    assert [part["program"] for part in parts] == ["first", "second"]
    assert sum(part["instructions"] for part in parts) == instructions(result)
    assert result["notes"] == []


def test_the_report_says_what_each_program_costs() -> None:
    run = slowpath("chain", "bound", CHAIN, "--target", "ebpf")
    assert run.returncode == 0
    lines = run.stdout.splitlines()
    assert lines[0] == f"{CHAIN} · chain · ebpf"
    first = next(n for n, line in enumerate(lines) if line.startswith("by program   first   "))
    assert lines[first + 1].startswith("             second  ")
    estimated = slowpath("chain", "bound", CHAIN).stdout
    (line,) = (line for line in estimated.splitlines() if line.startswith("by program"))
    assert " ns warm, " in line
    assert " ns cold, " in line


def test_times_are_split_as_well() -> None:
    run = slowpath("chain", "bound", CHAIN, "--format", "json")
    (result,) = json.loads(run.stdout)["results"]
    profile = result["profile"]
    parts = [profile["overhead"], *(part["cost"] for part in profile["programs"])]
    for time in ("warm_ns", "cold_ns"):
        whole = pytest.approx(profile["cost"][time], abs=0.01)
        assert sum(part[time] for part in parts) == whole


def test_shared_maps_are_one(chain: Path) -> None:
    chain.write_text(described(*PASS))
    apart = instructions(counted("chain", "bound", chain))
    chain.write_text(described(*PASS, shared_maps=[["first:seen", "second:seen"]]))
    assert instructions(counted("chain", "bound", chain)) < apart


def test_programs_that_are_never_reached_are_named(chain: Path) -> None:
    edges = [*PASS, ("second", ["XDP_ABORTED", "XDP_REDIRECT"], "first2")]
    chain.write_text(described(*edges, names=("first", "second", "first2")))
    result = counted("chain", "bound", chain)
    note = "first2 is never reached: no packet makes second return XDP_ABORTED or XDP_REDIRECT"
    assert result["notes"] == [note]
    run = slowpath("chain", "bound", chain, "--target", "ebpf")
    assert f"note         - {note}" in run.stdout.splitlines()


def test_a_requirement_names_the_command_that_repeats_it() -> None:
    run = slowpath("chain", "bound", CHAIN, "--target", "ebpf", "--require", "<=100 instructions")
    assert run.returncode == 1
    assert f"reproduce: slowpath chain bound {CHAIN}" in run.stderr


def test_packets_of_witnesses_are_written(tmp_path: Path) -> None:
    file = tmp_path / "slow.pcap"
    assert slowpath("chain", "bound", CHAIN, "--target", "ebpf", "--pcap-out", file).returncode == 0
    assert file.stat().st_size > 24


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            described(*PASS, ("second", ["XDP_TX"], "first")),
            "line 1: edges lead to first and to every other program, so the chain is ",
        ),
        (
            described(("first", ["XDP_SKIP"], "second")),
            'line 1: "XDP_SKIP" is not an action: XDP_ABORTED, XDP_DROP, XDP_PASS, ',
        ),
        (
            described(("first", ["XDP_PASS"], "third")),
            'line 1: unknown program "third"; choose one of first, second',
        ),
        (
            described(),
            "line 1: no edge leads to second or to first, but packets must arrive at a single "
            "program of a chain",
        ),
        (
            described(*PASS, shared_maps=[["first:seen", "second:unseen"]]),
            "line 1: unknown map second:unseen; choose one of seen",
        ),
        ("schema: 2\nprograms: []\n", "line 1: schema 2 is unknown; write `schema: 1`"),
        ("", "line 1: "),
        ("- a\n", "line 1: "),
    ],
)
def test_invalid_descriptions_are_errors(chain: Path, text: str, message: str) -> None:
    assert failure(chain, text).startswith(message)


def test_objects_without_the_program_are_errors(chain: Path) -> None:
    first = str(OBJECTS / "chain_first.bpf.o")
    listing = str(ROOT / "examples/two_protocols.asm")
    many = str(ROOT / "crates/kernel/tests/objects/helpers.bpf.o")
    for old, new, message in (
        (first, listing, f"{listing} is an NFP listing, not an object"),
        (first, many, f"{many} has several programs; name one with `program:`: "),
        (
            '"name": "first"',
            '"program": "lost", "name": "first"',
            f"{first} does not have a program lost; it has xdp: ",
        ),
    ):
        text = described(*PASS).replace(old, new)
        assert failure(chain, text).startswith(f"line 1: first: {message}")


def test_an_object_that_cannot_be_read(chain: Path) -> None:
    chain.write_text(described(*PASS).replace("chain_first", "chain_lost"))
    run = slowpath("chain", "bound", chain)
    assert (run.returncode, run.stdout) == (3, "")
    assert run.stderr.startswith(f"error: {OBJECTS / 'chain_lost.bpf.o'}: ")


def test_chains_run_on_targets_with_bpf_instructions() -> None:
    run = slowpath("chain", "bound", CHAIN, "--target", "agilio-cx-2x40")
    assert run.returncode == 3
    assert "target agilio-cx-2x40 runs a single program, not a chain of several" in run.stderr


def on_devices(**network: Any) -> str:
    """Return the description of a chain with two programs on two devices.

    `network` describes the connection between the devices; without it, the description has none.
    """
    text = json.loads(described(*PASS))
    for program, device in zip(text["programs"], ("edge", "server"), strict=True):
        program["device"] = device
    if network:
        text["edges"][0]["network"] = network
    return json.dumps(text)


def on_each_device(chain: Path, text: str) -> dict[str, int]:
    """Return the maximum number of instructions per packet on each device of a chain."""
    chain.write_text(text)
    run = slowpath("chain", "bound", chain, "--target", "ebpf", "--format", "json")
    assert (run.returncode, run.stderr) == (0, "")
    check("bound", run.stdout)
    return {one["program"]: instructions(one) for one in json.loads(run.stdout)["results"]}


def test_each_device_has_a_result(chain: Path) -> None:
    chain.write_text(described(*PASS))
    together = instructions(counted("chain", "bound", chain))
    apart = on_each_device(chain, on_devices())
    assert list(apart) == ["upstream@edge", "upstream@server"]
    assert sum(apart.values()) == together
    # Behind a network that changes packets, fewer facts about packets hold.
    changed = on_each_device(chain, on_devices(changes=["ttl"], bytes=[[20, 21]]))
    assert changed["upstream@edge"] == apart["upstream@edge"]
    assert changed["upstream@server"] > apart["upstream@server"]


def test_a_table_has_a_row_for_each_device(chain: Path) -> None:
    chain.write_text(on_devices())
    run = slowpath("chain", "bound", chain, "--target", "ebpf")
    assert run.returncode == 0
    rows = [line.split()[0] for line in run.stdout.splitlines()]
    assert rows[1:3] == [f"{chain}:upstream@edge", f"{chain}:upstream@server"]


def test_invalid_networks_are_errors(chain: Path) -> None:
    assert failure(chain, on_devices(changes=["mac"])).startswith('line 1: "mac" is not a field: ')
    drops = on_devices().replace("XDP_PASS", "XDP_DROP")
    assert failure(chain, drops).startswith("line 1: XDP_DROP does not send packets")


def test_a_dispatcher_runs_programs_as_their_objects_say(chain: Path) -> None:
    file = ROOT / "crates/bpf/tests/data/run_config.bpf.o"
    names = ["silent", "never", "early"]
    programs = [{"name": name, "object": str(file), "program": name} for name in (*names, "wrong")]
    chain.write_text(json.dumps({"schema": 1, "programs": programs[:3], "dispatcher": names}))
    result = counted("chain", "bound", chain)
    # All programs return XDP_PASS. The dispatcher runs a further program only after `early`.
    assert [part["program"] for part in result["profile"]["programs"]] == ["early", "never"]
    note = "silent is never reached: no packet makes never return XDP_ABORTED"
    assert result["notes"] == [note]
    text = json.dumps({"schema": 1, "programs": programs, "dispatcher": [*names, "wrong"]})
    assert "program wrong has an unknown parameter `XDP_SKIP`" in failure(chain, text)
