"""Declares the arguments and options of `slowpath calibrate`."""

from argparse import Namespace

from slowpath.bounds.flags import cpu_option
from slowpath.calibrate.testbeds import LOAD, LOADED
from slowpath.core.command import Command, Example, Heading, argument, output_folder, within
from slowpath.core.formats import JSON, OUTPUT, Formats
from slowpath.core.quantities import duration, percentage

_SELECTION = Heading("Selection of experiments")
_MEASUREMENT = Heading("Measurement settings")
_LOADING = Heading("Offered load, with --testbed load")
_FORMATS = Formats("slowpath.calibrate.report", table="text_report", json=JSON, csv="costs_csv")
_COMPARISON = Formats(
    "slowpath.calibrate.comparison", table="text_report", json=JSON, csv="comparison_csv"
)
_LOAD = Formats("slowpath.calibrate.load.report", table="load_text", json=JSON, csv="load_csv")
_CATALOGUE = Formats("slowpath.calibrate.report", table="catalogue_text", json=JSON, csv="list_csv")


def _calibrate(options: Namespace) -> int:
    from slowpath.calibrate.report import list_all
    from slowpath.calibrate.run import calibrate
    from slowpath.calibrate.settings import compared_runs, read_settings

    if options.list:
        return list_all(_CATALOGUE.reporter(options.format))
    runs = compared_runs(options)
    if runs:
        from slowpath.calibrate.comparison import compare

        return compare(runs, options.html, _COMPARISON.reporter(options.format))
    if options.testbed == LOAD:
        from slowpath.calibrate.load.run import measure_load
        from slowpath.calibrate.load.settings import read_load_settings

        return measure_load(read_load_settings(options), _LOAD.reporter(options.format))
    return calibrate(read_settings(options), _FORMATS.reporter(options.format))


CALIBRATE = Command(
    (
        "Measure the cost of program components on this machine",
        (
            "Measures each component (such as a lookup in a table) at several values of a "
            "parameter, and fits a model. Without arguments, runs all experiments of the test "
            "bed. Needs the extra `models`."
        ),
        (
            "The output folder keeps all programs and measurements. --evaluate derives the "
            "models from them again."
        ),
        (
            "The test bed linux-xdp measures in the running kernel and needs the same rights as "
            "slowpath measure. dpdk and dpdk-swx need an installed DPDK. dpdk-swx runs "
            "pipelines in the form that the P4 compiler p4c emits. ebpf counts instructions, "
            "and agilio-cx-2x40 computes cycles of the card. p4 only writes programs. load "
            "sends packets to XDP programs or pipelines at given rates, and measures losses and "
            "latencies."
        ),
        (
            "Exit codes: 0 success, 2 wrong usage, 3 an experiment cannot be read or measured, or "
            "this machine lacks a requirement, 4 stopped before all experiments were measured."
        ),
    ),
    (
        argument("SPEC.yaml", "Specifications of experiments to run (YAML)", "*"),
        _SELECTION.option(
            "--component NAME",
            "Run this built-in experiment; repeatable",
            "--list shows the names of built-in experiments.",
            action="append",
            default=[],
        ),
        _SELECTION.option(
            "--range FIRST..LAST[/N]",
            "Sweep the parameter of the experiment over this range: 100..2e6",
            "The option needs a single experiment. /N sets the number of measured values.",
        ),
        _SELECTION.option(
            "--points N",
            "Measure N values of the varied parameter",
            common=False,
            type=within(int, 1, 1000),
        ),
        _SELECTION.flag(
            "--quick",
            "Calibrate in 30 s: scale the nearest shipped target with few experiments",
            "A full calibration is more accurate. --seconds and --precision apply to each "
            "experiment.",
        ),
        _SELECTION.flag("--list", "List test beds, components and experiments; run no experiment"),
        _MEASUREMENT.option(
            "--testbed NAME",
            "Measure on this test bed [default: linux-xdp]",
            "The test beds are linux-xdp, dpdk, dpdk-swx, ebpf, agilio-cx-2x40, p4 and load.",
        ),
        _LOADING.option(
            "--rate FIRST..LAST[/N]",
            "Offer N shares of the highest rate without loss [default: 0.1, 0.5, 0.7]",
            "Without N, slowpath offers 10 rates. A single share is allowed. Shares above 1 "
            "overload the program.",
            common=False,
        ),
        _LOADING.option(
            "--loss PERCENT",
            "Accept a rate as without loss if PERCENT is lost at most [default: 0.1%]",
            common=False,
            type=percentage(0, 50),
        ),
        _LOADING.option(
            "--attach MODE",
            "Run programs in MODE [default: native]",
            "native runs XDP programs in the driver, generic in the network stack. dpdk-swx runs "
            "pipelines in DPDK's interpreter.",
            common=False,
            choices=tuple(LOADED),
        ),
        _MEASUREMENT.option(
            "--precision PERCENT",
            "Measure until each time is precise within PERCENT [default: 1%]",
            "The 95% interval of the time of a program then extends at most PERCENT of this "
            "time to either side.",
            common=False,
            type=percentage(0.01, 100),
        ),
        _MEASUREMENT.option(
            "--seconds TIME",
            "Limit the time of each experiment [default: 2.5s]",
            "With --testbed load, the approximate time of each program [default: 10s].",
            type=within(duration, 0.1, 86_400),
        ),
        cpu_option(_MEASUREMENT),
        OUTPUT.option(
            "-o, --output DIR",
            "Write programs and measurements to DIR [default: calibration-TESTBED]",
            type=output_folder,
        ),
        OUTPUT.option("--rerun DIR", "Resume the stopped run in DIR, or repeat a complete one"),
        OUTPUT.option(
            "--evaluate DIR",
            "Derive the models of the run in DIR again, without measuring",
            common=False,
        ),
        OUTPUT.option(
            "--compare DIR",
            "Show runs of several test beds side by side; repeat the option for each run",
            "The output shows each experiment that has costs in at least two runs.",
            common=False,
            action="append",
            default=[],
        ),
        OUTPUT.option(
            "--html FILE",
            "Write an HTML page with figures, models and residuals",
            "The page also describes the machine. It is a single file that works offline.",
        ),
        _FORMATS.option(),
    ),
    _calibrate,
    (
        Example(
            "slowpath calibrate", "Run all experiments; slowpath bound then uses the measured costs"
        ),
        Example("slowpath calibrate --quick", "Calibrate this machine in 30 s"),
        Example(
            "slowpath calibrate --component table-exact-entries --range 100..2e6",
            "Run one experiment over a range of table sizes",
        ),
        Example(
            "slowpath calibrate --testbed load --rate 0.1..1.0",
            "Measure losses and latencies under offered load",
        ),
    ),
)
