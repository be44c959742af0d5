"""Output formats: the option `--format`, the reporter of each of its values, and their output.

Every command line imports this module, so it imports only fast modules.
"""

from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from slowpath.core.command import Heading, Option, load
from slowpath.core.printable import aligned_line, json_line
from slowpath.core.terminal import Line, out, out_lines

OUTPUT = Heading("Output")
"""Heading of the options for the output."""
JSON = f"{__name__}:json_report"
"""Place of the reporter for commands whose report is the JSON document itself."""
STABLE = "Format of the output; json is stable"
BOTH_STABLE = "Format of the output; json and csv are stable"
Lines = Iterable[Line | str]


class Reporter(NamedTuple):
    """The function that formats the reports of a command; it is imported when it is called."""

    form: str  # value of `--format`
    places: Mapping[str, str]  # of the reporters of all formats, `module:NAME`

    def __call__(self, *report: object, **options: object) -> Any:  # noqa: ANN401 - see `load`
        """Format a report."""
        return load(self.places[self.form])(*report, **options)

    def write(self, *report: object) -> None:
        """Write a report to standard output."""
        out_lines(self(*report))

    def write_to(self, file: str | None, *report: object) -> None:
        """Write a report to a file in the format that its suffix names; None: as `write`.

        Raises:
            InputError: if the file cannot be written.
        """
        named = self if file is None else self._replace(form=file.rpartition(".")[2])
        write_lines(named(*report), file)


class Formats:
    """The formats of a command, each with its reporter; the first is the default."""

    def __init__(self, module: str, **reporters: str) -> None:
        """Declare formats.

        Args:
            module: module of the reporters.
            reporters: by format, a name in this module, or the place of another reporter.
        """
        self._places = {
            form: at if ":" in at else f"{module}:{at}" for form, at in reporters.items()
        }

    def option(self, help_text: str = BOTH_STABLE) -> Option:
        """Return the option `--format`."""
        forms = tuple(self._places)
        about = f"{help_text} (default: %(default)s)."
        return OUTPUT.option("--format", about, choices=forms, default=forms[0])

    def reporter(self, form: str) -> Reporter:
        """Return the reporter of a format."""
        return Reporter(form, self._places)

    def call(self, place: str) -> Callable[[Namespace], int]:
        """Return a command's function, which passes options and reporter to the one at a place."""
        return lambda given: load(place)(given, self.reporter(given.format))


def json_report(document: object, *_unused: object) -> Lines:
    """Return a document as one line of JSON; only text reports use further values."""
    return [json_line(document)]


def json_start(head: Mapping[str, object], key: str) -> str:
    """Return the start of a JSON document, up to the items of a list."""
    return f'{json_line(head)[:-1]}, "{key}": ['


def json_items(
    head: Mapping[str, object],
    key: str,
    items: Iterable[object],
    rest: Mapping[str, object] | None = None,
) -> Iterator[str]:
    """Yield a JSON document with one line for each item of a list; keys of `rest` follow it."""
    yield json_start(head, key)
    for number, item in enumerate(items):
        yield ("," if number else "") + json_line(item)
    yield f"], {json_line(rest)[1:]}" if rest else "]}"


def stream_lines(lines: Lines) -> None:
    """Write each line to standard output as soon as it is known."""
    for line in lines:
        out(line)


def write_lines(lines: Lines, file: str | None) -> None:
    """Write lines to a file, or to standard output without one.

    Raises:
        InputError: if the file cannot be written.
    """
    if file is None:
        out_lines(lines)
        return
    from slowpath.core.inputs import write_text

    texts = [line.text if isinstance(line, Line) else line for line in lines]
    write_text(file, "".join(f"{aligned_line(text)}\n" for text in texts))
