"""Reports results of `slowpath bound` for code reviews: Markdown, SARIF, GitHub, JUnit."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from slowpath.bounds.report import Miss, Reporter
from slowpath.core import engine
from slowpath.core.findings import Case, Finding, Names, Review, case_of, failed, guaranteed
from slowpath.core.review import github_lines, junit_lines, markdown_lines, sarif_lines
from slowpath.core.schema.results import Detail, Result
from slowpath.core.terminal import Line


class ReviewReporter(Reporter):
    """Collects a finding on each program, and writes all of them when the analyses end."""

    def __init__(
        self, labels: Sequence[str], write: Callable[[Review], Iterator[str]], *, verbose: bool
    ) -> None:
        """Create a reporter; `write` formats the collected findings."""
        super().__init__(labels, verbose=verbose)
        self._write = write
        self._names = Names()
        self._cases = list[Case]()
        self._last = list[Finding]()  # of the last case

    def add(self, result: Result, detail: Detail, text: str) -> Iterable[Line]:  # noqa: ARG002
        """Store the finding about the result of a program."""
        if result["error"] is None:
            finding = guaranteed(result, self._names)
        else:
            failure = detail["failure"]
            line = None if failure is None or failure["option"] is not None else failure["line"]
            finding = failed(result, self._names, line)
        self._last = [finding]
        self._cases.append(case_of(result, self._names, self._last))
        return ()

    def miss(self, missed: Miss) -> None:
        """Turn the finding on the last program into an error, because it misses a requirement."""
        known = self._last[0]
        rule = "undecided-requirement" if missed.undecided else "missed-requirement"
        message = f"{missed.reason}\n{known.message}\nReproduce: {missed.reproduce}"
        self._last[0] = known._replace(rule=rule, level="error", message=message)

    def finish(self) -> Iterable[Line]:
        """Return the lines of the report on all programs."""
        return map(Line, self._write(Review(self.command, engine.version(), self._cases)))


def markdown_reporter(labels: Sequence[str], *, verbose: bool) -> Reporter:
    """Return a reporter that writes a table in GitHub's Markdown."""
    return ReviewReporter(labels, markdown_lines, verbose=verbose)


def sarif_reporter(labels: Sequence[str], *, verbose: bool) -> Reporter:
    """Return a reporter that writes a SARIF log."""
    return ReviewReporter(labels, sarif_lines, verbose=verbose)


def github_reporter(labels: Sequence[str], *, verbose: bool) -> Reporter:
    """Return a reporter that writes workflow commands of GitHub Actions."""
    return ReviewReporter(labels, github_lines, verbose=verbose)


def junit_reporter(labels: Sequence[str], *, verbose: bool) -> Reporter:
    """Return a reporter that writes a JUnit report."""
    return ReviewReporter(labels, junit_lines, verbose=verbose)
