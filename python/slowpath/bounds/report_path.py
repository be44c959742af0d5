"""Formats the details of one path: source lines, loops, programs of a chain, estimated time."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Generic, NamedTuple, TypeVar

from slowpath.bounds.p4_terms import (
    header_lines,
    lookup_text,
    other_requirements,
    other_unknowns,
    parser_text,
    state_text,
    table_text,
)
from slowpath.core.printable import one_line
from slowpath.core.programs.packet import hex_dump, memory_dump, witness_bytes
from slowpath.core.quantities import significant, with_interval
from slowpath.core.schema.derived import (
    COLD_NS,
    DESCRIBED_PATHS,
    TIMES,
    USUAL_ENDS,
    condition,
    entries_words,
    is_found,
    parts_of_pipeline,
    verdict_of,
)
from slowpath.core.schema.rates import format_estimated_rate
from slowpath.core.schema.results import (
    Bound,
    Detail,
    DriverTime,
    Estimate,
    EstimatePart,
    MapContent,
    Named,
    PathDetail,
    PathLine,
    PathResult,
    PipelineWitness,
    RatedTime,
    Result,
    Stats,
    Stretch,
    Surroundings,
    Time,
    Unknown,
    Witness,
)
from slowpath.core.terminal import Line

LABEL = 13
"""Width of the labels on the left."""
INDENT = "  "


def labelled(label: str, text: str, style: str = "") -> Line:
    """Return a line about a result, with its label on the left."""
    return Line(f"{label:<{LABEL}}{text}", style)


def detail_line(label: str, text: str) -> Line:
    """Return a line about a path, indented and with its label on the left."""
    return Line(f"{INDENT}{label:<{LABEL + 1}}{text}")


def exactness(result: Result) -> str:
    """Describe the certainty of a guarantee: `exact`, or `exact if` with the first assumption.

    The search must have found the slowest path.
    """
    if verdict_of(result) != "conditional":
        return "exact"
    first, *others = result["assumptions"]
    more = f", and {count_of(len(others), 'more assumption')}" if others else ""
    return f"exact if {one_line(condition(first))}{more}"


def style_of(guarantee: Bound) -> str:
    """Return the style of a guarantee: green if it is exact without conditions, else yellow."""
    return "bold green" if guarantee["exact"] else "bold yellow"


def assumption_lines(result: Result) -> Iterator[Line]:
    """Yield a line for each assumption and note of a result.

    The first assumption is left out if `exactness` states it already.
    """
    stated = 1 if verdict_of(result) == "conditional" else 0
    for label, texts in (
        ("assuming", result["assumptions"][stated:]),
        ("note", result["notes"] or []),
    ):
        for number, text in enumerate(texts):
            yield labelled("" if number else label, f"- {one_line(text)}")


def all_paths(
    result: Result,
    detail: Detail,
    one_path: Callable[[Result, int, PathDetail], Iterator[Line]],
    value: Callable[[PathResult], str],
    *,
    verbose: bool,
) -> Iterator[Line]:
    """Yield the paths of a report, and the reason if the search ended early.

    Args:
        result: result with the paths.
        detail: details of the first paths.
        one_path: yields the lines about the path with an index.
        value: formats the cost by which paths are ordered, for paths without details.
        verbose: true to add all instructions of the paths, and statistics of the search.
    """
    if not result["paths"]:
        yield Line("")
        yield Line("No path is known yet that a packet can take, so there is no witness.")
    # A killed analysis has no details of its paths.
    described = detail["paths"][: min(len(result["paths"]), DESCRIBED_PATHS)]
    for index, each in enumerate(described):
        yield Line("")
        yield from one_path(result, index, each)
        if verbose:
            yield from listing_lines(each)
    more = result["paths"][len(described) :]
    if more:
        first, last = value(more[0]), value(more[-1])
        values = first if first == last else f"from {first} to {last}"
        yield Line("")
        yield Line(
            f"{count_of(len(more), 'more satisfiable path')}, {values}; --format json lists all"
        )
    guarantee = result["guarantee"]
    if guarantee is not None and is_found(guarantee) and guarantee["stopped"] is not None:
        yield Line("")
        yield Line(f"There may be more paths; the search stopped: {guarantee['stopped']}")
    if verbose:
        yield from stats_lines(result["stats"])


def path_title(result: Result, index: int) -> str:
    """Return the title of a path, with its number if the report has several.

    Only a path that is proved to be the slowest gets the title `slowest path`.
    """
    guarantee, count = result["guarantee"], len(result["paths"])
    proven = guarantee is not None and is_found(guarantee)
    title = "slowest path" if proven and index == 0 else "satisfiable path"
    return f"{title} {index + 1} of {count}" if count > 1 else title


def witness_lines(path: PathResult, kind: str | None) -> Iterator[Line]:
    """Yield the witness of a path: a packet, map content and other values that lead to the path.

    `kind` is the type of the program. For P4 programs, the lines show headers and table entries
    instead of map content.
    """
    witness = path["witness"]
    yield detail_line("witness", f"a packet of {witness['length']} bytes; -- is any byte")
    for row in hex_dump(witness_bytes(witness), kind):
        yield Line(f"{INDENT * 2}{row}")
    if "p4" in witness:
        view = witness["p4"]
        yield detail_line("parser", one_line(parser_text(view)))
        for header in view["headers"]:
            yield from (Line(f"{INDENT * 2}{one_line(row)}") for row in header_lines(header))
        for number, run in enumerate(view["tables"]):
            yield detail_line("" if number else "tables", one_line(table_text(run)))
        if view["unknown"] is not None:
            yield detail_line("then unknown", one_line(view["unknown"]))
    for name, entries in witness["maps"].items():
        if not entries:
            continue
        yield detail_line("map content", f"{name}; unlisted entries are arbitrary")
        yield from (Line(f"{INDENT * 2}{row}") for row in map_rows(witness, name))
    requirements = other_requirements(witness)
    if requirements:
        yield detail_line("at the start", "required in addition to the packet")
    for value in requirements:
        yield Line(f"{INDENT * 2}{one_line(given_text(value))}")
    if "pipeline" in witness:
        yield from _pipeline_lines(witness["pipeline"])
    unknowns = other_unknowns(witness)
    if unknowns:
        yield detail_line("results", "required from instructions, in order")
    for unknown in unknowns:
        yield Line(f"{INDENT * 2}{one_line(unknown_text(unknown))}")


def _pipeline_lines(pipeline: PipelineWitness) -> Iterator[Line]:
    """Yield the table entries that a pipeline needs on a path, and the packet that it sends."""
    if pipeline["initial_state"]:
        yield detail_line("earlier", "packets leave this content")
    for field in pipeline["initial_state"]:
        yield Line(f"{INDENT * 2}{one_line(state_text(field))}")
    if pipeline["entries"]:
        yield detail_line("tables", "lookups in order, with the entries that they need")
    for lookup in pipeline["entries"]:
        yield Line(f"{INDENT * 2}{one_line(lookup_text(lookup))}")
    output = pipeline["output"]
    if output is None:
        yield detail_line("output", "none, because the pipeline drops the packet")
        return
    packet = bytes.fromhex(output)
    yield detail_line(
        "output", f"a packet of {len(packet)} bytes; 00 for each byte of any value in the input"
    )
    for row in hex_dump(packet):
        yield Line(f"{INDENT * 2}{row}")


def given_text(given: Named | Surroundings) -> str:
    """Format an initial value that a path requires: a named value, or bytes of memory."""
    if "memory" in given:
        return f"{given['memory']}, from byte {given['offset']}: {given['bytes']}"
    return f"{given['name']} = {given['value']}"


def unknown_text(unknown: Unknown) -> str:
    """Format an instruction result that a path requires: instruction, call, and result."""
    place = f".{unknown['instruction']}"
    if unknown["line"] is not None:
        place += f" ({unknown['file']}:{unknown['line']})"
    if unknown["call"] is None:
        return f"{place} {unknown['text']} -> {unknown['value']:#x}"
    return f"{place} {unknown['call']}: {unknown['result']} -> {unknown['meaning']}"


def map_rows(witness: Witness, name: str) -> Iterator[str]:
    """Yield the lines about the content of a map: table entries of a P4 program, or raw bytes."""
    shown = witness["p4"]["entries"].get(name) if "p4" in witness else None
    if shown is not None:
        yield from map(one_line, shown)
        return
    for entry in witness["maps"][name]:
        yield from content_rows(entry)


def content_rows(content: MapContent) -> Iterator[str]:
    """Yield the lines about one entry in a map's content: a memory dump, or one line."""
    if "offset" in content:
        yield from memory_dump(content["offset"], content["bytes"])
    elif "others" in content:
        yield count_of(content["others"], "other element")
    elif "value" not in content:
        if "key" in content:
            yield f"{content['key']} -> map {content['map']}"
        elif "max_entries" in content:
            yield f"map {content['map']} with room for {content['max_entries']}"
    elif "key" not in content:
        yield f"next -> {_value_text(content['value'])}"
    else:
        inside = f"{content['map']} " if "map" in content else ""
        yield f"{inside}{content['key']} -> {_value_text(content['value'])}"


def _value_text(value: str | dict[str, str] | None) -> str:
    """Format a value in a map.

    A dictionary gives only the bytes that the path depends on, by offset; None means that the map
    has no entry.
    """
    if isinstance(value, dict):
        pieces = (f"{bytes_} at {offset}" for offset, bytes_ in value.items())
        return ", ".join(pieces) or "anything"
    return "no entry" if value is None else value


def listing_lines(detail: PathDetail) -> Iterator[Line]:
    """Yield the instructions of a path in program order, each with its number of executions."""
    counts = Counter(number for number, _ in detail["listing"])
    texts = dict(detail["listing"])
    yield detail_line("listing", "times executed, number of the instruction, instruction")
    before = -1
    for number in sorted(texts):
        if number != before + 1:
            yield Line(f"{INDENT * 2}{'...':>6}")
        yield Line(f"{INDENT * 2}{counts[number]:>6}  .{number:<5} {one_line(texts[number])}")
        before = number


def stats_lines(stats: Stats) -> Iterator[Line]:
    """Yield the statistics of the search for the slowest path."""
    yield Line("")
    yield Line(
        f"search: {count_of(stats['candidates'], 'path')} tried, {stats['sat']} satisfiable, "
        f"{stats['unsat']} not; {count_of(stats['nogoods'], 'conflict')}; {stats['seconds']:.2f} "
        f"s, of which the solver took {stats['solver_seconds']:.2f} s"
    )


def count_of(number: int, noun: str) -> str:
    """Format a number with its noun, in the plural if needed."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def format_counts(counts: Mapping[str, float]) -> str:
    """Format counts by name; a count of 1 gets the singular: `1 instruction, 2 memory accesses`."""
    texts = []
    for name, count in counts.items():
        noun = name.removesuffix("es") if name.endswith("sses") else name.removesuffix("s")
        texts.append(f"{int(count)} {noun if count == 1 else name}")
    return ", ".join(texts)


Range = tuple[int, int]
"""Numbers of the first and last instruction of a sequence that is executed in order."""

_LONGEST_BODY = 64
"""Maximum number of ranges in a folded loop body; loops with longer bodies are written out."""

T = TypeVar("T")


class Repeat(NamedTuple, Generic[T]):
    """A sequence of items (`body`) that occurs `times` times in a row."""

    body: tuple[T, ...]
    times: int


def join_adjacent(ranges: Sequence[Range]) -> list[Range]:
    """Join ranges of instruction indices if one ends directly before the next."""
    joined: list[Range] = []
    for first, last in ranges:
        if joined and joined[-1][1] + 1 == first:
            joined[-1] = (joined[-1][0], last)
        else:
            joined.append((first, last))
    return joined


def fold_repeats(ranges: Sequence[T], longest: int = _LONGEST_BODY) -> list[Repeat[T]]:
    """Replace adjacent copies of a sequence by one `Repeat`.

    At each position, the repetition that covers most items is chosen. A repeated sequence has at
    most `longest` items.
    """
    folded: list[Repeat[T]] = []
    at = 0
    while at < len(ranges):
        best = Repeat((ranges[at],), 1)
        for size in range(1, min(longest, (len(ranges) - at) // 2) + 1):
            body = tuple(ranges[at : at + size])
            count = 1
            while tuple(ranges[at + count * size : at + (count + 1) * size]) == body:
                count += 1
            if count > 1 and count * size > best.times * len(best.body):
                best = Repeat(body, count)
        folded.append(best)
        at += best.times * len(best.body)
    return folded


def format_ranges(ranges: Sequence[Range]) -> str:
    """Format ranges of instructions, with repetitions: `0-12, (13-20, 25-27) x160, 30`."""
    parts = []
    for body, times in fold_repeats(join_adjacent(ranges)):
        text = ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in body)
        if times > 1:
            text = f"{text} x{times}" if len(body) == 1 else f"({text}) x{times}"
        parts.append(text)
    return ", ".join(parts)


_LONGEST_LOOP = 512
"""Maximum length of a folded loop body, as a number of stretches.

A stretch consists of consecutive instructions of one source line.
"""
_NESTING = 3
"""Maximum depth of nested loops that are folded."""


class Part(NamedTuple):
    """Consecutive instructions of one source line, executed in a row on a path."""

    line: int | None  # index into the lines of the path; None: unknown line
    span: tuple[int, int] | None  # first and last instruction, only if the line is unknown
    instructions: int  # their number


class Group(NamedTuple):
    """A loop on a path: a sequence of source lines and inner loops that is executed repeatedly."""

    body: tuple["Node", ...]
    times: int


Node = Part | Group


def fold(stretches: Sequence[Stretch]) -> list[Node]:
    """Find loops on a path: replace repeated sequences of source lines, including nested ones.

    A stretch is a run of consecutive instructions with one source line.
    """
    return _fold([_part(stretch) for stretch in stretches])


def _fold(nodes: list[Node]) -> list[Node]:
    for _ in range(_NESTING):
        folded = fold_repeats(nodes, _LONGEST_LOOP)
        if all(repeat.times == 1 for repeat in folded):
            break
        nodes = [node for repeat in folded for node in _nodes(repeat)]
    return nodes


def _part(stretch: Stretch) -> Part:
    span = (stretch["first"], stretch["last"]) if stretch["line"] is None else None
    return Part(stretch["line"], span, stretch["instructions"])


def _nodes(repeat: Repeat[Node]) -> tuple[Node, ...]:
    if repeat.times == 1:
        return repeat.body
    return (Group(tuple(_fold(list(repeat.body))), repeat.times),)


def source_lines(path: PathResult, detail: PathDetail) -> Iterator[Line]:
    """Yield a table of source lines in order of execution, each with its instruction count."""
    nodes = fold(detail["stretches"])
    places = {_place(path["lines"], part): None for part in _parts(nodes)}
    width = max(map(len, places), default=0)
    yield Line(f"  {'insns':>7}  source line", "bold")
    for text in _rows(nodes, path["lines"], width, 0):
        yield Line(f"  {text}".rstrip())


def _parts(nodes: Sequence[Node]) -> Iterator[Part]:
    for node in nodes:
        if isinstance(node, Part):
            yield node
        else:
            yield from _parts(node.body)


def _place(lines: Sequence[PathLine], part: Part) -> str:
    if part.line is None:
        first, last = part.span or (0, 0)
        return f".{first}" if first == last else f".{first}-.{last}"
    line = lines[part.line]
    return one_line(f"{line['file'].rpartition('/')[2]}:{line['line']}")


def _rows(
    nodes: Sequence[Node], lines: Sequence[PathLine], width: int, depth: int
) -> Iterator[str]:
    margin = "| " * depth
    for node in nodes:
        if isinstance(node, Group):
            yield f"{f'× {node.times}':>7}  {margin}".rstrip()  # noqa: RUF001 - the sign is meant
            yield from _rows(node.body, lines, width, depth + 1)
            continue
        text = "" if node.line is None else one_line(lines[node.line]["text"].strip())
        yield f"{node.instructions:>7}  {margin}{_place(lines, node):<{width}}  {text}".rstrip()


_SMALL = 10.0
"""Times below this number of nanoseconds are printed with one decimal."""


def estimate_lines(result: Result) -> Iterator[Line]:
    """Yield lines about the estimated time of the slowest path; nothing without an estimate.

    First comes the program's own time, with few entries in maps and with many. Then follow the
    costs that no estimate includes, such as receiving packets.
    """
    estimate = result["estimate"]
    if estimate is None:
        return
    warm, cold = estimate["warm"], estimate["cold"]
    parts = parts_of_pipeline(result)
    word = "table" if parts else "map"
    if _same(warm, cold):
        yield labelled("estimated", f"{_rated(warm)}; no lookup depends on {word} entries", "bold")
    else:
        yield labelled("estimated", f"{_rated(warm)}; few {word} entries, warm caches", "bold")
        many = entries_words(cold, f"{word}s")
        yield labelled("", f"{_rated(cold)}; {many}, cold caches", "bold")
    if parts:
        yield labelled("", f"most of it: {', '.join(map(_estimated_part, parts[:_PARTS]))}")
        around = f"{format_ns(estimate['loop_ns'])} with ports in memory"
        yield labelled("", f"without receiving and sending ({around})")
    else:
        loop = f"loop of test runs ({format_ns(estimate['loop_ns'])})"
        yield labelled("", f"without receiving, redirecting, sending, and without the {loop}")
    driver = estimate["driver"]
    if driver is not None:
        yield labelled(
            "", f"receiving and dropping: {format_ns(driver['ns'])} more {_published(driver)}"
        )
        yield labelled(
            "", "not included: redirect or transmit (no published number for this driver)"
        )
    yield labelled("", one_line(f"on {estimate['machine']}, measured {estimate['date']}"))
    if estimate["foreign_cpu"] is not None:
        foreign = estimate["foreign_cpu"]
        reason = f"this CPU is of another family: {foreign}"
        yield labelled("", one_line(f"wider intervals, because {reason}"))
    elif is_wide(estimate):
        yield labelled(
            "", "wide intervals: they cover 90 % of the programs compared with the calibration"
        )
    yield labelled("", _looked_at(estimate["candidates"], estimate["stopped"]))


_PARTS = 4
"""Number of the most expensive kinds of instructions that are printed."""


def _estimated_part(part: EstimatePart) -> str:
    """Format the time of instructions or lookups of one kind: count, name, time (`8 mov 41 ns`)."""
    return f"{part['runs']} {part['part']} {format_ns(part['cold_ns'])}"


def _published(driver: DriverTime) -> str:
    """Format the name of a driver whose time is published, with the publication."""
    source = driver["source"].removeprefix("https://")
    return one_line(f"with {driver['name']} (published, {source})")


def _same(one: RatedTime, other: RatedTime) -> bool:
    """Return true if two times and their intervals would be printed with equal digits."""

    def digits(time: RatedTime) -> list[str]:
        return [significant(value) for value in (time["ns"], time["low_ns"], time["high_ns"])]

    return digits(one) == digits(other)


def _rated(time: RatedTime) -> str:
    """Format a time with its interval, and the rate on one core: `38 ns (34 to 47), 26 Mpps`."""
    return f"{format_time(time)}, {format_estimated_rate(time)} on one core"


def is_wide(estimate: Estimate) -> bool:
    """Return true if an estimate is less precise than those of good calibrations.

    Its interval is then wider than `USUAL_ENDS`.
    """
    warm, loop = estimate["warm"], estimate["loop_ns"]
    low, high = ((warm["ns"] + loop) * end - loop for end in USUAL_ENDS)
    slack = _ROUNDED * (warm["ns"] + loop)
    return warm["low_ns"] < max(low, 0.0) - slack or warm["high_ns"] > high + slack


_ROUNDED = 0.002
"""Tolerance for rounding, as a share of the estimate.

The interval is rounded to thousandths of the estimate, and the estimate itself to picoseconds.
"""


def _looked_at(candidates: int, stopped: str | None) -> str:
    if candidates == 1:
        text = "only one path was estimated"
    else:
        text = f"the slowest of {count_of(candidates, 'path')} that were estimated"
    return text if stopped is None else f"{text}; the search for others stopped: {stopped}"


def format_time(time: Time) -> str:
    """Format an estimated time with its interval: `61 ns (54 to 69)`."""
    value, low, high = with_interval(time["ns"], time["low_ns"], time["high_ns"])
    return f"{value} ns ({low} to {high})"


def format_ns(nanoseconds: float) -> str:
    """Format nanoseconds, with one decimal if they are below 10."""
    return f"{_number(nanoseconds)} ns"


def _number(nanoseconds: float) -> str:
    return f"{nanoseconds:.1f}" if nanoseconds < _SMALL else f"{nanoseconds:,.0f}"


def program_lines(result: Result) -> Iterator[Line]:
    """Yield a line with the cost of each program in a chain, in the order of execution.

    A chain consists of programs that process a packet one after the other.
    """
    profile = result["profile"]
    programs = (profile["programs"] if profile is not None else None) or []
    names = [one_line(part["program"]) for part in programs]
    width = max(map(len, names), default=0)
    for number, (name, part) in enumerate(zip(names, programs, strict=True)):
        label = "" if number else "by program"
        yield labelled(label, f"{name:<{width}}  {_cost(part['cost'])}")


def _cost(cost: Mapping[str, float]) -> str:
    """Format a program's costs: first the estimated times, if any, then the counts."""
    counts = {name: count for name, count in cost.items() if name not in TIMES}
    times = [
        f"{format_ns(cost[name])} {'cold' if name == COLD_NS else 'warm'}"
        for name in TIMES
        if name in cost
    ]
    return ", ".join([*times, format_counts(counts)])
