"""The command line of `slowpath calibrate`."""

from argparse import Namespace

from slowpath.bound.flags import OUTPUT, cpu_option, form_option
from slowpath.core.command import ARGUMENTS, Command, option, within

_WHICH = "Which experiments"
_HOW = "How to measure"
FORMATS = ("table", "json")


def _calibrate(given: Namespace) -> int:
    from slowpath.calibrate.listing import list_all
    from slowpath.calibrate.run import calibrate
    from slowpath.calibrate.settings import read_settings

    if given.list:
        return list_all(given.format)
    return calibrate(read_settings(given))


CALIBRATE = Command(
    (
        "Run experiments: what single components of programs cost, by a parameter that is swept, "
        "and models of it.",
        "Without arguments, all experiments that slowpath has for the test bed. What is made and "
        "measured stands in one directory, from which the models can be derived again.",
        "The test bed linux-xdp measures in the running kernel and takes what slowpath measure "
        "takes; dpdk and dpdk-swx run programs on DPDK, which has to be installed, the latter "
        "as p4c compiles them from P4; ebpf and agilio-cx-2x40 compute; p4 only writes programs.",
        "Needs the extra `models`.",
        "Exit codes: 0 fine, 2 wrong usage, 3 an experiment cannot be read or measured, or this "
        "machine lacks something, 4 stopped before all was measured.",
    ),
    (
        option(
            ARGUMENTS,
            "spec",
            metavar="SPEC.yaml",
            nargs="*",
            help="Specifications of one's own experiments.",
        ),
        option(
            _WHICH,
            "--component",
            metavar="NAME",
            action="append",
            default=[],
            help="One of the experiments that come with slowpath; can be given several times.",
        ),
        option(
            _WHICH,
            "--range",
            metavar="FIRST:LAST",
            help="Other ends of what is swept, such as 100:2e6; of one experiment.",
        ),
        option(
            _WHICH,
            "--points",
            metavar="N",
            type=within(int, 1, 1000),
            help="How many values of it are measured.",
        ),
        option(
            _WHICH,
            "--list",
            action="store_true",
            help="List test beds, components and experiments, and run none.",
        ),
        option(
            _HOW,
            "--testbed",
            metavar="NAME",
            help="Where: linux-xdp, dpdk, dpdk-swx, ebpf, agilio-cx-2x40 or p4 (default: "
            "linux-xdp).",
        ),
        option(
            _HOW,
            "--precision",
            metavar="PERCENT",
            type=within(float, 0.01, 100),
            help="Go on until the 95%% interval of what each program takes is within this share of "
            "it, on either side (default: 1).",
        ),
        option(
            _HOW,
            "--seconds",
            metavar="SECONDS",
            type=within(float, 0.1, 86_400),
            help="Measure each experiment for no longer than this (default: 2.5).",
        ),
        cpu_option(_HOW),
        option(
            OUTPUT,
            "-o",
            "--output",
            metavar="DIR",
            help="The directory of the run (default: calibration-TESTBED).",
        ),
        option(
            OUTPUT,
            "--rerun",
            metavar="DIR",
            help="Go on with the run of this directory where it stopped; one that is complete is "
            "run again.",
        ),
        option(
            OUTPUT,
            "--evaluate",
            metavar="DIR",
            help="Derive the models again from what was measured in a run, and measure nothing.",
        ),
        option(
            OUTPUT,
            "--html",
            metavar="FILE",
            help="Write a page about the run: figures, models, residuals, the machine; one file "
            "that needs no network.",
        ),
        form_option(FORMATS, "json is stable"),
    ),
    _calibrate,
)
