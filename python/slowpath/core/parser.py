"""Parses the arguments of a command with argparse, and prints help texts and usage errors.

Only the parser of the called command is built, to save time. All its options belong to groups: for
other options, argparse creates a help formatter, which queries the width of the terminal.
"""

import argparse
import re
from collections.abc import Sequence
from typing import Any, NoReturn

from slowpath.core import codes, terminal
from slowpath.core.codes import Code
from slowpath.core.command import Command, Group, Heading, not_read, output_file
from slowpath.core.errors import ExitCode, with_code
from slowpath.core.printable import one_line
from slowpath.core.spelling import new_names, respelled

# Argparse looks up translations of its texts. This package has none, and gettext takes a
# millisecond in every run and would even use the catalogue of another program.
vars(argparse)["_"] = lambda text: text
GENERAL = Heading("General")
_TAKES_OPTIONS = "--cflags"
"""The option whose value consists of another program's options."""


class Parser(argparse.ArgumentParser):
    """An argument parser that reports an error in one line, with the usage below."""

    def __init__(self, path: str, member: Command | Group) -> None:
        # Without a usage, argparse formats one whenever it parses.
        super().__init__(prog=path, usage=path, add_help=False, allow_abbrev=False)
        for stored in (None, "store"):
            self.register("action", stored, _StoreOnce)
        self._negative_number_matcher = _NEGATIVE
        self.given = set[str]()  # options that the command line being read has so far
        self.path, self.member = path, member
        self.command = path.partition(" ")[2]
        self.own_output = any("--output" in one.names for one in member.options)
        redirected = isinstance(member, Command) and not self.own_output
        output = (_OUTPUT_OPTION,) if redirected else ()
        self.entries = (*member.options, *output, *GENERAL_OPTIONS)
        groups: dict[str, Any] = {}
        for entry in self.entries:
            if entry.group not in groups:
                groups[entry.group] = self.add_argument_group(entry.group)
            groups[entry.group].add_argument(*entry.names, **entry.settings)

    def help_page(self, *, everything: bool) -> str:
        """Return the help text; with `everything`, that of `--help-all`."""
        from slowpath.core.help import help_text

        return help_text(self.path, self.member, self.entries, everything=everything)

    def error(self, message: str, code: Code | None = None) -> NoReturn:
        """Print the error, the usage, and a hint to the help; exit.

        Argparse calls this method without a code.
        """
        from slowpath.core.help import usage

        shown = message.removeprefix("argument ")
        text = with_code(shown, code or _code_of(shown))
        hint = f"Usage: {usage(self.path, self.member)}\nTry '{self.path} --help' for help."
        self.exit(ExitCode.USAGE, f"error: {one_line(text)}\n\n{hint}\n")

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        """Print a message to standard error if possible, and exit."""
        if message:
            terminal.tell(message)
        raise SystemExit(status)

    def reject(self, words: Sequence[str]) -> NoReturn:
        """Report words of the command line that fit no option or argument, and exit."""
        from slowpath.core.spelling import nearest

        word = next((word for word in words if word.startswith("-")), words[0])
        if not word.startswith("-"):
            self.error(f"unexpected argument {word!r}", codes.UNEXPECTED_ARGUMENT)
        name = word.partition("=")[0]
        known = {name: name for entry in self.entries for name in entry.names if name[:2] == "--"}
        known |= new_names(self.command)
        near = nearest(name, known)
        hint = "" if near is None else f"; did you mean {known[near]!r}?"
        self.error(f"no option {name!r}{hint}", codes.UNKNOWN_OPTION)

    def _get_value(self, action: argparse.Action, arg_string: str) -> Any:  # noqa: ANN401 - argparse
        """Convert the text of a value; called by argparse.

        The error replaces that of argparse, which names Python functions.
        """
        try:
            return super()._get_value(action, arg_string)
        except argparse.ArgumentError as wrong:
            if isinstance(wrong.__context__, TypeError | ValueError):
                raise argparse.ArgumentError(action, not_read(arg_string, action.type)) from None
            raise

    def _check_value(self, action: argparse.Action, value: Any) -> None:  # noqa: ANN401 - argparse
        """Check that a value is one of the choices; called by argparse."""
        if action.choices is not None and value not in action.choices:
            from slowpath.core.spelling import unknown

            raise argparse.ArgumentError(action, unknown("value", str(value), action.choices))


def _code_of(message: str) -> Code:
    """Return the error code for an error of argparse, recognised by its text."""
    if "are required" in message or ": expected " in message or "is required" in message:
        return codes.MISSING_ARGUMENT
    if _TWICE in message:
        return codes.REPEATED_OPTION
    if "not allowed with" in message:
        return codes.CONFLICTING_OPTIONS
    return codes.INVALID_VALUE


_NEGATIVE = re.compile(r"-\.?\d")
"""Words that are values rather than options, such as `-3s`; argparse knows only plain numbers."""
_TWICE = "is given twice"


def _give(parser: argparse.ArgumentParser, action: argparse.Action) -> None:
    """Record that an option was given; report an error if it was given before.

    If only the last value counted, an earlier one, such as a requirement, would be lost without
    notice.
    """
    given = parser.given if isinstance(parser, Parser) else set()
    if action.dest in given:
        raise argparse.ArgumentError(
            action, f"{_TWICE}; remove one, or run the command once for each value"
        )
    if action.option_strings:
        given.add(action.dest)


class _StoreOnce(argparse.Action):
    """Default action of options and arguments: stores one value, and rejects a second one."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        _option: object = None,
    ) -> None:
        """Store the value; called by argparse."""
        _give(parser, self)
        setattr(namespace, self.dest, values)


class PrintAction(argparse.Action):
    """An option that prints the text that `const(parser)` returns, and exits.

    Unlike argparse's own options for help and version, it reports a failed write.
    """

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        """Print the text and exit; called by argparse."""
        terminal.out_lines(self.const(parser).rstrip().splitlines())
        parser.exit()


class _QuietAction(argparse.Action):
    """Action of the option `--quiet`, which suppresses progress and notes."""

    def __call__(self, *_: object) -> None:
        """Suppress progress and notes; called by argparse."""
        terminal.be_quiet()


class _ColourAction(argparse.Action):
    """Action of the option `--color`, which selects when output is coloured."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        _namespace: object,
        when: Any,  # noqa: ANN401 - one of the choices
        _option: object = None,
    ) -> None:
        """Store the user's choice for colours; called by argparse."""
        _give(parser, self)
        terminal.choose_styles(terminal.Styles(when))


_OUTPUT_OPTION = Heading("Output").option(
    "-o, --output FILE",
    "Write the result to FILE [default: standard output]",
    type=output_file,
)
"""The general option `--output`, for commands that do not declare their own."""
GENERAL_OPTIONS = (
    GENERAL.option(
        "-h, --help",
        "Print this help; --help-all adds rarer options and details",
        action=PrintAction,
        nargs=0,
        const=lambda parser: parser.help_page(everything=False),
        default=argparse.SUPPRESS,
    ),
    GENERAL.option(
        "--help-all",
        "Print the help with all options and details",
        common=False,
        action=PrintAction,
        nargs=0,
        const=lambda parser: parser.help_page(everything=True),
        default=argparse.SUPPRESS,
    ),
    GENERAL.option(
        "-q, --quiet",
        "Suppress progress and notes on standard error",
        "Errors, and warnings that change the meaning of a result, are still printed.",
        common=False,
        action=_QuietAction,
        nargs=0,
        default=argparse.SUPPRESS,
    ),
    GENERAL.option(
        "--color",
        "Use colours and links on terminals (auto), always or never [default: auto]",
        "The variables NO_COLOR, FORCE_COLOR, CLICOLOR and CLICOLOR_FORCE change the default.",
        common=False,
        action=_ColourAction,
        choices=tuple(terminal.Styles),
        default=argparse.SUPPRESS,
    ),
)
"""Options of all commands. Those that change output take effect when they are parsed."""


def split_general(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split the words of a command line into general options, such as `--quiet`, and the rest.

    Only general options in front of the command are split off.
    """
    rest, leading = list(words), list[str]()
    while rest and (rest[0] in {"-q", "--quiet", "--color"} or rest[0].startswith("--color=")):
        count = 2 if rest[0] == "--color" else 1
        leading += rest[:count]
        del rest[:count]
    return leading, rest


def read(parser: Parser, words: Sequence[str]) -> argparse.Namespace:
    """Parse options and arguments in any order; exit if they are invalid.

    Words after `--` that begin with a dash are files and get `./` in front. Argparse needs this: it
    loses a `--` after options (still in Python 3.13) or as a value (before Python 3.13).
    """
    end = words.index("--") if "--" in words else len(words)
    options = [word for word in words[:end] if word.startswith("-")]
    if any("--" in {word[2:], word.partition("=")[2]} for word in options):
        parser.error("-- is not a value of an option")
    files = [f"./{word}" if word.startswith("-") else word for word in words[end + 1 :]]
    named = respelled(parser.command, _joined(words[:end]))
    joined = [*named, *words[end : end + 1], *files]
    parser.given.clear()
    args, unknown = parser.parse_known_intermixed_args(joined)
    if unknown:
        parser.reject(unknown)
    return args


def _joined(words: Sequence[str]) -> list[str]:
    """Join `--cflags` and its value into one word, because the value can begin with a dash."""
    joined = list[str]()
    for word in words:
        if joined and joined[-1] == _TAKES_OPTIONS:
            joined[-1] += f"={word}"
        else:
            joined.append(word)
    return joined
