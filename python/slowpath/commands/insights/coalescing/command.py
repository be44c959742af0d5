"""The command line of `slowpath insights coalescing`."""

from argparse import ArgumentTypeError, Namespace

from slowpath.cli.command import Command, argument, option
from slowpath.commands.insights.command import CODES, FORMATS, OUTPUT

LAYOUT = "Layout"
_LARGEST = 4096


def _coalesce(given: Namespace) -> int:
    from slowpath.commands.insights.coalescing.run import run

    return run(given)


def _width(text: str) -> int:
    value = int(text)
    if not 1 <= value <= _LARGEST or value & (value - 1):
        raise ArgumentTypeError(f"{text} is no power of two up to {_LARGEST}")
    return value


_width.__name__ = "int"  # argparse says `invalid int value`

COALESCING = Command(
    (
        "Find the order of a function's variables in which one access to memory fetches most.",
        "FILE has elements: variables with sizes, and blocks of code with the variables that they "
        "touch and how often they run; docs/insights.md has its keys. Up to about 14 variables "
        "the order is proved to be the best, beyond that a bound says what may be possible.",
        CODES,
    ),
    (
        argument("FILE", "Variables and blocks, as JSON."),
        option(
            LAYOUT,
            "--width",
            metavar="BYTES",
            type=_width,
            help="Bytes that one access fetches, from a multiple of them on; a power of two "
            "(default: access_bytes of FILE, else 16).",
        ),
        option(
            OUTPUT,
            "--format",
            choices=(*FORMATS, "c"),
            default="table",
            help="How to write to standard output; json and csv are stable, c is the structs alone "
            "(default: %(default)s).",
        ),
    ),
    _coalesce,
)
