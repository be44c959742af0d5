"""Reports a comparison for code reviews, as SARIF, GitHub annotations or JUnit.

A finding is shown at the source line whose cost rose most, else at the costliest line.
"""

from collections.abc import Iterator, Sequence

from slowpath.core import engine
from slowpath.core.findings import (
    Case,
    Finding,
    Names,
    Place,
    Review,
    SlowestPath,
    amount,
    failed,
    file_place,
    guarantee_words,
    identity,
    is_relative,
    program_name,
    rule_of,
)
from slowpath.core.review import github_lines, junit_lines, sarif_lines
from slowpath.core.schema.derived import cost_words
from slowpath.diff.changes import Changes, LineChange, Row, cell, change_of, changed_lines
from slowpath.diff.filters import Failure, missing_reason
from slowpath.diff.report import Report


def sarif(report: Report) -> Iterator[str]:
    """Yield the lines of a SARIF log."""
    return sarif_lines(review(report))


def github(report: Report) -> Iterator[str]:
    """Yield workflow commands of GitHub Actions."""
    return github_lines(review(report))


def junit(report: Report) -> Iterator[str]:
    """Yield the lines of a JUnit report."""
    return junit_lines(review(report))


def review(report: Report) -> Review:
    """Return the findings about a comparison for a code review.

    They cover the shown programs, and all programs that fail a gate (`--fail-on` or `--require`).
    """
    names = Names()
    stopped = list(zip(report.failures, report.reproduce, strict=True))
    compared = [*zip(report.rows, report.changes, strict=True)]
    for failure in report.failures:
        if all(row is not failure.row for row, _ in compared):
            compared.append((failure.row, changed_lines(failure.row.pair)))
    cases = []
    for row, changes in compared:
        own = [(failure, again) for failure, again in stopped if failure.row is row]
        findings = [*_Findings(row, changes, names).all(own, report.limit)]
        cases.append(_case(row, names, findings))
    return Review("diff", engine.version(), cases)


def _case(row: Row, names: Names, findings: Sequence[Finding]) -> Case:
    present = row.pair.present
    seconds = sum(side["stats"]["seconds"] for side in row.pair if side is not None)
    name = row.pair.name if len(row.pair.names) > 1 else program_name(present)
    target = row.pair.measured["target"]
    return Case(names.name(present["file"]), name, target, seconds, findings)


class _Findings:
    """Maker of the findings about one compared program."""

    def __init__(self, row: Row, changes: Changes | None, names: Names) -> None:
        self._row = row
        self._names = names
        self._result = row.pair.present
        self._key = identity(self._result, names)
        self._slowest = SlowestPath(self._result, names)
        lines = [] if changes is None else changes.dearer(len(changes.lines))
        self._risen = [line for line in lines if self._is_in_repository(line)]
        self._component = "" if changes is None else changes.component

    def all(self, stopped: Sequence[tuple[Failure, str]], most: int) -> Iterator[Finding]:
        """Yield the findings: failed gates or else the change, then source lines with higher cost.

        `stopped` has the failed gates, each with the command that reproduces it. `most` is the
        maximum number of lines with higher cost, including the line of the first finding.
        """
        new = self._row.pair.new
        if new is not None and new["error"] is not None:
            yield failed(new, self._names)
        for failure, again in stopped:
            reasons = [failure.reason, self._change(), *self._risen_most(), f"Reproduce: {again}"]
            yield self._at_risen("failed-gate", reasons, failure.text)
        if not stopped:
            yield from self._plain()
        if stopped or change_of(self._row) == "worse":
            yield from self._lines(most)

    def _plain(self) -> Iterator[Finding]:
        """Yield the finding about the change of a program that fails no gate.

        Nothing if it has an error.
        """
        change = change_of(self._row)
        if change in {"new", "gone"}:
            rule = "new-program" if change == "new" else "gone-program"
            yield self._at_costliest(rule, self._change())
        elif change == "worse":
            yield self._at_risen("regression", [self._change(), *self._risen_most()])
        elif self._result["error"] is None:
            yield self._at_costliest("guarantee", self._change())

    def _at_risen(self, rule: str, lines: Sequence[str], *key: str) -> Finding:
        """Return a finding of a rule at the line whose cost rose most, else at the costliest line.

        `lines` are the lines of its message. `key` is part of its identity, by which reviews
        recognise it.
        """
        found = self._at_costliest(rule, "\n".join(lines), *key)
        place = self._place(self._risen[0]) if self._risen else None
        return found if place is None else found._replace(place=place)

    def _at_costliest(self, rule: str, message: str, *key: str) -> Finding:
        """Return a finding of a rule at the costliest line; for a removed program, at its file.

        `key` is part of its identity, by which reviews recognise it.
        """
        level, identity_of = rule_of(rule).level, (*self._key, *key)
        if self._row.pair.new is None:
            place = file_place(self._result, self._names)
            return Finding(rule, level, message, place, identity_of)
        place, steps = self._slowest.costliest(), self._slowest.steps()
        return Finding(rule, level, message, place, identity_of, steps)

    def _change(self) -> str:
        """Return a line about the change of the guarantee: old and new value, and percentage."""
        row, column = self._row, self._row.metric
        change, guarantee = change_of(row), guarantee_words(self._result)
        if change in {"new", "gone"}:
            return f"only {'NEW' if change == 'new' else 'OLD'} has this program: {guarantee}"
        if change == "unknown":
            return f"nothing to compare: {missing_reason(row, f'{column}_pct')}; {guarantee}"
        old, new = (cell(row, f"{column}_{side}") for side in "ab")
        percent = cell(row, f"{column}_pct")
        return f"{column.replace('_', ' ')} {old} -> {new} ({percent}), {change}"

    def _risen_most(self) -> list[str]:
        """Return a sentence about the source line whose cost rose most; empty if no cost rose."""
        return [f"The cost of this line rose most: {self._line(one)}." for one in self._risen[:1]]

    def _line(self, line: LineChange) -> str:
        """Format the old and the new cost of a source line, with their unit."""
        old = "not on the path" if line.old is None else amount(line.old.cost)
        new = "not on the path" if line.new is None else amount(line.new.cost)
        unit = cost_words(self._component, self._row.pair.measured["metric"])
        return f"{old} -> {new} {unit}"

    def _lines(self, most: int) -> Iterator[Finding]:
        """Yield a finding for each line with higher cost, except the line of the main finding."""
        seen = dict[tuple[str, ...], int]()
        for line in self._risen[1:most]:
            place = self._place(line)
            if place is None:
                continue
            text = (line.function or "", " ".join(line.text.split()))
            seen[text] = seen.get(text, 0) + 1
            key = (*self._key, place.file, *text, str(seen[text]))
            message = f"costs more than before: {self._line(line)}"
            yield Finding("costlier-line", "warning", message, place, key)

    def _place(self, line: LineChange) -> Place | None:
        new = line.new
        if new is None or new.file is None:
            return None
        file = self._names.name(new.file, self._result["file"])
        return Place(file, new.line, line.text.strip())

    def _is_in_repository(self, line: LineChange) -> bool:
        place = self._place(line)
        return place is not None and is_relative(place.file)
