"""Formats findings as workflow commands, which GitHub shows beside the lines of a pull request.

The syntax and its escapes are those of `command.ts` in GitHub's package `@actions/core`.
"""

from collections.abc import Iterator

from slowpath.core.printable import one_line
from slowpath.core.review.findings import Case, Finding, Review, rule_with

_COMMANDS = {"error": "error", "warning": "warning", "note": "notice"}
_ORDER = tuple(_COMMANDS)


def github_lines(review: Review) -> Iterator[str]:
    """Yield a workflow command for each finding; errors come first.

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
    """Escape the message of a workflow command."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def escape_property(text: str) -> str:
    """Escape the value of a property of a workflow command."""
    return escape_data(text).replace(":", "%3A").replace(",", "%2C")
