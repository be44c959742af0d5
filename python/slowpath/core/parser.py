"""The argparse parsers of commands: reading words, help texts, usage errors.

Only the parser of the command that was called is built, and everything in it belongs to a group:
for others, argparse makes a formatter of help texts, which asks for the width of the terminal.
"""

import argparse
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

from slowpath.core.command import ARGUMENTS, Command, Group, Option, load, option
from slowpath.core.errors import ExitCode
from slowpath.core.printable import one_line
from slowpath.core.terminal import out_lines, tell

# Argparse asks for translations of its own texts, of which there are none; to look for them takes
# gettext a millisecond in every run, and a catalogue of somebody else's would be taken.
vars(argparse)["_"] = lambda text: text
GENERAL = "General"
_TAKES_OPTIONS = "--cflags"
"""The option whose value is options of another program."""
_FIRST_COLUMN = 34
"""Widest first column of a help text; what is longer stands on a line of its own."""


class Parser(argparse.ArgumentParser):
    """A parser whose errors begin with the usage and end with one line."""

    def error(self, message: str) -> NoReturn:
        """Says what is wrong with the command line, and where help is; leaves."""
        hint = f"Usage: {self.usage}\nTry '{self.prog} -h' for help."
        self.exit(ExitCode.USAGE, f"{hint}\n\nError: {one_line(message)}\n")

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        """Leaves, where the message can be written and where it cannot."""
        if message:
            tell(message)
        raise SystemExit(status)


class Say(argparse.Action):
    """An option that prints what `const` makes of the parser, and leaves.

    Argparse's own ones ignore it when the text cannot be written.
    """

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        """As argparse calls it."""
        out_lines(self.const(parser).rstrip().splitlines())
        parser.exit()


class _Formatter(argparse.HelpFormatter):
    """Help texts that are the same with every version of Python."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=_FIRST_COLUMN)

    def add_usage(
        self,
        usage: str | None,
        actions: Iterable[argparse.Action],
        groups: Iterable["argparse._MutuallyExclusiveGroup"],
        prefix: str | None = "Usage: ",
    ) -> None:
        """With a capital letter, as all headings have one."""
        super().add_usage(usage, actions, groups, prefix)

    def _format_action_invocation(self, action: argparse.Action) -> str:
        """`-s, --section GLOB`, as argparse has it since Python 3.13."""
        if not action.option_strings or action.nargs == 0:
            return super()._format_action_invocation(action)
        return f"{', '.join(action.option_strings)} {self._format_args(action, '')}"


_HELP = option(
    GENERAL,
    "-h",
    "--help",
    action=Say,
    nargs=0,
    const=Parser.format_help,
    help="Show this message and exit.",
)


def command_parser(path: str, command: Command) -> Parser:
    """The parser of a command; `path` is how it is called."""
    arguments = [entry.settings for entry in command.options if entry.group == ARGUMENTS]
    words = [_word(one["metavar"], one["nargs"]) for one in arguments]
    parser = _parser(path, ["[OPTIONS]", *words], command.help)
    _fill(parser, command.options)
    return parser


def _word(metavar: str, number: str | None) -> str:
    """An argument as the usage shows it."""
    if number == "?":
        return f"[{metavar}]"
    return f"{metavar}..." if number else metavar


def group_parser(path: str, group: Group) -> Parser:
    """The parser of words that call no command of a group."""
    called = "COMMAND" if group.of_file is None else "{COMMAND,FILE}"
    parser = _parser(path, ["[OPTIONS]", called, "[ARGS]..."], group.help)
    commands = parser.add_subparsers(title="Commands", metavar="COMMAND", prog=path)
    for name, place in group.commands.items():
        commands.add_parser(name, help=load(place).help[0], add_help=False)
    _fill(parser, group.options)
    return parser


def read(parser: Parser, words: Sequence[str]) -> argparse.Namespace:
    """What was typed, options and arguments in any order; leaves when that makes no sense.

    Words behind `--` that begin with a dash are files and get `./` in front, since argparse loses
    a `--` that stands behind options (still in Python 3.13) or is a value (before it).
    """
    end = words.index("--") if "--" in words else len(words)
    options = [word for word in words[:end] if word.startswith("-")]
    if any("--" in {word[2:], word.partition("=")[2]} for word in options):
        parser.error("-- is no value of an option")
    files = [f"./{word}" if word.startswith("-") else word for word in words[end + 1 :]]
    return parser.parse_intermixed_args([*_joined(words[:end]), *words[end : end + 1], *files])


def _joined(words: Sequence[str]) -> list[str]:
    """Options whose values begin with a dash, with them: `--cflags -DX` is `--cflags=-DX`."""
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
    for paragraph in paragraphs:  # a `description` would make one of them
        parser.add_argument_group(description=paragraph)
    return parser


def _fill(parser: Parser, options: Iterable[Option]) -> None:
    """Gives a parser its options, in groups in the order of their first ones."""
    groups: dict[str, Any] = {}
    for entry in (*options, _HELP):
        if entry.group not in groups:
            groups[entry.group] = parser.add_argument_group(entry.group)
        groups[entry.group].add_argument(*entry.names, **entry.settings)
