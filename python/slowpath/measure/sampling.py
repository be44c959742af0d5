"""Times several programs (subjects) in turns until their times are known precisely enough.

A *load* is one loading of all programs into the kernel. The addresses of their code change their
times by a few percent. A load is therefore one independent observation, with one value for each
subject.

Within a load, subjects take turns in random order. A busy loop is timed between any two samples,
because its time reacts most to a slower CPU. Samples before or after a slow busy loop are excluded
as disturbed. Because loading takes time, a load with many disturbed samples gets more turns.
"""

import math
import random
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from slowpath.core import codes
from slowpath.core.errors import Coded, StoppedError
from slowpath.measure.statistics import Estimate, estimate, quantile

DISTURBED = (1.02, 1.05, 1.1, 1.25, math.inf)
"""Limits for the time of the busy loop relative to its undisturbed time. Samples next to a slower
busy loop are excluded. The first limit that leaves enough samples of each subject applies."""
_UNDISTURBED = 0.1  # fastest share of the busy loop's samples, which count as undisturbed
_FEWEST_LOADS = 6  # minimum number of loads
_LEAST_LOADS = 3  # minimum number of loads if loading takes very long
_MOST_LOADS = 400
_ROUNDS = 6  # minimum number of rounds per load
_MOST_ROUNDS = 24  # maximum number of rounds in a disturbed load
_ENOUGH = 4  # number of undisturbed samples of each subject at which a load ends
_SAMPLE = 0.5e6  # target duration of a sample in nanoseconds
_BUSY = 0.12e6  # target duration of a sample of the busy loop in nanoseconds
_TRIAL = 16  # number of runs in a trial sample, which determines the number of runs needed
_TRIALS = 3  # number of trial samples, of which the fastest counts
_FEWEST_RUNS, _MOST_RUNS = 16, 1_000_000
_LEAST = 1.0  # minimum time of a sample in nanoseconds, after subtracting the overhead of the call
_CALLS = 9  # number of calls with one run each, to measure the overhead of a call
_MORE = 1.4  # factor between the numbers of loads at two checks of the precision
_MORE_TO_DECIDE = 2.0  # like `_MORE`, if the result decides a gate: a wrong decision is final


class Reference:
    """Numbers of reference programs, which are timed together with the measured programs."""

    EMPTY = -1  # an empty program
    WRAPPED = -2  # an empty program behind a wrapper, as restored subjects run; only with these
    BUSY = -3  # the busy loop: many independent additions


UNMEASURED = Coded(codes.MEASUREMENT_INTERRUPTED, "interrupted before it was measured")
"""Error of a path if the run ended before the path was measured."""
_SLOWED = Coded(
    codes.MEASUREMENT_INTERRUPTED, "the CPU was slowed down too much during all its samples"
)


class SubjectError(Exception):
    """A timed program behaved unexpectedly, for example by its return value.

    `reason` is the message.
    """

    def __init__(self, reason: Coded) -> None:
        super().__init__(reason)
        self.reason = reason


class Sample(NamedTuple):
    """The result of one timed call of the kernel, which runs a program several times."""

    nanoseconds: int  # total time of all runs
    runs: int
    value: int  # return value of the last run


class Load(Protocol):
    """Interface of a group of programs that are loaded into the kernel and ready for timing."""

    def sample(self, subject: int, repeat: int) -> Sample:
        """Time `repeat` runs of a program in one call of the kernel.

        `subject` is the index of a measured program, or a constant of `Reference`.

        Raises:
            SubjectError: if the program behaves unexpectedly.
        """


class Bench(Protocol):
    """Interface of test benches, which load programs into the kernel and time them."""

    @property
    def wrapped(self) -> Sequence[bool]:
        """For each measured program, true if a wrapper program restores its state before runs."""

    @property
    def net(self) -> Sequence[bool]:
        """For each measured program, true if its times already exclude the overhead of a call."""

    @property
    def most(self) -> Sequence[int]:
        """Maximum number of runs of each measured program before it must be loaded again."""

    @property
    def parts(self) -> Sequence[Sequence[int]]:
        """Groups of measured programs, by index, that are loaded into the kernel together."""

    def load(self, part: Sequence[int]) -> Load:
        """Load the programs with the indices `part` anew.

        Programs loaded before are no longer used.
        """


class StopCriteria(NamedTuple):
    """Precision, time limit and other criteria for the end of a measurement."""

    precision: float  # maximum half width of intervals, relative to the mean
    seconds: float  # time limit; the minimum number of loads may take longer
    fewest_loads: int = _FEWEST_LOADS
    decided: Callable[[Sequence["Measured | None"]], bool] | None = None
    """Function that returns true if the measured values decide a question of the caller, such as a
    condition of `--fail-on`. Until then, the measurement continues even if all times are precise.
    None: no question.
    """
    between: Callable[[Sequence["Measured | None"]], Estimate | None] | None = None
    """Function that returns the ratio of the times of two programs, or None if it is unknown. The
    ratio must reach the same precision as each time, because precise times do not guarantee a
    precise ratio.
    """


class Observation(NamedTuple):
    """The times of all programs in one load, which is one independent observation."""

    whole: list[float | None]  # ns of each subject in the kernel's loop; None: unknown
    net: list[float | None]  # ns of each subject beyond an empty program; None: all disturbed
    empty: list[float]  # ns of an empty program, in each part


class Measured(NamedTuple):
    """The measured time of a program, as a mean over loads."""

    run: Estimate  # ns of one run in the kernel's loop, as in `bpftool prog run`
    net: Estimate  # ns beyond an empty program
    loads: list[float | None]  # ns of one run, for each load
    turns: list[float | None]  # like `loads`, including disturbed samples
    runs: int  # number of timed runs


class Outcome(NamedTuple):
    """The result of measuring all programs (subjects) of a bench."""

    subjects: list[Measured | None]  # None: no undisturbed sample, or failed
    failed: dict[int, Coded]  # reason for each failed subject
    baseline: Estimate | None  # ns of an empty program
    loads: int
    samples: int
    discarded: int  # number of disturbed samples
    limit: float  # limit of `DISTURBED` that was applied
    busy: tuple[float, float]  # ns of the busy loop: undisturbed, and median
    precise: bool  # true if all intervals reached the requested precision
    seconds: float

    def why(self, subject: int) -> Coded:
        """Return the reason why the program with this index has no measured time."""
        return self.failed.get(subject, _SLOWED)


class _Timed(NamedTuple):
    """A sample, and the longer time of the two busy loops before and after it."""

    part: int
    subject: int
    nanoseconds: float  # time per run
    busy: float


def measure(bench: Bench, quota: StopCriteria, go_on: Callable[["Progress"], bool]) -> Outcome:
    """Measure all programs of a bench until the times are precise, or `go_on` returns false.

    The precision is checked rarely. If the measurement ended as soon as an interval is narrow by
    chance, intervals would be too narrow. If the result decides a gate, the checks are even rarer,
    because by chance an interval lies on the wrong side of a limit more often.

    Raises:
        StoppedError: if the user interrupted the first load, so that there is no result.
    """
    started = time.monotonic()
    sampler, look = Sampler(bench), quota.fewest_loads
    more = _MORE if quota.decided is None else _MORE_TO_DECIDE
    while True:
        try:
            sampler.add_load()
        except StoppedError:
            if not sampler.loads:
                raise
            return sampler.outcome(time.monotonic() - started, precise=False)
        seconds = time.monotonic() - started
        loads, (precise, widest) = sampler.loads, sampler.is_precise(quota)
        stopped = not go_on(Progress(loads, seconds, widest))
        over = seconds >= quota.seconds or loads >= _MOST_LOADS
        # If loading takes so long that twice the time limit is over, fewer loads suffice.
        fewest = _LEAST_LOADS if seconds >= 2 * quota.seconds else quota.fewest_loads
        enough = loads >= look and precise and sampler.decides(quota)
        if stopped or (over and loads >= fewest) or enough:
            return sampler.outcome(seconds, precise=precise and loads >= quota.fewest_loads)
        if loads >= look:
            look = int(more * look)


class Progress(NamedTuple):
    """The progress of a measurement, as shown to the user."""

    loads: int
    seconds: float
    widest: float | None  # largest half width of an interval, relative to the mean


class ProgressCallbacks(NamedTuple):
    """Functions that receive the progress of a measurement, and return false to stop it."""

    preparing: Callable[[int, int], bool]  # arguments: number of prepared paths, of all paths
    measuring: Callable[[Progress], bool]


class Sampler:
    """Collector of the samples of all loads so far, and of the statistics over them."""

    def __init__(self, bench: Bench) -> None:
        """Prepare the sampler for the programs of a bench; no program is loaded yet."""
        self._bench = bench
        self._order = random.Random(0)  # noqa: S311 - no secret
        self._loads: list[list[_Timed]] = []
        self._repeats: dict[int, int] = {}
        self._rounds: dict[int, int] = {}  # maximum number of rounds of each subject
        self._busy: list[float] = []
        self._runs = [0] * len(bench.wrapped)
        self._failed: dict[int, Coded] = {}

    @property
    def loads(self) -> int:
        """Number of loads so far."""
        return len(self._loads)

    def add_load(self) -> None:
        """Load all programs anew, and time them in turns."""
        timed: list[_Timed] = []
        for number, part in enumerate(self._bench.parts):
            timed += self._take_turns(number, part, self._bench.load(part))
        self._loads.append(timed)

    def _take_turns(self, number: int, part: Sequence[int], load: Load) -> list[_Timed]:
        wrapped = any(self._bench.wrapped[subject] for subject in part)
        turns = [Reference.EMPTY, *([Reference.WRAPPED] if wrapped else []), *part]
        for subject in (Reference.BUSY, *turns):
            if subject not in self._repeats:
                self._prepare(load, subject)
        call = _call(load, self._repeats[Reference.EMPTY])
        timed: list[_Timed] = []
        quiet = math.inf
        for rounds in range(_MOST_ROUNDS):
            if rounds == _ROUNDS:
                quiet = quantile(self._busy, _UNDISTURBED) * DISTURBED[0]
            turns = [subject for subject in turns if self._rounds[subject] > rounds]
            if rounds >= _ROUNDS and self._are_enough(timed, turns, quiet):
                break
            self._order.shuffle(turns)
            before = self._sample(load, Reference.BUSY, call)
            for subject in turns:
                if subject in self._failed:
                    continue
                nanoseconds = self._sample_subject(load, subject, call)
                after = self._sample(load, Reference.BUSY, call)
                if nanoseconds is not None:
                    timed.append(_Timed(number, subject, nanoseconds, max(before, after)))
                before = after
        return timed

    def _are_enough(self, timed: Sequence[_Timed], turns: Sequence[int], quiet: float) -> bool:
        """Return true if each program in `turns` has enough undisturbed samples to end the load.

        A sample is undisturbed if the busy loops beside it took at most `quiet` nanoseconds.
        """
        undisturbed = Counter(sample.subject for sample in timed if sample.busy <= quiet)
        return all(
            undisturbed[subject] >= _ENOUGH for subject in turns if subject not in self._failed
        )

    def _prepare(self, load: Load, subject: int) -> None:
        """Determine how many runs of a program a sample needs to take the target time."""
        try:
            most = self._bench.most[subject] if subject >= 0 else sys.maxsize
            self._repeats[subject], self._rounds[subject] = _repeats(load, subject, most)
        except SubjectError as problem:
            if subject < 0:
                raise
            self._rounds[subject], self._failed[subject] = 0, problem.reason

    def _sample_subject(self, load: Load, subject: int, call: float) -> float | None:
        """Time a sample of a program, and return nanoseconds per run.

        Return None if the program fails; later loads then skip the program. `call` is the overhead
        of a call in nanoseconds.
        """
        try:
            return self._sample(load, subject, call)
        except SubjectError as problem:
            if subject < 0:
                raise
            self._failed[subject] = problem.reason
            return None

    def _sample(self, load: Load, subject: int, call: float) -> float:
        """Time a sample of a program, and return nanoseconds per run.

        `call` is the overhead of a call in nanoseconds, which is subtracted.
        """
        sample = load.sample(subject, self._repeats[subject])
        if subject >= 0:
            self._runs[subject] += sample.runs
        net = subject == Reference.WRAPPED or (subject >= 0 and self._bench.net[subject])
        overhead = 0.0 if net else call
        nanoseconds = max(sample.nanoseconds - overhead, _LEAST) / max(sample.runs, 1)
        if subject == Reference.BUSY:
            self._busy.append(nanoseconds)
        return nanoseconds

    def _observations(self) -> tuple[float, list[Observation]]:
        """Return the limit that selected samples, and the observation of each load.

        A sample counts if the busy loops beside it took at most this limit, relative to an
        undisturbed one. It is the first limit in `DISTURBED` that leaves enough samples.
        """
        quiet = quantile(self._busy, _UNDISTURBED)
        needed = min(_LEAST_LOADS, len(self._loads))
        for limit in DISTURBED[:-1]:
            found = [self._observation(timed, quiet * limit) for timed in self._loads]
            values = zip(*(each.net for each in found), strict=True)
            enough = [len(one) - one.count(None) >= needed for one in values]
            # Times of wrapped subjects contain the time of an empty program, so it needs enough
            # samples, too.
            baseline = sum(bool(each.empty) for each in found) >= needed
            if baseline and all(
                fine or number in self._failed for number, fine in enumerate(enough)
            ):
                return limit, found
        return DISTURBED[-1], [self._observation(timed, math.inf) for timed in self._loads]

    def _observation(self, timed: Sequence[_Timed], limit: float) -> Observation:
        kept: dict[tuple[int, int], list[float]] = {}
        for sample in timed:
            if sample.busy <= limit:
                kept.setdefault((sample.part, sample.subject), []).append(sample.nanoseconds)
        medians = {key: statistics.median(values) for key, values in kept.items()}
        bench, empties = self._bench, list[float]()
        wholes = list[float | None]([None] * len(bench.wrapped))
        nets = list[float | None]([None] * len(bench.wrapped))
        for number, part in enumerate(bench.parts):
            plain = medians.get((number, Reference.EMPTY))
            empties += [] if plain is None else [plain]
            for subject in part:
                wrapped, whole = bench.wrapped[subject], medians.get((number, subject))
                empty = medians.get((number, Reference.WRAPPED)) if wrapped else plain
                if whole is not None and empty is not None:
                    nets[subject] = whole - empty
                wholes[subject] = None if wrapped else whole
        return Observation(wholes, nets, empties)

    def is_precise(self, quota: StopCriteria) -> tuple[bool, float | None]:
        """Return whether all confidence intervals are narrow enough, and the largest half width.

        The half width is relative to the mean; None if it is unknown or unbounded.
        """
        _, subjects, _ = self._evaluated()
        estimates = [
            None if subject is None else subject.run
            for number, subject in enumerate(subjects)
            if number not in self._failed
        ]
        if quota.between is not None and not self._failed:
            estimates.append(quota.between(subjects))
        widest = 0.0
        for one in estimates:
            if one is None or one.value <= 0 or not math.isfinite(one.interval.half_width):
                return False, None
            widest = max(widest, one.interval.half_width / one.value)
        return widest <= quota.precision, widest

    def decides(self, quota: StopCriteria) -> bool:
        """Return true if the values decide the question `quota.decided`, or if it is None."""
        return quota.decided is None or quota.decided(self._evaluated()[1])

    def _evaluated(self) -> tuple[float, list[Measured | None], Estimate | None]:
        limit, observations = self._observations()
        empties = [empty for each in observations for empty in each.empty]
        if not empties:
            return limit, [None] * len(self._runs), None
        baseline = estimate(empties)
        subjects: list[Measured | None] = []
        everything = [self._observation(timed, math.inf) for timed in self._loads]
        for number, runs in enumerate(self._runs):
            nets = [each.net[number] for each in observations]
            wholes = self._wholes(number, observations, baseline.value)
            turns = self._wholes(number, everything, baseline.value)
            known = [net for net in nets if net is not None]
            if not known or number in self._failed:
                subjects.append(None)
                continue
            run = estimate([whole for whole in wholes if whole is not None])
            subjects.append(Measured(run, estimate(known), wholes, turns, runs))
        return limit, subjects, baseline

    def _wholes(
        self, subject: int, observations: Sequence[Observation], baseline: float
    ) -> list[float | None]:
        """Return nanoseconds of one run for each load, including the kernel's loop for test runs.

        `baseline` is the time of an empty program in this loop.
        """
        if not self._bench.wrapped[subject]:
            return [each.whole[subject] for each in observations]
        # Times of a restored subject exclude the kernel's loop, so add the time of the loop.
        nets = (each.net[subject] for each in observations)
        return [None if net is None else net + baseline for net in nets]

    def outcome(self, seconds: float, *, precise: bool) -> Outcome:
        """Return the result of all samples so far. The arguments are stored in it."""
        limit, subjects, baseline = self._evaluated()
        samples = [sample for timed in self._loads for sample in timed]
        quiet = quantile(self._busy, _UNDISTURBED)
        discarded = sum(sample.busy > quiet * limit for sample in samples)
        busy = (quiet, statistics.median(self._busy))
        counts = (self.loads, len(samples), discarded)
        return Outcome(subjects, self._failed, baseline, *counts, limit, busy, precise, seconds)


def _repeats(load: Load, subject: int, most: int) -> tuple[int, int]:
    """Return the number of runs in a sample of a program, and the maximum of samples per load.

    A load must make at most `most` runs of the program, including trials.
    """
    target = _BUSY if subject == Reference.BUSY else _SAMPLE
    first = _trial(load, subject, _TRIAL)
    second = max(_TRIAL, min(int(target / first / 4), most // 16, _MOST_RUNS))
    run = _trial(load, subject, second)
    left = most - _TRIALS * (_TRIAL + second)
    repeats = max(_FEWEST_RUNS, min(int(target / run), left // _ROUNDS, _MOST_RUNS))
    return repeats, max(_ROUNDS, min(_MOST_ROUNDS, left // repeats))


def _trial(load: Load, subject: int, repeat: int) -> float:
    """Return nanoseconds per run of a program: the fastest of `_TRIALS` calls.

    Each call makes `repeat` runs.
    """
    trials = (load.sample(subject, repeat) for _ in range(_TRIALS))
    return max(min(trial.nanoseconds / max(trial.runs, 1) for trial in trials), 0.1)


def _call(load: Load, repeat: int) -> float:
    """Return the overhead of one call of the kernel that runs a program, in nanoseconds.

    It is the time of a single run of an empty program, minus that of one of `repeat` runs.
    """
    one = min(load.sample(Reference.EMPTY, 1).nanoseconds for _ in range(_CALLS))
    many = load.sample(Reference.EMPTY, repeat)
    return max(one - many.nanoseconds / max(many.runs, 1), 0.0)


def ratio(old: Measured, new: Measured) -> Estimate | None:
    """Return the ratio of new to old time over all loads with both times; None without such loads.

    Programs that take turns are disturbed alike. If few samples are undisturbed, the ratio over all
    samples is therefore more precise. The function returns the ratio with the narrower interval.
    """
    found = [
        estimate(ratios)
        for one, other in ((old.loads, new.loads), (old.turns, new.turns))
        if (ratios := _ratios(one, other))
    ]
    return min(found, key=lambda one: one.interval.half_width, default=None)


def _ratios(old: Sequence[float | None], new: Sequence[float | None]) -> list[float]:
    pairs = zip(old, new, strict=True)
    return [b / a for a, b in pairs if a is not None and b is not None and a > 0]
