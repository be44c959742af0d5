"""Declares the arguments and options of `slowpath sweep`."""

from slowpath.bounds.flags import ANALYSIS, CACHE, GUARANTEE, cpu_option
from slowpath.core.command import Command, Example, Heading, argument, within
from slowpath.core.extras import needs
from slowpath.core.formats import JSON, OUTPUT, Formats
from slowpath.core.quantities import duration

_SWEEP = Heading("What to sweep")
_MEASURE = Heading("What to measure")
_FORMATS = Formats("slowpath.sweep.report", table="text_report", json=JSON, csv="csv_report")
_TARGETS = GUARANTEE.option(
    "--target NAME|FILE.toml,...",
    "Analyse for these devices or descriptions [default: linux-xdp]",
    "Commas separate several targets.",
)
_METRIC = GUARANTEE.option(
    "--metric NAME",
    "Guarantee this metric on targets that have it [default: instructions]",
    "NAME is instructions or memory-accesses. On a SmartNIC, it is packetrate (the default there) "
    "or bitrate.",
    common=False,
)
_REPLACED = {"--target": _TARGETS, "--metric": _METRIC}
"""Options of `sweep` that replace the common options with the same names."""


SWEEP = Command(
    (
        "Show how costs grow with a definition in a C or P4 source",
        "The source is compiled and analysed for each value. The table shows guaranteed packets "
        "per second for targets with rates, and counts for others.",
        "If a value cannot be compiled or analysed, its row shows the reason, and the sweep "
        "continues. Ctrl-C ends the sweep, and prints the finished values.",
        "Exit codes: 0 success, 2 wrong usage, 3 a file cannot be read or written, or a value "
        "cannot "
        "be compiled, analysed or measured, 4 stopped before all values were done.",
    ),
    (
        argument(
            "FILE",
            "C source (*.bpf.c) or P4 source (*.p4), which clang compiles",
            None,
            "Objects, listings and pipelines (*.spec) have no definitions to sweep.",
        ),
        _SWEEP.option(
            "-D, --define NAME=VALUES",
            "Sweep a definition over values: 1..20, 1..20+2 or 1,2,4",
            "1..20+2 is every second value, and 1..1024*2 is all powers of two. VALUES can also "
            "be words separated by commas. With several definitions, slowpath analyses all "
            "combinations.",
            action="append",
            required=True,
        ),
        *(_REPLACED.get(one.names[-1], one) for one in ANALYSIS),
        _MEASURE.flag(
            "--measure",
            "Measure the slowest path of each program in the kernel",
            "This is the path with the most BPF instructions. Programs take turns. This needs "
            "the same privileges and kernel as slowpath measure.",
        ),
        _MEASURE.option(
            "--total-seconds TIME",
            "Measure all programs for at most TIME in total [default: 20s]",
            common=False,
            type=within(duration, 0.1, 86_400),
        ),
        cpu_option(_MEASURE),
        OUTPUT.option(
            "--plot FILE",
            "Plot the results over the first definition (.svg, .png)",
            needs("plots"),
        ),
        OUTPUT.option("--html FILE", "Write an HTML page with growth, charts and results"),
        *CACHE,
        _FORMATS.option(),
    ),
    _FORMATS.call("slowpath.sweep.run:sweep"),
    (
        Example("slowpath sweep sketch.bpf.c -D HASHES=1..8", "Compare eight values of HASHES"),
        Example(
            "slowpath sweep sketch.bpf.c -D HASHES=1..8 --target linux-xdp,agilio-cx-2x40",
            "Compare a server and a SmartNIC",
        ),
    ),
)
