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
"""Of several things that are said in a sentence."""
GUESS = "what is said of them is a guess"
Report = TypeVar("Report")
Forms = Mapping[str, Callable[[Report], Iterable[Line | str]]]
"""How a report is written, by format; as JSON, all are one document."""


def check_output(output: str | None, read: Sequence[str]) -> None:
    """Finds out whether a file can be written in a format, and replaces nothing that is read.

    Raises:
        OptionError: when not.
    """
    if output is None:
        return
    if not output.endswith(_WRITTEN):
        raise OptionError("--output", "the file has to end in .csv or .json")
    inputs.check_output("--output", output, read)


def show(given: Namespace, forms: Forms[Report], report: Report) -> None:
    """Writes a report to standard output as `--format` says."""
    out_lines(_lines(given.format, forms, report))


def write(given: Namespace, forms: Forms[Report], report: Report) -> None:
    """Writes a report to the file of `--output`, or to standard output as `--format` says.

    Raises:
        InputError: when it cannot be written.
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


def warn_of_guesses(file: str, what: str, unusual: Sequence[tuple[str, Sequence[str]]]) -> None:
    """Warns of what is unlike all that was measured.

    Args:
        file: where it is.
        what: it, as a sentence goes on behind a number: `functions are`.
        unusual: names, and in what each is unlike: nothing, of most.
    """
    odd = [f"{name} ({', '.join(columns)})" for name, columns in unusual if columns]
    if odd:
        text = f"{len(odd)} of {len(unusual)} {what} unlike those that were measured"
        warn(file, f"{text}: {first_few(odd, SHOWN)}; {GUESS}")


def warn(file: str, text: str) -> None:
    """Writes a warning about a file."""
    note(f"warning: {file}: {text}")


def number(value: float) -> str:
    """Whole where it is."""
    return f"{value:,.0f}" if value == round(value) else f"{value:,.6g}"


_PERCENT = 100


def rounded(number: float, digits: int = 6) -> float:
    """A number without digits that differ from machine to machine."""
    return float(f"{number:.{digits}g}")


def percent(share: float | None, digits: int = 1) -> str:
    """A share; nothing where there is none."""
    return "" if share is None else f"{_PERCENT * share:.{digits}f} %"


def quantity(count: float, what: str) -> str:
    """So many of something: 1 byte, 4,096 bytes, 2.5 reads."""
    digits = f"{count:,}" if isinstance(count, int) else f"{count:,g}"
    return f"{digits} {what}{'' if count == 1 else 's'}"
