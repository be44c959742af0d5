"""The command line: which command is called, and what becomes of wrong usage and failures.

Nothing heavy is imported before a command runs.
"""

from argparse import ArgumentParser
from collections.abc import Sequence

from slowpath.cli.command import Command, Group, load, option
from slowpath.cli.exit_codes import ExitCode
from slowpath.cli.parser import GENERAL, Say, command_parser, group_parser, read
from slowpath.cli.terminal import error, note, tell

_HELP = ("-h", "--help")


def _version(_parser: ArgumentParser) -> str:
    from slowpath.engine import identity

    return f"slowpath {identity.version()}"


ROOT = Group(
    (
        "How fast is a packet-processing program guaranteed to run on a device, and which packet "
        "makes it slowest?",
    ),
    (
        option(
            GENERAL,
            "--version",
            action=Say,
            nargs=0,
            const=_version,
            help="Print the version and exit.",
        ),
    ),
    {
        "bound": "slowpath.commands.bound.command:BOUND",
        "sweep": "slowpath.commands.sweep.command:SWEEP",
        "measure": "slowpath.commands.measure.command:MEASURE",
        "fit": "slowpath.commands.fit.command:FIT",
        "calibrate": "slowpath.commands.calibrate.command:CALIBRATE",
        "chain": "slowpath.commands.chain.command:CHAIN",
        "contention": "slowpath.commands.contention.command:CONTENTION",
        "insights": "slowpath.commands.insights.command:INSIGHTS",
        "annotate": "slowpath.commands.annotate.command:ANNOTATE",
        "diff": "slowpath.commands.diff.command:DIFF",
        "compile": "slowpath.commands.compile.command:COMPILE",
        "show": "slowpath.commands.show.command:SHOW",
        "schema": "slowpath.commands.schema.command:SCHEMA",
        "targets": "slowpath.commands.targets.command:TARGETS",
    },
)


def app(words: Sequence[str]) -> int:
    """Runs the command that the words of the command line call; its exit code."""
    path, rest = "slowpath", list(words)
    member: Command | Group = ROOT
    while isinstance(member, Group):
        if rest and rest[0] in member.commands:
            path, member = f"{path} {rest[0]}", load(member.commands[rest.pop(0)])
        elif member.of_file is not None and _names_file(rest):
            member = load(member.of_file)
        else:
            return _no_command(path, member, rest)
    return _run(path, member, rest)


def _names_file(words: Sequence[str]) -> bool:
    """Whether words call the command of a group that takes a file.

    The first one does that looks like a file or is one, and so does an option in front of it, but
    for those of the group; a misspelt name of a command is none.
    """
    from pathlib import Path

    if not words or words[0] in _HELP:
        return False
    first = words[0]
    return first.startswith("-") or not first.isidentifier() or Path(first).exists()


def _no_command(path: str, group: Group, words: Sequence[str]) -> int:
    """Does what a flag of the group says, or says what is wrong."""
    parser = group_parser(path, group)
    parser.parse_args(words)  # leaves where there are any
    tell(parser.format_help())
    return ExitCode.USAGE


def _run(path: str, command: Command, words: Sequence[str]) -> int:
    parser = command_parser(path, command)
    given = read(parser, words)
    from slowpath.cli.errors import InputError, OptionError
    from slowpath.cli.inputs import check_written

    try:
        check_written(command.options, given)
        return command.run(given)
    except OptionError as wrong:
        parser.error(f"Invalid value for '{wrong.option}': {wrong.reason}")
    except InputError as failure:
        error(failure.file, failure.reason)
        for reason in failure.more:
            note(f"note: {failure.file}: also {reason}")
        return ExitCode.INPUT
