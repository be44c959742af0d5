"""The lines about one path that reports of all kinds of targets have."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping

from slowpath.cli.printable import one_line
from slowpath.cli.terminal import Line
from slowpath.packet.witness import hex_dump, memory_dump, witness_bytes
from slowpath.schema.derived import is_found, verdict_of
from slowpath.schema.results import (
    DESCRIBED_PATHS,
    Bound,
    Detail,
    MapContent,
    Named,
    PathDetail,
    PathResult,
    Result,
    Stats,
    Surroundings,
    Unknown,
)
from slowpath.schema.wording import condition

LABEL = 13
"""Width of the labels at the left."""
INDENT = "  "


def labelled(label: str, text: str, style: str = "") -> Line:
    """A line about a result."""
    return Line(f"{label:<{LABEL}}{text}", style)


def detail_line(label: str, text: str) -> Line:
    """A line about a path."""
    return Line(f"{INDENT}{label:<{LABEL + 1}}{text}")


def exactness(result: Result) -> str:
    """How exact the guarantee of a slowest path is: with the first condition, if there are any."""
    if verdict_of(result) != "conditional":
        return "exact"
    first, *others = result["assumptions"]
    more = f", and {count_of(len(others), 'more assumption')}" if others else ""
    return f"exact if {one_line(condition(first))}{more}"


def style_of(guarantee: Bound) -> str:
    """The style of a guarantee: only what is exact without conditions is all good."""
    return "bold green" if guarantee["exact"] else "bold yellow"


def assumption_lines(result: Result) -> Iterator[Line]:
    """What a guarantee depends on, but for what `exactness` says, and what else is to be known."""
    said = 1 if verdict_of(result) == "conditional" else 0
    for label, texts in (
        ("assuming", result["assumptions"][said:]),
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
    """The paths of a report, each as `one_path` describes it, and how the search ended.

    `value` is what the paths are ordered by, in words.
    """
    if not result["paths"]:
        yield Line("")
        yield Line("No satisfiable path is known yet: there is no witness.")
    # An analysis that was ended by force has described none of its paths.
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
            f"{count_of(len(more), 'more satisfiable path')}, {values}; --format json has them all"
        )
    guarantee = result["guarantee"]
    if guarantee is not None and is_found(guarantee) and guarantee["stopped"] is not None:
        yield Line("")
        yield Line(f"There may be more paths; the search stopped: {guarantee['stopped']}")
    if verbose:
        yield from stats_lines(result["stats"])


def witness_lines(path: PathResult) -> Iterator[Line]:
    """The packet, map content and values that a path needs."""
    witness = path["witness"]
    yield detail_line("witness", f"a packet of {witness['length']} bytes; -- is any byte")
    for row in hex_dump(witness_bytes(witness)):
        yield Line(f"{INDENT * 2}{row}")
    for name, entries in witness["maps"].items():
        if not entries:
            continue
        yield detail_line("map content", f"{name}; what is not listed may be anything")
        for entry in entries:
            yield from (Line(f"{INDENT * 2}{row}") for row in _content_rows(entry))
    if witness["environment"]:
        yield detail_line("at the start", "besides the packet")
    for given in witness["environment"] or []:
        yield Line(f"{INDENT * 2}{one_line(given_text(given))}")
    if witness["unknowns"]:
        yield detail_line("results", "that instructions have to yield, in order")
    for unknown in witness["unknowns"]:
        yield Line(f"{INDENT * 2}{one_line(unknown_text(unknown))}")


def given_text(given: Named | Surroundings) -> str:
    """What has to be so before the first instruction."""
    if "memory" in given:
        return f"{given['memory']}, from byte {given['offset']}: {given['bytes']}"
    return f"{given['name']} = {given['value']}"


def unknown_text(unknown: Unknown) -> str:
    """What an instruction has to yield: where, which call, which of its results, and the value."""
    place = f".{unknown['instruction']}"
    if unknown["line"] is not None:
        place += f" ({unknown['file']}:{unknown['line']})"
    if unknown["call"] is None:
        return f"{place} {unknown['text']} -> {unknown['value']:#x}"
    return f"{place} {unknown['call']}: {unknown['result']} -> {unknown['meaning']}"


def _content_rows(content: MapContent) -> Iterator[str]:
    """What a map holds: a dump of memory, or one line."""
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
    """The value of an element; of a large one, the bytes that matter."""
    if isinstance(value, dict):
        pieces = (f"{bytes_} at {offset}" for offset, bytes_ in value.items())
        return ", ".join(pieces) or "anything"
    return "no entry" if value is None else value


def listing_lines(detail: PathDetail) -> Iterator[Line]:
    """The instructions of a path in the order of the program, and how often each is executed."""
    counts = Counter(number for number, _ in detail["listing"])
    texts = dict(detail["listing"])
    yield detail_line("listing", "executed times, number, instruction")
    before = -1
    for number in sorted(texts):
        if number != before + 1:
            yield Line(f"{INDENT * 2}{'...':>6}")
        yield Line(f"{INDENT * 2}{counts[number]:>6}  .{number:<5} {one_line(texts[number])}")
        before = number


def stats_lines(stats: Stats) -> Iterator[Line]:
    """What the search did."""
    yield Line("")
    yield Line(
        f"search: {count_of(stats['candidates'], 'path')} tried, {stats['sat']} satisfiable, "
        f"{stats['unsat']} not; {count_of(stats['nogoods'], 'nogood')}; {stats['seconds']:.2f} s, "
        f"of which solver {stats['solver_seconds']:.2f} s"
    )


def count_of(number: int, noun: str) -> str:
    """A number and what it counts."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def format_counts(counts: Mapping[str, float]) -> str:
    """Counts with the names of what is counted, which are plurals."""
    texts = []
    for name, count in counts.items():
        noun = name.removesuffix("es") if name.endswith("sses") else name.removesuffix("s")
        texts.append(f"{int(count)} {noun if count == 1 else name}")
    return ", ".join(texts)
