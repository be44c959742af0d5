"""Declares the arguments and options of `slowpath bound`."""

from argparse import Namespace

from slowpath.bounds.flags import (
    ANALYSIS,
    FILES,
    GUARANTEE,
    SEARCH,
    WHERE,
)
from slowpath.core.command import Command, Example, Once, within
from slowpath.core.formats import OUTPUT, Formats

FORMATS = Formats(
    "slowpath.bounds.report", table="text_reporter", json="JsonReporter", csv="CsvReporter"
)
"""Formats of `bound` and `chain bound`, each with a reference to a `MakeReporter`."""
REPORTING = (
    GUARANTEE.option(
        "--require RATE|'<=COUNT'",
        "Exit with 1 unless this is guaranteed",
        "A count is such as '<=4000 instructions' or '<=300 memory-accesses'. A rate (5Mpps) must "
        "be reached by the pessimistic end of the estimate; on a SmartNIC, it must be guaranteed "
        "(40Gbit/s, 10Mpps). Prints the assumptions that the guarantee relies on. One requirement "
        "in a run.",
        action=Once,
    ),
    GUARANTEE.flag(
        "--accept-assumptions",
        "Accept --require although --unroll N@LOCATION cuts loops",
        "Without it, a loop that is known to run longer than its limit fails the requirement.",
        common=False,
    ),
    SEARCH.option(
        "--paths K|all",
        "Report the K slowest paths",
        "Packets can take all of them. The table describes the first 100.",
        default="1",
    ),
    FORMATS.option(),
    OUTPUT.option("--pcap-out FILE", "Write the witness packets of all reported paths to FILE"),
    OUTPUT.flag("-v, --verbose", "Add the path's instructions and statistics"),
)
"""Options for requirements and reports."""
REPEATED = (
    REPORTING[0].with_help(
        "Report programs that do not guarantee this",
        "A count is such as '<=4000 instructions' or '<=300 memory-accesses'. A rate (5Mpps) must "
        "be reached by the pessimistic end of the estimate; on a SmartNIC, it must be guaranteed "
        "(40Gbit/s, 10Mpps).",
    ),
    REPORTING[1],
)
"""Options for requirements of commands that analyse programs again and again."""


def _bound(args: Namespace) -> int:
    from slowpath.bounds.requests import requests_of
    from slowpath.bounds.run import Output, Place, run

    if args.jobs is not None or args.scheduler is not None:
        from slowpath.core.jobs.pool import check_place

        check_place(args.scheduler, args.jobs)
    output = Output(FORMATS.reporter(args.format), args.pcap_out, args.verbose)
    return run(requests_of(args, args.file), output, Place(args.jobs, args.scheduler))


BOUND = Command(
    (
        "Guarantee the speed of programs on their slowest path",
        "Analyses all XDP programs of an object. On a server, their instructions count; for a "
        "SmartNIC, they are compiled as its driver would do.",
        "Several programs get a table with one row each, target by target. An error in one program "
        "does not stop the others. Ctrl-C stops with the bound reached so far.",
        "Exit codes: 0 success, 1 --require not met, 2 wrong usage, 3 a file cannot be read, "
        "written "
        "or analysed, 4 stopped before --require was decided or before there was a bound. With "
        "several files, the code is the first of 3, 1, 4 and 0 that occurs.",
    ),
    (
        FILES,
        *ANALYSIS,
        *REPORTING,
        WHERE.option(
            "--jobs N",
            "Run N analyses in parallel; they share the free memory [default: 1]",
            common=False,
            type=within(int, 1, 1024),
        ),
        WHERE.option(
            "--scheduler ADDRESS",
            "Run the analyses on the cluster of a Dask scheduler",
            "ADDRESS is such as tcp://host:8786. Results are the same. Needs the extra `fleet`.",
            common=False,
        ),
    ),
    _bound,
    (
        Example("slowpath bound filter.bpf.o", "Guarantee and estimate the speed on a server"),
        Example(
            "slowpath bound filter.bpf.o --target agilio-cx-2x40 --require 10Gbit/s",
            "Check that a SmartNIC runs the programs at 10 Gbit/s",
        ),
        Example(
            "slowpath bound *.bpf.o --format csv", "Compare all programs of a folder in a table"
        ),
    ),
)
