"""Costs of source lines and instructions on the slowest path, as data.

The costs come from the engine and add up to the path's; here they are put beside the code that is
not on the path, and lines that several functions have inlined are joined.

A file is used only when every line that the object does carry stands in it unchanged.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypedDict

from slowpath.core.errors import InputError
from slowpath.core.inputs import read_text
from slowpath.core.schema.derived import main_component
from slowpath.core.schema.results import Detail, Profile, Result, Verdict

Costs = dict[str, float]

_DECIMALS = 9
"""The engine counts in billionths of a cycle at the finest."""


class AnnotatedLine(TypedDict):
    """A source line that has instructions, on the path or not; functions joined."""

    file: str
    """The file, as the debug information names it."""
    line: int
    """Number of the line."""
    text: str
    """Text of the line; empty when the object does not have it."""
    runs: int
    """How often the path executes the instruction of the line that it executes most."""
    instructions: int
    """How many instructions of the line the path executes."""
    share: float
    """Of the path's cost on `component`, from 0 to 1."""
    cost: Costs
    """Of all its runs, by component."""


class AnnotatedInstruction(TypedDict):
    """An instruction of the program, on the path or not."""

    instruction: int
    """Its number."""
    text: str
    """How it is written."""
    file: str | None
    """The file of its source line; null where it is not known."""
    line: int | None
    """The number of that line; null where it is not known."""
    runs: int
    """How often the path executes it."""
    share: float
    """Of the path's cost on `component`, from 0 to 1."""
    cost: Costs
    """Of all its runs, by component."""


class Annotation(TypedDict):
    """A program with the costs of the path behind its guarantee.

    While the verdict is `bound`, the costs are of the path that sets the bound.
    """

    file: str
    """As in a result of `bound`."""
    section: str | None
    """As in a result of `bound`."""
    program: str
    """As in a result of `bound`."""
    target: str
    """As in a result of `bound`."""
    metric: str
    """As in a result of `bound`."""
    verdict: Verdict | None
    """As in `guarantee`; null after an error."""
    exact: bool
    """Whether `verdict` is `exact`."""
    assumptions: list[str]
    """As in a result of `bound`."""
    stopped: str | None
    """As in `guarantee`."""
    component: str | None
    """Whose cost the shares are of: the slowest component that the path loads, or the one that
    `metric` names; null after an error."""
    cost: Costs
    """As in `profile`; empty after an error."""
    overhead: Costs
    """As in `profile`; empty after an error."""
    lines: list[AnnotatedLine]
    """All source lines that have instructions. Files in the order in which the path reaches them,
    lines by number."""
    instructions: list[AnnotatedInstruction]
    """All instructions of the program."""
    error: str | None
    """As in a result of `bound`."""


Place = tuple[str, int]
"""File and line."""


def add_costs(parts: Iterable[Mapping[str, float]], like: Mapping[str, float]) -> Costs:
    """The sum by component, of the components that `like` has."""
    total: Costs = dict.fromkeys(like, 0)
    for part in parts:
        for name, cost in part.items():
            total[name] = total.get(name, 0) + cost
    return {name: _tidy(cost) for name, cost in total.items()}


def _tidy(cost: float) -> float:
    rounded = round(cost, _DECIMALS)
    return int(rounded) if rounded == int(rounded) else rounded


def annotation(result: Result, detail: Detail) -> Annotation:
    """The program with its costs; empty when it has no guarantee."""
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
    }
    if profile is None or component is None:
        return annotated
    annotated["cost"], annotated["overhead"] = profile["cost"], profile["overhead"]
    annotated["instructions"] = _instructions(profile, detail, component)
    annotated["lines"] = _lines(profile, detail, component)
    return annotated


def share_of(cost: Mapping[str, float], whole: Mapping[str, float], component: str) -> float:
    """The part of the whole cost on a component, from 0 to 1."""
    total = whole[component]
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
    """Files in the order in which the path reaches them, those that it does not reach last."""
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


class Source(NamedTuple):
    """The lines of a source file, or why they are not used."""

    lines: Sequence[str]  # empty: there is no such file
    remark: str | None

    def text(self, line: int) -> str | None:
        """The text of a line, counted from 1; None when it is not known."""
        return self.lines[line - 1] if 0 < line <= len(self.lines) else None


def find_sources(annotated: Annotation) -> dict[str, Source]:
    """By file as debug information names it, the sources of a program, used or not."""
    known = dict[str, dict[int, str]]()
    for line in annotated["lines"]:
        known.setdefault(line["file"], {})[line["line"]] = line["text"]
    return {file: find_source(file, annotated["file"], lines) for file, lines in known.items()}


def find_source(file: str, program: str, known: Mapping[int, str]) -> Source:
    """The source file that debug information calls `file`, of the program in the file `program`.

    It is looked for under its name and beside the program. `known` are lines as the object has
    them.
    """
    remark = None
    folder = Path(program).parent
    for candidate in dict.fromkeys((Path(file), folder / file, folder / Path(file).name)):
        if not candidate.is_file():
            continue
        try:
            lines = [_printed(line) for line in read_text(str(candidate)).split("\n")]
        except InputError as problem:
            remark = f"{problem}; only the lines in the object are shown"
            continue
        wrong = next((n for n, text in known.items() if not _agrees(lines, n, text)), None)
        if wrong is None:
            return Source(lines, None)
        remark = (
            f"{candidate} is not what the object was compiled from: line {wrong} differs; only the "
            "lines in the object are shown"
        )
    return Source((), remark)


def _printed(line: str) -> str:
    """A line as the engine delivers those of the object."""
    return line.rstrip().replace("\t", "    ")


def _agrees(lines: Sequence[str], number: int, text: str) -> bool:
    if not text:
        return number <= len(lines)  # not in the object: nothing to hold against
    return number <= len(lines) and lines[number - 1].split() == text.split()
