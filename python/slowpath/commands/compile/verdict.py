"""What `slowpath compile --verify` says, and what it makes of the exit code."""

from collections.abc import Iterator, Sequence

from slowpath.cli.exit_codes import ExitCode
from slowpath.packet.witness import hex_dump
from slowpath.report.path import count_of
from slowpath.schema.compiled import Counterexample, ElementByte, FinalState, Verification

_RESULTS = {0: "XDP_ABORTED", 1: "XDP_DROP", 2: "XDP_PASS", 3: "XDP_TX", 4: "XDP_REDIRECT"}
_INDENT = "  "


def judge(verification: Verification) -> ExitCode:
    """The exit code of a verification."""
    if verification["counterexample"] is not None:
        return ExitCode.FAILED
    return ExitCode.FINE if verification["proved"] else ExitCode.UNDECIDED


def undecided(why: str) -> Verification:
    """The verification that ended before it knew anything."""
    return {
        "proved": False,
        "paths_proved": 0,
        "paths_total": None,
        "pairs": 0,
        "undecided": [why],
        "counterexample": None,
        "assumptions": [],
        "deviations": [],
        "checks": 0,
        "seconds": 0.0,
    }


def verdict(verification: Verification) -> Iterator[str]:
    """Lines: the sentence that counts, then what it depends on or what is against it."""
    proved, total = verification["paths_proved"], verification["paths_total"]
    known = count_of(proved, "path") if total is None else f"{proved} of {count_of(total, 'path')}"
    do = "does" if (total or proved) == 1 else "do"
    if verification["counterexample"] is not None:
        yield "differs: the card does something else than the kernel with this packet"
        yield from _difference(verification["counterexample"])
        return
    if verification["proved"]:
        yield f"verified: {known} {do} the same on the card"
    else:
        rest = "" if total is not None else ", and not all paths are known"
        yield f"not decided: {known} {do} the same on the card{rest}"
    yield from (f"{_INDENT}because: {reason}" for reason in verification["undecided"])
    yield from (f"{_INDENT}assuming: {what}" for what in verification["assumptions"])


def _difference(example: Counterexample) -> Iterator[str]:
    yield from _packet(example["packet"])
    yield from _array("map content, all else is 0", example["array"])
    if example["drawn"]:
        drawn = ", ".join(f"{number:#x}" for number in example["drawn"])
        yield f"{_INDENT}random numbers: {drawn}"
    for name, state, other in (
        ("kernel", example["bpf"], example["card"]),
        ("card", example["card"], example["bpf"]),
    ):
        yield from _final_state(name, state, other)


def _final_state(name: str, state: FinalState, other: FinalState) -> Iterator[str]:
    """What a run leaves; packets and maps only where the runs differ in them."""
    result = _RESULTS.get(state["result"], f"{state['result']:#x}")
    moved = f", the packet's start moved by {state['start']} bytes" if state["start"] else ""
    yield f"the {name} returns {result}{moved}"
    if state["packet"] != other["packet"]:
        yield from _packet(state["packet"])
    if state["array"] != other["array"]:
        yield from _array("map content that changed", state["array"])


def _packet(digits: str) -> Iterator[str]:
    content = list[int | None](bytes.fromhex(digits))
    yield from (f"{_INDENT}{row}" for row in hex_dump(content))


def _array(what: str, content: Sequence[ElementByte]) -> Iterator[str]:
    for byte in content:
        place = f"element {byte['index']}, offset {byte['offset']}"
        yield f"{_INDENT}{what}: {place}: {byte['byte']:#04x}"
