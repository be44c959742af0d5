"""Formats the results of `slowpath chain facts` and `slowpath chain optimize` as text."""

from collections.abc import Iterator, Sequence

from slowpath.chain.documents import (
    ChainProgram,
    ChainReport,
    Fact,
    OnDevice,
    Rehearsal,
    must_not_load,
)
from slowpath.chain.facts import (
    ASSUMED,
    arrivals_text,
    because,
    decided_branches,
    fact_text,
    is_branch,
    lines_text,
    loop_text,
    maps_text,
    result_text,
    used,
)
from slowpath.chain.guarantees import guarantee_lines
from slowpath.chain.report_types import Dropped, Guard
from slowpath.core.printable import aligned_line, one_line
from slowpath.core.programs.sources import provenance_lines
from slowpath.core.terminal import Line, grid

_BRANCHES = 20  # maximum number of branches shown per program
_LISTED = 10  # maximum number of loops, and of helper calls, shown per program
COLUMNS = ("program", "before", "after", "left", "guard", "proved", "rate", "object")
"""Columns of the table of rewritten programs."""
_COUNTED = ("branches", "others")
RIGHT = ("before", "after", "left", "rate")
"""Columns with numbers, which are aligned to the right."""


def facts_report(report: ChainReport) -> Iterator[Line | str]:
    """Yield the lines of a text report on the facts about packets that arrive at each program."""
    for index, program in enumerate(report["programs"]):
        if index:
            yield ""
        yield Line(
            one_line(f"{program['name']} ({program['program']}): {arrivals_text(program)}"), "bold"
        )
        yield from (f"  {one_line(reason)}" for reason in program["never"])
        if program["facts"]:
            rows = [(fact_text(fact), _established(fact)) for fact in program["facts"]]
            yield from grid(("fact", "established by"), rows)
        yield from (f"  {line}" for line in _content(program))
        yield from _branches(program)
        yield from _first_lines([loop_text(loop) for loop in program["loops"]], "loops")
        yield from _first_lines([result_text(result) for result in program["results"]], "calls")
        yield from (f"  note: {one_line(remark)}" for remark in program["remarks"])
        yield from (f"  if {one_line(condition)}" for condition in program["assumptions"])
    yield from _ending(report)
    yield from provenance_lines(report)


def _first_lines(lines: Sequence[str], things: str) -> Iterator[str]:
    """Yield the first `_LISTED` lines, indented, then the number of omitted lines.

    `things` is a word for what the lines show.
    """
    yield from (f"  {line}" for line in lines[:_LISTED])
    if len(lines) > _LISTED:
        yield f"  {len(lines) - _LISTED} more {things}"


def _established(fact: Fact) -> str:
    return ASSUMED if fact["assumed"] else lines_text(fact["established"])


def _branches(program: ChainProgram) -> Iterator[Line | str]:
    branches = list(decided_branches(program["dropped"]))
    if not branches:
        return
    yield ""
    yield f"  decided by these facts: {len(branches)} branches"
    rows = [_branch_row(one) for one in branches[:_BRANCHES]]
    yield from grid(("branch", "is", "because of", "source"), rows)
    if len(branches) > _BRANCHES:
        yield f"  {len(branches) - _BRANCHES} more"


def _branch_row(one: Dropped) -> tuple[str, str, str, str]:
    line = one["line"]
    where = lines_text([line]) if line else f"instruction {one['slot']}"
    return where, one["change"], because(one), line["text"] if line else one["instruction"]


def _ending(report: ChainReport) -> Iterator[str]:
    if report["stopped"]:
        yield f"stopped: {one_line(report['stopped'])}"


def duration_line(report: ChainReport) -> str:
    """Return a line with the time of the whole command, and that of the analysis in it."""
    part = f"{report['engine_seconds']:.2f} s for facts, rewriting and proofs"
    return f"{report['seconds']:.2f} s in all ({part})"


def optimized_report(
    report: ChainReport, files: list[str | None], fused_file: str | None
) -> Iterator[Line | str]:
    """Yield the lines of a text report on the programs of a chain before and after rewriting.

    `files` has the object file of each program, or None if the program stays unchanged.
    `fused_file` is the object file of the fused program, if any.
    """
    rows = [
        program_row(program, file) for program, file in zip(report["programs"], files, strict=True)
    ]
    yield from grid(COLUMNS, rows, right=RIGHT, margin="")
    for program in report["programs"]:
        yield from _omitted_work(program)
    for program in report["programs"]:
        lines = [*_content(program), *map_conditions(program)]
        yield from (one_line(f"{program['name']}: {line}") for line in lines)
        remarks = [*program["never"], *program["remarks"]]
        yield from (aligned_line(f"{program['name']}: {one_line(text)}") for text in remarks)
        conditions = {*program["assumptions"]}
        if program["proof"]:
            conditions |= {*program["proof"]["assumptions"]}
        yield from (f"{program['name']}: if {one_line(text)}" for text in sorted(conditions))
    yield from (line for program in report["programs"] for line in guarantee_lines(program))
    for program in report["programs"]:
        yield from rehearsal_lines(program["name"], program["rehearsal"])
    yield from fused_lines(report, fused_file)
    yield duration_line(report)
    yield from _ending(report)
    yield from provenance_lines(report)


def _omitted_work(program: ChainProgram) -> Iterator[Line | str]:
    """Yield a table of the facts that allow changes, with the instructions that each saves.

    Facts are about packets, or about maps with known content.
    """
    if not program["proved"]:
        return
    dropped = program["dropped"]
    reasons = [
        (fact_text(fact), _established(fact), list(used(fact, dropped)))
        for fact in program["facts"]
    ]
    for name in dict.fromkeys(name for one in dropped for name in one["maps"]):
        changes = [one for one in dropped if name in one["maps"]]
        reasons.append((f"map {name}", "given", changes))
    rows = [(*reason, *_counts(changes)) for *reason, changes in reasons if changes]
    if not rows:
        return
    yield ""
    yield Line(one_line(f"{program['name']}: omitted work, by reason"), "bold")
    yield from grid(("because of", "established by", *_COUNTED), rows, right=_COUNTED)
    yield ""


def _counts(changes: list[Dropped]) -> tuple[str, ...]:
    """Return two texts: the number of decided branches, and that of other changed instructions."""
    branches = sum(map(is_branch, changes))
    return str(branches), str(len(changes) - branches)


def rehearsal_lines(name: str, rehearsal: Rehearsal | None) -> Iterator[str]:
    """Yield the results of testing a rewritten program in the kernel.

    Each line starts with its name.
    """
    if rehearsal is not None:
        yield from (one_line(f"{name}: {line}") for line in _kernel_lines(rehearsal))


def _kernel_lines(one: Rehearsal) -> Iterator[str]:
    if one["difference"]:
        packet = f", with packet {one['packet']}" if one["packet"] else ""
        yield f"in the kernel, {one['difference']}{packet}"
        if must_not_load(one):
            yield "not written: the kernel contradicts the proof; please report this defect"
    elif one["agrees"]:
        paths = f"a packet of each of {one['paths']} paths, " if one["paths"] else ""
        more = f" and {one['arbitrary']} arbitrary packets" if one["arbitrary"] else ""
        packets = f"{one['packets']} packets that reach it{more}"
        yield f"in the kernel, same results for {paths}{packets}"
    yield from _device_lines(one["devices"])
    if one["raised"] and one["agrees"]:
        yield "in the kernel, same results with another generation and other map content"
    if one["original_ns"] and one["rewritten_ns"]:
        ratio = ""
        if one["program_ratio"]:
            ratio = f"; without these, {one['program_ratio']:.1f} times as fast"
        yield (
            f"in the kernel, {one['original_ns']:.1f} ns before, {one['rewritten_ns']:.1f} ns "
            f"after; each includes {one['frame_ns'] or 0:.1f} ns for an empty program{ratio}"
        )
    if one["refused"]:
        yield f"not written: the kernel rejects it: {one['why_not']}"
    elif one["why_not"]:
        yield f"not tested in the kernel: {one['why_not']}"
    yield from one["notes"]


def _device_lines(devices: Sequence[OnDevice]) -> Iterator[str]:
    """Yield the results of comparing the programs on virtual Ethernet, for each XDP mode."""
    results = [
        f"{one['frames']} {one['mode']} frames of {one['shortest']} to {one['longest']} bytes"
        for one in devices
        if one["frames"]
    ]
    if results:
        yield f"on veth, same results for {' and '.join(results)}"
    for one in devices:
        if one["why_not"]:
            tested = "test not finished" if one["frames"] else "not tested"
            yield f"on veth ({one['mode']}), {tested}: {one['why_not']}"


def fused_lines(report: ChainReport, file: str | None) -> Iterator[str]:
    """Yield the lines about the fused program, or the reason why there is none.

    `file` is its object file.
    """
    if report["not_fused"]:
        yield one_line(f"not fused: {report['not_fused']}")
    fused = report["fused"]
    if fused is None:
        return
    before, rewritten = fused["instructions_before"], fused["instructions_rewritten"]
    joined, after = fused["instructions_fused"], fused["instructions_after"]
    now = "" if rewritten == before else f", {rewritten} rewritten"
    proved = ", proved" if fused["proved"] else ""
    result = f"not written: {fused['not_written']}" if fused["not_written"] else file
    yield one_line(
        f"fused: {before} instructions in the original programs{now}, {joined} fused, "
        f"{after} optimized{proved}: {result}"
    )
    yield from (f"fused: if {one_line(condition)}" for condition in fused["assumptions"])
    yield from rehearsal_lines("fused", fused["rehearsal"])
    yield from (f"fused: {one_line(remark)}" for remark in fused["remarks"])


def _checks(guard: Guard) -> str:
    """Format the effort of the checks at a program's entry, such as `3 comparisons, 14 bytes`."""
    packet = f"{guard['comparisons']} comparisons, {guard['bytes']} bytes"
    if not guard["comparisons"]:
        packet = f"length of {guard['length']} bytes"
    if guard["generation"] is None:
        return packet
    return f"generation, {packet}" if guard["length"] else "generation"


def _content(program: ChainProgram) -> Iterator[str]:
    """Yield lines about the maps whose content `--maps` gives: entries, and use by the program."""
    for one in program["frozen"]:
        entries = "1 entry" if one["entries"] == 1 else f"{one['entries']} entries"
        use = "used" if one["used"] else "not used"
        text = f"not frozen: {one['why_not']}" if one["why_not"] else f"{entries}, {use}"
        yield one_line(f"map {one['map']}: {text}")
    if program["facts_with"]:
        yield one_line(f"facts assume the given content of {maps_text(program['facts_with'])}")


def map_conditions(program: ChainProgram) -> Iterator[str]:
    """Yield lines with the conditions on map content under which a rewritten program is correct."""
    guard, facts_with = program["guard"], program["facts_with"]
    if guard and guard["generation"]:
        yield (
            f"valid while map {guard['generation']} is zero; raise it before you change one of "
            "these maps"
        )
    elif program["proved"] and any(one["used"] for one in program["frozen"]):
        yield "valid while the content of these maps stays the same"
    if facts_with and guard:
        yield f"valid with any content of {maps_text(facts_with)}, because it checks packets itself"
    elif facts_with and program["proved"]:
        keep = "keep their" if len(facts_with) > 1 else "keeps its"
        yield f"valid while {maps_text(facts_with)} {keep} given content"


def program_row(program: ChainProgram, file: str | None) -> tuple[str, ...]:
    """Return a program's row for a table with `COLUMNS`.

    `file` is the object file of the rewritten program; None if the program stays unchanged.
    """
    before, guard = program["instructions_before"], program["guard"]
    after = guard["instructions"] if guard else program["instructions_after"]
    rewritten = program["proved"] is not None
    checks = _checks(guard) if guard else "none"
    return (
        program["name"],
        str(before),
        str(after) if rewritten else "-",
        f"{100 * after / before:.0f} %" if rewritten and before else "-",
        checks if rewritten else "-",
        "yes" if program["proved"] else "-",
        f"{ratio:.1f} x" if (ratio := program["measured_rate_ratio"]) else "-",
        file or "unchanged",
    )
