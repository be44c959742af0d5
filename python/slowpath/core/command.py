"""Data classes that describe commands, arguments and options.

Every run of the command line imports this module, so it imports only fast modules.
"""

from argparse import ArgumentTypeError, Namespace
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, NamedTuple, TypeVar

Number = TypeVar("Number", bound=float)

_WRITTEN = {"--output", "--html", "--plot", "--placement-out", "--coalescing-out"}
"""Names of options whose value can be the name of an output file."""
ARGUMENTS = "Arguments"
"""Heading above the positional arguments in help texts."""


class Option(NamedTuple):
    """A command-line option or argument: its heading in the help, and settings for argparse."""

    group: str
    names: tuple[str, ...]
    settings: Mapping[str, Any]

    @property
    def writes(self) -> bool:
        """Return true if the value of this option is a file that the command writes."""
        return self.settings.get("metavar") == "FILE" and (
            not _WRITTEN.isdisjoint(self.names) or self._writes_packets
        )

    @property
    def reads(self) -> bool:
        """Return true if the value of this option can be a file that the command reads."""
        metavar = str(self.settings.get("metavar", ""))
        return not self.writes and (self.group == ARGUMENTS or "FILE" in metavar)

    @property
    def _writes_packets(self) -> bool:
        """Return true for `--pcap` of commands that write packets; other commands read them."""
        return self.names == ("--pcap",) and str(self.settings.get("help")).startswith("Write ")

    def with_help(self, help_text: str) -> "Option":
        """Return a copy of this option with another help text."""
        return self._replace(settings={**self.settings, "help": help_text})


class Command(NamedTuple):
    """A command: its options, and the function that runs it.

    The function returns the exit code.
    """

    help: Sequence[str]  # paragraphs; the first is the summary
    options: Sequence[Option]
    run: Callable[[Namespace], int]


class Group(NamedTuple):
    """A group of commands whose names begin with the same word.

    Commands are object references, `module:NAME`, so that only the called one is imported.
    """

    help: Sequence[str]
    options: Sequence[Option]  # flags that work without a command
    commands: Mapping[str, str]  # object reference of each command, by its name
    file_command: str | None = None  # command that runs if a file is named instead of a command


def load(reference: str) -> Any:  # noqa: ANN401 - the caller knows the type
    """Import and return the object that the reference `module:NAME` names."""
    module, _, name = reference.partition(":")
    return getattr(import_module(module), name)


def deferred(reference: str, *options: str) -> Callable[[Namespace], int]:
    """Return a function that imports and calls the referenced function only when it is called.

    The referenced function gets the values of these options.
    """
    return lambda args: load(reference)(*(getattr(args, name) for name in options))


class Heading(str):
    """A section heading in help texts; its methods create options and flags below it."""

    __slots__ = ()

    def option(self, usage: str, help_text: str, **settings: object) -> Option:
        """Return an option that takes a value, with parameters of `argparse.add_argument`.

        `usage` has the names and the value's name, as in the help: `-o, --output FILE`.
        """
        *short, last = usage.split(", ")
        name, _, metavar = last.partition(" ")
        value = {"metavar": metavar} if metavar else {}
        return Option(self, (*short, name), {**value, "help": help_text, **settings})

    def flag(self, usage: str, help_text: str) -> Option:
        """Return an option that is given without a value, such as `--no-cache`."""
        return self.option(usage, help_text, action="store_true")


def argument(metavar: str, help_text: str, number: str | None = None) -> Option:
    """Return a positional argument; `number` is its `nargs`, such as `+` for one or more values."""
    name = metavar.partition(".")[0].lower()
    return Option(ARGUMENTS, (name,), {"metavar": metavar, "help": help_text, "nargs": number})


def within(
    read: Callable[[str], Number], least: float, most: float | None = None
) -> Callable[[str], Number]:
    """Return an argparse type that reads a number and checks that it is within limits."""

    def number(text: str) -> Number:
        value = read(text)
        if not (value >= least and (most is None or value <= most)):
            limits = f"x>={least}" if most is None else f"{least}<=x<={most}"
            raise ArgumentTypeError(f"{text} is not in the range {limits}")
        return value

    number.__name__ = read.__name__  # argparse shows it: `invalid int value`
    return number
