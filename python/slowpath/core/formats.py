"""Handles the option `--format`: chooses the format of a report, and writes report and warnings.

Every command line imports this module, so it imports only fast modules.

A table ends with the warnings about a result, and a page begins with them. JSON documents have the
key `warnings` (`slowpath.core.schema.Warned`). CSV cannot contain them. Standard error has them for
all formats, except if it leads to the same terminal, pipe or file as the table.
"""

import os
import sys
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

from slowpath.core import codes
from slowpath.core.codes import Code
from slowpath.core.command import Heading, Option, load
from slowpath.core.errors import Coded, OptionError, with_code
from slowpath.core.printable import aligned_line, json_line, one_line
from slowpath.core.terminal import Line, is_terminal, note, out, out_lines

OUTPUT = Heading("Output")
"""Heading in help texts above the options that control the output."""
JSON = f"{__name__}:json_report"
"""Reference to the reporter of commands whose reports are already JSON documents."""
_FOR_PEOPLE = frozenset({"table", "text"})
"""Formats for people, which show warnings."""
STABLE = "json is stable."
BOTH_STABLE = "json and csv are stable."
Lines = Iterable[Line | str]


class KeptReport(NamedTuple):
    """The report of a command that a Python program called, before it is formatted."""

    reporter: "Reporter"
    parts: Sequence[object]  # arguments of reporting functions
    options: Mapping[str, object]  # further arguments of the functions for people
    warnings: Sequence[Coded]

    @property
    def formats(self) -> Sequence[str]:
        """Names of the report's formats; the first one is for people."""
        return list(self.reporter.references)

    def lines(self, format_name: str) -> Iterator[str]:
        """Yield the report in a format, as the command prints it."""
        reporter = Reporter(format_name, self.reporter.references)
        shown = warning_lines(self.warnings) if reporter.for_people else ()
        for line in chain(reporter(*self.parts, **self.options), shown):
            yield aligned_line(line.text if isinstance(line, Line) else line)


class Keeper:
    """Stores the report of a command instead of printing it.

    It is the value of `--format` when a Python program calls a command.
    """

    def __init__(self) -> None:
        self.report: KeptReport | None = None

    def keep(self, report: KeptReport) -> None:
        """Store the report of the command."""
        self.report = report


class Reporter(NamedTuple):
    """Formats reports in one format. The module of the format is imported at the first call."""

    format: str  # value of `--format`
    references: Mapping[str, str]  # reporting function of each format, `module:NAME`
    keeper: Keeper | None = None  # gets reports instead of standard output

    @property
    def for_people(self) -> bool:
        """Return true if the format is text for people, and false if it is for programs."""
        return self.format in _FOR_PEOPLE

    def __call__(self, *report: object, **options: object) -> Any:  # noqa: ANN401 - see `load`
        """Format and return a report.

        If the format is a `Keeper`, store the report and return no lines.
        """
        if self.keeper is not None:
            self.keeper.keep(KeptReport(self, [*map(_lasting, report)], options, ()))
            return ()
        return load(self.references[self.format])(*report, **options)

    def write(self, *report: object, warnings: Sequence[Coded] = ()) -> None:
        """Write a report to standard output, and warnings about it to standard error.

        A table ends with the warnings. The caller must have put them into a JSON document.
        """
        self.write_to(None, *report, warnings=warnings)

    def write_to(self, file: str | None, *report: object, warnings: Sequence[Coded] = ()) -> None:
        """Write a report to a file in the format of its suffix; for None, to standard output.

        Warnings are written as in `write`.

        Raises:
            InputError: if the file cannot be written.
        """
        if self.keeper is not None:
            self.keeper.keep(KeptReport(self, [*map(_lasting, report)], {}, warnings))
            warn(warnings)
            return
        reporter = self if file is None else self._replace(format=file.rpartition(".")[2])
        shown = warnings if reporter.for_people else ()
        write_lines(chain(reporter(*report), warning_lines(shown)), file)
        warn(warnings, in_table=reporter.for_people)


def _lasting(part: object) -> object:
    """Turn an iterator into a list, so that the report can be formatted more than once."""
    return list(part) if isinstance(part, Iterator) else part


class ReportFile(NamedTuple):
    """A file for a further report, and the function that formats the report."""

    file: str
    reporter: Reporter

    def write(self, *report: object) -> None:
        """Write a report to the file.

        Raises:
            InputError: if the file cannot be written.
        """
        write_lines(self.reporter(*report), self.file)


class Formats:
    """The report formats of a command, each with its formatting function; the default is first."""

    def __init__(self, module: str, **reporters: str) -> None:
        """Declare the formats of a command's reports.

        Args:
            module: Module with the formatting functions.
            reporters: By format, a name in the module, or a reference `module:NAME`.
        """
        self._references = {
            name: one if ":" in one else f"{module}:{one}" for name, one in reporters.items()
        }

    @property
    def names(self) -> Sequence[str]:
        """Names of the formats."""
        return list(self._references)

    def option(self, remark: str = BOTH_STABLE) -> Option:
        """Return the command-line option `--format`; `remark` is a sentence for its help."""
        names = tuple(self.names)
        about = f"Print {', '.join(names[:-1])} or {names[-1]}"
        return OUTPUT.option("--format FORMAT", about, remark, choices=names, default=names[0])

    def report_option(self) -> Option:
        """Return the command-line option `--report`, for further reports in files."""
        suffixes = {name: _end(name) for name in self._references}
        ends = ", ".join(
            end if end == f".{name}" else f"{end} ({name})" for name, end in suffixes.items()
        )
        return OUTPUT.option(
            "--report FILE",
            "Write another report to FILE, in the format of its suffix",
            f"Suffixes are {ends}. Repeatable.",
            common=False,
            action="append",
            default=[],
        )

    def reporter(self, name: str | Keeper) -> Reporter:
        """Return the reporter for a format. For a `Keeper`, the reporter stores reports instead."""
        if isinstance(name, Keeper):
            return Reporter(next(iter(self._references)), self._references, name)
        return Reporter(name, self._references)

    def report_files(self, files: Sequence[str]) -> list[ReportFile]:
        """Return the files that `--report` names, each with the reporter for its suffix.

        Raises:
            OptionError: if the suffix of a file is not that of a format.
            InputError: if a file cannot be written.
        """
        found = list[ReportFile]()
        for file in files:
            from slowpath.core.inputs import check_writable

            name = next((name for name in self._references if file.endswith(_end(name))), None)
            if name is None:
                ends = ", ".join(map(_end, self._references))
                raise OptionError(
                    codes.WRONG_SUFFIX, "--report", f"{file}: the suffix must be one of {ends}"
                )
            check_writable(file)
            found.append(ReportFile(file, self.reporter(name)))
        return found

    def call(self, reference: str) -> Callable[[Namespace], int]:
        """Return a function that runs a command.

        It calls the referenced function with the options and the reporter for `--format`.
        """
        return lambda args: load(reference)(args, self.reporter(args.format))


def _end(name: str) -> str:
    """Return the suffix of files that have a format: `.txt` for `table`."""
    return {"table": ".txt", "markdown": ".md", "junit": ".xml"}.get(name, f".{name}")


def json_report(document: object, *_unused: object, **_options: object) -> Lines:
    """Return a document as one line of JSON; other arguments are for text reports only."""
    return [json_line(document)]


def json_start(head: Mapping[str, object], key: str) -> str:
    """Return the start of a JSON document with a long list, up to the `[` of the list.

    `head` has the values before the list; `key` is the key of the list.
    """
    return f'{json_line(head)[:-1]}, "{key}": ['


def json_items(
    head: Mapping[str, object],
    key: str,
    items: Iterable[object],
    rest: Mapping[str, object] | None = None,
) -> Iterator[str]:
    """Yield a JSON document with a long list: `head`, then the list `items` at `key`, then `rest`.

    Each item of the list is on its own line.
    """
    yield json_start(head, key)
    for number, item in enumerate(items):
        yield ("," if number else "") + json_line(item)
    yield json_end(rest)


def json_end(rest: Mapping[str, object] | None = None) -> str:
    """Return the end of a JSON document after its list, with the further values in `rest`."""
    return f"], {json_line(rest)[1:]}" if rest else "]}"


def stream_lines(lines: Lines) -> None:
    """Write each line to standard output as soon as the iterator yields it."""
    for line in lines:
        out(line)


def write_lines(lines: Lines, file: str | None) -> None:
    """Write lines to a file; for None, to standard output.

    Raises:
        InputError: if the file cannot be written.
    """
    if file is None:
        out_lines(lines)
        return
    from slowpath.core.inputs import write_text

    texts = [line.text if isinstance(line, Line) else line for line in lines]
    write_text(file, "".join(f"{aligned_line(text)}\n" for text in texts))


def warning_lines(warnings: Sequence[Coded]) -> Iterator[Line]:
    """Yield the warnings as lines below a table, after an empty line."""
    if warnings:
        yield Line("")
    for text in warnings:
        yield Line(one_line(with_code(f"warning: {text}", text.code)), "yellow")


def warn(warnings: Sequence[Coded], *, in_table: bool = False) -> None:
    """Write warnings to standard error, unless its reader has already seen them in a table.

    `in_table` is true if standard output has a table that ends with them.
    """
    if in_table and _read_together():
        return
    for text in warnings:
        note(with_code(f"warning: {text}", text.code))


def codes_of(warnings: Iterable[Coded]) -> list[str]:
    """Return the codes of warnings, for the key `warning_codes` of JSON documents."""
    return [text.code for text in warnings]


def coded(texts: Iterable[str], codes: Iterable[str]) -> list[Coded]:
    """Combine the warnings of a JSON document, which stores texts and codes in two lists."""
    return [Coded(Code(code), text) for text, code in zip(texts, codes, strict=True)]


def _read_together() -> bool:
    """Return true if standard output and standard error lead to the same reader.

    This is a terminal, or the same pipe or file.
    """
    if is_terminal(sys.stdout) and is_terminal(sys.stderr):
        return True
    try:
        one, other = (os.fstat(stream.fileno()) for stream in (sys.stdout, sys.stderr))
    except (OSError, ValueError):  # a closed stream, or one without a file (`io.StringIO`)
        return False
    return os.path.samestat(one, other)
