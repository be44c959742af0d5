"""Prints the report of `slowpath insights blocks` as text or CSV."""

from collections.abc import Iterator

from slowpath.core.printable import csv_line, one_line
from slowpath.core.programs.sources import provenance_lines
from slowpath.core.quantities import number
from slowpath.core.terminal import Line, grid
from slowpath.insights.blocks.documents import (
    BlocksReport,
    PredictedBlock,
    PredictedFunction,
    PredictedProgram,
    Times,
)

_COLUMNS = (
    *("program", "model", "function", "block", "file", "line", "llvm", "bpf"),
    *("instructions", "low", "high", "call_instructions", "packet", "state", "unknown"),
    *("calls", "refused", "why"),
)
_NUMBERS = ("LLVM", "BPF", "instructions", "packet", "state", "unknown")


def blocks_csv(report: BlocksReport) -> Iterator[str]:
    """Yield the lines of a CSV report: a header, and a line for each block.

    A program that could be neither counted nor predicted has a line with the reason.
    """
    yield csv_line(_COLUMNS)
    for program in report["programs"]:
        for function in program["functions"]:
            for one in function["blocks"]:
                accesses = one["accesses"]
                yield csv_line(
                    (
                        *(program["entry"], program["model"], function["name"], one["name"]),
                        *(one["file"], one["line"], one["llvm"], one["bpf"]),
                        *(one["instructions"], one["low"], one["high"], one["call_instructions"]),
                        *(accesses["packet"], accesses["state"], accesses["unknown"]),
                        *(_times(one["calls"]), _times(one["refused"]), program["why"]),
                    )
                )
    for left in report["uncounted"]:
        yield csv_line((left["entry"], *([None] * (len(_COLUMNS) - 2)), left["reason"]))


def blocks_text(report: BlocksReport) -> Iterator[Line]:
    """Yield the lines of a text report: a table of blocks for each function.

    Below the tables of a program are the operations that the SmartNIC lacks.
    """
    for number_, program in enumerate(report["programs"]):
        if number_:
            yield Line("")
        yield from _program(report["file"], program)
    if report["uncounted"]:
        yield Line("")
        yield Line("Functions that were neither counted nor predicted:", "bold")
    for left in report["uncounted"]:
        yield Line(one_line(f"  {left['entry']}: {left['reason']}"))
    yield from provenance_lines(report)


def _program(file: str, program: PredictedProgram) -> Iterator[Line]:
    rows = [one for function in program["functions"] for one in function["blocks"]]
    made = f"{number(program['instructions'])} instructions in {len(rows)} blocks"
    how = "counted" if program["model"] == "exact" else "predicted by a learnt model"
    yield Line(one_line(f"{file}: {program['entry']}: {made} ({how})"), "bold")
    if program["why"] is not None:
        yield Line(one_line(f"  not counted: {program['why']}"))
    for function in program["functions"]:
        yield Line("")
        place = f" ({function['file']}:{function['line']})" if function["line"] else ""
        yield Line(one_line(f"  {function['name']}{place}"), "bold")
        columns, cells = _table(program, function)
        yield from grid(columns, cells, right=_NUMBERS, margin="    ")
    yield Line("")
    yield Line(one_line(f"  {_sums(program, rows)}"))
    yield from _refused(rows, program["functions"][0]["file"])


def _table(
    program: PredictedProgram, function: PredictedFunction
) -> tuple[list[str], list[tuple[str, ...]]]:
    """Return the column titles and rows of a function's table, with one row for each block.

    Columns without content are left out.
    """
    blocks = function["blocks"]
    unknown = any(one["accesses"]["unknown"] for one in blocks)
    counted = program["model"] == "exact"
    columns = ["block", "line", "LLVM", *(["BPF"] if counted else []), "instructions"]
    columns += ["packet", "state", *(["unknown"] if unknown else []), "calls"]
    cells = []
    for one in blocks:
        accesses = one["accesses"]
        cells.append(
            (
                *(one["name"], _place(one, function["file"]), str(one["llvm"])),
                *([str(one["bpf"])] if counted else []),
                _instructions(one, counted=counted),
                *(_some(accesses["packet"]), _some(accesses["state"])),
                *([_some(accesses["unknown"])] if unknown else []),
                _times(one["calls"]),
            )
        )
    return columns, cells


def _place(one: PredictedBlock, file: str) -> str:
    """Return the source line of a block as text, such as `34` or `util.h:34`.

    The file name is left out if it is `file`.
    """
    if not one["line"]:
        return ""
    name = "" if one["file"] == file else f"{one['file'].rpartition('/')[2]}:"
    return f"{name}{one['line']}"


def _instructions(one: PredictedBlock, *, counted: bool) -> str:
    refused = " +" if one["refused"] else ""
    if counted:
        return f"{number(one['instructions'])}{refused}"
    return f"{one['instructions']:.1f} ({one['low']:.0f} to {one['high']:.0f})"


def _some(times: int) -> str:
    return str(times) if times else ""


def _times(items: list[Times]) -> str:
    return ", ".join(
        one["what"] if one["times"] == 1 else f"{one['what']} x {one['times']}" for one in items
    )


def _sums(program: PredictedProgram, rows: list[PredictedBlock]) -> str:
    packet = sum(one["accesses"]["packet"] for one in rows)
    state = sum(one["accesses"]["state"] for one in rows)
    unknown = sum(one["accesses"]["unknown"] for one in rows)
    text = f"in all blocks together: {packet} accesses to the packet, {state} accesses to state"
    if unknown:
        text += f", {unknown} accesses to packet or state"
    if program["around"] is not None:
        prepared = sum(one["call_instructions"] or 0 for one in rows)
        text += f"; in addition, {prepared} instructions for framework calls"
        if program["wrapper"]:
            text += f", {program['wrapper']} to locate packet and state"
        text += f" and {program['around']} around the program"
    return text


def _refused(rows: list[PredictedBlock], file: str) -> Iterator[Line]:
    """Yield the operations that the SmartNIC lacks, each with the source lines of its blocks.

    `rows` are the blocks. Lines in files other than `file` have the file name.
    """
    found = dict[str, list[PredictedBlock]]()
    for one in rows:
        for each in one["refused"]:
            found.setdefault(each["what"], []).append(one)
    if found:
        yield Line(
            "  + The block has operations that the card does not support; instructions "
            "do not include them:"
        )
    for reason, blocks in found.items():
        lines = dict.fromkeys(_place(one, file) for one in blocks if one["line"])
        where = f" (line{'s' if len(lines) > 1 else ''} {', '.join(lines)})"
        yield Line(one_line(f"    {reason}{where if lines else ''}"))
