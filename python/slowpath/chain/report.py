"""Text reports of `slowpath chain facts` and `slowpath chain optimize`."""

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

_BRANCHES = 20  # maximum number shown per program
_LOOPS = 10  # maximum number shown per program
_RESULTS = 10  # maximum number shown per program
COLUMNS = ("program", "before", "after", "left", "guard", "proved", "rate", "object")
"""Columns of the table of rewritten programs."""
_COUNTED = ("branches", "others")
RIGHT = ("before", "after", "left", "rate")
"""The numeric columns, aligned to the right."""


def facts_report(report: ChainReport) -> Iterator[Line | str]:
    """Yield the report of facts about packets that arrive at each program."""
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
        yield from (f"  {loop_text(loop)}" for loop in program["loops"][:_LOOPS])
        if len(program["loops"]) > _LOOPS:
            yield f"  {len(program['loops']) - _LOOPS} more loops"
        yield from (f"  {result_text(result)}" for result in program["results"][:_RESULTS])
        if len(program["results"]) > _RESULTS:
            yield f"  {len(program['results']) - _RESULTS} more calls"
        yield from _remarks(program)
    yield from _ending(report)
    yield from provenance_lines(report)


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


def _remarks(program: ChainProgram) -> Iterator[str]:
    yield from (f"  note: {one_line(remark)}" for remark in program["remarks"])
    yield from (f"  if {one_line(condition)}" for condition in program["assumptions"])


def _ending(report: ChainReport) -> Iterator[str]:
    if report["stopped"]:
        yield f"stopped: {one_line(report['stopped'])}"


def optimized_report(
    report: ChainReport, files: list[str | None], whole: str | None
) -> Iterator[Line | str]:
    """Yield the report of programs before and after rewriting.

    Args:
        report: The document.
        files: File of each written object.
        whole: File of the fused program.
    """
    rows = [
        program_row(program, file) for program, file in zip(report["programs"], files, strict=True)
    ]
    yield from grid(COLUMNS, rows, right=RIGHT, margin="")
    for program in report["programs"]:
        yield from _relied_on(program)
    for program in report["programs"]:
        yield from frozen_lines(program)
        remarks = [*program["never"], *program["remarks"]]
        yield from (aligned_line(f"{program['name']}: {one_line(text)}") for text in remarks)
        conditions = {*program["assumptions"]}
        if program["proof"]:
            conditions |= {*program["proof"]["assumptions"]}
        yield from (f"{program['name']}: if {one_line(text)}" for text in sorted(conditions))
    yield from (line for program in report["programs"] for line in guarantee_lines(program))
    yield from (line for program in report["programs"] for line in rehearsal_lines(program))
    yield from fused_lines(report, whole)
    yield f"{report['seconds']:.2f} s in all"
    yield from _ending(report)
    yield from provenance_lines(report)


def _relied_on(program: ChainProgram) -> Iterator[Line | str]:
    """Yield the table of work that facts and frozen maps make unnecessary."""
    if not program["proved"]:
        return
    dropped = program["dropped"]
    reasons = [
        (fact_text(fact), _established(fact), list(used(fact, dropped)))
        for fact in program["facts"]
    ]
    for name in dict.fromkeys(name for one in dropped for name in one["maps"]):
        made = [one for one in dropped if name in one["maps"]]
        reasons.append((f"map {name}", "given", made))
    rows = [(*told, *_counted(made)) for *told, made in reasons if made]
    if not rows:
        return
    yield ""
    yield Line(one_line(f"{program['name']}: what it need not do, and why"), "bold")
    yield from grid(("because of", "established by", *_COUNTED), rows, right=_COUNTED)
    yield ""


def _counted(made: list[Dropped]) -> tuple[str, ...]:
    """Return the number of branches and of other instructions, as text."""
    branches = sum(map(is_branch, made))
    return str(branches), str(len(made) - branches)


def rehearsal_lines(program: ChainProgram) -> Iterator[str]:
    """Yield the result in the running kernel, each line prefixed with the program's name."""
    yield from _in_the_kernel(program["name"], program["rehearsal"])


def _in_the_kernel(name: str, said: Rehearsal | None) -> Iterator[str]:
    if said is None:
        return
    if said["difference"]:
        packet = f", with packet {said['packet']}" if said["packet"] else ""
        yield one_line(f"{name}: in the kernel, {said['difference']}{packet}")
        if must_not_load(said):
            yield f"{name}: it is proved, and wrong all the same, so it is not written: report it"
    elif said["agrees"]:
        paths = f"a packet for each of {said['paths']} paths, " if said["paths"] else ""
        more = f" and {said['arbitrary']} arbitrary ones" if said["arbitrary"] else ""
        yield one_line(
            f"{name}: in the kernel, the same with {paths}{said['packets']} packets that get "
            f"there{more}"
        )
    yield from (one_line(f"{name}: {line}") for line in _on_devices(said["devices"]))
    if said["raised"] and said["agrees"]:
        yield one_line(f"{name}: in the kernel, the same with another generation and other maps")
    if said["original_ns"] and said["rewritten_ns"]:
        alone = f", without it {said['program_ratio']:.1f} x" if said["program_ratio"] else ""
        yield one_line(
            f"{name}: in the kernel, {said['original_ns']:.1f} ns before, "
            f"{said['rewritten_ns']:.1f} ns after; of that, {said['frame_ns'] or 0:.1f} ns for an "
            f"empty program{alone}"
        )
    if said["refused"]:
        yield one_line(f"{name}: it is not written, the kernel refuses it: {said['why_not']}")
    elif said["why_not"]:
        yield one_line(f"{name}: not tried in the kernel: {said['why_not']}")
    yield from (one_line(f"{name}: {note}") for note in said["notes"])


def _on_devices(devices: Sequence[OnDevice]) -> Iterator[str]:
    """Yield the result of the comparison on virtual Ethernet."""
    tried = [one for one in devices if one["frames"]]
    if tried:
        each = (
            f"{one['frames']} {one['mode']} frames of {one['shortest']} to {one['longest']} bytes"
            for one in tried
        )
        yield f"on veth, the same with {' and '.join(each)}"
    for one in devices:
        if one["why_not"]:
            when = " to the end" if one["frames"] else ""
            yield f"on veth ({one['mode']}), not tried{when}: {one['why_not']}"


def fused_lines(report: ChainReport, file: str | None) -> Iterator[str]:
    """Yield the report of the fused program; `file` is its object file."""
    if report["not_fused"]:
        yield one_line(f"not fused: {report['not_fused']}")
    fused = report["fused"]
    if fused is None:
        return
    before, rewritten = fused["instructions_before"], fused["instructions_rewritten"]
    joined, after = fused["instructions_fused"], fused["instructions_after"]
    now = "" if rewritten == before else f", {rewritten} rewritten"
    proved = ", proved" if fused["proved"] else ""
    where = f"not written, {fused['not_written']}" if fused["not_written"] else file
    yield one_line(
        f"fused: {before} instructions as the programs were{now}, {joined} as one program, "
        f"{after} left{proved}: {where}"
    )
    yield from (f"fused: if {one_line(condition)}" for condition in fused["assumptions"])
    yield from _in_the_kernel("fused", fused["rehearsal"])
    yield from (f"fused: {one_line(remark)}" for remark in fused["remarks"])


def _checks(guard: Guard) -> str:
    """Summarize the checks of a guard."""
    packet = f"{guard['comparisons']} comparisons, {guard['bytes']} bytes"
    if not guard["comparisons"]:
        packet = f"length of {guard['length']} bytes"
    if guard["generation"] is None:
        return packet
    return f"generation, {packet}" if guard["length"] else "generation"


def _content(program: ChainProgram) -> Iterator[str]:
    """Yield the maps with given content, and the maps whose given content the facts rely on."""
    for one in program["frozen"]:
        how_many = "1 entry" if one["entries"] == 1 else f"{one['entries']} entries"
        is_so = "used" if one["used"] else "not used"
        text = f"not frozen: {one['why_not']}" if one["why_not"] else f"{how_many}, {is_so}"
        yield one_line(f"map {one['map']}: {text}")
    if program["facts_with"]:
        yield one_line(f"facts are for {maps_text(program['facts_with'])} as given")


def map_conditions(program: ChainProgram) -> Iterator[str]:
    """Yield the conditions of a rewritten program on map content, one sentence each."""
    guard, facts_with = program["guard"], program["facts_with"]
    if guard and guard["generation"]:
        yield (
            f"right for as long as map {guard['generation']} is zero: raise it before one of these "
            "maps is changed"
        )
    elif program["proved"] and any(one["used"] for one in program["frozen"]):
        yield "right for as long as these maps stay as they are"
    if facts_with and guard:
        yield f"right with any content of {maps_text(facts_with)}: it checks packets itself"
    elif facts_with and program["proved"]:
        stays = "stay" if len(facts_with) > 1 else "stays"
        yield f"right for as long as {maps_text(facts_with)} {stays} as given"


def frozen_lines(program: ChainProgram) -> Iterator[str]:
    """Yield the maps with given content and the conditions on it, prefixed with the program."""
    lines = [*_content(program), *map_conditions(program)]
    yield from (one_line(f"{program['name']}: {line}") for line in lines)


def program_row(program: ChainProgram, file: str | None) -> tuple[str, ...]:
    """Return the table row of a program, by `COLUMNS`; `file` is its written object."""
    before, after, guard = (
        program["instructions_before"],
        program["instructions_after"],
        program["guard"],
    )
    rewritten = program["proved"] is not None
    if guard:
        after = guard["instructions"]
    checks = _checks(guard) if guard else "none"
    return (
        program["name"],
        str(before),
        str(after) if rewritten else "-",
        f"{100 * after / before:.0f} %" if rewritten and before else "-",
        checks if rewritten else "-",
        "yes" if program["proved"] else "-",
        f"{ratio:.1f} x" if (ratio := program["measured_rate_ratio"]) else "-",
        file or "as it was",
    )
