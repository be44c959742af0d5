"""The text of `slowpath compile --source`: the listing between the lines that it comes from."""

from collections.abc import Iterator, Sequence

from slowpath.cli.printable import one_line
from slowpath.schema.compiled import BpfInstruction, Compiled
from slowpath.schema.instructions import Line

_OWN = "; code around the program, which the driver adds"


def interleaved(compiled: Compiled) -> Iterator[str]:
    """The listing as `objdump -S` would show it.

    Lines of the source stand before the first of their BPF instructions, and BPF instructions
    before the first of the card's that is for them; the latter are as they are in the listing.
    """
    yield f"; {one_line(compiled['program'])} in section {one_line(compiled['section'])}"
    rows = compiled["listing"].splitlines()
    place = {insn["slot"]: index for index, insn in enumerate(compiled["bpf"])}
    ahead = 0  # index of the first BPF instruction that was not shown yet
    before: int | str | None = "start"
    shown: Line | None = None
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
    """A BPF instruction, below its source line unless that is the one shown last."""
    source = bpf["source"]
    if source is not None and source != shown:
        yield ""
        yield f"; {one_line(source['file'])}:{source['line']}: {one_line(source['text'])}".rstrip()
    yield f"; {bpf['slot']:>6}: {one_line(bpf['text'])}"
