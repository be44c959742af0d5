"""The command line: finds and runs the command, and reports failures.

Modules that are slow to import are imported only when a command runs.
"""

from argparse import ArgumentParser
from collections.abc import Sequence

from slowpath.core.command import Command, Group, load
from slowpath.core.errors import ExitCode
from slowpath.core.parser import GENERAL, PrintAction, command_parser, group_parser, read
from slowpath.core.terminal import error, note, tell

_HELP = ("-h", "--help")


def _version(_parser: ArgumentParser) -> str:
    from slowpath.core import engine

    return f"slowpath {engine.version()}"


ROOT = Group(
    (
        "Compute the guaranteed throughput of a packet-processing program on a device, and the "
        "packet that makes it slowest.",
    ),
    (
        GENERAL.option(
            "--version", "Print the version and exit.", action=PrintAction, nargs=0, const=_version
        ),
    ),
    {
        "bound": "slowpath.bounds.cli:BOUND",
        "sweep": "slowpath.sweep.cli:SWEEP",
        "measure": "slowpath.measure.cli:MEASURE",
        "fit": "slowpath.models.cli:FIT",
        "calibrate": "slowpath.calibrate.cli:CALIBRATE",
        "chain": "slowpath.chain.cli:CHAIN",
        "contention": "slowpath.contention.cli:CONTENTION",
        "insights": "slowpath.insights.cli:INSIGHTS",
        "annotate": "slowpath.annotate.cli:ANNOTATE",
        "diff": "slowpath.diff.cli:DIFF",
        "compile": "slowpath.compile.cli:COMPILE",
        "show": "slowpath.show.cli:SHOW",
        "schema": "slowpath.core.schema.cli:SCHEMA",
        "targets": "slowpath.targets.cli:TARGETS",
    },
)


def app(words: Sequence[str]) -> int:
    """Run the command that the command line names, and return its exit code."""
    path, rest = "slowpath", list(words)
    member: Command | Group = ROOT
    while isinstance(member, Group):
        if rest and rest[0] in member.commands:
            path, member = f"{path} {rest[0]}", load(member.commands[rest.pop(0)])
        elif member.file_command is not None and _names_file(rest):
            member = load(member.file_command)
        else:
            return _no_command(path, member, rest)
    return _run(path, member, rest)


def _names_file(words: Sequence[str]) -> bool:
    """Return true if the first argument of a group of commands is a file rather than a command.

    The first argument then is an existing file, cannot be the name of a command, or is an option
    other than help. A misspelt command does not count as a file.
    """
    from pathlib import Path

    if not words or words[0] in _HELP:
        return False
    first = words[0]
    return first.startswith("-") or not first.isidentifier() or Path(first).exists()


def _no_command(path: str, group: Group, words: Sequence[str]) -> int:
    """Handle arguments without a command: execute a flag of the group, or report wrong usage."""
    parser = group_parser(path, group)
    parser.parse_args(words)  # exits if there are arguments
    tell(parser.format_help())
    return ExitCode.USAGE


def _run(path: str, command: Command, words: Sequence[str]) -> int:
    parser = command_parser(path, command)
    args = read(parser, words)
    from slowpath.core.errors import InputError, OptionError
    from slowpath.core.inputs import check_written

    try:
        check_written(command.options, args)
        return command.run(args)
    except OptionError as wrong:
        parser.error(f"Invalid value for '{wrong.option}': {wrong.reason}")
    except InputError as failure:
        error(failure.file, failure.reason)
        for reason in failure.further:
            note(f"note: {failure.file}: also {reason}")
        return ExitCode.INPUT
    except ModuleNotFoundError as missing:
        from slowpath.core.errors import missing_package

        unavailable = missing_package(missing.name, path)
        if unavailable is None:
            raise
        error("this machine", unavailable)
        return ExitCode.INPUT
