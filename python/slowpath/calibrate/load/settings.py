"""Checks the options of `slowpath calibrate --testbed load`."""

import os
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from slowpath.bounds.options import read_option
from slowpath.calibrate.experiments.specification import Experiment, shipped_experiment
from slowpath.calibrate.load.documents import Attachment
from slowpath.calibrate.settings import is_supported, requested_experiments
from slowpath.calibrate.testbeds import LOAD, LOADED
from slowpath.core import codes
from slowpath.core.command import load
from slowpath.core.errors import InputError, OptionError, UnavailableError
from slowpath.core.inputs import check_page
from slowpath.core.quantities import parse_range
from slowpath.core.spanned import parse_integer
from slowpath.measure.machine import Files, chosen_cpu, sibling_cpus

_SHARES = (0.1, 0.5, 0.7)  # default rates, as shares of the highest rate without loss (RFC 2544)
_RATES, _MOST_RATES, _MOST_SHARE = 10, 100, 4.0
_POINTS, _SECONDS, _TOLERANCE = 2, 10.0, 0.1
"""Default values: number of parameter values, seconds for each program, and tolerated loss in
percent.
"""
_EXPERIMENTS = (
    "forward-size",
    "parser-headers",
    "table-exact-entries",
    "table-lpm-entries",
    "checksum-loop",
)
"""Default experiments; those that the test bed of `--attach` does not support are skipped."""


class LoadSettings(NamedTuple):
    """Options of the test bed `load`: programs, rates and CPUs."""

    folder: Path
    experiments: Sequence[Experiment]
    shares: Sequence[float]  # offered rates, as shares of the highest rate without loss
    tolerance: float  # share of packets that may be lost
    attachment: Attachment
    seconds: float  # time for one program
    sender: int  # CPU
    program: int  # CPU
    html: str | None

    def folder_of(self, experiment: Experiment) -> Path:
        """Create the folder for the programs of an experiment, and return it."""
        folder = self.folder / experiment["name"]
        folder.mkdir(parents=True, exist_ok=True)
        return folder


def read_load_settings(options: Namespace) -> LoadSettings:
    """Read and check the options of `slowpath calibrate --testbed load`.

    Raises:
        OptionError: when an option is invalid or conflicts with another one.
        InputError: when a specification is invalid, or the directory has another run.
        UnavailableError: when this process may use only one CPU.
    """
    for name, value in (
        ("--quick", options.quick or None),
        ("--precision", options.precision),
        ("--rerun", options.rerun),
        ("--evaluate", options.evaluate),
    ):
        if value is not None:
            raise OptionError(
                codes.CONFLICTING_OPTIONS, "--testbed", f"the test bed load does not support {name}"
            )
    check_page(options.html)
    shares = _SHARES if options.rate is None else _shares(options.rate)
    attachment: Attachment = options.attach or "native"
    bed = load(LOADED[attachment])
    if not options.spec and not options.component:
        usual = [name for name in _EXPERIMENTS if is_supported(bed, shipped_experiment(name))]
        options.component = usual
    if options.points is None and "/" not in (options.range or ""):
        options.points = _POINTS
    experiments = requested_experiments(options, bed)
    folder = Path(options.output or f"calibration-{LOAD}")
    if (folder / "run.json").exists():
        reason = (
            "the folder already contains a run of another test bed; name another folder with -o"
        )
        raise InputError(codes.EXPERIMENT_FOLDER_UNUSABLE, str(folder), reason)
    sender, program = load_cpus(options.cpu)
    tolerance = _TOLERANCE if options.loss is None else options.loss
    return LoadSettings(
        folder,
        experiments,
        shares,
        tolerance / 100,
        attachment,
        options.seconds or _SECONDS,
        sender,
        program,
        options.html,
    )


def load_cpus(requested: int | None) -> tuple[int, int]:
    """Return the CPU that sends packets, and the CPU that runs the program.

    `requested` is the argument of `--cpu`; None: another CPU is chosen.

    Raises:
        OptionError: if this process may not use the requested CPU.
        UnavailableError: if it may use only one CPU.
    """
    program = chosen_cpu(requested)
    others = sorted(os.sched_getaffinity(0) - {program})
    if not others:
        raise UnavailableError(
            codes.MACHINE_UNSUITABLE,
            "the test bed load needs two CPUs, one for packets and one for the program, but this "
            "process may use only one; extend its CPU set (taskset, cpuset)",
        )
    siblings = sibling_cpus(Files(), program) or []
    return next((cpu for cpu in others if cpu not in siblings), others[0]), program


def _shares(text: str) -> Sequence[float]:
    """Parse the argument of `--rate`: `FIRST..LAST`, `FIRST..LAST/N` or one share.

    The result has all rates, as shares of the highest rate without loss.
    """
    first, last, count = text, text, 1
    if ".." in text:
        found = read_option("--rate", lambda text: parse_range("--rate", text, "/", ""), text)
        first, last = found.first, found.last
        number = parse_integer(found.amount) if found.sign else _RATES
        if number is None or not 2 <= number <= _MOST_RATES:  # noqa: PLR2004 - two ends
            raise OptionError(
                codes.INVALID_VALUE, "--rate", f"N must be an integer from 2 to {_MOST_RATES}"
            )
        count = number
    try:
        low, high = float(first), float(last)
    except ValueError:
        low = high = 0.0
    if not 0 < low <= high <= _MOST_SHARE:
        raise OptionError(
            codes.INVALID_VALUE,
            "--rate",
            f"{text!r}: rates are shares of the highest rate without loss, above 0 and up to "
            f"{_MOST_SHARE:g}, such as 0.1..1.0",
        )
    step = (high - low) / max(count - 1, 1)
    return [round(low + number * step, 6) for number in range(count)]
