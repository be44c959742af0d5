"""Tests the plan by which `measure` takes samples, on a fake kernel with given times."""

import random
import sys
from collections.abc import Callable, Sequence

import pytest

from slowpath.core import codes
from slowpath.core.errors import Coded, StoppedError
from slowpath.measure.sampling import (
    Load,
    Measured,
    Outcome,
    Progress,
    Reference,
    Sample,
    StopCriteria,
    SubjectError,
    measure,
    ratio,
)
from slowpath.measure.statistics import Estimate

EMPTY = {Reference.EMPTY: 20.0, Reference.WRAPPED: 50.0}
CALL = 1500.0
"""Overhead of one call in nanoseconds, in addition to its runs."""


class Bench:
    """A fake kernel in which programs take given times.

    `slower` returns the factor by which the sample with this number takes longer. `placing` is the
    standard deviation between loads, as a fraction of the time.
    """

    def __init__(
        self,
        costs: list[tuple[float, bool]],
        slower: Callable[[int], float] = lambda _time: 1.0,
        placing: float = 0.0,
    ) -> None:
        self.costs = [cost for cost, _ in costs]
        self.wrapped = [wrapped for _, wrapped in costs]
        self.net = self.wrapped
        self.parts = [range(len(costs))[at : at + 2] for at in range(0, len(costs), 2)]
        self.most = [sys.maxsize] * len(costs)
        self.together = 0
        self.failing = sys.maxsize
        self.stopped_in = sys.maxsize
        self.runs = [0] * len(costs)
        self.slower = slower
        self.placing = placing
        self.draw = random.Random(3)  # noqa: S311 - no secret
        self.time = 0
        self.loads = 0
        self.longest = 0

    def load(self, part: Sequence[int]) -> Load:
        self.loads += part[0] == 0
        self.together = max(self.together, len(part))
        return _Load(self, [self.draw.gauss(1, self.placing) for _ in self.costs])


class _Load:
    def __init__(self, bench: Bench, placed: list[float]) -> None:
        self.bench = bench
        self.placed = placed

    def sample(self, subject: int, repeat: int) -> Sample:
        bench = self.bench
        bench.time += 1
        if bench.loads >= bench.stopped_in:
            raise StoppedError(
                codes.INTERRUPTED, "the running kernel", "interrupted before it was done"
            )
        if subject == bench.failing and bench.loads > 1:
            raise SubjectError(Coded(codes.PATH_NOT_TAKEN, "it takes another path"))
        bench.longest = max(bench.longest, repeat)
        runs, call = repeat, CALL
        if subject == Reference.BUSY:
            one = 50.0
        elif subject < 0:
            one = EMPTY[subject]
        else:
            wrapped = bench.wrapped[subject]
            around = EMPTY[Reference.WRAPPED if wrapped else Reference.EMPTY]
            bench.runs[subject] += repeat
            one = around + bench.costs[subject] * self.placed[subject]
        if subject == Reference.WRAPPED or (subject >= 0 and bench.wrapped[subject]):
            runs, call = repeat - 1, 0.0
        return Sample(round((one * runs + call) * bench.slower(bench.time)), runs, 2)


def taken(
    bench: Bench, quota: StopCriteria, go_on: Callable[[Progress], bool] = lambda _: True
) -> Outcome:
    return measure(bench, quota, go_on)


def test_costs_exclude_calls_and_wrappers() -> None:
    bench = Bench([(30.0, False), (30.0, True), (4000.0, False)])
    outcome = taken(bench, StopCriteria(0.01, 60.0))
    assert outcome.precise
    assert outcome.discarded == 0
    assert outcome.baseline is not None
    assert outcome.baseline.value == pytest.approx(20.0, abs=0.05)
    for subject, cost in zip(outcome.subjects, bench.costs, strict=True):
        assert subject is not None
        assert subject.net.value == pytest.approx(cost, rel=0.005)
        assert subject.run.value == pytest.approx(cost + 20, rel=0.005)
        assert subject.runs > 0
    assert outcome.loads == bench.loads == 6
    assert bench.together == 2


def test_an_interrupted_load_leaves_the_loads_before_it() -> None:
    bench = Bench([(30.0, False)])
    bench.stopped_in = 4
    outcome = taken(bench, StopCriteria(0.01, 60.0))
    assert (outcome.loads, outcome.precise) == (3, False)
    assert outcome.subjects[0] is not None
    bench.stopped_in = 1
    with pytest.raises(StoppedError, match="interrupted"):
        taken(bench, StopCriteria(0.01, 60.0))


def test_samples_beside_a_slow_busy_loop_are_excluded() -> None:
    # Of every 120 successive samples, 40 take a quarter longer.
    bench = Bench([(100.0, False)], slower=lambda time: 1.25 if time // 40 % 3 == 2 else 1.0)
    outcome = taken(bench, StopCriteria(0.01, 60.0))
    assert outcome.discarded > 0.2 * outcome.samples
    assert outcome.subjects[0] is not None
    assert outcome.subjects[0].run.value == pytest.approx(120, rel=0.003)
    quiet, usual = outcome.busy
    assert quiet <= usual


def test_a_load_that_is_disturbed_has_further_samples() -> None:
    quiet = Bench([(100.0, False)])
    usual = taken(quiet, StopCriteria(0.5, 0.0), lambda _: False)
    # A sixth of the samples is undisturbed, fewer than four of each subject in six rounds.
    disturbed = Bench([(100.0, False)], slower=lambda time: 1.0 if time // 12 % 6 == 0 else 1.3)
    outcome = taken(disturbed, StopCriteria(0.01, 60.0))
    assert usual.samples / usual.loads == 12
    assert 12 < outcome.samples / outcome.loads <= 48
    assert outcome.subjects[0] is not None
    assert outcome.subjects[0].run.value == pytest.approx(120, rel=0.003)


def test_a_machine_that_is_never_quiet_says_so() -> None:
    # The busy loop is undisturbed in every ninth sample only.
    bench = Bench([(100.0, False)])
    draw = random.Random(1)  # noqa: S311 - no secret
    bench.slower = lambda time: 1.0 if time % 9 == 0 else 1.0 + draw.random()
    outcome = taken(bench, StopCriteria(0.01, 0.0))
    assert outcome.limit > 1.02
    assert outcome.subjects[0] is not None


class _DisturbedAfterEmpty(_Load):
    """A load of programs in which other work slows down the CPU after each empty program."""

    last: int = Reference.BUSY

    def sample(self, subject: int, repeat: int) -> Sample:
        """Return a sample; the busy loop takes 1.5 times as long after an empty program."""
        sample = super().sample(subject, repeat)
        slow = subject == Reference.BUSY and self.last == Reference.EMPTY
        self.last = subject
        return sample._replace(nanoseconds=round(sample.nanoseconds * (1.5 if slow else 1.0)))


class _BenchDisturbedAfterEmpty(Bench):
    def load(self, part: Sequence[int]) -> Load:
        self.loads += part[0] == 0
        return _DisturbedAfterEmpty(self, [1.0 for _ in self.costs])


def test_an_empty_program_that_is_always_disturbed_is_used_all_the_same() -> None:
    """Check that a program gets a time although all samples of the empty program are disturbed."""
    outcome = taken(_BenchDisturbedAfterEmpty([(30.0, True)]), StopCriteria(0.01, 60.0))
    [subject] = outcome.subjects
    assert subject is not None
    assert subject.run.value == pytest.approx(50.0, rel=0.01)
    assert outcome.baseline is not None


def test_single_outliers_do_not_matter() -> None:
    bench = Bench([(100.0, False)], slower=lambda time: 30.0 if time % 17 == 0 else 1.0)
    outcome = taken(bench, StopCriteria(0.01, 60.0))
    assert outcome.subjects[0] is not None
    assert outcome.subjects[0].run.value == pytest.approx(120, rel=0.003)


def test_it_goes_on_until_it_is_precise() -> None:
    spreads = {}
    for precision in (0.02, 0.005):
        bench = Bench([(200.0, False)], placing=0.02)
        outcome = taken(bench, StopCriteria(precision, 600.0))
        assert outcome.precise
        subject = outcome.subjects[0]
        assert subject is not None
        assert subject.run.interval.half_width <= precision * 1.3 * subject.run.value
        spreads[precision] = bench.loads
    assert spreads[0.005] > spreads[0.02] >= 6


def test_it_goes_on_until_what_is_asked_is_decided() -> None:
    """Check that sampling goes on until a ratio is clearly above or below a limit.

    Both times are precise long before that.
    """

    def beyond(subjects: Sequence[Measured | None]) -> Estimate:
        old, new = subjects
        assert old is not None
        assert new is not None
        found = ratio(old, new)
        assert found is not None
        return found

    checks = list[int]()

    def decided(subjects: Sequence[Measured | None]) -> bool:
        checks.append(1)
        return 1.0 not in beyond(subjects).interval

    def bench() -> Bench:
        return Bench([(200.0, False), (202.0, False)], placing=0.02)

    short = taken(bench(), StopCriteria(0.05, 600.0))
    assert short.loads == 6
    assert 1.0 in beyond(short.subjects).interval
    long = taken(bench(), StopCriteria(0.05, 600.0, decided=decided))
    assert 1.0 not in beyond(long.subjects).interval
    # The number of loads doubles between checks, because frequent checks decide wrongly by chance.
    assert long.loads == 6 * 2 ** (len(checks) - 1) > short.loads
    # Without a decision, the measurement ends at the time limit.
    over = taken(bench(), StopCriteria(0.05, 0.0, decided=lambda _: False))
    assert over.loads == 3


def test_it_goes_on_until_a_ratio_is_precise_too() -> None:
    """Check that sampling goes on until the ratio of two times is precise, not only the times.

    The times vary independently between loads of the programs, so the ratio varies more.
    """

    def between(subjects: Sequence[Measured | None]) -> Estimate | None:
        old, new = subjects
        return None if old is None or new is None else ratio(old, new)

    def loads(quota: StopCriteria) -> int:
        return taken(Bench([(200.0, False), (202.0, False)], placing=0.02), quota).loads

    assert loads(StopCriteria(0.01, 600.0, between=between)) > loads(StopCriteria(0.01, 600.0))
    # Without a ratio, the measurement is not precise and ends at the time limit.
    assert loads(StopCriteria(0.5, 0.0, between=lambda _: None)) == 3


def test_it_ends_when_it_is_asked_to() -> None:
    bench = Bench([(200.0, False)], placing=0.2)
    outcome = taken(bench, StopCriteria(1e-9, 600.0), lambda progress: progress.loads < 9)
    assert (outcome.loads, outcome.precise) == (9, False)
    # The loads so far count.
    assert outcome.subjects[0] is not None


def test_ratios_are_those_of_loads_together() -> None:
    bench = Bench([(100.0, False), (110.0, False)], placing=0.01)
    outcome = taken(bench, StopCriteria(0.004, 60.0))
    old, new = outcome.subjects
    assert old is not None
    assert new is not None
    found = ratio(old, new)
    assert found is not None
    assert found.value == pytest.approx(130 / 120, abs=0.01)
    assert found.interval.low > 1
    same = ratio(old, old)
    assert same is not None
    assert same.interval.low == same.interval.high == 1


def test_ratios_are_known_where_nearly_everything_is_disturbed() -> None:
    bench = Bench([(100.0, False), (110.0, False)], placing=0.01)
    draw = random.Random(5)  # noqa: S311 - no secret
    slower = [1.0 + draw.random() * (draw.random() < 0.95) for _ in range(100_000)]
    # Disturbances last for several samples.
    bench.slower = lambda time: slower[time // 400]
    outcome = taken(bench, StopCriteria(1e-9, 600.0), lambda progress: progress.loads < 60)
    old, new = outcome.subjects
    assert old is not None
    assert new is not None
    found = ratio(old, new)
    assert found is not None
    assert 130 / 120 in found.interval
    assert found.size > sum(load is not None for load in new.loads)


def test_calls_that_take_longer_than_runs_divide_by_nothing() -> None:
    bench = Bench([(0.0, False)], slower=lambda time: 500.0 if time < 60 else 0.001)
    outcome = taken(bench, StopCriteria(0.01, 0.0))
    assert outcome.busy[0] > 0


def test_a_disturbance_at_the_start_does_not_make_samples_short() -> None:
    usual, disturbed = Bench([(100.0, False)]), Bench([(100.0, False)])
    # Every second sample at the start takes much longer.
    disturbed.slower = lambda time: 1000.0 if time < 24 and time % 2 == 0 else 1.0
    for bench in (usual, disturbed):
        taken(bench, StopCriteria(0.5, 0.0), lambda _: False)
    assert disturbed.runs == usual.runs


def test_runs_of_a_sample_are_limited() -> None:
    fast = Bench([(0.0, False)])
    taken(fast, StopCriteria(0.5, 0.0))
    slow = Bench([(5e6, False)])
    taken(slow, StopCriteria(0.5, 0.0))
    assert fast.longest <= 1_000_000
    assert slow.loads == 3


def test_no_more_runs_are_timed_after_a_load_than_take_the_path() -> None:
    bench = Bench([(10.0, False), (10.0, False)])
    bench.most = [2000, sys.maxsize]
    outcome = taken(bench, StopCriteria(0.5, 0.0), lambda _: False)
    assert outcome.loads == 1
    limited, free = bench.runs
    assert 1000 < limited <= 2000 < free


def test_a_subject_that_fails_does_not_end_the_others() -> None:
    bench = Bench([(100.0, False), (50.0, True), (10.0, False)])
    bench.failing = 1
    outcome = taken(bench, StopCriteria(0.01, 60.0))
    assert outcome.failed == {1: "it takes another path"}
    assert outcome.subjects[1] is None
    assert outcome.precise
    assert [one is not None for one in outcome.subjects] == [True, False, True]
