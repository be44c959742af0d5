"""Formats findings as SARIF 2.1.0, which code scanning of GitHub and other hosts reads.

Section numbers are those of the OASIS standard "Static Analysis Results Interchange Format (SARIF)
Version 2.1.0".
"""

import os
from collections.abc import Iterator, Sequence
from urllib.parse import quote

from slowpath.core.printable import json_line
from slowpath.core.review.findings import (
    RULES,
    Case,
    Finding,
    Place,
    Review,
    Rule,
    Step,
    help_address,
    rule_with,
)
from slowpath.core.review.places import is_relative

SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
ROOT = "%SRCROOT%"
"""Symbol for the root of the repository (3.14.14); consumers know where it is."""
_FAILED = "not-analysed"

_Object = dict[str, object]


def sarif_lines(review: Review) -> Iterator[str]:
    """Yield the lines of the SARIF log, one for each result."""
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
    """Return the run without its results (3.14)."""
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
    """Return the documentation of a rule (3.49)."""
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
    """Return a result (3.27); `occurrence` counts results with the same fingerprint."""
    result: _Object = {
        "ruleId": finding.code,
        "ruleIndex": next(at for at, rule in enumerate(rules) if rule.code == finding.code),
        "level": finding.level,
        "message": _message(f"{case.label}: {finding.message}"),
        "locations": [_location(finding.place)],
        # The name is the only one that GitHub uses to recognise an alert.
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
    """Return a message; single braces would be placeholders (3.11.5)."""
    return {"text": text.replace("{", "{{").replace("}", "}}")}


def _bytes(name: str) -> bytes:
    """Return the bytes of a file name; names in saved results may be no names of this system."""
    try:
        return os.fsencode(name)
    except UnicodeEncodeError:
        return name.encode(errors="backslashreplace")


def _artifact(name: str) -> _Object:
    """Return the URI of a file (3.4), relative to the root of the repository if it is below."""
    encoded = quote(_bytes(name))
    return (
        {"uri": encoded, "uriBaseId": ROOT} if is_relative(name) else {"uri": f"file://{encoded}"}
    )
