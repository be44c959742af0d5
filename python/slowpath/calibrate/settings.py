"""Checked settings of `slowpath calibrate`."""

from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from slowpath.calibrate.experiments.bed import Limits, TestBed
from slowpath.calibrate.experiments.folder import RunFolder
from slowpath.calibrate.experiments.running import metric_on
from slowpath.calibrate.experiments.specification import (
    Experiment,
    load_experiment,
    shipped_experiment,
    shipped_names,
    with_range,
)
from slowpath.calibrate.testbeds import TESTBEDS
from slowpath.core.command import load
from slowpath.core.errors import InputError, OptionError
from slowpath.core.inputs import check_page
from slowpath.core.spanned import parse_integer

_USUAL = "linux-xdp"
_PRECISION, _SECONDS = 1.0, 2.5  # percent; for one experiment


class Settings(NamedTuple):
    """A run to measure and evaluate, or only to evaluate."""

    folder: RunFolder
    bed: TestBed | None  # None: only evaluate
    limits: Limits
    experiments: Sequence[Experiment]  # to measure
    names: Sequence[str]  # of all experiments of the run, in order
    html: str | None = None  # file for the report page


def read_settings(given: Namespace) -> Settings:
    """Read and check the options.

    Raises:
        OptionError: when an option is invalid or conflicts with another one.
        InputError: when a specification or a directory cannot be read, or does not fit the test
            bed.
    """
    check_page(given.html)
    return _settings(given)._replace(html=given.html)


def _settings(given: Namespace) -> Settings:
    for name, path in (("--evaluate", given.evaluate), ("--rerun", given.rerun)):
        if path is not None:
            _alone(given, name)
    if given.evaluate is not None:
        folder = RunFolder(Path(given.evaluate))
        names = [name for name in folder.settings()["experiments"] if folder.of(name).measured]
        return Settings(folder, None, Limits(0, 0, None), [], names)
    if given.rerun is not None:
        return _again(RunFolder(Path(given.rerun)))
    bed = _bed(given.testbed or _USUAL)
    experiments = _chosen(given, bed)
    folder = RunFolder(Path(given.output or f"calibration-{bed.name}"))
    if folder.begun:
        reason = "has a run; go on with it by --rerun, or name another directory by -o"
        raise InputError(str(folder.path), reason)
    limits = Limits((given.precision or _PRECISION) / 100, given.seconds or _SECONDS, given.cpu)
    names = [experiment["name"] for experiment in experiments]
    return Settings(folder, bed, limits, experiments, names)


def _alone(given: Namespace, option: str) -> None:
    """Reject options that the settings of an existing run determine."""
    others = {
        "SPEC.yaml": given.spec,
        "--component": given.component,
        "--range": given.range,
        "--points": given.points,
        "--testbed": given.testbed,
        "--precision": given.precision,
        "--seconds": given.seconds,
        "--cpu": given.cpu,
        "--output": given.output,
        "--rerun": given.rerun if option == "--evaluate" else None,
    }
    for name, value in others.items():
        if value is not None and value != []:
            raise OptionError(option, f"the directory says what is run; leave out {name}")


def _again(folder: RunFolder) -> Settings:
    known = folder.settings()
    names = known["experiments"]
    left = [name for name in names if not _is_complete(folder, name)]
    experiments = [_of_run(folder, name) for name in left or names]
    limits = Limits(known["precision"], known["seconds"], known["cpu"])
    return Settings(folder, _bed(known["testbed"]), limits, experiments, names)


def _is_complete(folder: RunFolder, name: str) -> bool:
    into = folder.of(name)
    return into.measured and into.measurement()["state"] != "partial"


def _of_run(folder: RunFolder, name: str) -> Experiment:
    """Read the specification in the directory of the run."""
    return folder.of(name).experiment()


def _bed(name: str) -> TestBed:
    if name not in TESTBEDS:
        raise OptionError("--testbed", f"{name!r} is none of {', '.join(TESTBEDS)}")
    bed: TestBed = load(TESTBEDS[name])
    return bed


def _chosen(given: Namespace, bed: TestBed) -> list[Experiment]:
    experiments = [load_experiment(file) for file in given.spec]
    experiments += [shipped_experiment(name) for name in given.component]
    every = not experiments
    if every:
        experiments = [shipped_experiment(name) for name in shipped_names()]
        experiments = [one for one in experiments if is_supported(bed, one)]
    for experiment in experiments:
        metric_on(bed, experiment)
    names = [experiment["name"] for experiment in experiments]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(twice[0], "is the name of two experiments; each has its own directory")
    first, last = (None, None) if given.range is None else _range(given.range)
    if first is not None and len(experiments) > 1:
        raise OptionError("--range", "is for one experiment; name it with --component")
    return [with_range(one, first, last, given.points) for one in experiments]


def is_supported(bed: TestBed, experiment: Experiment) -> bool:
    """Return true if a test bed supports an experiment."""
    try:
        metric_on(bed, experiment)
    except InputError:
        return False
    return True


def _range(text: str) -> tuple[int, int]:
    ends = [parse_integer(end) for end in text.split(":")]
    if len(ends) != 2 or ends[0] is None or ends[1] is None:  # noqa: PLR2004 - first and last
        raise OptionError("--range", f"{text!r} is no range; write FIRST:LAST, such as 100:2e6")
    return ends[0], ends[1]
