"""Runs `slowpath insights blocks`."""

from argparse import Namespace

from slowpath.cli.exit_codes import ExitCode
from slowpath.cli.printable import json_line
from slowpath.cli.terminal import note, out, out_lines
from slowpath.commands.insights.compiling import read_limits
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
    if given.format == "json":
        out(json_line(report))
    else:
        from slowpath.commands.insights.blocks.report import blocks_csv, blocks_text

        out_lines((blocks_csv if given.format == "csv" else blocks_text)(report))
    if report["stopped"] is not None:
        note(f"warning: {given.file}: stopped ({report['stopped']}) before all was predicted")
    return ExitCode.FINE
