"""The command line: finds and runs the command, and reports failures.

Modules that are slow to import are imported only when a command runs.
"""

from argparse import SUPPRESS, Namespace
from collections.abc import Sequence

from slowpath.core import codes
from slowpath.core.command import Command, Example, Group, argument, load
from slowpath.core.errors import ExitCode
from slowpath.core.parser import GENERAL, Parser, PrintAction, read, split_general
from slowpath.core.terminal import complain, error, tell

_HELP = ("-h", "--help", "--help-all")


def _version(_parser: Parser) -> str:
    from slowpath.core import engine

    return f"slowpath {engine.version()}"


def _help(args: Namespace) -> int:
    return app([*args.command, "--help"])


HELP = Command(
    (
        "Print the help of a command",
        "The same as `slowpath COMMAND --help`.",
    ),
    (argument("COMMAND", "The command, such as `chain facts` [default: list all commands]", "*"),),
    _help,
    (
        Example("slowpath help bound", "Print the help of slowpath bound"),
        Example("slowpath help chain facts", "Print the help of a command in a group"),
    ),
)
ROOT = Group(
    (
        "Compute the guaranteed throughput of packet-processing programs",
        "slowpath finds the slowest path that a packet can take through a program, the packet that "
        "takes it, and the cost on a device. It reads BPF objects, C, P4 and listings.",
    ),
    (
        GENERAL.option(
            "-V, --version",
            "Print the version",
            action=PrintAction,
            nargs=0,
            const=_version,
            default=SUPPRESS,
        ),
    ),
    {
        "demo": "slowpath.bounds.demo:DEMO",
        "bound": "slowpath.bounds.cli:BOUND",
        "annotate": "slowpath.annotate.cli:ANNOTATE",
        "watch": "slowpath.watch.cli:WATCH",
        "lsp": "slowpath.lsp.cli:LSP",
        "show": "slowpath.show.cli:SHOW",
        "diff": "slowpath.diff.cli:DIFF",
        "sweep": "slowpath.sweep.cli:SWEEP",
        "measure": "slowpath.measure.cli:MEASURE",
        "chain": "slowpath.chain.cli:CHAIN",
        "check": "slowpath.check.cli:CHECK",
        "compile": "slowpath.compile.cli:COMPILE",
        "insights": "slowpath.insights.cli:INSIGHTS",
        "contention": "slowpath.contention.cli:CONTENTION",
        "calibrate": "slowpath.calibrate.cli:CALIBRATE",
        "fit": "slowpath.models.cli:FIT",
        "reproduce": "slowpath.reproduce.cli:REPRODUCE",
        "targets": "slowpath.targets.cli:TARGETS",
        "config": "slowpath.config.cli:CONFIG",
        "explain": "slowpath.explain.cli:EXPLAIN",
        "schema": "slowpath.core.schema.cli:SCHEMA",
        "completion": "slowpath.shell.cli:COMPLETION",
        "man": "slowpath.shell.cli:MAN",
        "help": f"{__name__}:HELP",
    },
    examples=(
        Example("slowpath demo", "Analyse an example that comes with slowpath"),
        Example("slowpath bound filter.bpf.o", "Guarantee the speed of the programs of an object"),
        Example("slowpath help bound", "Print the help of a command"),
    ),
    hidden={"complete": "slowpath.shell.cli:COMPLETE"},
)


def app(words: Sequence[str]) -> int:
    """Run the command that the command line names, and return its exit code."""
    leading, rest = split_general(words)
    path = "slowpath"
    member: Command | Group = ROOT
    while isinstance(member, Group):
        commands = {**member.commands, **member.hidden}
        if rest and rest[0] in commands:
            path, member = f"{path} {rest[0]}", load(commands[rest.pop(0)])
        elif member.file_command is not None and _names_file(rest):
            name = _of_suffix(member, rest)
            if name is None:
                member = load(member.file_command)
            else:
                path, member = f"{path} {name}", load(commands[name])
        else:
            return _no_command(path, member, [*leading, *rest])
    return _run(path, member, [*leading, *rest])


def _names_file(words: Sequence[str]) -> bool:
    """Return true if the first argument of a command group is a file, not the name of a command.

    A word counts as a file if it exists, if it cannot be the name of a command, or if it is an
    option other than help. A misspelt command does not count as a file.
    """
    from pathlib import Path

    if not words or words[0] in _HELP:
        return False
    first = words[0]
    return first.startswith("-") or not first.isidentifier() or Path(first).exists()


def _of_suffix(group: Group, words: Sequence[str]) -> str | None:
    """Return the command for files with the suffix of the first file; None for other files."""
    first = next((word for word in words if not word.startswith("-")), "")
    return next((name for end, name in group.suffixes.items() if first.endswith(end)), None)


def _no_command(path: str, group: Group, words: Sequence[str]) -> int:
    """Handle a command group without a command: execute its flag, or report wrong usage."""
    parser = Parser(path, group)
    leading, rest = split_general(words)
    if rest and not rest[0].startswith("-"):
        from slowpath.core.spelling import unknown

        parser.error(unknown("command", rest[0], group.commands), codes.UNKNOWN_COMMAND)
    read(parser, [*leading, *rest])  # exits if there are arguments
    tell(parser.help_page(everything=False))
    return ExitCode.USAGE


def _use_settings(name: str, command: Command, args: Namespace) -> None:
    """Set options that the command line lacks from environment variables and the settings file."""
    from slowpath.core.settings import USED

    if name not in USED:
        return
    from slowpath.core.settings import complete, subject

    origins = complete(args, USED[name], command.options)
    args.outside = frozenset(origins)
    if origins.keys() & {"target", "entries", "jobs"}:
        from slowpath.bounds.configured import fit

        fit(args, origins, [subject(args)])


def _run(path: str, command: Command, words: Sequence[str]) -> int:
    parser = Parser(path, command)
    args = read(parser, words)
    from slowpath.core.errors import InputError, OptionError
    from slowpath.core.running import run_checked

    def run(args: Namespace) -> int:
        _use_settings(path.partition(" ")[2], command, args)
        if parser.own_output or args.output is None:
            return command.run(args)
        from slowpath.core.running import run_into

        return run_into(args.output, lambda: command.run(args))

    try:
        return run_checked(path, parser.entries, args, run)
    except OptionError as wrong:
        missing = wrong.code == codes.MISSING_ARGUMENT
        named = f"'{wrong.option}' is missing" if missing else f"invalid value for '{wrong.option}'"
        parser.error(f"{named}: {wrong.reason}", wrong.code)
    except InputError as failure:
        error(failure.code, failure.file, failure.reason)
        for reason in failure.further:
            complain(f"note: {failure.file}: also {reason}")
        return ExitCode.INPUT
