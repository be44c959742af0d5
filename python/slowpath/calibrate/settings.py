"""Checks the options of `slowpath calibrate`."""

from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from slowpath.bounds.options import read_option
from slowpath.calibrate.derivation import PRECISION, SECONDS, quick_experiments
from slowpath.calibrate.experiments.folder import ExperimentFolder, RunFolder
from slowpath.calibrate.experiments.running import Limits, TestBed, metric_on
from slowpath.calibrate.experiments.specification import (
    Experiment,
    load_experiment,
    shipped_experiment,
    shipped_names,
    with_range,
)
from slowpath.calibrate.testbeds import LOAD, QUICK, TESTBEDS
from slowpath.core import codes
from slowpath.core.command import load
from slowpath.core.errors import InputError, OptionError
from slowpath.core.inputs import check_page
from slowpath.core.quantities import parse_range
from slowpath.core.spanned import parse_integer

_TESTBED, _PRECISION, _SECONDS = "linux-xdp", 1.0, 2.5
"""Default values: name of the test bed, precision in percent, seconds for each experiment."""
_MOST_POINTS = 1000
"""Maximum number of values that an experiment can sweep."""


class Settings(NamedTuple):
    """Options of a calibration run, which is measured and evaluated, or only evaluated."""

    folder: RunFolder
    bed: TestBed | None  # None: only evaluate
    limits: Limits
    experiments: Sequence[Experiment]  # experiments to measure
    names: Sequence[str]  # names of all experiments of the run, in order
    quick: bool = False  # true: the experiments scale the nearest shipped target
    html: str | None = None  # file for the report page


def read_settings(options: Namespace) -> Settings:
    """Read and check the options of `slowpath calibrate`.

    Raises:
        OptionError: when an option is invalid or conflicts with another one.
        InputError: when a specification or a directory cannot be read, or does not fit the test
            bed.
    """
    check_page(options.html)
    return _settings(options)._replace(html=options.html)


def compared_runs(options: Namespace) -> list[str]:
    """Return the directories of runs that `--compare` names; empty without the option.

    Raises:
        OptionError: when there is only one directory, or an option has no effect.
    """
    runs: list[str] = options.compare
    if runs:
        check_page(options.html)
        _check_others(options, "--compare")
    if len({*runs}) < len(runs):
        raise OptionError(
            codes.REPEATED_OPTION, "--compare", "a run is named twice; name each run once"
        )
    if len(runs) == 1:
        raise OptionError(
            codes.OPTION_NEEDS_OPTION,
            "--compare",
            f"a run is compared with others; repeat --compare with a run other than {runs[0]!r}",
        )
    return runs


def _settings(options: Namespace) -> Settings:
    for name, value in (
        ("--rate", options.rate),
        ("--loss", options.loss),
        ("--attach", options.attach),
    ):
        if value is not None:
            reason = f"the option is for the test bed {LOAD}; add --testbed {LOAD}"
            raise OptionError(codes.OPTION_NEEDS_OPTION, name, reason)
    for name, path in (("--evaluate", options.evaluate), ("--rerun", options.rerun)):
        if path is not None:
            _check_others(options, name)
    if options.evaluate is not None:
        folder = RunFolder(Path(options.evaluate))
        known = folder.settings()
        names = [name for name in known["experiments"] if folder.of(name).measured]
        quick = known.get("quick", False)
        return Settings(folder, None, Limits(0, 0, None), [], names, quick)
    if options.rerun is not None:
        return _resume(RunFolder(Path(options.rerun)))
    bed = _bed(options.testbed or _TESTBED, quick=options.quick)
    if options.quick:
        _check_quick(options)
    experiments = quick_experiments() if options.quick else requested_experiments(options, bed)
    name = f"calibration-{'quick' if options.quick else bed.name}"
    folder = RunFolder(Path(options.output or name))
    if folder.begun:
        reason = (
            "the folder already has a run; resume it with --rerun, or name another folder with -o"
        )
        raise InputError(codes.EXPERIMENT_FOLDER_UNUSABLE, str(folder.path), reason)
    usual = (PRECISION, SECONDS) if options.quick else (_PRECISION, _SECONDS)
    precision, seconds = options.precision or usual[0], options.seconds or usual[1]
    limits = Limits(precision / 100, seconds, options.cpu)
    names = [experiment["name"] for experiment in experiments]
    return Settings(folder, bed, limits, experiments, names, options.quick)


def _check_quick(options: Namespace) -> None:
    """Check that `--quick` is not combined with options that select experiments.

    Raises:
        OptionError: if it is.
    """
    for name, value in (
        ("SPEC.yaml", options.spec),
        ("--component", options.component),
        ("--range", options.range),
        ("--points", options.points),
        ("--testbed", options.testbed),
    ):
        if value is not None and value != []:
            raise OptionError(
                codes.CONFLICTING_OPTIONS,
                "--quick",
                f"the option selects the experiments itself; leave out {name}",
            )


def _check_others(options: Namespace, option: str) -> None:
    """Check that no option contradicts `option`, which names an existing run.

    Raises:
        OptionError: if one does.
    """
    others = {
        "--quick": options.quick or None,
        "SPEC.yaml": options.spec,
        "--component": options.component,
        "--range": options.range,
        "--points": options.points,
        "--testbed": options.testbed,
        "--precision": options.precision,
        "--seconds": options.seconds,
        "--cpu": options.cpu,
        "--output": options.output,
        "--rerun": options.rerun if option != "--rerun" else None,
        "--evaluate": options.evaluate if option == "--compare" else None,
    }
    for name, value in others.items():
        if value is not None and value != []:
            raise OptionError(
                codes.OPTION_WITHOUT_EFFECT,
                option,
                f"the run in the folder already has this setting; omit {name}",
            )


def _resume(folder: RunFolder) -> Settings:
    """Return the settings for measuring an existing run again.

    If the run is incomplete, only its incomplete experiments are measured.
    """
    known = folder.settings()
    names = known["experiments"]
    left = [name for name in names if not _is_complete(folder.of(name))]
    experiments = [folder.of(name).experiment() for name in left or names]
    limits = Limits(known["precision"], known["seconds"], known["cpu"])
    quick = known.get("quick", False)
    bed = _bed(known["testbed"], quick=quick)
    return Settings(folder, bed, limits, experiments, names, quick)


def _is_complete(experiment: ExperimentFolder) -> bool:
    return experiment.measured and experiment.measurement()["state"] != "partial"


def _bed(name: str, *, quick: bool = False) -> TestBed:
    if name not in TESTBEDS:
        raise OptionError(
            codes.UNKNOWN_NAME,
            "--testbed",
            f"{name!r} is not a test bed; the test beds are {', '.join((*TESTBEDS, LOAD))}",
        )
    bed: TestBed = load(QUICK if quick else TESTBEDS[name])
    return bed


def requested_experiments(options: Namespace, bed: TestBed) -> list[Experiment]:
    """Return the experiments that the options name; by default, all that the test bed supports.

    Raises:
        OptionError: when an option is invalid.
        InputError: when a specification is invalid, or does not fit the test bed.
    """
    again = next((one for one in options.component if options.component.count(one) > 1), None)
    if again is not None:
        reason = f"{again} is named twice; name it once"
        raise OptionError(codes.REPEATED_OPTION, "--component", reason)
    experiments = [load_experiment(file) for file in options.spec]
    experiments += [shipped_experiment(name) for name in options.component]
    if not experiments:
        experiments = [shipped_experiment(name) for name in shipped_names()]
        experiments = [one for one in experiments if is_supported(bed, one)]
    for experiment in experiments:
        metric_on(bed, experiment)
    names = [experiment["name"] for experiment in experiments]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(
            codes.EXPERIMENT_INVALID, twice[0], "two experiments have this name; rename one"
        )
    if options.range is None:
        return [with_range(one, None, None, options.points) for one in experiments]
    first, last, count = _range(options.range)
    if len(experiments) > 1:
        raise OptionError(
            codes.OPTION_NEEDS_OPTION,
            "--range",
            "the range is for one experiment; name this experiment with --component",
        )
    if count is not None and options.points is not None:
        raise OptionError(
            codes.CONFLICTING_OPTIONS,
            "--points",
            f"--range {options.range} already sets the number of values",
        )
    return [with_range(one, first, last, count or options.points) for one in experiments]


def is_supported(bed: TestBed, experiment: Experiment) -> bool:
    """Return true if a test bed can measure an experiment, or compute its costs."""
    try:
        metric_on(bed, experiment)
    except InputError:
        return False
    return True


def _range(text: str) -> tuple[int, int, int | None]:
    """Parse `--range`; return first and last value, and the number of values (None: not stated)."""
    found = read_option("--range", lambda text: parse_range("--range", text, "/", ""), text)
    first, last = parse_integer(found.first), parse_integer(found.last)
    count = parse_integer(found.amount) if found.sign else None
    if first is None or last is None:
        raise OptionError(codes.INVALID_VALUE, "--range", f"both ends of {text!r} must be integers")
    if found.sign and (count is None or not 1 <= count <= _MOST_POINTS):
        raise OptionError(
            codes.INVALID_VALUE, "--range", f"N must be an integer from 1 to {_MOST_POINTS}"
        )
    return first, last, count
