"""Output of insights: files, formats, warnings, rounded numbers."""

from argparse import Namespace
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from slowpath.core import inputs
from slowpath.core.errors import OptionError
from slowpath.core.inputs import write_text
from slowpath.core.printable import json_line
from slowpath.core.schema.provenance import provenance_lines
from slowpath.core.terminal import Line, first_few, note, out_lines

_WRITTEN = (".csv", ".json")
SHOWN = 3
"""Items that a sentence lists before it abbreviates the rest."""
GUESS = "what is said of them is a guess"
Report = TypeVar("Report")
Forms = Mapping[str, Callable[[Report], Iterable[Line | str]]]
"""Functions that write a report, by format; json needs none, as the report is the document."""


def check_output(output: str | None, read: Sequence[str]) -> None:
    """Check that a file can be written, in a known format, without replacing an input.

    Raises:
        OptionError: when a check fails.
    """
    if output is None:
        return
    if not output.endswith(_WRITTEN):
        raise OptionError("--output", "the file has to end in .csv or .json")
    inputs.check_output("--output", output, read)


def show(given: Namespace, forms: Forms[Report], report: Report) -> None:
    """Write a report to standard output in the format of `--format`."""
    out_lines(_lines(given.format, forms, report))


def write(given: Namespace, forms: Forms[Report], report: Report) -> None:
    """Write a report to the file of `--output`, else to standard output as `--format` asks.

    Raises:
        InputError: when the file cannot be written.
    """
    if given.output is None:
        show(given, forms, report)
        return
    lines = _lines(given.output.rpartition(".")[2], forms, report)
    texts = [line.text if isinstance(line, Line) else line for line in lines]
    write_text(given.output, "".join(f"{text}\n" for text in texts))


def _lines(form: str, forms: Forms[Report], report: Report) -> Iterable[Line | str]:
    if form == "json":
        return [json_line(report)]
    made = provenance_lines(report) if form != "csv" and isinstance(report, Mapping) else ()
    return [*forms[form](report), *made]


def warn_of_extrapolation(
    file: str, what: str, unusual: Sequence[tuple[str, Sequence[str]]]
) -> None:
    """Warn about items that differ from all measured ones.

    Args:
        file: name of the file with the items.
        what: noun and verb to follow a number: `functions are`.
        unusual: name of each item, with the columns that differ (empty for most items).
    """
    odd = [f"{name} ({', '.join(columns)})" for name, columns in unusual if columns]
    if odd:
        text = f"{len(odd)} of {len(unusual)} {what} unlike those that were measured"
        warn(file, f"{text}: {first_few(odd, SHOWN)}; {GUESS}")


def warn(file: str, text: str) -> None:
    """Write a warning about a file to standard error."""
    note(f"warning: {file}: {text}")


def number(value: float) -> str:
    """Format a number: without decimals if it is whole, else with six digits."""
    return f"{value:,.0f}" if value == round(value) else f"{value:,.6g}"


_PERCENT = 100


def rounded(number: float, digits: int = 6) -> float:
    """Round a number to significant digits that are the same on every machine."""
    return float(f"{number:.{digits}g}")


def percent(share: float | None, digits: int = 1) -> str:
    """Format a share in percent; return an empty string for None."""
    return "" if share is None else f"{_PERCENT * share:.{digits}f} %"


def quantity(count: float, what: str) -> str:
    """Format a count with its unit: 1 byte, 4,096 bytes, 2.5 reads."""
    digits = f"{count:,}" if isinstance(count, int) else f"{count:,g}"
    return f"{digits} {what}{'' if count == 1 else 's'}"
