"""Reports measurements for code reviews, as Markdown, SARIF, GitHub annotations or JUnit."""

from collections.abc import Iterator, Sequence

from slowpath.core.errors import ExitCode
from slowpath.core.findings import (
    Case,
    Finding,
    Names,
    Place,
    Review,
    Step,
    is_relative,
    path_lines,
    rule_of,
)
from slowpath.core.review import github_lines, junit_lines, markdown_lines, sarif_lines
from slowpath.measure.documents import (
    ComparedVersions,
    MeasureDocument,
    MeasuredPath,
    MeasuredProgram,
)
from slowpath.measure.report import why_not
from slowpath.measure.settings import Settings, decide

_NAMES = {ExitCode.FAILED: "failed-gate", ExitCode.UNDECIDED: "undecided-gate"}


def markdown(document: MeasureDocument, settings: Settings, old: str) -> Iterator[str]:
    """Yield the lines of a Markdown table. `old` is the old file of a comparison."""
    return markdown_lines(review(document, settings, old))


def sarif(document: MeasureDocument, settings: Settings, old: str) -> Iterator[str]:
    """Yield the lines of a SARIF log. `old` is the old file of a comparison."""
    return sarif_lines(review(document, settings, old))


def github(document: MeasureDocument, settings: Settings, old: str) -> Iterator[str]:
    """Yield workflow commands of GitHub Actions. `old` is the old file of a comparison."""
    return github_lines(review(document, settings, old))


def junit(document: MeasureDocument, settings: Settings, old: str) -> Iterator[str]:
    """Yield the lines of a JUnit report. `old` is the old file of a comparison."""
    return junit_lines(review(document, settings, old))


def review(document: MeasureDocument, settings: Settings, old: str) -> Review:
    """Return a review with one case for each measured program, or for each pair of versions.

    `old` is the old file of a comparison.
    """
    names = Names()
    records, pairs = document["results"], document["comparison"]
    found = [_Measured(record, names) for record in records]
    if pairs is None:
        cases = [one.case([one.result()]) for one in found]
    else:
        cases = [*_compared(found, pairs, settings, old)]
    return Review("measure", document["slowpath"], cases)


def _compared(
    found: Sequence["_Measured"], pairs: Sequence[ComparedVersions], settings: Settings, old: str
) -> Iterator[Case]:
    """Yield a review case for each pair of versions, and for each program that only one file has.

    In `found`, the two versions of a pair follow each other, the old one first. `old` is the old
    file.
    """
    both = {name for pair in pairs for name in (pair["old"], pair["new"])}
    waiting = list(pairs)
    rest = list(found)
    while rest:
        first = rest.pop(0)
        if waiting and first.name == waiting[0]["old"] and rest:
            yield rest.pop(0).compared(waiting.pop(0), settings)
        elif first.name not in both or first.record["error"] is not None:
            yield first.alone(settings, only_old=first.record["file"] == old)


class _Measured:
    """Maker of the findings about one measured program, for a review."""

    def __init__(self, record: MeasuredProgram, names: Names) -> None:
        self.record = record
        self.name = f"{record['file']}:{record['program']}"
        self._names = names
        file = names.name(record["file"])
        self._key = (file, record["section"] or "", record["program"] or "", record["mode"])

    def case(self, findings: Sequence[Finding]) -> Case:
        """Return the review case of the program with the given findings."""
        record = self.record
        name = record["program"] or record["file"]
        target = "this kernel"
        return Case(self._key[0], name, target, record["seconds"], findings)

    def result(self) -> Finding:
        """Return a finding with the conclusion, or with the reason why nothing was measured."""
        record = self.record
        reason = record["error"]
        if reason is None and record["conclusion"] is None:
            paths = (
                why_not(record, path, measured=_ns(path) is not None) for path in record["paths"]
            )
            reason = next(filter(None, paths), "nothing was measured")
        if reason is not None:
            place = Place(self._key[0])
            return Finding("not-analysed", "error", reason, place, self._key, cause=record["code"])
        return self._finding("guarantee", record["conclusion"] or "")

    def compared(self, pair: ComparedVersions, settings: Settings) -> Case:
        """Return the review case of the new version, with the gates of `--fail-on` it fails."""
        findings = list[Finding]()
        row = pair["paths"][0]
        for gate in settings.gates:
            decision = decide(gate, row)
            if decision.reason is not None:
                rule = _NAMES[decision.code]
                findings.append(self._finding(rule, decision.reason, gate.text))
        text = pair["conclusion"] or f"not compared: {row['error']}"
        slower = row["ratio"] is not None and row["ratio"] > 1 and row["significant"]
        if pair["conclusion"] is None and not findings:
            place, cause = Place(self._key[0]), row["code"]
            findings.append(Finding("not-analysed", "error", text, place, self._key, cause=cause))
        elif not findings:
            findings.append(self._finding("regression" if slower else "guarantee", text))
        return self.case(findings)

    def alone(self, settings: Settings, *, only_old: bool) -> Case:
        """Return the review case of a program that only one of the two files has.

        `only_old` is true if the new file lacks it.
        """
        if self.record["error"] is not None:
            return self.case([self.result()])
        rule = "gone-program" if only_old else "new-program"
        text = f"only {'OLD' if only_old else 'NEW'} has this program"
        findings = [
            self._finding(
                "failed-gate", f"{text}, and --fail-on {gate.text!r} needs both", gate.text
            )
            for gate in settings.gates
        ]
        return self.case(findings or [self._finding(rule, text)])

    def _finding(self, rule: str, message: str, *key: str) -> Finding:
        level = rule_of(rule).level
        return Finding(rule, level, message, self._place(), (*self._key, *key), self._steps())

    def _place(self) -> Place:
        """Return the place of the findings: the source line with the largest part of the time.

        Without such a line, it is the first line of the slowest path, or else the program.
        """
        breakdown = self.record["breakdown"]
        stretches = [] if breakdown is None else breakdown["stretches"]
        timed = [one for one in stretches if one["ns"] is not None and one["line"] is not None]
        for one in sorted(timed, key=lambda one: -(one["ns"] or 0)):
            place = self._line(one["file"] or "", one["line"] or 1, one["text"] or "")
            if is_relative(place.file):
                return place
        first = next((step.place for step in self._steps() if is_relative(step.place.file)), None)
        return first or Place(self._key[0])

    def _line(self, file: str, line: int, text: str = "") -> Place:
        return Place(self._names.name(file, self.record["file"]), line, text.strip())

    def _steps(self) -> list[Step]:
        """Return the source lines of the slowest measured path, in order of execution."""
        timed = [path for path in self.record["paths"] if _ns(path) is not None]
        if not timed:
            return []
        slowest = max(timed, key=lambda path: _ns(path) or 0)
        lines = path_lines(slowest["source"])
        return [Step(self._line(file, line), "on the slowest path") for file, line in lines]


def _ns(path: MeasuredPath) -> float | None:
    """Return the time of a path in nanoseconds, on live packets if measured so.

    None without a time.
    """
    live = path["live"]
    return path["measured_ns"] if live is None else live["program_ns"]
