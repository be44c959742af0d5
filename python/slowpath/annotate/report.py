"""Computes the cost of each source line, and prints annotated code with costs on the left.

The costs come from the engine and add up to the cost of the path. This module adds rows for code
that the path does not execute, and joins lines that are inlined into several functions.

The last row has the sum of the costs in all rows, including overhead and code without source lines.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from slowpath.annotate.documents import AnnotatedInstruction, AnnotatedLine, Annotation, Costs
from slowpath.bounds import report_counts
from slowpath.bounds import report_rates as report_single
from slowpath.bounds.report_path import assumption_lines, estimate_lines, labelled
from slowpath.bounds.report_rates import format_cycles
from slowpath.core.printable import one_line
from slowpath.core.programs.sources import Source, find_source
from slowpath.core.schema.derived import cost_words, is_count, is_found, main_component
from slowpath.core.schema.results import Detail, Profile, Result
from slowpath.core.terminal import Line, grid

_DECIMALS = 9
"""Precision of the engine's costs: billionths of a cycle."""


Place = tuple[str, int]
"""A source location: file and line."""


def add_costs(parts: Iterable[Mapping[str, float]], like: Mapping[str, float]) -> Costs:
    """Add up costs by component. Components that occur only in `like` get the cost 0."""
    total: Costs = dict.fromkeys(like, 0)
    for part in parts:
        for name, cost in part.items():
            total[name] = total.get(name, 0) + cost
    return {name: _tidy(cost) for name, cost in total.items()}


def _tidy(cost: float) -> float:
    rounded = round(cost, _DECIMALS)
    return int(rounded) if rounded == int(rounded) else rounded


def annotation(result: Result, detail: Detail) -> Annotation:
    """Return the costs of a program's source lines and instructions.

    Without a guarantee, both lists are empty.
    """
    guarantee, profile = result["guarantee"], result["profile"]
    component = main_component(result)
    annotated: Annotation = {
        "file": result["file"],
        "section": result["section"],
        "program": result["program"],
        "target": result["target"],
        "metric": result["metric"],
        "verdict": None if guarantee is None else guarantee["verdict"],
        "exact": guarantee is not None and guarantee["exact"],
        "assumptions": result["assumptions"],
        "stopped": None if guarantee is None else guarantee["stopped"],
        "component": component,
        "cost": {},
        "overhead": {},
        "lines": [],
        "instructions": [],
        "error": result["error"],
        "code": result["code"],
    }
    if profile is None or component is None:
        return annotated
    annotated["cost"], annotated["overhead"] = profile["cost"], profile["overhead"]
    annotated["instructions"] = _instructions(profile, detail, component)
    annotated["lines"] = _lines(profile, detail, component)
    return annotated


def share_of(cost: Mapping[str, float], total_cost: Mapping[str, float], component: str) -> float:
    """Return the fraction of the total cost that `cost` makes up for one component, from 0 to 1."""
    total = total_cost[component]
    return cost.get(component, 0) / total if total else 0.0


def _instructions(profile: Profile, detail: Detail, component: str) -> list[AnnotatedInstruction]:
    known = {entry["instruction"]: entry for entry in profile["instructions"]}
    rows = list[AnnotatedInstruction]()
    for code in detail["code"]:
        entry, source = known.get(code["instruction"]), code["source"]
        cost = add_costs(() if entry is None else (entry["cost"],), profile["cost"])
        rows.append(
            {
                "instruction": code["instruction"],
                "text": code["text"],
                "file": None if source is None else source["file"],
                "line": None if source is None else source["line"],
                "runs": 0 if entry is None else entry["runs"],
                "share": share_of(cost, profile["cost"], component),
                "cost": cost,
            }
        )
    return rows


def _lines(profile: Profile, detail: Detail, component: str) -> list[AnnotatedLine]:
    """Return a row for each source line, sorted by file and line number.

    Files that the slowest path does not execute come last.
    """
    rows = dict[Place, AnnotatedLine]()
    for line in profile["lines"]:
        row = rows.setdefault(
            (line["file"], line["line"]), _unused(line["file"], line["line"], line["text"])
        )
        row["runs"] += line["runs"]
        row["instructions"] += line["instructions"]
        row["cost"] = add_costs((row["cost"], line["cost"]), profile["cost"])
    for code in detail["code"]:
        if code["source"] is not None:
            place = (code["source"]["file"], code["source"]["line"])
            rows.setdefault(place, _unused(*place, code["source"]["text"]))
    for row in rows.values():
        row["cost"] = add_costs((row["cost"],), profile["cost"])
        row["share"] = share_of(row["cost"], profile["cost"], component)
    files = list(dict.fromkeys(file for file, _ in rows))
    return sorted(rows.values(), key=lambda row: (files.index(row["file"]), row["line"]))


def _unused(file: str, line: int, text: str) -> AnnotatedLine:
    return {
        "file": file,
        "line": line,
        "text": text,
        "runs": 0,
        "instructions": 0,
        "share": 0.0,
        "cost": {},
    }


def find_sources(annotated: Annotation) -> dict[str, Source]:
    """Return the source files of a program, with their names in the debug information as keys."""
    known = dict[str, dict[int, str]]()
    for line in annotated["lines"]:
        known.setdefault(line["file"], {})[line["line"]] = line["text"]
    return {file: find_source(file, annotated["file"], lines) for file, lines in known.items()}


_HOT = 0.05
_WARM = 0.005
"""Code with at least these shares of the cost is marked, as in `perf annotate`."""
_FILL = 8
"""If more than this number of consecutive source lines have no code, `...` replaces them."""
_LEAD = 3
"""Maximum number of lines without code that are shown between `...` and the next line with code."""
_FOLD = 4
"""If the path skips more than this number of consecutive instructions, `...` replaces them."""
_INDENT = "        "


class _Row(NamedTuple):
    """A row of the printed table: a line of code with its cost, or a line without cost as `...`."""

    text: str
    place: str = ""
    runs: int | None = None  # None: not a row of code
    cost: Costs | None = None
    style: str = ""


def headline(result: Result) -> Iterator[Line]:
    """Yield the lines above the table: program and guarantee, as `slowpath bound` prints them."""
    guarantee = result["guarantee"]
    if guarantee is None:
        return
    if is_count(result):
        yield report_counts.title_line(result)
        yield from report_counts.guarantee_lines(result, guarantee)
        yield from estimate_lines(result)
        yield from assumption_lines(result)
    else:
        yield report_single.title_line(result)
        yield from report_single.guarantee_lines(result, guarantee)
        yield report_single.bottleneck_line(result, guarantee)
    if not is_found(guarantee):
        yield labelled("costs", "on the path that sets this bound; perhaps no packet takes it")


def annotation_report(
    annotated: Annotation, sources: Mapping[str, Source], *, instructions: bool
) -> Iterator[Line]:
    """Yield the table of source lines with their costs; yield nothing if there is no guarantee."""
    component = annotated["component"]
    if component is None:
        return
    rows = list(_rows(annotated, sources, instructions=instructions))
    if any(annotated["overhead"].values()):
        text = "per-packet overhead of the device"
        rows.append(_Row(text, "", None, annotated["overhead"]))
    rows.append(_Row("total", "", None, annotated["cost"], "bold"))
    used = [name for name, cost in annotated["cost"].items() if cost or name == component]
    costs = [cost_words(name, annotated["metric"]) for name in used]
    columns = ("", "share", "runs", *costs, "line", "code")
    cells = [_cells(row, annotated, component, used) for row in rows]
    lines = list(grid(columns, cells, right=columns[1:-1], margin=""))
    yield lines[0]
    for row, line in zip(rows, lines[1:], strict=True):
        yield line._replace(style=row.style or _style(row, annotated, component))


def _cells(row: _Row, annotated: Annotation, component: str, used: Sequence[str]) -> list[str]:
    if row.cost is None or row.runs == 0:
        runs = "" if row.runs is None else "0"
        return ["", "", runs, *("" for _ in used), row.place, row.text]
    share = share_of(row.cost, annotated["cost"], component)
    mark = ">" if row.runs and share >= _HOT else ""
    runs = "" if row.runs is None else str(row.runs)
    costs = [format_cycles(row.cost[name]) for name in used]
    return [mark, f"{100 * share:.1f} %", runs, *costs, row.place, row.text]


def _style(row: _Row, annotated: Annotation, component: str) -> str:
    """Return the colour of a row: red for a large share of the cost, green for a medium one."""
    if not row.runs or row.cost is None:
        return "dim" if row.runs == 0 else ""
    share = share_of(row.cost, annotated["cost"], component)
    return "red" if share >= _HOT else "green" if share >= _WARM else ""


def _rows(
    annotated: Annotation, sources: Mapping[str, Source], *, instructions: bool
) -> Iterator[_Row]:
    if not annotated["lines"]:
        yield from _bare(annotated["instructions"])
        return
    below = dict[tuple[str, int], list[AnnotatedInstruction]]()
    lost = list[AnnotatedInstruction]()
    for entry in annotated["instructions"]:
        if entry["file"] is not None and entry["line"] is not None:
            below.setdefault((entry["file"], entry["line"]), []).append(entry)
        elif entry["runs"]:
            lost.append(entry)
    before: AnnotatedLine | None = None
    for line in annotated["lines"]:
        if before is None or before["file"] != line["file"]:
            yield _Row(line["file"], style="bold")
            yield from _leading(line["line"], 0, sources.get(line["file"]))
        else:
            yield from _between(before, line, sources)
        yield _source_row(line, sources)
        if instructions:
            yield from map(_instruction_row, below.get((line["file"], line["line"]), []))
        before = line
    if lost:
        yield _Row("instructions without a source line", style="bold")
        yield from map(_instruction_row, lost) if instructions else _joined(lost)


def _source_row(line: AnnotatedLine, sources: Mapping[str, Source]) -> _Row:
    text = line["text"]
    if not text and line["file"] in sources:
        text = sources[line["file"]].text(line["line"]) or ""
    return _Row(text, str(line["line"]), line["runs"], line["cost"])


def _between(
    before: AnnotatedLine, after: AnnotatedLine, sources: Mapping[str, Source]
) -> Iterator[_Row]:
    """Yield the source lines between two lines that have instructions.

    If there are too many or their text is unknown, yield `...`, and only the last lines before
    `after`.
    """
    numbers = range(before["line"] + 1, after["line"])
    source = sources.get(before["file"])
    texts = [None if source is None else source.text(number) for number in numbers]
    if len(numbers) > _FILL or None in texts:
        yield _Row("...", style="dim")
        yield from _leading(after["line"], before["line"], source)
        return
    for number, text in zip(numbers, texts, strict=True):
        yield _Row(text or "", str(number), style="dim")


def _leading(line: int, above: int, source: Source | None) -> Iterator[_Row]:
    """Yield up to `_LEAD` source lines directly above `line`, such as the head of a function.

    Only lines below the line `above` are included, and none beyond the nearest blank line.
    """
    texts = list[tuple[int, str]]()
    while source is not None and len(texts) < _LEAD and line - 1 > above:
        line -= 1
        text = source.text(line)
        if not text:
            break
        texts.append((line, text))
    for number, text in reversed(texts):
        yield _Row(text, str(number), style="dim")


def _instruction_row(entry: AnnotatedInstruction) -> _Row:
    text = f"{_INDENT}.{entry['instruction']:<5} {entry['text']}"
    return _Row(text, "", entry["runs"], entry["cost"])


def _joined(entries: Sequence[AnnotatedInstruction]) -> Iterator[_Row]:
    """Yield a row for each group of consecutive instructions with equal execution counts."""
    group = list[AnnotatedInstruction]()
    for entry in entries:
        last = group[-1] if group else entry
        adjacent = last["instruction"] + 1 == entry["instruction"] and last["runs"] == entry["runs"]
        if group and not adjacent:
            yield _group_row(group)
            group = []
        group.append(entry)
    yield _group_row(group)


def _group_row(group: Sequence[AnnotatedInstruction]) -> _Row:
    first, last = group[0], group[-1]
    text = f".{first['instruction']}"
    if last is not first:
        text += f"-.{last['instruction']}"
    total = {name: sum(entry["cost"][name] for entry in group) for name in first["cost"]}
    return _Row(_INDENT + text, "", first["runs"], total)


def _bare(entries: Sequence[AnnotatedInstruction]) -> Iterator[_Row]:
    """Yield a row for each instruction of a program without debug information.

    Instructions that the path does not execute are joined.
    """
    idle = list[AnnotatedInstruction]()
    for entry in entries:
        if not entry["runs"]:
            idle.append(entry)
            continue
        yield from _idle(idle)
        idle.clear()
        yield _bare_row(entry)
    yield from _idle(idle)


def _idle(entries: Sequence[AnnotatedInstruction]) -> Iterator[_Row]:
    if len(entries) <= _FOLD:
        yield from map(_bare_row, entries)
    else:
        yield _Row(f"... {len(entries)} instructions that are not on the path", style="dim")


def _bare_row(entry: AnnotatedInstruction) -> _Row:
    return _Row(one_line(entry["text"]), f".{entry['instruction']}", entry["runs"], entry["cost"])
