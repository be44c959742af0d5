"""Runs the command `slowpath diff`."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, TypeVar

from slowpath.bounds.options import WrittenOptions, check_page_file, repeat
from slowpath.bounds.outcomes import note_on
from slowpath.bounds.requirement import Decision, judge, parse_requirement, reproduce
from slowpath.core import codes, engine
from slowpath.core.errors import ExitCode, InputError, OptionError, worst
from slowpath.core.formats import Reporter, ReportFile
from slowpath.core.inputs import program_files, read_program, result_files, write_text
from slowpath.core.jobs import Stopping, heeding_signals
from slowpath.core.programs.selection import Selection
from slowpath.core.schema.derived import is_count, program_label
from slowpath.core.schema.rates import Rate, Requirement
from slowpath.core.schema.results import Result
from slowpath.core.terminal import complain, error
from slowpath.diff.changes import Row, change_of, changed_lines, make_row, numbers_of
from slowpath.diff.filters import (
    AllowOptions,
    Comparison,
    Failure,
    Filter,
    Gate,
    Order,
    check_base,
    check_column,
    failures,
    keep_rows,
    parse_comparison,
    parse_filter,
    parse_sort,
    sort_rows,
)
from slowpath.diff.pairs import (
    SELECTING,
    Analyses,
    DiffInputs,
    OpenedSides,
    Pair,
    Side,
    analyses_here,
    analyses_in,
    looks_saved,
    match_programs,
    open_sides,
    results_of,
)
from slowpath.diff.report import Report

T = TypeVar("T")


class DiffOptions(NamedTuple):
    """Options of `slowpath diff` for its report and its exit code."""

    report: Reporter
    filters: Sequence[Filter]
    orders: Sequence[Order]
    gates: Sequence[Gate]
    lines: int  # maximum number of changed lines per direction and program
    allowed: AllowOptions = AllowOptions()
    jobs: int | None = None  # parallel processes; None: one
    html: str | None = None  # file for the page
    files: Sequence[ReportFile] = ()  # further reports

    @staticmethod
    def of_words(
        report: Reporter, keep: Sequence[str], sort: str | None, fail_on: Sequence[str], lines: int
    ) -> "DiffOptions":
        """Parse the arguments of `--filter`, `--sort` and `--fail-on`.

        `lines` is the maximum number of changed lines to show.

        Raises:
            OptionError: if an argument is invalid.
        """
        filters = [_read("--filter", parse_filter, text) for text in keep]
        orders = [] if sort is None else _read("--sort", parse_sort, sort)
        gates = [Gate(text, _read("--fail-on", parse_comparison, text)) for text in fail_on]
        return DiffOptions(report, filters, orders, gates, lines)


def _read(option: str, read: Callable[[str], T], text: str) -> T:
    try:
        return read(text)
    except ValueError as problem:
        raise OptionError(codes.INVALID_REQUIREMENT, option, str(problem)) from None


def diff(sides: DiffInputs, options: DiffOptions) -> ExitCode:
    """Compare two files, or the files of two folders by name, and print the report.

    Raises:
        OptionError: if an option is invalid, or does not fit the files.
        InputError: if a file cannot be read, or the results cannot be compared.
    """
    requirement = _requirement(sides)
    if options.html is not None:
        check_page_file(options.html, [str(sides.old), str(sides.new)])
    with heeding_signals() as stopping:
        opened = _open_all(sides)
        _check_bases(options, opened)
        with _analyses(opened, options.jobs, stopping) as analyses:
            compared = [_compare(one, analyses) for one in opened]
    rows = [row for one in compared for row in one.rows]
    _check_columns(options, rows)
    unread = next((one.old.unread for one in compared if one.old.unread is not None), None)
    allowed = options.allowed._replace(unread=unread)
    judged = [] if requirement is None else _judge(rows, requirement, sides.written)
    stopped = [
        *failures(rows, options.gates, allowed),
        *(one.failure for one in judged if one.failure),
    ]
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
    if options.html is not None:
        from slowpath.diff.page import diff_page

        write_text(options.html, diff_page(report, engine.version()))
    for one in options.files:
        one.write(report)
    options.report.write(report)
    for failure, command in zip(stopped, commands, strict=True):
        gate = failure.option == "--fail-on"
        code = codes.FAILED_GATE if gate else codes.MISSED_REQUIREMENT
        error(code, failure.row.pair.label, failure.reason)
        complain(f"reproduce: {command}")
    both = [side for one in compared for side in (one.old, one.new)]
    undecided = [result for side in both for result in side.undecided]
    failed = [
        one
        for one in stopped
        if one.option == "--fail-on"
        and not (one.unknown and any(result in undecided for result in one.row.pair))
    ]
    outcomes = [one for side in both for one in side.codes]
    outcomes += [one.code for one in judged]
    return worst([*outcomes, ExitCode.FAILED if failed else ExitCode.FINE])


def _requirement(sides: DiffInputs) -> Requirement | None:
    """Read the argument of `--require`, which also applies to saved results; None without it.

    Raises:
        OptionError: if it is invalid, or `--accept-assumptions` is given without it.
    """
    written = sides.written
    if written.require is not None:
        return _read("--require", parse_requirement, written.require)
    if written.accept_assumptions:
        raise OptionError(codes.OPTION_NEEDS_OPTION, "--accept-assumptions", "needs --require")
    return None


class _Judged(NamedTuple):
    """The decision whether a program of NEW meets the requirement of `--require`."""

    code: ExitCode
    failure: Failure | None  # None: it meets the requirement


def _judge(rows: Sequence[Row], requirement: Requirement, written: WrittenOptions) -> list[_Judged]:
    """Decide for each analysed program of NEW whether it meets the requirement.

    Conditions under which it is met are printed.

    Raises:
        InputError: if saved results are for another metric.
    """
    judged = []
    for row in rows:
        result = row.pair.new
        if result is None or result["error"] is not None:
            continue
        _check_metric(result, requirement)
        found = judge(result, requirement, accept=written.accept_assumptions)
        for condition in found.relied_on:
            note_on(row.pair.label, f"--require is met if {condition}")
        failure = None
        if found.decision is not Decision.MET:
            unknown = found.decision is Decision.UNDECIDED
            text = written.require or ""
            failure = Failure(row, "--require", text, found.reason, unknown=unknown)
        judged.append(_Judged(ExitCode(found.decision.value), failure))
    return judged


def _check_metric(result: Result, requirement: Requirement) -> None:
    """Check that a result can be compared with a requirement: it has the same metric.

    Raises:
        InputError: if it cannot, which is only possible for saved results.
    """
    estimated = isinstance(requirement, Rate) and is_count(result)
    if requirement.metric == ("packetrate" if estimated else result["metric"]):
        return
    words = f"{result['metric']}, but --require needs {requirement.metric}"
    raise InputError(
        codes.METRIC_NOT_COMPARABLE,
        result["file"],
        f"{program_label(result)}: its guarantee is for {words}; analyse it again",
    )


class _Files(NamedTuple):
    """A pair of compared files, with the rows of their programs."""

    inputs: DiffInputs
    old: Side
    new: Side
    rows: list[Row]


class _Pair(NamedTuple):
    """A pair of files to compare, before their analysis."""

    inputs: DiffInputs
    sides: OpenedSides


def _open_all(sides: DiffInputs) -> list[_Pair]:
    """Open all pairs of files to compare; pairs in which no program is selected are left out.

    Raises:
        OptionError: if an option makes no sense for the files, or selects no program of any file.
        InputError: if a file cannot be read.
    """
    problem: OptionError | None = None
    opened = []
    for files in file_pairs(sides):
        inputs = sides._replace(old=files[0], new=files[1])
        try:
            opened.append(_Pair(inputs, open_sides(inputs)))
        except OptionError as found:
            if found.option not in SELECTING:
                raise
            problem = found
    if problem is not None and not opened:
        raise problem
    return opened


@contextmanager
def _analyses(opened: Sequence[_Pair], jobs: int | None, stopping: Stopping) -> Iterator[Analyses]:
    """Yield the function that analyses programs: in `jobs` processes, or else in this process."""
    files = [side for one in opened for side in one.sides if side is not None]
    if min(jobs or 1, sum(side.tasks for side in files)) <= 1:
        yield analyses_here(stopping)
        return
    from slowpath.core.jobs.local_pool import open_pool

    with open_pool(None, jobs) as pool:
        yield analyses_in(pool, files, stopping)


def _compare(pair: _Pair, analyses: Analyses) -> _Files:
    """Get the results of two files, and compare them.

    Raises:
        InputError: if the results cannot be compared.
    """
    old, new = results_of(pair.sides, analyses)
    rows = [make_row(one) for one in match_programs(old.results, new.results)]
    return _Files(pair.inputs, old, new, rows)


def _files_of(failure: Failure, compared: Sequence[_Files]) -> _Files:
    """Return the pair of files that contains the program of a failure."""
    return next(one for one in compared if any(row is failure.row for row in one.rows))


def _compared(rows: Sequence[Row]) -> bool:
    """Return true if at least one program has a guarantee in both OLD and NEW."""
    return any(change_of(row) not in {"new", "gone", "unknown"} for row in rows)


def _check_columns(options: DiffOptions, rows: Sequence[Row]) -> None:
    """Check that the columns which options name exist.

    Raises:
        OptionError: if a column does not exist; the error names the option.
    """
    for option, column in _named_columns(options):
        _read(option, lambda name: check_column(name, rows), column)


def _check_bases(options: DiffOptions, opened: Sequence[_Pair]) -> None:
    """Check before the analyses that the columns which options name can exist.

    Raises:
        OptionError: if a column cannot exist; the error names the option.
    """
    known, cycles = dict[str, None](), False
    for side in (side for one in opened for side in one.sides if side is not None):
        for result in side.results or []:
            known |= dict.fromkeys(numbers_of(result))
        for request in side.requests:
            counters = request.target.counters
            cycles = cycles or counters is None
            known |= dict.fromkeys(name.replace("-", "_") for name in counters or [])
    for option, column in _named_columns(options):
        _read(option, lambda name: check_base(name, known, cycles=cycles), column)


def _named_columns(options: DiffOptions) -> list[tuple[str, str]]:
    """Return the columns that options name, as pairs of option and column."""
    conditions = [one.condition for one in options.filters]
    named = [("--filter", c.column) for c in conditions if isinstance(c, Comparison)]
    named += [("--sort", order.column) for order in options.orders]
    named += [("--fail-on", gate.condition.column) for gate in options.gates]
    return named


def _reproduce(sides: DiffInputs, files: _Files, failure: Failure, flags: Sequence[str]) -> str:
    """Return a shell command that reproduces a failure.

    It compares only the two files with the program; if one of two folders lacks the file, it
    compares the folders.
    """
    pair, options = failure.row.pair, list[str]()
    written = sides.written
    written = written._replace(selection=_only(pair, written.selection))
    inputs = sides if None in files.inputs[:2] else files.inputs
    if files.old.saved and files.new.saved:
        options += written.selection.words()
        if written.require is not None:
            options += ["--require", written.require]
        if written.accept_assumptions:
            options.append("--accept-assumptions")
    else:
        name = pair.measured["target"]
        known = files.new.targets or files.old.targets
        target_name, target = known.get(name) or next(iter(known.values()))
        target_name = name if written.target is None else target_name
        repeated = repeat(written, target)
        options += ["--target", target_name, "--metric", pair.measured["metric"], *repeated]
    compared = [str(inputs.old), str(inputs.new)]
    if failure.option == "--fail-on":  # --require is among the options
        options += ["--fail-on", failure.text]
    return reproduce("diff", compared, [*options, *flags])


def _only(pair: Pair, selection: Selection) -> Selection:
    """Return a selection of only the programs of this pair; `selection` if this is impossible.

    It is possible if both programs have the same name, without glob characters.
    """
    plain = len(pair.names) == 1 and pair.names[0].isidentifier()
    return Selection(names=tuple(pair.names)) if plain else selection


def file_pairs(sides: DiffInputs) -> list[tuple[str | None, str | None]]:
    """Return the pairs of files to compare; None stands for a file that one folder lacks.

    Two files are a pair. Files of two folders are a pair if they have the same path below the
    folder. Folders are compared by their programs only if neither has saved results. A file with
    saved results and a folder are a pair, whose programs are matched by name.

    Raises:
        InputError: if one is a folder and the other a program, or both folders are empty.
    """
    named = [str(sides.old), str(sides.new)]
    folders = [name for name in named if Path(name).is_dir()]
    if not folders:
        return [(sides.old, sides.new)]
    if len(folders) == 1:
        other = next(name for name in named if name not in folders)
        if looks_saved(read_program(other)):
            return [(sides.old, sides.new)]
        raise InputError(
            codes.FILES_DO_NOT_MATCH,
            folders[0],
            "is a directory, but the other side is a program; name two directories, two files, or "
            "saved results and a directory",
        )
    found = [result_files(name) for name in named]
    if not any(found):
        found = [program_files(name) for name in named]
    if not any(found):
        raise InputError(
            codes.FOLDER_WITHOUT_FILES,
            named[0],
            "neither folder contains results (*.json) or programs",
        )
    old, new = (
        {os.path.relpath(file, name): file for file in files}
        for name, files in zip(named, found, strict=True)
    )
    return [(old.get(name), new.get(name)) for name in sorted({*old, *new})]
