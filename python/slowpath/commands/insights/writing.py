"""How commands of insights write: a file or standard output, one of several formats; warnings."""

from argparse import Namespace
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from slowpath.cli import inputs
from slowpath.cli.errors import OptionError
from slowpath.cli.inputs import write_text
from slowpath.cli.terminal import Line, note, out_lines

_WRITTEN = (".csv", ".json")
_SHOWN = 3
Report = TypeVar("Report")


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


def write(
    given: Namespace,
    forms: Mapping[str, Callable[[Report], Iterable[Line | str]]],
    report: Report,
) -> None:
    """Writes a report to the file of `--output`, or to standard output as `--format` says.

    Raises:
        InputError: when it cannot be written.
    """
    if given.output is None:
        out_lines(forms[given.format](report))
        return
    lines = forms[given.output.rpartition(".")[2]](report)
    texts = [line.text if isinstance(line, Line) else line for line in lines]
    write_text(given.output, "".join(f"{text}\n" for text in texts))


def told(many: Sequence[str]) -> str:
    """The first of several things, and that there are more."""
    return ", ".join(many[:_SHOWN]) + (", ..." if len(many) > _SHOWN else "")


def warn(file: str, text: str) -> None:
    """Writes a warning about a file."""
    note(f"warning: {file}: {text}")
