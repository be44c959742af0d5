"""The command line of `slowpath bound`."""

from argparse import Namespace

from slowpath.analysis.flags import (
    ANALYSIS,
    FILES,
    GUARANTEE,
    OUTPUT,
    SEARCH,
    form_option,
    written_options,
)
from slowpath.cli.command import Command, load, option

FORMATS = {
    "table": "slowpath.report.reporters:text_reporter",
    "json": "slowpath.report.reporters:JsonReporter",
    "csv": "slowpath.report.reporters:CsvReporter",
}
"""The values of `--format`, and where each has a class (or function) that makes its `Reporter`."""


REPORTING = (
    option(
        GUARANTEE,
        "--require",
        metavar="RATE|'<=COUNT'",
        help="Fail unless no packet exceeds this count, '<=4000 instructions', "
        "'<=300 memory-accesses', or unless this rate, 5Mpps, is at the pessimistic end of "
        "what is estimated; on a SmartNIC, unless a rate is guaranteed: 40Gbit/s, 10Mpps. What "
        "a guarantee that meets it depends on is said.",
    ),
    option(
        GUARANTEE,
        "--accept-assumptions",
        action="store_true",
        help="Let --require be met although --unroll N@LOCATION cuts loops that are known to "
        "run more often.",
    ),
    option(
        SEARCH,
        "--paths",
        metavar="K|all",
        default="1",
        help="Report the K slowest satisfiable paths (default: %(default)s). The format table "
        "describes the first 100.",
    ),
    form_option(FORMATS, "json and csv are stable"),
    option(
        OUTPUT,
        "--pcap",
        metavar="FILE",
        help="Write the witness packets of all reported paths.",
    ),
    option(
        OUTPUT,
        "-v",
        "--verbose",
        action="store_true",
        help="Add the path's instructions and statistics.",
    ),
)
"""The options about what is required and reported of guarantees."""


def _bound(given: Namespace) -> int:
    from slowpath.analysis.options import read_request
    from slowpath.commands.bound.run import Output, run

    request = read_request(given.file, written_options(given, given.file))
    return run(request, Output(load(FORMATS[given.format]), given.pcap, given.verbose))


BOUND = Command(
    (
        "Guarantee how fast a program is: find the slowest path that any packet can take.",
        "Of objects, every XDP program is analysed as it runs on the target: instruction by "
        "instruction for a server, the default; compiled for a SmartNIC, as its driver does. "
        "Several programs give one row each, and a failure does not stop the rest. Ctrl-C ends "
        "with the bound reached so far.",
        "Exit codes: 0 fine, 1 --require not met, 2 wrong usage, 3 a file cannot be read, written "
        "or analysed, 4 stopped before --require was decided or before there was a bound. The "
        "worst of several files is the first of 3, 1, 4, 0.",
    ),
    (
        FILES,
        *ANALYSIS,
        *REPORTING,
    ),
    _bound,
)
