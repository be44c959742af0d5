"""The command line of `slowpath sweep`."""

from argparse import Namespace

from slowpath.bound.flags import ANALYSIS, GUARANTEE, OUTPUT, cpu_option, form_option
from slowpath.core.command import Command, argument, option, within

_SWEEP = "What to sweep"
_MEASURE = "What to measure"
FORMATS = ("table", "json", "csv")
_TARGETS = option(
    GUARANTEE,
    "--target",
    metavar="NAME|FILE.toml,...",
    help="Devices, built-in ones or descriptions, with commas between them (default: linux-xdp).",
)
_METRIC = option(
    GUARANTEE,
    "--metric",
    metavar="NAME",
    help="What to guarantee on the targets that have it: instructions (the default) or "
    "memory-accesses; on a SmartNIC packetrate (the default) or bitrate.",
)
_OWN = {"--target": _TARGETS, "--metric": _METRIC}
"""What is another option here than in other commands."""


def _sweep(given: Namespace) -> int:
    from slowpath.sweep.run import sweep

    return sweep(given)


SWEEP = Command(
    (
        "Sweep a definition of a C source: compile it for each value, and show what each then "
        "costs, on one device or several.",
        "Targets with rates show guaranteed packets per second, those that count show counts. "
        "Where a value does not compile, or its program cannot be analysed, its row says why, and "
        "the others go on. Ctrl-C ends with the values that are done.",
        "Exit codes: 0 fine, 2 wrong usage, 3 a file cannot be read or written, or a value not be "
        "compiled, analysed or measured, 4 stopped before all values were done.",
    ),
    (
        argument("FILE", "A C source (*.bpf.c), which clang compiles."),
        option(
            _SWEEP,
            "-D",
            "--define",
            metavar="NAME=VALUES",
            action="append",
            required=True,
            help="A definition, and its values: 1..20, 1..20:2 (every other), 1,2,4, or any words "
            "with commas between them. Several definitions: all combinations.",
        ),
        *(_OWN.get(one.names[-1], one) for one in ANALYSIS),
        option(
            _MEASURE,
            "--measure",
            action="store_true",
            help="Measure the slowest path of each program, by BPF instructions, in the running "
            "kernel, all of them in turns. It takes what slowpath measure takes.",
        ),
        option(
            _MEASURE,
            "--seconds",
            metavar="SECONDS",
            type=within(float, 0.1, 86_400),
            help="Measure all programs together for no longer than this (default: 20).",
        ),
        cpu_option(_MEASURE),
        option(
            OUTPUT,
            "--plot",
            metavar="FILE",
            help="Draw it by the first definition; FILE ends in .svg or .png. Needs the extra "
            "`models`: pip install slowpath[models].",
        ),
        form_option(FORMATS, "json and csv are stable"),
    ),
    _sweep,
)
