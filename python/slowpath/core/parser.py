"""Builds the argparse parser of a command, and prints help texts and usage errors.

Only the parser of the called command is built, to save time. All its options belong to groups: for
other options, argparse creates a help formatter, which queries the width of the terminal.
"""

import argparse
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

from slowpath.core.command import ARGUMENTS, Command, Group, Heading, Option, load
from slowpath.core.errors import ExitCode
from slowpath.core.printable import one_line
from slowpath.core.terminal import out_lines, tell

# Argparse looks up translations of its texts. This package has none, and gettext takes a
# millisecond in every run and would even use the catalogue of another program.
vars(argparse)["_"] = lambda text: text
GENERAL = Heading("General")
_TAKES_OPTIONS = "--cflags"
"""The option whose value consists of another program's options."""
_FIRST_COLUMN = 34
"""Maximum width of the first column of help texts; longer option names get their own line."""


class Parser(argparse.ArgumentParser):
    """An argument parser that prints the usage before an error, and the error in one line."""

    def error(self, message: str) -> NoReturn:
        """Print the usage, a hint to the help, and the error; exit."""
        hint = f"Usage: {self.usage}\nTry '{self.prog} -h' for help."
        self.exit(ExitCode.USAGE, f"{hint}\n\nError: {one_line(message)}\n")

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        """Exit, even if the message cannot be written."""
        if message:
            tell(message)
        raise SystemExit(status)


class PrintAction(argparse.Action):
    """An option that prints the result of `const(parser)` and exits.

    Unlike argparse's own help and version options, it reports a failed write.
    """

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        """Print the text and exit; called by argparse."""
        out_lines(self.const(parser).rstrip().splitlines())
        parser.exit()


class _Formatter(argparse.HelpFormatter):
    """Formatter whose help texts are the same in every version of Python."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=_FIRST_COLUMN)

    def add_usage(
        self,
        usage: str | None,
        actions: Iterable[argparse.Action],
        groups: Iterable["argparse._MutuallyExclusiveGroup"],
        prefix: str | None = "Usage: ",
    ) -> None:
        """Add the usage line with the prefix `Usage:`; argparse itself writes `usage:`."""
        super().add_usage(usage, actions, groups, prefix)

    def _format_action_invocation(self, action: argparse.Action) -> str:
        """Format options as `-s, --section GLOB`, as argparse does since Python 3.13."""
        if not action.option_strings or action.nargs == 0:
            return super()._format_action_invocation(action)
        return f"{', '.join(action.option_strings)} {self._format_args(action, '')}"


_HELP = GENERAL.option(
    "-h, --help",
    "Show this message and exit.",
    action=PrintAction,
    nargs=0,
    const=Parser.format_help,
)


def command_parser(path: str, command: Command) -> Parser:
    """Return the parser of a command; `path` is its full name, such as `slowpath bound`."""
    arguments = [entry.settings for entry in command.options if entry.group == ARGUMENTS]
    words = [_usage_word(one["metavar"], one["nargs"]) for one in arguments]
    parser = _parser(path, ["[OPTIONS]", *words], command.help)
    _fill(parser, command.options)
    return parser


def _usage_word(metavar: str, number: str | None) -> str:
    """Return an argument as it appears in the usage line; `number` is its `nargs`."""
    if number == "?":
        return f"[{metavar}]"
    return f"{metavar}..." if number else metavar


def group_parser(path: str, group: Group) -> Parser:
    """Return a parser for a group of commands, used if the arguments call none of them."""
    command = "COMMAND" if group.file_command is None else "{COMMAND,FILE}"
    parser = _parser(path, ["[OPTIONS]", command, "[ARGS]..."], group.help)
    commands = parser.add_subparsers(title="Commands", metavar="COMMAND", prog=path)
    for name, reference in group.commands.items():
        commands.add_parser(name, help=load(reference).help[0], add_help=False)
    _fill(parser, group.options)
    return parser


def read(parser: Parser, words: Sequence[str]) -> argparse.Namespace:
    """Parse options and arguments in any order; exit if they are invalid.

    Words after `--` that begin with a dash are files and get `./` in front. Argparse needs this: it
    loses a `--` after options (still in Python 3.13) or as a value (before Python 3.13).
    """
    end = words.index("--") if "--" in words else len(words)
    options = [word for word in words[:end] if word.startswith("-")]
    if any("--" in {word[2:], word.partition("=")[2]} for word in options):
        parser.error("-- is no value of an option")
    files = [f"./{word}" if word.startswith("-") else word for word in words[end + 1 :]]
    return parser.parse_intermixed_args([*_joined(words[:end]), *words[end : end + 1], *files])


def _joined(words: Sequence[str]) -> list[str]:
    """Join `--cflags` with its value, which can begin with a dash: `--cflags=-DX`."""
    joined = list[str]()
    for word in words:
        if joined and joined[-1] == _TAKES_OPTIONS:
            joined[-1] += f"={word}"
        else:
            joined.append(word)
    return joined


def _parser(path: str, words: Iterable[str], paragraphs: Iterable[str]) -> Parser:
    parser = Parser(
        prog=path,
        usage=" ".join([path, *words]),
        formatter_class=_Formatter,
        add_help=False,
        allow_abbrev=False,
    )
    for paragraph in paragraphs:  # a `description` would merge them into one
        parser.add_argument_group(description=paragraph)
    return parser


def _fill(parser: Parser, options: Iterable[Option]) -> None:
    """Add options to a parser, in groups in the order of their first options."""
    groups: dict[str, Any] = {}
    for entry in (*options, _HELP):
        if entry.group not in groups:
            groups[entry.group] = parser.add_argument_group(entry.group)
        groups[entry.group].add_argument(*entry.names, **entry.settings)
