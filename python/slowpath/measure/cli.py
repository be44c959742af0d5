"""Declares the arguments and options of `slowpath measure`."""

from argparse import Namespace

from slowpath.bounds.flags import (
    ASSUME,
    ASSUMED,
    BTF,
    CFLAGS,
    FILES,
    MAPS,
    MEMORY,
    MTU,
    PROG_NAME,
    SEARCH,
    SECTION,
    SET,
    UNROLL,
    cpu_option,
    written_options,
)
from slowpath.core.command import Command, Example, Heading, within
from slowpath.core.extras import needs
from slowpath.core.formats import JSON, OUTPUT, Formats
from slowpath.core.quantities import duration, percentage

_MEASUREMENT = Heading("How to measure")
_TRACE = Heading("Your own packets")
_SEARCH_SECONDS = 3.0
"""Default time limit for the search for slow paths, in seconds; a program can have very many paths.
"""
_MODES = ("test-run", "live")
_FORMATS = Formats(
    "slowpath.measure.report_document",
    table="document_text",
    json=JSON,
    csv="document_csv",
    markdown="slowpath.measure.review:markdown",
    sarif="slowpath.measure.review:sarif",
    github="slowpath.measure.review:github",
    junit="slowpath.measure.review:junit",
)
_PIPELINE_FORMATS = Formats(
    "slowpath.measure.report_document", table="pipelines_text", json=JSON, csv="pipelines_csv"
)


def _measure(options: Namespace) -> int:
    from slowpath.bounds.default_target import SWITCH, default_target
    from slowpath.bounds.options import read_option, read_request
    from slowpath.measure.settings import (
        Settings,
        check_pipeline_options,
        check_test_bed,
        parse_gate,
    )

    check_test_bed(options.testbed)
    are_pipelines = SWITCH in (options.testbed, default_target(options.file))
    formats = _PIPELINE_FORMATS if are_pipelines else _FORMATS
    if are_pipelines:
        check_pipeline_options(options, formats.names)
    paths, seconds = ("all", _SEARCH_SECONDS) if options.paths is None else (options.paths, None)
    written = written_options(options, options.file)._replace(
        target=SWITCH if are_pipelines else "ebpf",
        metric="instructions",
        paths=paths,
        deadline=seconds if options.deadline is None else options.deadline,
        receive=options.receive if are_pipelines else options.receive or "test-run",
    )
    settings = Settings(
        options.paths is None,
        options.precision / 100,
        options.seconds,
        options.cpu,
        formats.reporter(options.format),
        verbose=options.verbose,
        live=options.batch if options.mode == "live" else None,
        cache=options.cache,
        gates=[read_option("--fail-on", parse_gate, text) for text in options.fail_on],
        pcap=options.pcap,
        plot=options.plot,
        stretches=not options.no_stretches,
        files=formats.report_files(options.report),
        html=options.html,
    )
    if are_pipelines:
        from slowpath.measure.pipelines import as_pipelines, measure_pipelines

        with as_pipelines(options.file, written.cflags) as names:
            return measure_pipelines(read_request(list(names), written), settings, names)
    from slowpath.measure.run import measure

    return measure(read_request(options.file, written), settings)


MEASURE = Command(
    (
        "Measure the time of a program's paths in the running kernel",
        "The analysis finds the slowest path, the fastest path, and some between. Each path "
        "runs many times with its packet and map content. slowpath attaches nothing to a device "
        "of this machine.",
        "Paths take turns with an empty program and a busy loop. At the end, slowpath removes "
        "all changes to the system.",
        "Paths of pipelines (.spec files) run in DPDK's interpreter, which needs no network card.",
        "With --pcap, the packets of a trace run in addition to the slowest path.",
        "With two files (old and new version), measures programs of the same name alternately, "
        "and compares them.",
        "The time of a path is that of one run in the kernel's loop for test runs, without "
        "receiving and sending.",
        "With --mode live, the cost of a program is the time per packet beyond a minimal program "
        "with the same action. The report also shows the rate at which a virtual device receives "
        "packets with the program.",
        "Exit codes: 0 success, 1 --fail-on holds or lacks a value to compare, 2 wrong usage, 3 a "
        "file cannot be read, analysed or measured, or this kernel does not allow measuring, 4 "
        "stopped before anything was measured, or before --fail-on was decided.",
    ),
    (
        FILES,
        SECTION,
        PROG_NAME,
        CFLAGS,
        _MEASUREMENT.option(
            "--paths K|all",
            "Measure the K slowest paths, by instructions",
            "By default, measures the slowest path, the fastest path, and some between.",
        ),
        _MEASUREMENT.option(
            "--precision PERCENT",
            "Measure until times are precise within PERCENT",
            "The 95% interval of each time then extends at most PERCENT of the time to either "
            "side.",
            type=percentage(0.01, 100),
            default="1%",
        ),
        _MEASUREMENT.option(
            "--seconds TIME",
            "Measure each program for at most TIME [default: 10s]",
            "Each program is loaded at least 3 times, usually 6 times, even if this takes longer.",
            type=within(duration, 0.1, 86_400),
            default=10.0,
        ),
        _MEASUREMENT.option(
            "--mode",
            "Run packets in the kernel's test-run loop, or live",
            "With live, the kernel carries out actions, through virtual devices in a private "
            "network namespace.",
            choices=_MODES,
            default=_MODES[0],
        ),
        _MEASUREMENT.option(
            "--testbed NAME",
            "Measure on this test bed [default: linux-xdp]",
            "dpdk-swx runs P4 programs as the pipelines that `slowpath compile --to swx` writes. "
            "Pipelines (.spec files) always run there.",
            common=False,
        ),
        _MEASUREMENT.option(
            "--batch N",
            "Let the kernel send N packets at a time with --mode live",
            common=False,
            type=within(int, 1, 256),
            default=64,
        ),
        _MEASUREMENT.option(
            "--cache",
            "Choose the state of the caches",
            "`hot`: one packet repeatedly. `cold`: for paths with lookups, also many flows one "
            "after the other, whose map entries exceed the caches. `both`: like `cold`, but "
            "shown only if it differs from `hot` by more than the spread.",
            common=False,
            choices=("hot", "cold", "both"),
            default="both",
        ),
        _MEASUREMENT.flag(
            "--no-stretches",
            "Skip the breakdown of the slowest path's time",
            "The breakdown takes up to 2.5 s per program.",
            common=False,
        ),
        cpu_option(_MEASUREMENT),
        _MEASUREMENT.option(
            "--fail-on EXPR",
            "Exit with 1 if EXPR holds: 'ratio > LIMIT'",
            "'ratio' is the time of the slowest path of the new file, divided by that of the "
            "old file. The whole 95% interval of the ratio must exceed the limit; if the "
            "interval contains the limit after --seconds, the result is undecided. A program "
            "that exists in only one file also fails.",
            action="append",
            default=[],
        ),
        _TRACE.option(
            "--pcap FILE",
            "Run the packets of a capture through each program",
            "FILE is pcap or pcapng. Packets run in order, with the map content that earlier "
            "packets leave. Reports the path of each packet, the time of each path, and the mean "
            "cost per packet.",
        ),
        _TRACE.option(
            "--plot FILE",
            "Plot the distribution of the times of these packets (.svg, .png)",
            needs("plots"),
            common=False,
        ),
        MTU,
        UNROLL._replace(common=False),
        SEARCH.option(
            "--deadline TIME",
            "Search for paths for at most TIME [default: 3s, with --paths 60s]",
            "The limit applies to each program; 0 means no limit.",
            common=False,
            type=duration,
        ),
        MEMORY,
        ASSUME,
        MAPS,
        ASSUMED.option(
            "--receive ENVIRONMENT",
            "Set the environment in which packets arrive [default: test-run]",
            "slowpath bound lists other environments. Paths that no test run can take are not "
            "measured.",
            common=False,
        ),
        SET,
        BTF,
        _FORMATS.option(),
        _FORMATS.report_option(),
        OUTPUT.option(
            "--html FILE",
            "Write an HTML page with times, packets and conditions",
            "The page shows the distribution of the times of each path, and up to 8 packets.",
        ),
        OUTPUT.flag(
            "-v, --verbose",
            ("Add the method by which each path was repeated, and details of the machine"),
        ),
    ),
    _measure,
    (
        Example("slowpath measure filter.bpf.o", "Time the slowest and the fastest path"),
        Example(
            "slowpath measure old.bpf.o new.bpf.o --fail-on 'ratio > 1.05'",
            "Fail if a change makes the slowest path 5 % slower",
        ),
        Example("slowpath measure filter.bpf.o --pcap trace.pcap", "Time the packets of a trace"),
    ),
)
