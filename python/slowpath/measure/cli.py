"""The command line of `slowpath measure`."""

from argparse import Namespace

from slowpath.bound.flags import (
    ASSUME,
    ASSUMED,
    BTF,
    CFLAGS,
    FILES,
    MAPS,
    MEMORY,
    MTU,
    OUTPUT,
    PROG_NAME,
    SEARCH,
    SECTION,
    SET,
    UNROLL,
    cpu_option,
    form_option,
    written_options,
)
from slowpath.core.command import Command, option, within

MEASUREMENT = "How to measure"
TRACE = "Packets of one's own"
_LOOK = 3.0
"""Seconds to look for paths, where the fastest is meant too: there can be very many."""
MODES = ("test-run", "live")
FORMATS = ("table", "json", "csv")


def _measure(given: Namespace) -> int:
    from slowpath.bound.options import read_option, read_request
    from slowpath.measure.run import measure
    from slowpath.measure.settings import Settings, parse_gate

    paths, seconds = ("all", _LOOK) if given.paths is None else (given.paths, None)
    written = written_options(given, given.file)._replace(
        target="ebpf",
        metric="instructions",
        paths=paths,
        deadline=seconds if given.deadline is None else given.deadline,
        receive=given.receive or "test-run",
    )
    settings = Settings(
        given.paths is None,
        given.precision / 100,
        given.seconds,
        given.cpu,
        given.format,
        verbose=given.verbose,
        live=given.batch if given.mode == "live" else None,
        cache=given.cache,
        gates=[read_option("--fail-on", parse_gate, text) for text in given.fail_on],
        pcap=given.pcap,
        plot=given.plot,
        stretches=not given.no_stretches,
    )
    return measure(read_request(given.file, written), settings)


MEASURE = Command(
    (
        "Measure in the running kernel: what the paths of a program take, packet by packet.",
        "The analysis finds the slowest path, the fastest and some between; each runs in the "
        "kernel with its packet and its map content, many times, and in turns with an empty "
        "program and a busy loop. Nothing is attached to a device of this machine, and nothing "
        "stays behind.",
        "With --pcap, the packets of a trace are run besides the slowest path.",
        "Two files are the old and the new version: programs of the same name are measured in "
        "turns and compared.",
        "A path takes the nanoseconds of one run in the kernel's loop for test runs, without "
        "receiving and sending.",
        "With --mode live, a program costs what a packet takes beyond a minimal program of the "
        "same action; beside it stands what a virtual device receives with the program.",
        "Exit codes: 0 fine, 1 --fail-on holds or lacks what to compare, 2 wrong usage, 3 a file "
        "cannot be read, analysed or measured, or this kernel measures nothing for us, 4 stopped "
        "before anything was measured, or before --fail-on was decided.",
    ),
    (
        FILES,
        SECTION,
        PROG_NAME,
        CFLAGS,
        option(
            MEASUREMENT,
            "--paths",
            metavar="K",
            type=within(int, 1, 100_000),
            help="Measure the K slowest paths, by instructions; by default the slowest, the "
            "fastest and some between.",
        ),
        option(
            MEASUREMENT,
            "--precision",
            metavar="PERCENT",
            type=within(float, 0.01, 100),
            default=1.0,
            help="Go on until the 95%% interval of each time is within this share of it, on "
            "either side (default: %(default)s).",
        ),
        option(
            MEASUREMENT,
            "--seconds",
            metavar="SECONDS",
            type=within(float, 0.1, 86_400),
            default=10.0,
            help="Measure each program for no longer than this (default: %(default)s).",
        ),
        option(
            MEASUREMENT,
            "--mode",
            choices=MODES,
            default=MODES[0],
            help="How packets run: in the kernel's loop for test runs, or live, where they really "
            "go where the program sends them, through virtual devices in a network namespace of "
            "their own (default: %(default)s).",
        ),
        option(
            MEASUREMENT,
            "--batch",
            metavar="N",
            type=within(int, 1, 256),
            default=64,
            help="With --mode live, how many packets the kernel sends at a time (default: "
            "%(default)s).",
        ),
        option(
            MEASUREMENT,
            "--cache",
            choices=("hot", "cold", "both"),
            default="both",
            help="`hot`: one packet again and again. `cold`: also many flows in turn, whose map "
            "entries do not fit into the caches, for each path that looks anything up. `both`: the "
            "same, and told only where it differs by more than the spread (default: %(default)s).",
        ),
        option(
            MEASUREMENT,
            "--no-stretches",
            action="store_true",
            help="Do not find out where the time of the slowest path goes, which takes up to 2.5 s "
            "for each program.",
        ),
        cpu_option(MEASUREMENT),
        option(
            MEASUREMENT,
            "--fail-on",
            metavar="'ratio > LIMIT'",
            action="append",
            default=[],
            help="Fail if the slowest path of the new file takes more than so many times as long "
            "as that of the old one. The whole 95%% interval of the ratio has to be beyond the "
            "limit; where it is on both sides after --seconds, that is not decided. A program that "
            "only one of the files has fails, too.",
        ),
        option(
            TRACE,
            "--pcap",
            metavar="FILE",
            help="Run the packets of a capture file (pcap or pcapng) through each program, in "
            "order and with what they leave in its maps: which path each takes, what these "
            "take, and what the packets cost in the mean.",
        ),
        option(
            TRACE,
            "--plot",
            metavar="FILE",
            help="Draw how many of these packets take how long; FILE ends in .svg or .png. Needs "
            "the extra `models`.",
        ),
        MTU,
        UNROLL,
        option(
            SEARCH,
            "--deadline",
            metavar="SECONDS",
            type=float,
            help="Look for paths of each program for no longer than this (default: 3, with --paths "
            "60; 0: no limit).",
        ),
        MEMORY,
        ASSUME,
        MAPS,
        option(
            ASSUMED,
            "--receive",
            metavar="ENVIRONMENT",
            help="How packets arrive: test-run (the default), or as `slowpath bound` has it. Paths "
            "that no test run takes are not measured.",
        ),
        SET,
        BTF,
        form_option(FORMATS, "json and csv are stable"),
        option(
            OUTPUT,
            "-v",
            "--verbose",
            action="store_true",
            help="Add how each path was repeated, and the environment.",
        ),
    ),
    _measure,
)
