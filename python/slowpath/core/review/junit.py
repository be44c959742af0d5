"""Formats findings as JUnit XML, with a test case for each program and target.

The elements are those that the schema of Jenkins' xUnit plugin (`junit-10.xsd`) allows. Other
readers, such as GitLab's, know the same.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from xml.sax.saxutils import escape, quoteattr

from slowpath.core.printable import one_line
from slowpath.core.review.findings import Case, Finding, Review, rule_with

_ERROR = "not-analysed"
"""Rule whose findings are errors of a test; other findings at level `error` are failures."""


def junit_lines(review: Review) -> Iterator[str]:
    """Yield the lines of the XML document."""
    verdicts = [_verdict(case) for case in review.cases]
    counts = Counter(verdicts)
    seconds = sum(case.seconds for case in review.cases)
    totals = {
        "name": f"slowpath {review.command}",
        "tests": str(len(verdicts)),
        "failures": str(counts["failure"]),
        "errors": str(counts["error"]),
        "time": f"{seconds:.3f}",
    }
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield _start("testsuites", totals)
    yield _start("testsuite", totals)
    for case, verdict in zip(review.cases, verdicts, strict=True):
        yield from _case(case, verdict)
    yield "</testsuite>"
    yield "</testsuites>"


def _verdict(case: Case) -> str:
    """Return `error`, `failure` or `passed`."""
    bad = [finding.rule for finding in case.findings if finding.level == "error"]
    return "passed" if not bad else "error" if _ERROR in bad else "failure"


def _case(case: Case, verdict: str) -> Iterator[str]:
    names = {"classname": case.file, "name": case.label, "time": f"{case.seconds:.3f}"}
    yield _start("testcase", names)
    bad = [finding for finding in case.findings if finding.level == "error"]
    if bad:
        kind = next((finding.rule for finding in bad if finding.rule == _ERROR), bad[0].rule)
        first = next(finding for finding in bad if finding.rule == kind)
        about = {"type": f"{first.code} {rule_with(first.code).id}", "message": first.summary}
        yield f"{_start(verdict, about)}{_text(bad)}</{verdict}>"
    rest = [finding for finding in case.findings if finding.level != "error"]
    if rest:
        yield f"<system-out>{_text(rest)}</system-out>"
    yield "</testcase>"


def _text(findings: Sequence[Finding]) -> str:
    """Return the messages with their places, on one line of the output; line ends are escaped."""
    lines = list[str]()
    for finding in findings:
        place = finding.place
        where = place.file if place.line is None else f"{place.file}:{place.line}"
        first, *others = finding.message.split("\n")
        lines += [f"{where}: {finding.level}: {first}", *others]
    return "&#10;".join(escape(one_line(line)) for line in lines)


def _start(name: str, attributes: dict[str, str]) -> str:
    written = "".join(f" {key}={quoteattr(one_line(text))}" for key, text in attributes.items())
    return f"<{name}{written}>"
