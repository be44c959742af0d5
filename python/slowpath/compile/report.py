"""Formats listings of compiled programs, and the results of their verification, as text."""

from collections.abc import Iterable, Iterator, Sequence

from slowpath.bounds.report_path import count_of
from slowpath.core.errors import ExitCode
from slowpath.core.printable import one_line
from slowpath.core.programs.packet import hex_dump
from slowpath.core.schema.compiled import (
    BpfInstruction,
    Compiled,
    Counterexample,
    ElementByte,
    FinalState,
    Verification,
)
from slowpath.core.schema.results import Line

_OWN = "; code around the program, which the driver adds"


def listing(compiled: Compiled, *, source: bool) -> Iterable[str]:
    """Return the lines of the listing of a compiled program.

    If `source` is true, the source lines are inserted as comments.
    """
    return _interleaved(compiled) if source else compiled["listing"].splitlines()


def _interleaved(compiled: Compiled) -> Iterator[str]:
    """Yield the listing with source lines and BPF instructions as comments, as `objdump -S` does.

    A source line precedes its first BPF instruction, and a BPF instruction precedes the first card
    instruction that was compiled from it.
    """
    yield f"; {one_line(compiled['program'])} in section {one_line(compiled['section'])}"
    rows = compiled["listing"].splitlines()
    place = {insn["slot"]: index for index, insn in enumerate(compiled["bpf"])}
    ahead = 0  # index of the first BPF instruction that was not shown yet
    before: int | str | None = "start"  # slot of the previous card instruction
    shown: Line | None = None  # last source line
    for row, insn in zip(rows, compiled["instructions"], strict=True):
        slot = insn["bpf"]
        if slot != before and slot is None:
            yield from ("", _OWN)
            shown = None
        elif slot is not None and slot != before:
            index = place[slot]
            for bpf in compiled["bpf"][min(ahead, index) : index + 1]:
                yield from _origin(bpf, shown)
                shown = bpf["source"] or shown
            ahead = max(ahead, index + 1)
        before = slot
        yield row
    yield from _rest(compiled["bpf"][ahead:], shown)


def _rest(left: Sequence[BpfInstruction], shown: Line | None) -> Iterator[str]:
    for bpf in left:
        yield from _origin(bpf, shown)
        shown = bpf["source"] or shown


def _origin(bpf: BpfInstruction, shown: Line | None) -> Iterator[str]:
    """Yield a BPF instruction as a comment, after its source line.

    The source line is omitted if it is `shown`, the one printed last.
    """
    source = bpf["source"]
    if source is not None and source != shown:
        yield ""
        yield f"; {one_line(source['file'])}:{source['line']}: {one_line(source['text'])}".rstrip()
    yield f"; {bpf['slot']:>6}: {one_line(bpf['text'])}"


_RESULTS = {0: "XDP_ABORTED", 1: "XDP_DROP", 2: "XDP_PASS", 3: "XDP_TX", 4: "XDP_REDIRECT"}
_INDENT = "  "


def judge(verification: Verification) -> ExitCode:
    """Return the exit code that corresponds to the result of a verification."""
    if verification["counterexample"] is not None:
        return ExitCode.FAILED
    return ExitCode.FINE if verification["proved"] else ExitCode.UNDECIDED


def undecided(reason: str) -> Verification:
    """Return the result of a verification that ended early, without a proof; `reason` says why."""
    return {
        "proved": False,
        "paths_proved": 0,
        "paths_total": None,
        "pairs": 0,
        "undecided": [reason],
        "counterexample": None,
        "assumptions": [],
        "deviations": [],
        "checks": 0,
        "seconds": 0.0,
    }


def verdict(verification: Verification) -> Iterator[str]:
    """Yield the result of a verification as lines of text, with conditions or a counterexample."""
    proved, total = verification["paths_proved"], verification["paths_total"]
    known = count_of(proved, "path") if total is None else f"{proved} of {count_of(total, 'path')}"
    do = "does" if (total or proved) == 1 else "do"
    if verification["counterexample"] is not None:
        yield "differs: card and kernel treat this packet differently"
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
    yield from _array("map content; other bytes are 0", example["array"])
    if example["drawn"]:
        drawn = ", ".join(f"{number:#x}" for number in example["drawn"])
        yield f"{_INDENT}random numbers: {drawn}"
    for name, state, other in (
        ("kernel", example["bpf"], example["card"]),
        ("card", example["card"], example["bpf"]),
    ):
        yield from _final_state(name, state, other)


def _final_state(name: str, state: FinalState, other: FinalState) -> Iterator[str]:
    """Yield lines about the final state of a program after the counterexample.

    `name` is `card` or `kernel`. Packet and maps are shown only if they differ from those in
    `other`, the final state on the other side.
    """
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
