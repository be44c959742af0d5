"""Declares the arguments and options of `slowpath calibrate`."""

from argparse import Namespace

from slowpath.bounds.flags import cpu_option
from slowpath.core.command import Command, Example, Heading, argument, output_folder, within
from slowpath.core.formats import JSON, OUTPUT, STABLE, Formats
from slowpath.core.quantities import duration
from slowpath.core.values import percentage

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
        "Measure the cost of program components on this machine",
        "Fits a model to each component over a swept parameter. Without arguments, runs all "
        "experiments for the test bed. Needs the extra `models`.",
        "The output folder keeps all programs and measurements, so that --evaluate can derive the "
        "models again.",
        "The test bed linux-xdp measures in the running kernel and has the requirements of "
        "slowpath measure. dpdk and dpdk-swx need an installed DPDK; dpdk-swx runs pipelines in "
        "the form that p4c emits. ebpf and agilio-cx-2x40 compute costs. p4 only writes programs.",
        "Exit codes: 0 success, 2 wrong usage, 3 an experiment cannot be read or measured, or this "
        "machine lacks something, 4 stopped before all was measured.",
    ),
    (
        argument("SPEC.yaml", "Specifications of experiments to run", "*"),
        _SELECTION.option(
            "--component NAME",
            "Run a built-in experiment; repeatable",
            "--list shows the names.",
            action="append",
            default=[],
        ),
        _SELECTION.option(
            "--range FIRST..LAST[/N]",
            "Sweep the parameter over this range, such as 100..2e6",
            "For one experiment only.",
        ),
        _SELECTION.option(
            "--points N",
            "Measure N values of the swept parameter",
            common=False,
            type=within(int, 1, 1000),
        ),
        _SELECTION.flag(
            "--quick",
            "Calibrate in 30 s: a few experiments scale the nearest shipped target",
            "A full calibration is more accurate. --seconds and --precision apply to each of the "
            "experiments.",
        ),
        _SELECTION.flag("--list", "List test beds, components and experiments; run none"),
        _MEASUREMENT.option(
            "--testbed NAME",
            "Select a test bed [default: linux-xdp]",
            "linux-xdp, dpdk, dpdk-swx, ebpf, agilio-cx-2x40 or p4.",
        ),
        _MEASUREMENT.option(
            "--precision PERCENT",
            "Measure until times are precise within PERCENT [default: 1%]",
            "The 95% interval of each program's time then extends at most PERCENT of the time to "
            "either side.",
            common=False,
            type=percentage(0.01, 100),
        ),
        _MEASUREMENT.option(
            "--seconds TIME",
            "Limit the time of each experiment [default: 2.5s]",
            type=within(duration, 0.1, 86_400),
        ),
        cpu_option(_MEASUREMENT),
        OUTPUT.option(
            "-o, --output DIR",
            "Write the run to DIR [default: calibration-TESTBED, or calibration-quick]",
            type=output_folder,
        ),
        OUTPUT.option("--rerun DIR", "Resume a stopped run, or repeat a complete one"),
        OUTPUT.option(
            "--evaluate DIR",
            "Derive the models of a run again, without measuring",
            common=False,
        ),
        OUTPUT.option(
            "--html FILE",
            "Write an HTML page with figures, models and residuals",
            "The page also describes the machine. It is one file and needs no network.",
        ),
        _FORMATS.option(STABLE),
    ),
    _calibrate,
    (
        Example("slowpath calibrate", "Run all experiments; bound then uses the measured costs"),
        Example("slowpath calibrate --quick", "Calibrate this machine in 30 s"),
        Example("slowpath calibrate --list", "List the experiments"),
        Example(
            "slowpath calibrate --component hash-lookup --range 100..2e6", "Run one experiment"
        ),
    ),
)
