"""Declares the arguments and options of `slowpath bound`."""

from argparse import Namespace

from slowpath.bounds.flags import (
    ACCEPT_ASSUMPTIONS,
    ANALYSIS,
    CACHE,
    FILES,
    JOBS,
    REQUIRE,
    SEARCH,
    WHERE,
)
from slowpath.core.command import Command, Example
from slowpath.core.formats import OUTPUT, Formats

FORMATS = Formats(
    "slowpath.bounds.report",
    table="text_reporter",
    json="JsonReporter",
    csv="CsvReporter",
    markdown="slowpath.bounds.report_review:markdown_reporter",
    sarif="slowpath.bounds.report_review:sarif_reporter",
    github="slowpath.bounds.report_review:github_reporter",
    junit="slowpath.bounds.report_review:junit_reporter",
)
"""Formats of `bound` and `chain bound`, each with a reference to a `MakeReporter`."""
REPORTING = (
    REQUIRE,
    ACCEPT_ASSUMPTIONS,
    SEARCH.option(
        "--paths K|all",
        "Report the K slowest paths",
        "Each path has a packet that takes it. The table describes the first 100 paths.",
        default="1",
    ),
    FORMATS.option(),
    FORMATS.report_option(),
    OUTPUT.option("--pcap-out FILE", "Write the witness packets of all reported paths to FILE"),
    OUTPUT.flag("-v, --verbose", "Add the instructions of paths, and search statistics"),
)
"""Options for requirements and reports."""
REPEATED = (
    REQUIRE.with_help(
        "Report programs that do not guarantee this",
        "A count is for example '<=4000 instructions' or '<=300 memory-accesses'. The "
        "pessimistic end of the estimate must reach a rate (5Mpps). On a SmartNIC, the rate "
        "must be guaranteed (40Gbit/s, 10Mpps).",
    ),
    ACCEPT_ASSUMPTIONS,
)
"""Options about requirements, for commands that analyse programs again and again."""


def _bound(args: Namespace) -> int:
    from slowpath.bounds.caching import cache_of
    from slowpath.bounds.run import Output, Place, requests_of, run

    if args.jobs is not None or args.scheduler is not None:
        from slowpath.core.jobs.pool import check_place

        check_place(args.scheduler, args.jobs)
    output = Output(
        FORMATS.reporter(args.format),
        args.pcap_out,
        args.verbose,
        html=args.html,
        certificate=args.certificate,
        files=FORMATS.report_files(args.report),
    )
    requests = requests_of(args, args.file, cache_of(args))
    return run(requests, output, Place(args.jobs, args.scheduler))


BOUND = Command(
    (
        "Guarantee the speed of programs on their slowest path",
        "Analyses all XDP, tc, cgroup_skb and socket programs. For a SmartNIC, it compiles XDP "
        "programs as the driver of the card would.",
        "For several programs, prints a table for each target, with a row for each program. An "
        "error in one program does not stop the analysis of others. After Ctrl-C, the report "
        "shows the bounds reached so far.",
        "Exit codes: 0 success, 1 --require not met, 2 wrong usage, 3 a file cannot be read, "
        "written "
        "or analysed, 4 stopped before --require was decided or before there was a bound. With "
        "several files, the code is the first of 3, 1, 4 and 0 that occurs.",
    ),
    (
        FILES,
        *ANALYSIS,
        *REPORTING,
        OUTPUT.option(
            "--html FILE",
            "Write an HTML page with costs, paths and packets",
            "The page shows up to 8 of the paths of --paths, and results for other numbers of "
            "cores, packet lengths and map entries.",
        ),
        OUTPUT.option(
            "--certificate FILE",
            "Write a proof of the guarantee to FILE, for slowpath check",
            "For one program and one target. The search takes up to two thirds of --deadline, the "
            "proof the rest.",
            common=False,
        ),
        JOBS,
        WHERE.option(
            "--scheduler ADDRESS",
            "Run the analyses on the cluster of a Dask scheduler",
            "ADDRESS is for example tcp://host:8786. The results are the same as on this "
            "machine. Needs the optional packages of the extra `fleet`.",
            common=False,
        ),
        *CACHE,
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
