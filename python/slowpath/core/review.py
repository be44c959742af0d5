"""Formats findings for code review: SARIF, workflow commands of GitHub, JUnit XML and Markdown.

- Code scanning of GitHub and other hosts reads SARIF. Section numbers are those of the OASIS
  standard "Static Analysis Results Interchange Format (SARIF) Version 2.1.0".
- GitHub shows workflow commands beside the lines of a pull request. The syntax and its escapes are
  those of `command.ts` in GitHub's package `@actions/core`.
- JUnit XML has a test case for each program and target. The elements are those that the schema of
  Jenkins' xUnit plugin (`junit-10.xsd`) allows. Other readers, such as GitLab's, know the same.
- Summaries of jobs show a Markdown table.
"""

import html
import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence

from slowpath.core.findings import (
    RULES,
    Case,
    Finding,
    Place,
    Review,
    Rule,
    Step,
    help_address,
    is_relative,
    rule_with,
)
from slowpath.core.printable import json_line, one_line

SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
ROOT = "%SRCROOT%"
"""Symbol for the root of the repository (3.14.14), which readers of SARIF replace by its path."""
_FAILED = "not-analysed"
"""Rule whose findings say that a program has no result; in JUnit XML, they are errors of a test.
Other findings at level `error` are failures there."""

_Object = dict[str, object]


def sarif_lines(review: Review) -> Iterator[str]:
    """Format findings as a SARIF log, and yield its lines, one for each result."""
    found = list(review.findings())
    rules = list(RULES)
    known = {rule.code for rule in rules}
    causes = sorted({finding.code for _, finding in found} - known)
    rules += [rule_with(code) for code in causes]
    run = json_line(_run(review, found, rules))
    yield f'{{"$schema": {json_line(SCHEMA)}, "version": "2.1.0", "runs": [{run[:-1]}, "results": ['
    seen = dict[tuple[str, str], int]()
    for number, (case, finding) in enumerate(found):
        key = (finding.rule, finding.fingerprint)
        seen[key] = seen.get(key, 0) + 1
        yield ("," if number else "") + json_line(_result(case, finding, seen[key], rules))
    yield "]}]}"


def _run(review: Review, found: Sequence[tuple[Case, Finding]], rules: Sequence[Rule]) -> _Object:
    """Return the SARIF object `run` without its results (section 3.14)."""
    complete = all(finding.rule != _FAILED for _, finding in found)
    return {
        "tool": {
            "driver": {
                "name": "slowpath",
                "semanticVersion": review.version,
                "rules": [_rule(rule) for rule in rules],
            }
        },
        # Hosts keep the results of runs with different identifiers apart.
        "automationDetails": {"id": f"slowpath-{review.command.replace(' ', '-')}/"},
        "invocations": [{"executionSuccessful": complete}],
        "originalUriBaseIds": {ROOT: {"description": {"text": "The root of the repository."}}},
        "columnKind": "unicodeCodePoints",
    }


def _rule(rule: Rule) -> _Object:
    """Return the SARIF object that documents a rule (section 3.49)."""
    found: _Object = {
        "id": rule.code,
        "name": rule.name,
        "shortDescription": {"text": f"{rule.title}."},
        "fullDescription": {"text": rule.text},
        "help": {
            "text": f"{rule.text}\n\n{rule.remedy}",
            "markdown": f"{rule.text}\n\n**What to do:** {rule.remedy}",
        },
        "defaultConfiguration": {"level": rule.level},
        "properties": {"tags": ["performance"]},
    }
    address = help_address(rule)
    if address is not None:
        found["helpUri"] = address
    return found


def _result(case: Case, finding: Finding, occurrence: int, rules: Sequence[Rule]) -> _Object:
    """Return the SARIF object for a finding (section 3.27).

    `occurrence` tells findings with equal fingerprints apart.
    """
    result: _Object = {
        "ruleId": finding.code,
        "ruleIndex": next(at for at, rule in enumerate(rules) if rule.code == finding.code),
        "level": finding.level,
        "message": _message(f"{case.label}: {finding.message}"),
        "locations": [_location(finding.place)],
        # GitHub recognises an alert in later runs only by the fingerprint with this name.
        "partialFingerprints": {"primaryLocationLineHash": f"{finding.fingerprint}:{occurrence}"},
        "properties": {"file": case.file, "program": case.program, "target": case.target},
    }
    if finding.path:
        steps = [{"location": _location(step.place, step)} for step in finding.path]
        message = {"text": "The slowest path, in order of execution."}
        result["codeFlows"] = [{"message": message, "threadFlows": [{"locations": steps}]}]
    return result


def _location(place: Place, step: Step | None = None) -> _Object:
    physical: _Object = {"artifactLocation": _artifact(place.file)}
    if place.line is not None:
        region: _Object = {"startLine": place.line}
        if place.text:
            region["snippet"] = {"text": place.text}
        physical["region"] = region
    location: _Object = {"physicalLocation": physical}
    if step is not None:
        location["message"] = _message(step.note)
    return location


def _message(text: str) -> _Object:
    """Return a SARIF message; braces are doubled, because single ones are placeholders (3.11.5)."""
    return {"text": text.replace("{", "{{").replace("}", "}}")}


def _bytes(name: str) -> bytes:
    """Encode a file name; names in results from other systems may be invalid on this one."""
    try:
        return os.fsencode(name)
    except UnicodeEncodeError:
        return name.encode(errors="backslashreplace")


def _artifact(name: str) -> _Object:
    """Return the SARIF location of a file (3.4): relative to the repository's root, or absolute."""
    from urllib.parse import quote

    encoded = quote(_bytes(name))
    return (
        {"uri": encoded, "uriBaseId": ROOT} if is_relative(name) else {"uri": f"file://{encoded}"}
    )


_COMMANDS = {"error": "error", "warning": "warning", "note": "notice"}
_ORDER = tuple(_COMMANDS)


def github_lines(review: Review) -> Iterator[str]:
    """Yield a workflow command of GitHub Actions for each finding, errors first.

    GitHub shows only the first ten of each kind in a step.
    """
    found = sorted(review.findings(), key=lambda one: _ORDER.index(one[1].level))
    return (_command(case, finding) for case, finding in found)


def _command(case: Case, finding: Finding) -> str:
    place = finding.place
    properties = {"file": place.file}
    if place.line is not None:
        properties["line"] = str(place.line)
    properties["title"] = f"slowpath {finding.code}: {rule_with(finding.code).title}: {case.label}"
    written = ",".join(f"{name}={_property(text)}" for name, text in properties.items())
    message = "\n".join(map(one_line, finding.message.split("\n")))
    return f"::{_COMMANDS[finding.level]} {written}::{escape_data(message)}"


def _property(text: str) -> str:
    return escape_property(one_line(text))


def escape_data(text: str) -> str:
    """Escape a text for the message of a GitHub workflow command."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def escape_property(text: str) -> str:
    """Escape a text for a property, such as the file, of a GitHub workflow command."""
    return escape_data(text).replace(":", "%3A").replace(",", "%2C")


def junit_lines(review: Review) -> Iterator[str]:
    """Format findings as JUnit XML, and yield its lines."""
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
    """Return the result of a case in terms of JUnit: `error`, `failure` or `passed`."""
    bad = [finding.rule for finding in case.findings if finding.level == "error"]
    return "passed" if not bad else "error" if _FAILED in bad else "failure"


def _case(case: Case, verdict: str) -> Iterator[str]:
    names = {"classname": case.file, "name": case.label, "time": f"{case.seconds:.3f}"}
    yield _start("testcase", names)
    bad = [finding for finding in case.findings if finding.level == "error"]
    if bad:
        kind = next((finding.rule for finding in bad if finding.rule == _FAILED), bad[0].rule)
        first = next(finding for finding in bad if finding.rule == kind)
        about = {"type": f"{first.code} {rule_with(first.code).id}", "message": first.summary}
        yield f"{_start(verdict, about)}{_text(bad)}</{verdict}>"
    rest = [finding for finding in case.findings if finding.level != "error"]
    if rest:
        yield f"<system-out>{_text(rest)}</system-out>"
    yield "</testcase>"


def _text(findings: Sequence[Finding]) -> str:
    """Format findings with their locations as one line of XML; line ends are escaped."""
    from xml.sax.saxutils import escape  # slow to import

    lines = list[str]()
    for finding in findings:
        place = finding.place
        where = place.file if place.line is None else f"{place.file}:{place.line}"
        first, *others = finding.message.split("\n")
        lines += [f"{where}: {finding.level}: {first}", *others]
    return "&#10;".join(escape(one_line(line)) for line in lines)


def _start(name: str, attributes: dict[str, str]) -> str:
    from xml.sax.saxutils import quoteattr

    written = "".join(f" {key}={quoteattr(one_line(text))}" for key, text in attributes.items())
    return f"<{name}{written}>"


_SIGNS = str.maketrans({sign: f"\\{sign}" for sign in "\\`*[]~#"})
_MOST = 200
"""Maximum number of rows; GitHub limits the size of a summary."""


def markdown_lines(review: Review) -> Iterator[str]:
    """Format findings as Markdown: yield a heading, and a table with a row for each finding."""
    found = list(review.findings())
    levels = Counter(finding.level for _, finding in found)
    counts = [f"{levels[name]} {name}{'s'[: levels[name] > 1]}" for name in ("error", "warning")]
    shown = [text for text in counts if not text.startswith("0")]
    programs = f"{len(review.cases)} program{'s'[: len(review.cases) != 1]}"
    yield f"### slowpath {review.command}: {', '.join([programs, *shown])}"
    yield ""
    yield "| level | program | result | line |"
    yield "| --- | --- | --- | --- |"
    for case, finding in found[:_MOST]:
        place = finding.place
        where = place.file if place.line is None else f"{place.file}:{place.line}"
        cells = (
            finding.level,
            markdown_code(case.label),
            markdown_text(finding.summary),
            markdown_code(where),
        )
        escaped = [cell.replace("|", "\\|") for cell in cells]
        yield f"| {' | '.join(escaped)} |"
    if len(found) > _MOST:
        yield ""
        yield f"{len(found) - _MOST} more are not shown."
    for case, finding in found[:_MOST]:
        rest = finding.message.split("\n")[1:]
        if rest and finding.level == "error":
            yield ""
            yield f"- {markdown_code(case.label)}: {rule_with(finding.code).title} ({finding.code})"
            for line in rest:
                yield f"  <br>{markdown_text(line)}"


def markdown_text(text: str) -> str:
    """Escape a text so that Markdown shows it unchanged."""
    return html.escape(one_line(text).translate(_SIGNS), quote=False)


def markdown_code(text: str) -> str:
    """Format a text as inline code of Markdown, even if it contains backticks."""
    line = one_line(text)
    if not line:
        return ""
    fence = "`" * (max((len(run) for run in re.findall("`+", line)), default=0) + 1)
    space = " " if "`" in (line[0], line[-1]) else ""
    return f"{fence}{space}{line}{space}{fence}"
