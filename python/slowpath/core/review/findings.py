"""Findings about programs: the data that all formats for code review share.

A command makes a `Review`; the modules beside this one format it. They are pure functions.
"""

import hashlib
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from slowpath.core.code_texts import BY_CODE, ENTRIES, Entry
from slowpath.core.links import address_of

Level = Literal["error", "warning", "note"]
"""Severity: `error` fails a gate, `warning` is a change for the worse, `note` tells a result."""


class Rule(NamedTuple):
    """A kind of finding, or the cause of a failed analysis, with its documentation."""

    code: str  # `SP1302`
    id: str
    title: str  # in a few words
    level: Level  # usual level of the findings
    text: str  # its meaning, in sentences
    remedy: str  # advice, in sentences

    @property
    def name(self) -> str:
        """The identifier in the form that SARIF asks for: `MissedRequirement`."""
        return "".join(word.capitalize() for word in self.id.split("-"))


def _rule(one: Entry) -> Rule:
    return Rule(one.code, one.name, one.title, one.level, one.cause, one.remedy)


RULES = tuple(_rule(one) for one in ENTRIES if one.kind == "finding")
"""All kinds of findings, in a fixed order."""
_BY_ID = {rule.id: rule for rule in RULES}


def rule_of(name: str) -> Rule:
    """Return the rule with an identifier."""
    return _BY_ID[name]


def rule_with(code: str) -> Rule:
    """Return the rule with a code: a kind of finding, or the cause of a failed analysis."""
    return _rule(BY_CODE[code])


def help_address(rule: Rule) -> str | None:
    """Return the address of the documentation of a rule; None if the environment names none."""
    return address_of(rule.code, rule.id)


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
    cause: str | None = None  # code of the error that prevented the analysis

    @property
    def code(self) -> str:
        """Code of the cause of a failed analysis, else of the rule.

        Saved results can have the code of another version.
        """
        return self.cause if self.cause in BY_CODE else rule_of(self.rule).code

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
