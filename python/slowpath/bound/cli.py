"""The command line of `slowpath bound`."""

from argparse import Namespace

from slowpath.bound.flags import (
    ANALYSIS,
    FILES,
    GUARANTEE,
    METRICS,
    OUTPUT,
    SEARCH,
    TARGETS,
    WHERE,
    form_option,
    written_options,
)
from slowpath.core.command import Command, load, option, within

FORMATS = {
    "table": "slowpath.bound.report:text_reporter",
    "json": "slowpath.bound.report:JsonReporter",
    "csv": "slowpath.bound.report:CsvReporter",
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

_OWN = {"--target": TARGETS, "--metric": METRICS}
"""What is another option here than in other commands."""


def _bound(given: Namespace) -> int:
    from slowpath.bound.multi_target import read_requests
    from slowpath.bound.run import Output, Place, run

    if given.jobs is not None or given.scheduler is not None:
        from slowpath.core.jobs.pool import check_place

        check_place(given.scheduler, given.jobs)
    requests = read_requests(given.file, written_options(given, given.file))
    output = Output(load(FORMATS[given.format]), given.pcap, given.verbose)
    return run(requests, output, Place(given.jobs, given.scheduler))


BOUND = Command(
    (
        "Guarantee how fast a program is: find the slowest path that any packet can take.",
        "Of objects, every XDP program is analysed as it runs on the target: instruction by "
        "instruction for a server, the default; compiled for a SmartNIC, as its driver does. "
        "Several programs give one row each, on several targets one target after the other, and a "
        "failure does not stop the rest. Ctrl-C ends with the bound reached so far.",
        "Exit codes: 0 fine, 1 --require not met, 2 wrong usage, 3 a file cannot be read, written "
        "or analysed, 4 stopped before --require was decided or before there was a bound. The "
        "worst of several files is the first of 3, 1, 4, 0.",
    ),
    (
        FILES,
        *(_OWN.get(one.names[-1], one) for one in ANALYSIS),
        *REPORTING,
        option(
            WHERE,
            "--jobs",
            metavar="N",
            type=within(int, 1, 1024),
            help="Analyse so many programs at once, in processes of this machine that divide its "
            "free memory (default: 1).",
        ),
        option(
            WHERE,
            "--scheduler",
            metavar="ADDRESS",
            help="Analyse programs on the cluster of this Dask scheduler, such as tcp://host:8786, "
            "with the same results. Needs the extra `fleet`.",
        ),
    ),
    _bound,
)
