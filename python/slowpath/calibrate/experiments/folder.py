"""Reads and writes the folder of a run, with one subfolder for each experiment, and its samples.

run.json                    test bed, precision, time limit, experiments
NAME/specification.yaml     specification of the experiment NAME
NAME/programs/              generated programs
NAME/samples.csv            raw data: each observation of each point
NAME/flows.json             known paths of the programs
NAME/environment.json       state of the machine during each block
NAME/measurement.json       record of the measurement, with its outcome
NAME/points.csv, model.json, plot.svg     results
"""

import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import NamedTuple, NotRequired, TypedDict, cast

from slowpath.calibrate.experiments.documents import Measurement, Point, Sample
from slowpath.calibrate.experiments.specification import Experiment, load_experiment
from slowpath.core import codes
from slowpath.core.errors import InputError
from slowpath.core.inputs import read_text, write_error, write_text
from slowpath.core.spanned import yaml_text
from slowpath.measure.environment import Environment
from slowpath.measure.statistics import Interval, estimate, half_width, without_outliers

_RUN, _SPECIFICATION, _SAMPLES = "run.json", "specification.yaml", "samples.csv"
_MEASUREMENT, _ENVIRONMENT, _FLOWS = "measurement.json", "environment.json", "flows.json"


class RunSettings(TypedDict):
    """Settings of a run: `run.json`."""

    testbed: str
    quick: NotRequired[bool]  # true: scales the nearest shipped target; missing in older runs
    precision: float
    seconds: float
    cpu: int | None
    experiments: list[str]


class ExperimentFolder:
    """The directory of an experiment, with its specification, programs, samples and results."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.programs = path / "programs"

    @property
    def measured(self) -> bool:
        """True if the directory has the record of a measurement."""
        return (self.path / _MEASUREMENT).exists()

    @property
    def begun(self) -> bool:
        """True if some blocks (periods of measuring) are measured, but not all."""
        if not self.measured:
            return False
        known = self.measurement()
        return known["state"] == "partial" and known["blocks"] > 0

    def begin(self, experiment: Experiment) -> None:
        """Create the directory and write the specification; delete results of earlier runs."""
        _make(self.programs)
        for name in (
            _MEASUREMENT,
            _SAMPLES,
            _ENVIRONMENT,
            _FLOWS,
            "points.csv",
            "model.json",
            "plot.svg",
        ):
            (self.path / name).unlink(missing_ok=True)
        for file in self.programs.iterdir():
            file.unlink()
        write(self.path / _SPECIFICATION, yaml_text(experiment))

    def keep(
        self,
        measurement: Measurement,
        samples: Sequence[Sample],
        environments: Sequence[object],
        paths: Mapping[str, str],
    ) -> None:
        """Write the data of a measurement to the directory.

        `environments` has the state of the machine in each block, and `paths` the executed path of
        each program. The record is written last, so that its presence shows that all data are
        complete.
        """
        text = samples_csv(samples)
        if samples:
            write(self.path / _SAMPLES, text)
            measurement["samples_sha256"] = hashlib.sha256(text.encode()).hexdigest()
        if paths:
            write(self.path / _FLOWS, _json(paths))
        write(self.path / _ENVIRONMENT, _json(environments))
        write(self.path / _MEASUREMENT, _json(measurement))

    def experiment(self) -> Experiment:
        """Read the specification of the experiment.

        Raises:
            InputError: when the specification is missing or invalid.
        """
        return load_experiment(str(self.path / _SPECIFICATION))

    def measurement(self) -> Measurement:
        """Read the record of the measurement.

        Raises:
            InputError: when the record is missing or damaged.
        """
        return cast("Measurement", _read(self.path / _MEASUREMENT))

    def flows(self) -> dict[str, str]:
        """Read the executed paths of programs as text, by names such as `component-16`.

        Empty if unknown.

        Raises:
            InputError: when the file is damaged.
        """
        file = self.path / _FLOWS
        if not file.exists():
            return {}
        found = _read(file)
        if not isinstance(found, dict):
            raise InputError(
                codes.EXPERIMENT_FOLDER_UNUSABLE, str(file), "the content is not a table of paths"
            )
        return {str(name): str(text) for name, text in found.items()}

    def environments(self) -> list[object]:
        """Read the state of the machine in each measured block; None if costs were computed.

        Raises:
            InputError: when the file is damaged.
        """
        file = self.path / _ENVIRONMENT
        found = _read(file)
        if not isinstance(found, list):
            raise InputError(
                codes.EXPERIMENT_FOLDER_UNUSABLE,
                str(file),
                "the content is not a list of environments",
            )
        return found

    def samples(self) -> list[Sample]:
        """Read the samples of the measurement from `samples.csv`.

        Raises:
            InputError: when the file is damaged, or has changed since the measurement.
        """
        file, known = self.path / _SAMPLES, self.measurement()["samples_sha256"]
        if known is None:
            return []
        text = read_text(str(file))
        if hashlib.sha256(text.encode()).hexdigest() != known:
            reason = (
                "the file changed since the measurement, as its hash differs from that "
                "in measurement.json"
            )
            raise InputError(codes.EXPERIMENT_FOLDER_UNUSABLE, str(file), reason)
        try:
            return read_samples(text)
        except ValueError as problem:
            raise InputError(codes.EXPERIMENT_FOLDER_UNUSABLE, str(file), str(problem)) from None


class RunFolder:
    """The directory of a calibration run, with one subdirectory for each experiment."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def begin(self, settings: RunSettings, experiments: Sequence[Experiment]) -> None:
        """Create the directory with the run's settings and the specifications of its experiments.

        Experiments that are partly measured keep their results.

        Raises:
            InputError: when the directory cannot be written.
        """
        _make(self.path)
        for experiment in experiments:
            into = self.of(experiment["name"])
            if not into.begun:
                into.begin(experiment)
        write(self.path / _RUN, _json(settings))

    @property
    def begun(self) -> bool:
        """True if the directory already contains a run."""
        return (self.path / _RUN).exists()

    def settings(self) -> RunSettings:
        """Read the settings of the run.

        Raises:
            InputError: when the directory does not contain a run.
        """
        if self.path.is_dir() and not self.begun:
            reason = (
                f"the folder does not contain a calibration run ({_RUN}); --testbed load keeps "
                "only programs, and prints its results, which --format json writes for later use"
            )
            raise InputError(codes.EXPERIMENT_FOLDER_UNUSABLE, str(self.path), reason)
        return cast("RunSettings", _read(self.path / _RUN))

    def of(self, name: str) -> ExperimentFolder:
        """Return the directory of the experiment with this name in the run."""
        return ExperimentFolder(self.path / name)


def write(file: Path, text: str) -> None:
    """Write a file atomically: after a crash, it has either the old or the new content.

    Raises:
        InputError: when the file cannot be written.
    """
    write_text(str(file), text)


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise write_error(str(folder), problem) from None


def _json(document: object) -> str:
    return json.dumps(document, indent=1) + "\n"


def _read(file: Path) -> object:
    text = read_text(str(file))
    try:
        return json.loads(text)
    except json.JSONDecodeError as problem:
        raise InputError(
            codes.NOT_JSON, f"{file}:{problem.lineno}", f"the file is not JSON: {problem.msg}"
        ) from None


class Block(NamedTuple):
    """Results of an experiment in one block: an uninterrupted period of measuring."""

    samples: Sequence[Sample]
    errors: Mapping[int, str]  # reasons for missing samples, by value of the parameter
    environment: Environment | None  # None: nothing was timed
    notes: Sequence[str]
    paths: Mapping[str, str]  # as in `BlockResult`
    date: str  # start in UTC (ISO 8601)
    seconds: float


class Record(NamedTuple):
    """Results of all blocks (periods of measuring) of an experiment so far, in order."""

    samples: Sequence[Sample] = ()
    errors: Mapping[int, str] = {}
    environments: Sequence[Environment | None] = ()
    notes: Sequence[str] = ()
    paths: Mapping[str, str] = {}
    date: str = ""  # date of the first block
    seconds: float = 0.0  # sum over blocks

    @property
    def blocks(self) -> int:
        """Number of measured blocks."""
        return len(self.environments)

    def pace(self, number: int) -> float | None:
        """Return the CPU's instructions per cycle during block `number`, from 1.

        None if unknown.
        """
        environment = self.environments[number - 1]
        pace = None if environment is None else environment["pace"]
        return None if pace is None else pace["instructions_per_cycle"]

    def with_block(self, number: int, block: Block) -> "Record":
        """Return a copy with the results of `block`, in place of those with the same number."""
        others = [one for one in self.samples if one.block != number]
        new = [one._replace(block=number) for one in block.samples]
        known = {one.value for one in (*others, *new)}
        errors = {**self.errors, **block.errors}
        environments = [*self.environments]
        environments[number - 1 :] = [block.environment, *environments[number:]]
        return Record(
            sorted([*others, *new], key=lambda one: (one.value, one.block, one.number)),
            {value: reason for value, reason in errors.items() if value not in known},
            environments,
            list(dict.fromkeys([*self.notes, *block.notes])),
            {**self.paths, **block.paths},
            self.date or block.date,
            self.seconds + block.seconds,
        )

    def with_note(self, note: str) -> "Record":
        """Return a copy with a note added, unless it has this note already."""
        return self._replace(notes=list(dict.fromkeys([*self.notes, note])))


def read_record(folder: ExperimentFolder) -> Record:
    """Return the results of the complete blocks in the directory of an experiment.

    Raises:
        InputError: when a file is damaged.
    """
    if not folder.begun:
        return Record()
    known: Measurement = folder.measurement()
    return Record(
        folder.samples(),
        {one["value"]: one["reason"] for one in known["errors"]},
        cast("list[Environment | None]", folder.environments()),
        known["notes"],
        folder.flows(),
        known["date"],
        known["seconds"],
    )


_BLOCKS = 5
"""Number of batches into which observations are divided if all are from one block. With fewer
batches, the spread between them is uncertain. With more, batches are shorter than lasting
disturbances.
"""
_HEAD = "value,block,number,component,baseline"


def samples_csv(samples: Iterable[Sample]) -> str:
    """Format samples as CSV, with all digits of their numbers."""
    rows = (
        f"{one.value},{one.block},{one.number},{one.component!r},{one.baseline!r}"
        for one in samples
    )
    return "\n".join((_HEAD, *rows, ""))


def read_samples(text: str) -> list[Sample]:
    """Parse samples from CSV.

    Raises:
        ValueError: when a line is invalid; the message has its number.
    """
    head, *rows = text.splitlines() or [""]
    if head != _HEAD:
        raise ValueError(f"line 1: the columns must be {_HEAD}")
    samples = []
    for number, row in enumerate(rows, 2):
        try:
            value, block, load, component, baseline = row.split(",")
            times = float(component), float(baseline)
            samples.append(Sample(int(value), int(load), *times, int(block)))
        except ValueError:
            raise ValueError(
                f"line {number}: the line is not a sample with the columns of line 1"
            ) from None
    return samples


def summarise(samples: Sequence[Sample], *, exact: bool) -> list[Point]:
    """Return the mean cost for each value of the swept parameter, ascending.

    `exact` is true if costs were computed, so that they have no error.
    """
    by_value = dict[int, list[Sample]]()
    for sample in samples:
        by_value.setdefault(sample.value, []).append(sample)
    return [_point(value, by_value[value], exact=exact) for value in sorted(by_value)]


def _point(value: int, samples: Sequence[Sample], *, exact: bool) -> Point:
    cost = estimate([one.component - one.baseline for one in samples])
    low, high = (cost.value, cost.value) if exact else cost.interval.known
    return {
        "value": value,
        "cost": cost.value,
        "low": low,
        "high": high,
        "program": estimate([one.component for one in samples]).value,
        "baseline": estimate([one.baseline for one in samples]).value,
        "observations": cost.size - cost.outliers,
    }


def standard_error(point: Point) -> float | None:
    """Return the standard error of a point's mean cost, computed from its confidence interval.

    Return None for a single sample, and 0 for computed costs.
    """
    if point["low"] is None or point["high"] is None:
        return None
    half = Interval(point["low"], point["high"]).half_width
    return half / half_width(point["observations"]) if half > 0 else 0.0


def joint_deviations(samples: Sequence[Sample]) -> list[list[float]]:
    """Return how the mean cost of each point deviates in each block: `[point, block]`.

    The product of two rows is the covariance of two means. A disturbance of the machine affects all
    points of an observation and later observations, so the deviations are those of whole blocks of
    observations (batch means, see Law, Simulation Modeling and Analysis, ch. 9). If all samples are
    from one block, consecutive observations form a few batches instead. Outliers of a point do not
    count in its row.
    """
    block_of, blocks = _blocks(samples)
    by_value = dict[int, list[tuple[int, float]]]()
    for one in samples:
        cost = one.component - one.baseline
        by_value.setdefault(one.value, []).append((block_of[one.block, one.number], cost))
    correction = math.sqrt(blocks / max(blocks - 1, 1))
    rows = []
    for value in sorted(by_value):
        kept = without_outliers([cost for _, cost in by_value[value]])
        least, most, mean = min(kept), max(kept), fmean(kept)
        row = [0.0] * blocks
        for number, cost in by_value[value]:
            if least <= cost <= most:
                row[number] += (cost - mean) / len(kept) * correction
        rows.append(row)
    return rows


def _blocks(samples: Sequence[Sample]) -> tuple[dict[tuple[int, int], int], int]:
    """Return the block of each observation, numbered from zero, and the number of blocks.

    An observation is identified by its measured block and its number in the block. If all are from
    one block, they form `_BLOCKS` batches, which count as blocks.
    """
    observations = sorted({(one.block, one.number) for one in samples})
    if len({block for block, _ in observations}) > 1:
        block_of = {one: one[0] for one in observations}
    else:
        size = len(observations)
        block_of = {one: at * _BLOCKS // size for at, one in enumerate(observations)}
    # With fewer observations than batches, some batches are empty; renumber the others.
    number = {block: at for at, block in enumerate(sorted(set(block_of.values())))}
    return {one: number[block] for one, block in block_of.items()}, len(number)


def points_csv(points: Iterable[Point], parameter: str) -> str:
    """Format points as a CSV table that `slowpath fit` can read."""
    head = f"{parameter},cost,low,high,program,baseline,observations"
    return "\n".join((head, *map(_row, points), ""))


def _row(point: Point) -> str:
    measured = (point["cost"], point["low"], point["high"], point["program"], point["baseline"])
    cells = ["" if one is None else repr(one) for one in measured]
    return ",".join([str(point["value"]), *cells, str(point["observations"])])
