"""Declares the arguments and options of `slowpath annotate`."""

from argparse import Namespace

from slowpath.bounds.flags import ANALYSIS, CACHE, FILES, written_options
from slowpath.core.command import Command, Example
from slowpath.core.formats import OUTPUT, STABLE, Formats

_FORMATS = Formats("slowpath.annotate.run", table="annotations_text", json="annotations_json")


def _annotate(args: Namespace) -> int:
    from slowpath.annotate.run import annotate
    from slowpath.bounds.caching import cache_of
    from slowpath.bounds.multi_target import read_requests

    requests = read_requests(args.file, written_options(args, args.file), cache_of(args))
    reporter = _FORMATS.reporter(args.format)
    return annotate(requests, reporter, instructions=args.instructions, html=args.html)


ANNOTATE = Command(
    (
        "Show the cost of every source line on the slowest path",
        "The report shows source lines for objects with debug information, and instructions for "
        "others.",
        "If the object lacks source lines, slowpath reads them from the source file, under its "
        "recorded name or beside the object. It uses the file only if the lines match those in "
        "the object.",
        "Exit codes: 0 success, 2 wrong usage, 3 a file cannot be read or analysed, 4 stopped "
        "before "
        "any bound was known.",
    ),
    (
        FILES,
        *ANALYSIS,
        OUTPUT.flag("--instructions", "Show the instructions below each source line"),
        *CACHE,
        _FORMATS.option(STABLE),
        OUTPUT.option("--html FILE", "Write an HTML page with costs, graph and packet"),
    ),
    _annotate,
    (
        Example("slowpath annotate filter.bpf.o", "Show which source lines cost most"),
        Example(
            "slowpath annotate filter.bpf.o -n xdp_main --instructions",
            "Show the instructions of one program too",
        ),
    ),
)
