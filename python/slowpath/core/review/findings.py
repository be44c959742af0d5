"""Findings about programs: the data that all formats for code review share.

A command makes a `Review`; the modules beside this one format it. They are pure functions.
"""

import hashlib
import os
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

Level = Literal["error", "warning", "note"]
"""Severity: `error` fails a gate, `warning` is a change for the worse, `note` tells a result."""


class Rule(NamedTuple):
    """A kind of finding, with its documentation."""

    id: str
    title: str  # in a few words
    level: Level  # usual level of the findings
    text: str  # its meaning, in sentences
    remedy: str  # advice, in sentences

    @property
    def name(self) -> str:
        """The identifier in the form that SARIF asks for: `MissedRequirement`."""
        return "".join(word.capitalize() for word in self.id.split("-"))


RULES = (
    Rule(
        "guarantee",
        "Guarantee of a program",
        "note",
        "No packet makes the program slower than this. The marked line costs most on the slowest "
        "path, which the code flow follows.",
        "Nothing fails. `slowpath annotate FILE` shows the cost of each line.",
    ),
    Rule(
        "missed-requirement",
        "Requirement not met",
        "error",
        "The program does not guarantee what --require asks for. The marked line costs most on the "
        "slowest path.",
        "Make the slowest path cheaper, beginning with the marked line. The message has the "
        "command that reproduces the failure.",
    ),
    Rule(
        "undecided-requirement",
        "Requirement not decided",
        "error",
        "The analysis stopped before it knew whether the program meets --require.",
        "Raise --deadline or --memory, or simplify the program.",
    ),
    Rule(
        "failed-gate",
        "Condition of --fail-on holds",
        "error",
        "A condition of --fail-on holds for the program, or depends on a value that is not "
        "available. The marked line is the one whose cost rose most.",
        "Make the marked line cheaper, or change the condition. The message has the command that "
        "reproduces the failure.",
    ),
    Rule(
        "undecided-gate",
        "Condition of --fail-on not decided",
        "error",
        "The measurement is not precise enough to decide a condition of --fail-on.",
        "Measure for longer (--seconds), or on a quieter machine.",
    ),
    Rule(
        "regression",
        "Program became slower",
        "warning",
        "The guarantee of the program is worse than before. The marked line is the one whose cost "
        "rose most on the slowest path.",
        "Make the marked line cheaper. `slowpath diff OLD NEW` shows all lines that changed.",
    ),
    Rule(
        "costlier-line",
        "Line became costlier",
        "warning",
        "The line costs more on the slowest path than before, in a program that became slower.",
        "Make the line cheaper, or execute it less often.",
    ),
    Rule(
        "new-program",
        "Program without counterpart",
        "note",
        "Only the new side has the program, so nothing was compared.",
        "Save new results as baseline when the change is merged.",
    ),
    Rule(
        "gone-program",
        "Program removed",
        "note",
        "Only the old side has the program, so nothing was compared.",
        "Save new results as baseline when the change is merged.",
    ),
    Rule(
        "not-analysed",
        "Program not analysed",
        "error",
        "The program could not be analysed or measured, so nothing is known about its speed.",
        "The message has the reason. `slowpath show FILE` tells which programs can be analysed.",
    ),
)
"""All kinds of findings, in a fixed order."""
_BY_ID = {rule.id: rule for rule in RULES}
RULES_PAGE = "docs/reference/rules.md"
"""Page with a section for each rule."""
DOCS_VARIABLE = "SLOWPATH_DOCS"
"""Environment variable with the address of the repository's files, for links to `RULES_PAGE`."""


def rule_of(name: str) -> Rule:
    """Return the rule with an identifier."""
    return _BY_ID[name]


def help_address(rule: Rule) -> str | None:
    """Return the address of the documentation of a rule; None if the environment names none."""
    base = os.environ.get(DOCS_VARIABLE, "")
    return f"{base.rstrip('/')}/{RULES_PAGE}#{rule.id}" if "://" in base else None


class Place(NamedTuple):
    """A source line, or a whole file."""

    file: str  # relative to the root of the repository, else absolute
    line: int | None = None
    text: str = ""  # of the line; empty if not known


class Step(NamedTuple):
    """A place with a note about it, such as a step of the slowest path."""

    place: Place
    note: str


class Finding(NamedTuple):
    """A statement about a program that belongs to a line, or to a file."""

    rule: str  # identifier
    level: Level
    message: str  # sentences, one a line; the first is a summary
    place: Place
    identity: tuple[str, ...]  # tells findings of one rule apart, without numbers of lines
    path: Sequence[Step] = ()  # the slowest path, in order of execution

    @property
    def summary(self) -> str:
        """The first line of the message."""
        return self.message.partition("\n")[0]

    @property
    def fingerprint(self) -> str:
        """A hash that is the same in later runs, also if the line moved."""
        text = "\0".join((self.rule, *self.identity))
        return hashlib.sha256(text.encode(errors="backslashreplace")).hexdigest()[:32]


class Case(NamedTuple):
    """A program on a target, with all findings about it; the first one is the most important."""

    file: str  # as in places
    program: str  # name, or a name for a file that has none
    target: str
    seconds: float  # duration of the analysis or measurement
    findings: Sequence[Finding]

    @property
    def label(self) -> str:
        """Name of the program and its target in titles."""
        return f"{self.program} on {self.target}" if self.target else self.program


class Review(NamedTuple):
    """All findings of a run of a command."""

    command: str  # `bound`
    version: str  # of slowpath
    cases: Sequence[Case]

    def findings(self) -> Iterator[tuple[Case, Finding]]:
        """Yield all findings, each with its case."""
        for case in self.cases:
            for finding in case.findings:
                yield case, finding
