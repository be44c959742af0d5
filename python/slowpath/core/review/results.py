"""Makes findings from results of analyses: their words, and the lines of the slowest path."""

from collections.abc import Sequence
from itertools import groupby

from slowpath.core.review.findings import Case, Finding, Place, Step
from slowpath.core.review.places import Names, is_relative
from slowpath.core.schema.derived import (
    cost_words,
    counted,
    is_count,
    main_component,
    metric_rate,
    metric_words,
    rate_metric,
)
from slowpath.core.schema.rates import format_estimated_rate, format_rate
from slowpath.core.schema.results import ProfileLine, Result

_LONGEST = 500
"""Maximum number of steps of a path in execution order. GitHub shows up to 1000."""
_Key = tuple[str, int]


def amount(cost: float) -> str:
    """Format a cost with at most two decimals."""
    return f"{cost:.2f}".rstrip("0").rstrip(".")


def program_name(result: Result) -> str:
    """Return the name of the program of a result, or of its file if there is none."""
    return result["program"] or result["file"]


def identity(result: Result, names: Names) -> tuple[str, ...]:
    """Return texts that identify a program, its target and its metric in all runs."""
    file = names.name(result["file"])
    return (file, result["section"] or "", result["program"], result["target"], result["metric"])


def file_place(result: Result, names: Names, line: int | None = None) -> Place:
    """Return the file of a program as a place."""
    return Place(names.name(result["file"]), line)


def guarantee_words(result: Result) -> str:
    """Return the guarantee of a result as a sentence without a full stop."""
    guarantee = result["guarantee"]
    if guarantee is None:
        return "nothing is guaranteed"
    if is_count(result):
        count = counted(guarantee["counts"] or {}, result["metric"])[1]
        value = f"at most {count} {metric_words(result['metric'])} per packet"
    else:
        metric = rate_metric(result)
        value = f"at least {format_rate(metric_rate(guarantee, metric), metric)}"
    words = {
        "exact": "exact",
        "conditional": "exact if its assumptions hold",
        "bound": f"a bound, because the search stopped: {guarantee['stopped']}",
    }
    verdict = words.get(guarantee["verdict"] or "", "a bound")
    estimate = result["estimate"]
    rate = "" if estimate is None else f"; estimated {format_estimated_rate(estimate['cold'])}"
    return f"{value} ({verdict}){rate}"


class SlowestPath:
    """The source lines of the slowest path of a result, with their costs."""

    def __init__(self, result: Result, names: Names) -> None:
        """Find the lines; there are none without debug information."""
        self._result = result
        self._names = names
        self._component = main_component(result)
        profile = result["profile"]
        self._total = 0.0
        self._costs = dict[_Key, tuple[int, float]]()
        self._texts = dict[_Key, str]()
        if profile is not None and self._component is not None:
            self._total = profile["cost"].get(self._component, 0)
            for line in profile["lines"]:
                self._add(line, self._component)

    def _add(self, line: ProfileLine, component: str) -> None:
        """Add the cost of a line; lines that are inlined several times are joined."""
        key = (line["file"], line["line"])
        runs, cost = self._costs.get(key, (0, 0.0))
        self._costs[key] = (runs + line["runs"], cost + line["cost"].get(component, 0))
        self._texts[key] = line["text"]

    def place(self, file: str, line: int) -> Place:
        """Return a source line of the program as a place."""
        text = self._texts.get((file, line), "")
        return Place(self._names.name(file, self._result["file"]), line, text.strip())

    def costliest(self) -> Place:
        """Return the line in the repository that costs most, else the file of the program."""
        by_cost = sorted(self._costs, key=lambda key: -self._costs[key][1])
        places = (self.place(*key) for key in by_cost)
        inside = next((place for place in places if is_relative(place.file)), None)
        return inside or file_place(self._result, self._names)

    def words(self, file: str, line: int) -> str:
        """Return the executions and the cost of a line on the path."""
        if (file, line) not in self._costs or self._component is None:
            return "on the path"
        runs, cost = self._costs[file, line]
        unit = cost_words(self._component, self._result["metric"])
        share = f" ({100 * cost / self._total:.1f} %)" if self._total else ""
        times = "once" if runs == 1 else f"{runs} times"
        return f"executed {times}, {amount(cost)} {unit}{share}"

    def share_of_costliest(self) -> str:
        """Return a sentence about the costliest line; empty if no line is known."""
        place = self.costliest()
        key = next((key for key in self._costs if self.place(*key) == place), None)
        return "" if key is None else f"This line costs most: {self.words(*key)}."

    def steps(self) -> list[Step]:
        """Return the path as steps, as `path_lines` does; none if no path is known."""
        paths = self._result["paths"]
        if not paths:
            return []
        for line in paths[0]["lines"]:
            self._texts.setdefault((line["file"], line["line"]), line["text"])
        keys = path_lines(paths[0]["source"])
        return [Step(self.place(*key), self.words(*key)) for key in keys]


def path_lines(source: Sequence[tuple[str, int]]) -> list[tuple[str, int]]:
    """Return the lines of a path in order of execution; equal neighbours are joined.

    A long path has each line once, in the order in which it is reached first.
    """
    # Results that were read from JSON have lists.
    lines = [line for line, _ in groupby((file, number) for file, number in source)]
    return lines if len(lines) <= _LONGEST else list(dict.fromkeys(lines))[:_LONGEST]


def failed(result: Result, names: Names, line: int | None = None) -> Finding:
    """Return the finding about a program that could not be analysed."""
    reason = result["error"] or "no guarantee"
    place = file_place(result, names, line)
    key = identity(result, names)
    return Finding("not-analysed", "error", reason, place, key, cause=result["code"])


def guaranteed(result: Result, names: Names) -> Finding:
    """Return the finding with the guarantee of a program, at its costliest line."""
    slowest = SlowestPath(result, names)
    lines = [guarantee_words(result), slowest.share_of_costliest()]
    message = "\n".join(filter(None, lines))
    key = identity(result, names)
    return Finding("guarantee", "note", message, slowest.costliest(), key, slowest.steps())


def case_of(result: Result, names: Names, findings: Sequence[Finding]) -> Case:
    """Return the test case of a program with these findings."""
    return Case(
        names.name(result["file"]),
        program_name(result),
        result["target"],
        result["stats"]["seconds"],
        findings,
    )
