"""Runs `slowpath insights accelerators`."""

from argparse import Namespace

from slowpath.cli.exit_codes import ExitCode
from slowpath.commands.insights.compiling import read_work
from slowpath.commands.insights.writing import show, warn
from slowpath.insights.packages import need_compiler
from slowpath.work.stopping import heeding_signals


def run(given: Namespace) -> ExitCode:
    """Examines a file and reports.

    Raises:
        InputError: when the file cannot be read, compiled or used.
        OptionError: when an option makes no sense.
        UnavailableError: when llvmlite is missing.
    """
    need_compiler()
    work = read_work(given)
    from slowpath.insights.accelerators.examination import examine

    with heeding_signals() as stopping:
        report = examine(work.source, given.entry, work.seconds, work.memory, stopping)
    from slowpath.commands.insights.accelerators.report import accelerators_csv, accelerators_text

    show(given, {"csv": accelerators_csv, "table": accelerators_text}, report)
    if report["stopped"] is not None:
        warn(given.file, f"stopped ({report['stopped']}) before all was examined")
    return ExitCode.FINE
