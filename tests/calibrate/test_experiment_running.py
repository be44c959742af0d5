"""Tests the order in which blocks of experiments are measured, repeated and resumed."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from slowpath.calibrate.experiments.documents import Sample
from slowpath.calibrate.experiments.folder import RunFolder
from slowpath.calibrate.experiments.running import (
    BlockResult,
    Job,
    Limits,
    RunCallbacks,
    TestBed,
    blocks_left,
    run,
    run_settings,
)
from slowpath.calibrate.experiments.specification import Experiment, shipped_experiment
from slowpath.core.jobs import Stopping
from slowpath.measure import environment
from slowpath.measure.bench import CpuSpeed
from slowpath.measure.environment import Environment

LIMITS = Limits(0.01, 1.0, None)
EXPERIMENTS = [shipped_experiment(name) for name in ("calls", "loops")]


@dataclass
class Bed(TestBed):
    """A test bed that records the order of measured experiments.

    It reports given speeds of the CPU, in instructions per cycle, one for each measurement.
    """

    measured: list[str]
    paces: Sequence[float]
    stopping: Stopping
    stops_at: int | None = None  # number of the measurement during which a stop is requested

    name = target = "linux-xdp"
    metrics = ("ns",)
    blocks = 3

    def kinds(self) -> Sequence[str]:
        return ["calls", "loops", "tail-calls"]

    def check(self, experiment: Experiment) -> None:
        del experiment

    @contextmanager
    def open(self, limits: Limits, stopping: Stopping) -> "Iterator[Bed]":
        del limits, stopping
        yield self

    def measure(self, job: Job) -> BlockResult:
        self.measured.append(job.experiment["name"])
        time = len(self.measured)
        if time == self.stops_at:
            self.stopping.ask()
            return BlockResult([Sample(1, 1, 9.0, 0.0)], {}, complete=False)
        samples = [Sample(value, 1, float(time), 0.0) for value in job.points]
        return BlockResult(samples, {}, complete=True, environment=_where(self.paces[time - 1]))


def _where(pace: float) -> Environment:
    return environment.begin(0).end(CpuSpeed(3_000_000_000, pace))


def ran(folder: Path, paces: Sequence[float], stops_at: int | None = None) -> list[str]:
    """Run two experiments; return the name of the measured experiment for each measurement."""
    into, stopping = RunFolder(folder), Stopping()
    bed = Bed([], paces, stopping, stops_at)
    into.begin(run_settings(bed.name, LIMITS, ["calls", "loops"]), EXPERIMENTS)
    left = blocks_left(into, bed, EXPERIMENTS)
    callbacks = RunCallbacks(stopping, lambda _name, _text: None)
    done = list(run(into, bed, EXPERIMENTS, LIMITS, callbacks))
    assert len(done) == (left if stops_at is None else stops_at)
    return bed.measured


def kept(folder: Path, name: str) -> dict[int, float]:
    """Return the stored blocks of an experiment, and the number of the measurement of each."""
    return {one.block: one.component for one in RunFolder(folder).of(name).samples()}


def state(folder: Path, name: str) -> tuple[str, int]:
    measurement = RunFolder(folder).of(name).measurement()
    return measurement["state"], measurement["blocks"]


def test_all_experiments_have_a_block_before_any_has_two(tmp_path: Path) -> None:
    assert ran(tmp_path, [4.0] * 6) == ["calls", "loops"] * 3
    assert kept(tmp_path, "calls") == {1: 1.0, 2: 3.0, 3: 5.0}
    assert kept(tmp_path, "loops") == {1: 2.0, 2: 4.0, 3: 6.0}
    assert state(tmp_path, "loops") == ("complete", 3)
    assert len(RunFolder(tmp_path).of("loops").environments()) == 3


def test_blocks_on_a_shared_core_are_measured_again(tmp_path: Path) -> None:
    """Check that a block is measured again if another CPU used the same physical core.

    The second measurement improves block 2 of the experiment `calls`, but not block 3 of `loops`.
    """
    paces = [4.0, 4.0, 2.0, 4.0, 4.0, 2.5, 4.0, 2.2]
    assert ran(tmp_path, paces) == [*["calls", "loops"] * 3, "calls", "loops"]
    assert kept(tmp_path, "calls") == {1: 1.0, 2: 7.0, 3: 5.0}
    assert kept(tmp_path, "loops") == {1: 2.0, 2: 4.0, 3: 6.0}
    places: list[Any] = RunFolder(tmp_path).of("calls").environments()
    assert [place["pace"]["instructions_per_cycle"] for place in places] == [4.0, 4.0, 4.0]


def test_what_was_disturbed_most_is_measured_again_and_the_rest_is_said(tmp_path: Path) -> None:
    """Check that the most disturbed blocks are measured again, and that notes state the others.

    Five of six blocks are disturbed. Three are measured again, one of them without improvement.
    """
    paces = [4.0, 3.0, 2.0, 2.5, 3.5, 2.2, 4.0, 4.0, 2.4]
    assert ran(tmp_path, paces) == [*["calls", "loops"] * 3, "calls", "loops", "loops"]
    assert kept(tmp_path, "calls") == {1: 1.0, 2: 7.0, 3: 5.0}
    assert kept(tmp_path, "loops") == {1: 2.0, 2: 4.0, 3: 8.0}
    note = "Another CPU shared the core during {} of 3 blocks."
    notes = [RunFolder(tmp_path).of(name).measurement()["notes"] for name in ("calls", "loops")]
    assert notes == [[note.format(1)], [note.format(2)]]
    assert state(tmp_path, "calls") == state(tmp_path, "loops") == ("complete", 3)


def test_a_pace_that_cannot_be_makes_no_other_block_a_disturbed_one(tmp_path: Path) -> None:
    experiments = [shipped_experiment(name) for name in ("calls", "loops", "tail-calls")]
    paces = [4.0] * 8 + [5.0]
    into, stopping = RunFolder(tmp_path), Stopping()
    bed = Bed([], paces, stopping)
    into.begin(run_settings(bed.name, LIMITS, [one["name"] for one in experiments]), experiments)
    callbacks = RunCallbacks(stopping, lambda _name, _text: None)
    assert len(list(run(into, bed, experiments, LIMITS, callbacks))) == len(bed.measured) == 9


def test_a_run_goes_on_with_the_blocks_that_are_left(tmp_path: Path) -> None:
    assert ran(tmp_path, [4.0] * 4, stops_at=4) == ["calls", "loops"] * 2
    assert (state(tmp_path, "calls"), state(tmp_path, "loops")) == (("partial", 2), ("partial", 1))
    assert ran(tmp_path, [4.0] * 3) == ["loops", "calls", "loops"]
    assert kept(tmp_path, "calls") == {1: 1.0, 2: 3.0, 3: 2.0}
    assert kept(tmp_path, "loops") == {1: 2.0, 2: 1.0, 3: 3.0}
    assert state(tmp_path, "calls") == state(tmp_path, "loops") == ("complete", 3)


def test_of_a_first_block_all_is_kept_but_measured_again(tmp_path: Path) -> None:
    assert ran(tmp_path, [], stops_at=1) == ["calls"]
    assert kept(tmp_path, "calls") == {1: 9.0}
    assert state(tmp_path, "calls") == ("partial", 0)
    assert ran(tmp_path, [4.0] * 6) == ["calls", "loops"] * 3
