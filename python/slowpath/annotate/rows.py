"""Computes the cost of each source line and instruction on the slowest path.

The costs come from the engine and add up to the cost of the path. This module adds rows for code
that the path does not execute, and joins lines that are inlined into several functions.
"""

from collections.abc import Iterable, Mapping

from slowpath.annotate.documents import AnnotatedInstruction, AnnotatedLine, Annotation, Costs
from slowpath.bounds.source_files import Source, find_source
from slowpath.core.schema.derived import main_component
from slowpath.core.schema.results import Detail, Profile, Result

_DECIMALS = 9
"""Precision of the engine's costs: billionths of a cycle."""


Place = tuple[str, int]
"""A source location: file and line."""


def add_costs(parts: Iterable[Mapping[str, float]], like: Mapping[str, float]) -> Costs:
    """Return the sum of costs by component; components of `like` without a cost get 0."""
    total: Costs = dict.fromkeys(like, 0)
    for part in parts:
        for name, cost in part.items():
            total[name] = total.get(name, 0) + cost
    return {name: _tidy(cost) for name, cost in total.items()}


def _tidy(cost: float) -> float:
    rounded = round(cost, _DECIMALS)
    return int(rounded) if rounded == int(rounded) else rounded


def annotation(result: Result, detail: Detail) -> Annotation:
    """Return the costs of a program's lines and instructions; no rows without a guarantee."""
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
    """Return the share of a cost in the total cost, from 0 to 1, for one component."""
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
    """Return a row for each source line, by file and number.

    Files without code on the slowest path come last.
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
    """Return the source files of a program, by their names in the debug information."""
    known = dict[str, dict[int, str]]()
    for line in annotated["lines"]:
        known.setdefault(line["file"], {})[line["line"]] = line["text"]
    return {file: find_source(file, annotated["file"], lines) for file, lines in known.items()}
