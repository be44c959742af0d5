"""Turns results of analyses into findings for code review, such as a missed requirement.

A command collects its findings in a `Review`, and the module `review` formats it.

Files are named relative to the root of the repository, as hosts of code reviews expect. Debug
information has the names that the compiler got, or absolute paths of the machine that compiled.
Both can differ from the checkout in which the command runs.
"""

import hashlib
import os.path
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Literal, NamedTuple

from slowpath.core.code_texts import BY_CODE, ENTRIES, Entry
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
from slowpath.core.terminal import address_of

Level = Literal["error", "warning", "note"]
"""Severity of a finding. `error` makes a gate fail; `warning` is a change for the worse; `note`
states a result."""


class Rule(NamedTuple):
    """A kind of finding, with its documentation. The cause of a failed analysis is a rule, too."""

    code: str  # `SP1302`
    id: str
    title: str  # in a few words
    level: Level  # usual level of the findings
    text: str  # its meaning, in sentences
    remedy: str  # advice, in sentences

    @property
    def name(self) -> str:
        """The rule's identifier in CamelCase, as SARIF requires it: `MissedRequirement`."""
        return "".join(word.capitalize() for word in self.id.split("-"))


def _rule(one: Entry) -> Rule:
    return Rule(one.code, one.name, one.title, one.level, one.cause, one.remedy)


RULES = tuple(_rule(one) for one in ENTRIES if one.kind == "finding")
"""All kinds of findings, in a fixed order."""
_BY_ID = {rule.id: rule for rule in RULES}


def rule_of(name: str) -> Rule:
    """Return the rule with this identifier, such as `missed-requirement`."""
    return _BY_ID[name]


def rule_with(code: str) -> Rule:
    """Return the rule with this code, such as `SP1302`."""
    return _rule(BY_CODE[code])


def help_address(rule: Rule) -> str | None:
    """Return the URL of a rule's documentation; None if the environment sets no base address."""
    return address_of(rule.code, rule.id)


class Place(NamedTuple):
    """A place of a finding: a source line, or a whole file."""

    file: str  # relative to the root of the repository, else absolute
    line: int | None = None
    text: str = ""  # of the line; empty if not known


class Step(NamedTuple):
    """A location with a note about it, such as a source line of the slowest path."""

    place: Place
    note: str


class Finding(NamedTuple):
    """A statement about a program, shown at a source line or at a file."""

    rule: str  # identifier
    level: Level
    message: str  # sentences, one a line; the first is a summary
    place: Place
    identity: tuple[str, ...]  # tells findings of one rule apart, without numbers of lines
    path: Sequence[Step] = ()  # the slowest path, in order of execution
    cause: str | None = None  # code of the error that prevented the analysis

    @property
    def code(self) -> str:
        """Code of the error that prevented the analysis, else of the rule.

        If another version of slowpath saved the result, its code may be unknown here; the code of
        the rule is used then.
        """
        return self.cause if self.cause in BY_CODE else rule_of(self.rule).code

    @property
    def summary(self) -> str:
        """The first line of the message."""
        return self.message.partition("\n")[0]

    @property
    def fingerprint(self) -> str:
        """A hash by which later runs recognise the finding, even if its line has moved."""
        text = "\0".join((self.rule, *self.identity))
        return hashlib.sha256(text.encode(errors="backslashreplace")).hexdigest()[:32]


class Case(NamedTuple):
    """A program on one target, with all findings about it; the most important one comes first."""

    file: str  # as in places
    program: str  # name, or a name for a file that has none
    target: str
    seconds: float  # duration of the analysis or measurement
    findings: Sequence[Finding]

    @property
    def label(self) -> str:
        """Title of the case: the name of the program and its target."""
        return f"{self.program} on {self.target}" if self.target else self.program


class Review(NamedTuple):
    """All findings of one run of a command."""

    command: str  # `bound`
    version: str  # of slowpath
    cases: Sequence[Case]

    def findings(self) -> Iterator[tuple[Case, Finding]]:
        """Yield all findings, each with its program and target (`Case`)."""
        for case in self.cases:
            for finding in case.findings:
                yield case, finding


def repository_root(folder: Path) -> Path:
    """Return the nearest folder at or above `folder` that has a Git repository, else `folder`."""
    whole = folder.resolve()
    return next((one for one in (whole, *whole.parents) if (one / ".git").exists()), whole)


class Names:
    """Converts file names of debug information to names relative to the root of the repository."""

    def __init__(self, folder: Path | None = None) -> None:
        """Create an instance for a command that runs in `folder` [default: the current one]."""
        self._folder = (folder or Path()).resolve()
        self._root = repository_root(self._folder)
        self._known = dict[tuple[str, str], str]()

    def name(self, file: str, program: str = "") -> str:
        """Return the name of a file relative to the repository's root; an absolute path if outside.

        `program` is the file of the program whose debug information has the name. Sources may be in
        the folder of this file.
        """
        key = (file, program)
        if key not in self._known:
            found = self._find(Path(file), Path(program).parent)
            self._known[key] = self._relative(found)
        return self._known[key]

    def _find(self, file: Path, beside: Path) -> Path:
        """Return the first existing file that fits the name, else the name itself as a path.

        The search covers the current folder, the program's folder (`beside`), and the root of the
        repository.
        """
        below = [self._root.joinpath(*file.parts[at:]) for at in range(1, len(file.parts))]
        places = (file, beside / file, beside / file.name, *below)
        for place in places:
            path = self._folder / place
            try:
                if path.is_file():
                    return path
            except (OSError, ValueError):  # not a name of a file
                continue
        return self._folder / file

    def _relative(self, path: Path) -> str:
        plain = Path(os.path.normpath(path))  # keeps links, as Git does
        below = plain.is_relative_to(self._root)
        return (plain.relative_to(self._root) if below else plain).as_posix()


def is_relative(name: str) -> bool:
    """Return true if a file name is relative to the root of the repository, not absolute."""
    return not name.startswith("/")


_LONGEST = 500
"""Maximum number of steps of a path in execution order. GitHub shows up to 1000."""
_Key = tuple[str, int]


def amount(cost: float) -> str:
    """Format a cost with at most two decimals."""
    return f"{cost:.2f}".rstrip("0").rstrip(".")


def program_name(result: Result) -> str:
    """Return the program name in a result, or the file name if there is no program."""
    return result["program"] or result["file"]


def identity(result: Result, names: Names) -> tuple[str, ...]:
    """Return texts that identify a program, its target and its metric in every run."""
    file = names.name(result["file"])
    return (file, result["section"] or "", result["program"], result["target"], result["metric"])


def file_place(result: Result, names: Names, line: int | None = None) -> Place:
    """Return the file of a program as the location of a finding, with `line` if it is given."""
    return Place(names.name(result["file"]), line)


def guarantee_words(result: Result) -> str:
    """Format the guarantee of a result as a sentence without a full stop."""
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
        """Find the lines of the path; there are none without debug information."""
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
        """Add the cost of a line. Copies of a line that is inlined several times are added up."""
        key = (line["file"], line["line"])
        runs, cost = self._costs.get(key, (0, 0.0))
        self._costs[key] = (runs + line["runs"], cost + line["cost"].get(component, 0))
        self._texts[key] = line["text"]

    def place(self, file: str, line: int) -> Place:
        """Return a source line of the program as the location of a finding."""
        text = self._texts.get((file, line), "")
        return Place(self._names.name(file, self._result["file"]), line, text.strip())

    def costliest(self) -> Place:
        """Return the costliest source line in the repository; without one, the program's file."""
        by_cost = sorted(self._costs, key=lambda key: -self._costs[key][1])
        places = (self.place(*key) for key in by_cost)
        inside = next((place for place in places if is_relative(place.file)), None)
        return inside or file_place(self._result, self._names)

    def words(self, file: str, line: int) -> str:
        """Describe a line of the path: the number of its executions, and their total cost."""
        if (file, line) not in self._costs or self._component is None:
            return "on the path"
        runs, cost = self._costs[file, line]
        unit = cost_words(self._component, self._result["metric"])
        share = f" ({100 * cost / self._total:.1f} %)" if self._total else ""
        times = "once" if runs == 1 else f"{runs} times"
        return f"executed {times}, {amount(cost)} {unit}{share}"

    def share_of_costliest(self) -> str:
        """Return a sentence with the cost of the costliest line; empty if no line is known."""
        place = self.costliest()
        key = next((key for key in self._costs if self.place(*key) == place), None)
        return "" if key is None else f"This line costs most: {self.words(*key)}."

    def steps(self) -> list[Step]:
        """Return the source lines of the path in order of execution, with notes; empty if unknown.

        Repeated lines are joined as in `path_lines`.
        """
        paths = self._result["paths"]
        if not paths:
            return []
        for line in paths[0]["lines"]:
            self._texts.setdefault((line["file"], line["line"]), line["text"])
        keys = path_lines(paths[0]["source"])
        return [Step(self.place(*key), self.words(*key)) for key in keys]


def path_lines(source: Sequence[tuple[str, int]]) -> list[tuple[str, int]]:
    """Return the lines of a path in order of execution.

    Repeated lines directly after each other are joined. A long path has each line only once, where
    it occurs first.
    """
    # Results that were read from JSON have lists in place of tuples; convert them back.
    lines = [line for line, _ in groupby((file, number) for file, number in source)]
    return lines if len(lines) <= _LONGEST else list(dict.fromkeys(lines))[:_LONGEST]


def failed(result: Result, names: Names, line: int | None = None) -> Finding:
    """Return the finding that a program could not be analysed.

    `line` is the line that caused the failure, if known.
    """
    reason = result["error"] or "no guarantee"
    place = file_place(result, names, line)
    key = identity(result, names)
    return Finding("not-analysed", "error", reason, place, key, cause=result["code"])


def guaranteed(result: Result, names: Names) -> Finding:
    """Return the finding that states the guarantee of a program, at its costliest line."""
    slowest = SlowestPath(result, names)
    lines = [guarantee_words(result), slowest.share_of_costliest()]
    message = "\n".join(filter(None, lines))
    key = identity(result, names)
    return Finding("guarantee", "note", message, slowest.costliest(), key, slowest.steps())


def case_of(result: Result, names: Names, findings: Sequence[Finding]) -> Case:
    """Combine a program and the findings about it into a case of a review."""
    return Case(
        names.name(result["file"]),
        program_name(result),
        result["target"],
        result["stats"]["seconds"],
        findings,
    )
