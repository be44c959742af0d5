"""What notebooks show: a table of programs, the packet that is slowest, texts."""

from collections.abc import Iterator, Sequence
from html import escape

from slowpath.cli.printable import one_line
from slowpath.packet.witness import hex_dump, witness_bytes
from slowpath.schema.derived import is_count, metric_rate, rate_metric
from slowpath.schema.rates import format_rate
from slowpath.schema.results import Result
from slowpath.schema.wording import condition


def page_part(results: Sequence[Result]) -> str:
    """The table as HTML; of a single program, its slowest packet below."""
    rows = "".join(f"<tr>{''.join(_cells(result))}</tr>" for result in results)
    heads = ("program", "target", "guaranteed", "verdict", "if")
    head = "".join(f"<th>{name}</th>" for name in heads)
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
    return table + (_packet(results[0]) if len(results) == 1 else "")


def preformatted(text: str) -> str:
    """A text with its columns below each other, as HTML."""
    return f"<pre>{escape(text)}</pre>"


def _cells(result: Result) -> Iterator[str]:
    name = result["file"] if result["section"] is None else f"{result['file']}:{result['program']}"
    guarantee = result["guarantee"]
    yield _cell(name)
    yield _cell(result["target"])
    if guarantee is None:
        yield _cell(result["error"] or "")
        yield from (_cell("not analysed"), _cell(""))
        return
    if is_count(result):
        counts = (guarantee["counts"] or {}).items()
        yield _cell(", ".join(f"{count} {what}" for what, count in counts))
    else:
        metric = rate_metric(result)
        yield _cell(format_rate(metric_rate(guarantee, metric), metric))
    yield _cell(guarantee["verdict"] or "")
    yield _cell("; ".join(map(condition, result["assumptions"])))


def _cell(text: str) -> str:
    return f"<td>{escape(one_line(text))}</td>"


def _packet(result: Result) -> str:
    if not result["paths"]:
        return ""
    lines = "\n".join(hex_dump(witness_bytes(result["paths"][0]["witness"])))
    return preformatted(lines)
