"""Declares the arguments and options of `slowpath calibrate`."""

from argparse import Namespace

from slowpath.bounds.flags import cpu_option
from slowpath.core.command import Command, Heading, argument, within
from slowpath.core.formats import JSON, OUTPUT, STABLE, Formats

_SELECTION = Heading("Selection of experiments")
_MEASUREMENT = Heading("Measurement settings")
_FORMATS = Formats("slowpath.calibrate.report", table="text_report", json=JSON)
_CATALOGUE = Formats("slowpath.calibrate.listing", table="text_report", json=JSON)


def _calibrate(options: Namespace) -> int:
    from slowpath.calibrate.listing import list_all
    from slowpath.calibrate.run import calibrate
    from slowpath.calibrate.settings import read_settings

    if options.list:
        return list_all(_CATALOGUE.reporter(options.format))
    return calibrate(read_settings(options), _FORMATS.reporter(options.format))


CALIBRATE = Command(
    (
        "Measure the cost of single program components over a swept parameter, and fit models.",
        "Without arguments, run all experiments that slowpath has for the test bed. One directory "
        "holds all programs and measurements; the models can be derived from it again.",
        "The test bed linux-xdp measures in the running kernel and has the requirements of "
        "slowpath measure. dpdk and dpdk-swx need an installed DPDK; dpdk-swx runs pipelines in "
        "the form that p4c emits. ebpf and agilio-cx-2x40 compute costs. p4 only writes programs.",
        "Needs the extra `models`.",
        "Exit codes: 0 fine, 2 wrong usage, 3 an experiment cannot be read or measured, or this "
        "machine lacks something, 4 stopped before all was measured.",
    ),
    (
        argument("SPEC.yaml", "Run the experiments that these specifications describe.", "*"),
        _SELECTION.option(
            "--component NAME",
            "Run an experiment that comes with slowpath; can be given several times.",
            action="append",
            default=[],
        ),
        _SELECTION.option(
            "--range FIRST:LAST",
            "Sweep the parameter over this range, such as 100:2e6; for one experiment only.",
        ),
        _SELECTION.option(
            "--points N", "Measure N values of the swept parameter.", type=within(int, 1, 1000)
        ),
        _SELECTION.flag(
            "--list", "List test beds, components and experiments without running any."
        ),
        _MEASUREMENT.option(
            "--testbed NAME",
            "Select a test bed: linux-xdp, dpdk, dpdk-swx, ebpf, agilio-cx-2x40 or p4 "
            "(default: linux-xdp).",
        ),
        _MEASUREMENT.option(
            "--precision PERCENT",
            "Measure until the 95%% interval of each program's time is within this share of "
            "the time, on either side (default: 1).",
            type=within(float, 0.01, 100),
        ),
        _MEASUREMENT.option(
            "--seconds SECONDS",
            "Limit the time for each experiment (default: 2.5).",
            type=within(float, 0.1, 86_400),
        ),
        cpu_option(_MEASUREMENT),
        OUTPUT.option(
            "-o, --output DIR", "Write the run to this directory (default: calibration-TESTBED)."
        ),
        OUTPUT.option(
            "--rerun DIR",
            "Resume the run in this directory where it stopped; repeat a complete run.",
        ),
        OUTPUT.option(
            "--evaluate DIR",
            "Derive the models of a run again from its samples, without measuring.",
        ),
        OUTPUT.option(
            "--html FILE",
            "Write a report of the run as one self-contained page: figures, models, "
            "residuals, machine.",
        ),
        _FORMATS.option(STABLE),
    ),
    _calibrate,
)
