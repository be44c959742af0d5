"""The command line of `slowpath annotate`."""

from argparse import Namespace

from slowpath.bound.flags import ANALYSIS, FILES, OUTPUT, form_option, written_options
from slowpath.core.command import Command, option


def _annotate(given: Namespace) -> int:
    from slowpath.annotate.run import Output, annotate
    from slowpath.bound.options import read_request

    request = read_request(given.file, written_options(given, given.file))
    return annotate(request, Output(given.format, given.instructions))


ANNOTATE = Command(
    (
        "Show where the slowest path spends its time: every source line with its cost.",
        "Of objects with debug information it shows the source, else the instructions. Lines that "
        "only the source file has are read from it where it is there, under the name that the "
        "object has for it or beside the object, and agrees with the object.",
        "Exit codes: 0 fine, 2 wrong usage, 3 a file cannot be read or analysed, 4 stopped before "
        "there was a bound.",
    ),
    (
        FILES,
        *ANALYSIS,
        option(
            OUTPUT,
            "--instructions",
            action="store_true",
            help="Show the instructions below each source line.",
        ),
        form_option(("table", "json"), "json is stable"),
    ),
    _annotate,
)
