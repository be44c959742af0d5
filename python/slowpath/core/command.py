"""Data classes that describe commands, arguments and options.

Every run of the command line imports this module, so it imports only fast modules.
"""

from argparse import ArgumentTypeError, Namespace
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

Number = TypeVar("Number", bound=float)

_WRITTEN = {
    "--output", "--html", "--plot", "--pcap-out", "--placement-out", "--coalescing-out", "--report",
    "--certificate",
}  # fmt: skip
"""Options whose value can be the name of an output file, by their names on the command line."""
STANDARD_OUTPUT = "-"
"""Value of `--output` that stands for standard output."""
ARGUMENTS = "Arguments"
"""Heading above the positional arguments in help texts."""


class Option(NamedTuple):
    """A command-line option or argument: its heading in the help, and its settings for argparse."""

    group: str
    names: tuple[str, ...]
    settings: Mapping[str, Any]
    help: str  # one line, imperative, without a full stop
    more: str = ""  # further sentences, for `--help-all`
    common: bool = True  # in `--help`; other options are only in `--help-all`
    folders: bool = False  # a folder as value stands for the program files below it
    # Returns the name of the file to write in the folder that is the option's value.
    file_name: Callable[[Namespace], str] | None = None

    @property
    def writes(self) -> bool:
        """Return true if the value of this option is a file that the command writes."""
        return self.settings.get("metavar") == "FILE" and not _WRITTEN.isdisjoint(self.names)

    @property
    def reads(self) -> bool:
        """Return true if the value of this option can be a file that the command reads."""
        metavar = str(self.settings.get("metavar", ""))
        return not self.writes and (self.group == ARGUMENTS or "FILE" in metavar)

    @property
    def is_flag(self) -> bool:
        """Return true if the option takes no value."""
        return self.settings.get("action") == "store_true" or self.settings.get("nargs") == 0

    @property
    def summary(self) -> str:
        """Return the help line of the option, with its default value if argparse has one."""
        default = self.settings.get("default")
        if "[default:" in self.help or default in (None, False, "", [], "==SUPPRESS=="):
            return self.help
        shown = f"{default:g}" if isinstance(default, float) else default
        return f"{self.help} [default: {shown}]"

    def with_help(self, help_text: str, more: str = "") -> "Option":
        """Return a copy of this option with another help text."""
        return self._replace(help=help_text, more=more)


class Example(NamedTuple):
    """An example in a help text: a command line, and a line that describes it."""

    command: str
    shows: str


class Command(NamedTuple):
    """A command of slowpath: its options, and the function that runs it.

    The function returns the exit code.
    """

    help: Sequence[str]  # paragraphs; the first two are in `--help`, all in `--help-all`
    options: Sequence[Option]
    run: Callable[[Namespace], int]
    examples: Sequence[Example] = ()


class Group(NamedTuple):
    """A group of commands whose names begin with the same word.

    Commands are references of the form `module:NAME`, so that only the called command is imported.
    """

    help: Sequence[str]
    options: Sequence[Option]  # flags that work without a command
    commands: Mapping[str, str]  # object reference of each command, by its name
    file_command: str | None = None  # command that runs if a file is named instead of a command
    examples: Sequence[Example] = ()
    hidden: Mapping[str, str] = MappingProxyType({})  # commands that no help lists
    suffixes: Mapping[str, str] = MappingProxyType({})  # names of commands for files of a suffix


def load(reference: str) -> Any:  # noqa: ANN401 - the caller knows the type
    """Import and return the object that the reference `module:NAME` names."""
    module, _, name = reference.partition(":")
    return getattr(import_module(module), name)


def deferred(reference: str, *options: str) -> Callable[[Namespace], int]:
    """Return a function that imports and calls another function only when it is called.

    `reference` names the other function, which gets the values of `options` as arguments.
    """
    return lambda args: load(reference)(*(getattr(args, name) for name in options))


class Heading(str):
    """A section heading in help texts. Its methods create the options below the heading."""

    __slots__ = ()

    def option(
        self, usage: str, help_text: str, more: str = "", *, common: bool = True, **settings: object
    ) -> Option:
        """Return an option that takes a value.

        `usage` has its names and the name of its value, as in the help: `-o, --output FILE`.
        `settings` are parameters of `argparse.add_argument`.
        """
        *short, last = usage.split(", ")
        name, _, metavar = last.partition(" ")
        value = {"metavar": metavar} if metavar else {}
        return Option(self, (*short, name), {**value, **settings}, help_text, more, common)

    def flag(self, usage: str, help_text: str, more: str = "", *, common: bool = True) -> Option:
        """Return an option without a value, such as `--verbose`."""
        return self.option(usage, help_text, more, common=common, action="store_true")


def argument(
    metavar: str,
    help_text: str,
    number: str | None = None,
    more: str = "",
    *,
    folders: bool = False,
    **settings: object,
) -> Option:
    """Return a positional argument; `number` is its `nargs`, such as `+` for one or more values.

    With `folders`, a folder stands for the program files below it. `settings` are further
    parameters of `argparse.add_argument`.
    """
    name = metavar.partition(".")[0].lower()
    whole = {"metavar": metavar, "nargs": number, **settings}
    return Option(ARGUMENTS, (name,), whole, help_text, more, folders=folders)


def within(
    read: Callable[[str], Number], least: float, most: float | None = None
) -> Callable[[str], Number]:
    """Return an argparse type that reads a number and checks its limits.

    `read` converts the text, such as `int`.
    """
    limits = f"{least} or more" if most is None else f"{least} to {most}"

    def number(text: str) -> Number:
        try:
            value = read(text)
        except ValueError:
            raise ArgumentTypeError(f"{not_read(text, read)}; write {limits}") from None
        if not (value >= least and (most is None or value <= most)):
            raise ArgumentTypeError(f"{text} is not allowed; write {limits}")
        return value

    number.__name__ = read.__name__  # for `not_read`
    return number


_KINDS = {"int": "a whole number", "float": "a number"}
"""Description of the values that a conversion function accepts, by the name of the function."""


def not_read(text: str, read: object) -> str:
    """Return the error message for the value of an option that the function `read` rejects."""
    name = getattr(read, "__name__", "")
    return f"{text!r} is not {_KINDS.get(name, 'a value of this option')}"


def output_file(text: str) -> str | None:
    """Convert an option's value to the name of an output file; None for `-` (standard output)."""
    return None if text == STANDARD_OUTPUT else text


def output_folder(text: str) -> str:
    """Return the output folder that an option names; `-` (standard output) is invalid."""
    if text == STANDARD_OUTPUT:
        raise ArgumentTypeError("- is standard output, but this command writes a folder; name one")
    return text
