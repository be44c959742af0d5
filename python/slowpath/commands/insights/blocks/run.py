"""Runs `slowpath insights blocks`."""

from argparse import Namespace

from slowpath.cli.exit_codes import ExitCode
from slowpath.commands.insights.compiling import read_limits
from slowpath.commands.insights.writing import show, warn
from slowpath.insights.packages import need_compiler
from slowpath.work.stopping import heeding_signals


def run(given: Namespace) -> ExitCode:
    """Predicts the blocks of a file and reports.

    Raises:
        InputError: when the file cannot be read, compiled or used.
        OptionError: when an option makes no sense.
        StoppedError: when there was not enough time for any of it.
        UnavailableError: when llvmlite is missing.
    """
    need_compiler()
    limits = read_limits(given)
    from slowpath.insights.blocks.examination import examine
    from slowpath.insights.blocks.predictions.question import Question

    question = Question(given.file, given.entry, given.map_abi, limits.clang, given.model)
    with heeding_signals() as stopping:
        report = examine(question, limits.seconds, limits.memory, stopping)
    from slowpath.commands.insights.blocks.report import blocks_csv, blocks_text

    show(given, {"csv": blocks_csv, "table": blocks_text}, report)
    if report["stopped"] is not None:
        warn(given.file, f"stopped ({report['stopped']}) before all was predicted")
    return ExitCode.FINE
