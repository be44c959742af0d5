"""Formats findings as a Markdown table, for the summary of a job."""

import re
from collections import Counter
from collections.abc import Iterator
from html import escape

from slowpath.core.printable import one_line
from slowpath.core.review.findings import Review, rule_with

_SIGNS = str.maketrans({sign: f"\\{sign}" for sign in "\\`*[]~#"})
_MOST = 200
"""Maximum number of rows; GitHub limits the size of a summary."""


def markdown_lines(review: Review) -> Iterator[str]:
    """Yield a heading, and a table with a row for each finding."""
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
    """Escape text for Markdown."""
    return escape(one_line(text).translate(_SIGNS), quote=False)


def markdown_code(text: str) -> str:
    """Format any text as Markdown code."""
    line = one_line(text)
    if not line:
        return ""
    fence = "`" * (max((len(run) for run in re.findall("`+", line)), default=0) + 1)
    space = " " if "`" in (line[0], line[-1]) else ""
    return f"{fence}{space}{line}{space}{fence}"
