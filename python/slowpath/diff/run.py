"""Runs the command `slowpath diff`."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from slowpath.bounds.options import repeat
from slowpath.bounds.requirement import reproduce
from slowpath.core.errors import ExitCode, OptionError, worst
from slowpath.core.formats import Reporter, ReportFile
from slowpath.core.jobs.stopping import Stopping, heeding_signals
from slowpath.core.programs.selection import Selection
from slowpath.core.terminal import complain, error
from slowpath.diff.columns import Row, change_of, make_row
from slowpath.diff.filters import (
    AllowOptions,
    Comparison,
    Failure,
    Filter,
    Gate,
    Order,
    check_column,
    failures,
    keep_rows,
    parse_comparison,
    parse_filter,
    parse_sort,
    sort_rows,
)
from slowpath.diff.folders import file_pairs
from slowpath.diff.lines import changed_lines
from slowpath.diff.pairs import (
    SELECTING,
    DiffInputs,
    Pair,
    Side,
    load_sides,
    match_programs,
)
from slowpath.diff.report import Report

T = TypeVar("T")


class DiffOptions(NamedTuple):
    """Options of `slowpath diff`: the content of the report, and the `--fail-on` conditions."""

    report: Reporter
    filters: Sequence[Filter]
    orders: Sequence[Order]
    gates: Sequence[Gate]
    lines: int  # maximum number of changed lines per direction and program
    allowed: AllowOptions = AllowOptions()
    files: Sequence[ReportFile] = ()  # further reports

    @staticmethod
    def of_words(
        report: Reporter, keep: Sequence[str], sort: str | None, fail_on: Sequence[str], lines: int
    ) -> "DiffOptions":
        """Parse the options.

        Raises:
            OptionError: if an option is invalid.
        """
        filters = [_read("--filter", parse_filter, text) for text in keep]
        orders = [] if sort is None else _read("--sort", parse_sort, sort)
        gates = [Gate(text, _read("--fail-on", parse_comparison, text)) for text in fail_on]
        return DiffOptions(report, filters, orders, gates, lines)


def _read(option: str, read: Callable[[str], T], text: str) -> T:
    try:
        return read(text)
    except ValueError as problem:
        raise OptionError(option, str(problem)) from None


def diff(sides: DiffInputs, options: DiffOptions) -> ExitCode:
    """Compare two files, or the files of two folders by name, and print the differences.

    Raises:
        OptionError: if an option is invalid, or does not fit the files.
        InputError: if a file cannot be read, or the results cannot be compared.
    """
    with heeding_signals() as stopping:
        compared = [*_compare(sides, stopping)]
    rows = [row for one in compared for row in one.rows]
    _check_columns(options, rows)
    unread = next((one.old.unread for one in compared if one.old.unread is not None), None)
    allowed = options.allowed._replace(unread=unread)
    stopped = failures(rows, options.gates, allowed)
    flags = allowed.words()
    commands = [
        _reproduce(sides, _files_of(failure, compared), failure, flags) for failure in stopped
    ]
    shown = sort_rows(keep_rows(rows, options.filters), options.orders)
    changes = [changed_lines(row.pair) for row in shown]
    report = Report(
        str(sides.old),
        str(sides.new),
        shown,
        changes,
        stopped,
        commands,
        options.lines,
        _compared(rows),
    )
    for one in options.files:
        one.write(report)
    options.report.write(report)
    for failure, command in zip(stopped, commands, strict=True):
        error(failure.row.pair.label, failure.reason)
        complain(f"reproduce: {command}")
    both = [side for one in compared for side in (one.old, one.new)]
    undecided = [result for side in both for result in side.undecided]
    failed = [f for f in stopped if not (f.unknown and any(r in undecided for r in f.row.pair))]
    codes = [code for side in both for code in side.codes]
    return worst([*codes, ExitCode.FAILED if failed else ExitCode.FINE])


class _Files(NamedTuple):
    """A compared pair of files, and the rows of its programs."""

    inputs: DiffInputs
    old: Side
    new: Side
    rows: list[Row]


def _compare(sides: DiffInputs, stopping: Stopping) -> Iterator[_Files]:
    """Yield each compared pair of files, without those in which no program is selected.

    Raises:
        OptionError: if an option makes no sense for the files, or selects no program of any file.
        InputError: if a file cannot be read, or the results cannot be compared.
    """
    problem: OptionError | None = None
    count = 0
    for files in file_pairs(sides):
        inputs = sides._replace(old=files[0], new=files[1])
        try:
            old, new = load_sides(inputs, stopping)
        except OptionError as found:
            if found.option not in SELECTING:
                raise
            problem = found
            continue
        rows = [make_row(pair) for pair in match_programs(old.results, new.results)]
        count += 1
        yield _Files(inputs, old, new, rows)
    if problem is not None and not count:
        raise problem


def _files_of(failure: Failure, compared: Sequence[_Files]) -> _Files:
    """Return the files with the program of a failure."""
    return next(one for one in compared if any(row is failure.row for row in one.rows))


def _compared(rows: Sequence[Row]) -> bool:
    """Return true if at least one program has a guarantee in both OLD and NEW."""
    return any(change_of(row) not in {"new", "gone", "unknown"} for row in rows)


def _check_columns(options: DiffOptions, rows: Sequence[Row]) -> None:
    """Check that every column in an option exists.

    Raises:
        OptionError: if a column does not exist; the error names the option.
    """
    conditions = [one.condition for one in options.filters]
    named = [("--filter", c.column) for c in conditions if isinstance(c, Comparison)]
    named += [("--sort", order.column) for order in options.orders]
    named += [("--fail-on", gate.condition.column) for gate in options.gates]
    for option, column in named:
        try:
            check_column(column, rows)
        except ValueError as problem:
            raise OptionError(option, str(problem)) from None


def _reproduce(sides: DiffInputs, files: _Files, failure: Failure, flags: Sequence[str]) -> str:
    """Return the shell command that reproduces a failure.

    It compares the two files with the program, or the folders if one of them lacks the file.
    """
    pair, options = failure.row.pair, list[str]()
    written = sides.written
    written = written._replace(selection=_only(pair, written.selection))
    inputs = sides if None in files.inputs[:2] else files.inputs
    if files.old.saved and files.new.saved:
        options += written.selection.words()
    else:
        name = pair.measured["target"]
        known = files.new.targets or files.old.targets
        target_name, target = known.get(name) or next(iter(known.values()))
        target_name = name if written.target is None else target_name
        repeated = repeat(written, target)
        options += ["--target", target_name, "--metric", pair.measured["metric"], *repeated]
    compared = [str(inputs.old), str(inputs.new)]
    return reproduce("diff", compared, [*options, "--fail-on", failure.gate.text, *flags])


def _only(pair: Pair, selection: Selection) -> Selection:
    """Return a selection of only this pair, if possible, else `selection`.

    Possible if the old and the new program have the same name, without glob characters.
    """
    plain = len(pair.names) == 1 and pair.names[0].isidentifier()
    return Selection(names=tuple(pair.names)) if plain else selection
