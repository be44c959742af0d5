"""Declares the arguments and options of `slowpath sweep`."""

from slowpath.bounds.flags import ANALYSIS, GUARANTEE, cpu_option
from slowpath.core.command import Command, Heading, argument, within
from slowpath.core.formats import JSON, OUTPUT, Formats

_SWEEP = Heading("What to sweep")
_MEASURE = Heading("What to measure")
_FORMATS = Formats("slowpath.sweep.report", table="text_report", json=JSON, csv="csv_report")
_TARGETS = GUARANTEE.option(
    "--target NAME|FILE.toml,...",
    "Targets, separated by commas: built-in names or description files (default: linux-xdp).",
)
_METRIC = GUARANTEE.option(
    "--metric NAME",
    "Metric to guarantee on targets that have it: instructions (the default) or "
    "memory-accesses; on a SmartNIC packetrate (the default) or bitrate.",
)
_REPLACED = {"--target": _TARGETS, "--metric": _METRIC}
"""Options that replace options of the same name of other commands."""


SWEEP = Command(
    (
        "Sweep a definition of a C source: compile the source for each value, and show the cost "
        "of each program on one device or several.",
        "Targets with rates show guaranteed packets per second, those that count show counts. If "
        "a value does not compile or its program cannot be analysed, its row has the reason and "
        "the sweep continues. Ctrl-C ends the sweep and prints the values that are done.",
        "Exit codes: 0 fine, 2 wrong usage, 3 a file cannot be read or written, or a value cannot "
        "be compiled, analysed or measured, 4 stopped before all values were done.",
    ),
    (
        argument("FILE", "C source (*.bpf.c), which clang compiles."),
        _SWEEP.option(
            "-D, --define NAME=VALUES",
            "Definition to sweep, with its values: 1..20, 1..20:2 (every second one), 1,2,4, "
            "or any words separated by commas. With several definitions, all combinations are "
            "swept.",
            action="append",
            required=True,
        ),
        *(_REPLACED.get(one.names[-1], one) for one in ANALYSIS),
        _MEASURE.flag(
            "--measure",
            "Measure the slowest path of each program, by BPF instructions, in the running "
            "kernel; programs take turns. Has the same requirements as slowpath measure.",
        ),
        _MEASURE.option(
            "--seconds SECONDS",
            "Measure all programs for at most this long in total (default: 20).",
            type=within(float, 0.1, 86_400),
        ),
        cpu_option(_MEASURE),
        OUTPUT.option(
            "--plot FILE",
            "Plot the results over the first definition; FILE ends in .svg or .png. Requires "
            "the extra `models`: pip install slowpath[models].",
        ),
        _FORMATS.option(),
    ),
    _FORMATS.call("slowpath.sweep.run:sweep"),
)
