"""Commands, arguments and options as data.

It imports nothing else that takes time: every run of the command line goes through here.
"""

from argparse import ArgumentTypeError, Namespace
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, NamedTuple, TypeVar

Number = TypeVar("Number", bound=float)

_WRITTEN = {"--output", "--html", "--plot", "--placement-out", "--coalescing-out"}
"""Options that name files that are written, where their value is a file."""
ARGUMENTS = "Arguments"
"""Heading of the words that are no options."""


class Option(NamedTuple):
    """An option or argument: what `argparse.add_argument` is told, and its heading in the help."""

    group: str
    names: tuple[str, ...]
    settings: Mapping[str, Any]

    @property
    def writes(self) -> bool:
        """Whether its value is a file that the command writes."""
        return self.settings.get("metavar") == "FILE" and (
            not _WRITTEN.isdisjoint(self.names) or self._writes_packets
        )

    @property
    def reads(self) -> bool:
        """Whether its value can be a file that the command reads."""
        metavar = str(self.settings.get("metavar", ""))
        return not self.writes and (self.group == ARGUMENTS or "FILE" in metavar)

    @property
    def _writes_packets(self) -> bool:
        """Whether it is `--pcap` of a command that shows packets; others read them."""
        return self.names == ("--pcap",) and str(self.settings.get("help")).startswith("Write ")

    def saying(self, help_text: str) -> "Option":
        """The same option with another help text."""
        return self._replace(settings={**self.settings, "help": help_text})


class Command(NamedTuple):
    """A command: what can be typed, and the function that then runs and yields the exit code."""

    help: Sequence[str]  # paragraphs, of which the first is the summary
    options: Sequence[Option]
    run: Callable[[Namespace], int]


class Group(NamedTuple):
    """Commands under a name."""

    help: Sequence[str]
    options: Sequence[Option]  # flags that are commands in themselves
    commands: Mapping[str, str]  # by name, where each is: `module:CONSTANT`
    of_file: str | None = None  # where the command is that takes a file instead of a name


def load(place: str) -> Any:  # noqa: ANN401 - the caller knows what is there
    """What is at a place, `module:NAME`; it is imported now and no earlier."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)


def option(group: str, *names: str, **settings: object) -> Option:
    """An option as `argparse.add_argument` takes it, under a heading."""
    return Option(group, names, settings)


def argument(metavar: str, help_text: str, *, many: bool = False) -> Option:
    """A word that is no option, or as many as there are; at least one."""
    number = "+" if many else None
    return option(ARGUMENTS, metavar.lower(), metavar=metavar, help=help_text, nargs=number)


def within(
    read: Callable[[str], Number], least: float, most: float | None = None
) -> Callable[[str], Number]:
    """Numbers within limits."""

    def number(text: str) -> Number:
        value = read(text)
        if not (value >= least and (most is None or value <= most)):
            limits = f"x>={least}" if most is None else f"{least}<=x<={most}"
            raise ArgumentTypeError(f"{text} is not in the range {limits}")
        return value

    number.__name__ = read.__name__  # argparse says `invalid int value`
    return number
