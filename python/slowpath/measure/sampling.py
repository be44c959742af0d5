"""Sampling plan: subjects take turns until their times are known.

A *load* is one loading of all programs into the kernel. Where their code comes to lie changes what
they take by a few percent, so a load is one independent observation, and each subject gets one
value from each load. Within a load subjects take turns in random order, and between any two a busy
loop is timed: what keeps the CPU from computing shows there first, and what was timed beside it is
left out. Loading takes time, too, so in a load that is disturbed subjects take further turns:
whether that is so, the busy loop says alone.
"""

import math
import random
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from slowpath.measure.statistics import Estimate, estimate, quantile

DISTURBED = (1.02, 1.05, 1.1, 1.25, math.inf)
"""How much longer than undisturbed the busy loop takes where samples beside it are left out: the
first of these with which enough is left of each subject."""
_UNDISTURBED = 0.1  # share of the busy loop's samples that are taken for undisturbed
_FEWEST_LOADS = 6
_LEAST_LOADS = 3
_MOST_LOADS = 400
_ROUNDS = 6  # of a load, at least
_MOST_ROUNDS = 24  # the same of one that is disturbed
_ENOUGH = 4  # undisturbed samples of each subject, with which a load ends
_SAMPLE = 0.5e6  # nanoseconds that a sample is to take
_BUSY = 0.12e6  # the same for the busy loop
_TRIAL = 16  # runs of first samples, which say how many are needed
_TRIALS = 3  # so many first samples, of which the least disturbed counts
_FEWEST_RUNS, _MOST_RUNS = 16, 1_000_000
_LEAST = 1.0  # nanoseconds that are left of a sample
_CALLS = 9  # with one run each, which tell what a call takes besides
_MORE = 1.4  # times as many loads, before whether it is precise is looked at again
_MORE_TO_DECIDE = 2.0  # the same where intervals decide something: a wrong one would be kept


class Reference:
    """What is timed besides the subjects, by the number that the bench has for it."""

    EMPTY = -1  # an empty program
    WRAPPED = -2  # the same, called as subjects are that are restored, where a part has such
    BUSY = -3  # many independent additions, as the CPU has nothing to wait for


class SubjectError(Exception):
    """A subject that does not do what it should."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Sample(NamedTuple):
    """One timed call."""

    nanoseconds: int  # of all runs
    runs: int
    value: int  # what the last run returned


class Load(Protocol):
    """Programs of a part, loaded."""

    def sample(self, subject: int, repeat: int) -> Sample:
        """Times a subject, or a `Reference`, so many times in one call.

        Raises:
            SubjectError: when it does not do what it should.
        """


class Bench(Protocol):
    """What loads programs and times them."""

    @property
    def wrapped(self) -> Sequence[bool]:
        """Of each subject, whether it is restored between runs."""

    @property
    def net(self) -> Sequence[bool]:
        """Of each subject, whether its samples leave out what calls take besides runs."""

    @property
    def most(self) -> Sequence[int]:
        """Of each subject, how often it can be run after it was loaded."""

    @property
    def parts(self) -> Sequence[Sequence[int]]:
        """Subjects that are loaded at the same time."""

    def load(self, part: Sequence[int]) -> Load:
        """Loads programs anew. Those of the part before are not used any more."""


class Quota(NamedTuple):
    """How long to go on."""

    precision: float  # half the length of intervals, as a share of the mean
    seconds: float  # at most, but for the fewest loads
    fewest_loads: int = _FEWEST_LOADS
    decided: Callable[[Sequence["Measured | None"]], bool] | None = None
    """Whether what is known of the subjects decides what is asked; before that, to be precise is
    not enough. None: nothing is asked."""
    between: Callable[[Sequence["Measured | None"]], Estimate | None] | None = None
    """A ratio of subjects that is to be as precise as each of them: that each is known does not say
    that what differs between them is."""


class Observation(NamedTuple):
    """What one load said."""

    whole: list[float | None]  # ns of each subject in the kernel's loop; None where it is unknown
    net: list[float | None]  # ns beyond an empty program; None: all disturbed
    empty: list[float]  # ns of an empty program, in each part


class Measured(NamedTuple):
    """A subject's cost."""

    run: Estimate  # ns of one run in the kernel's loop, as `bpftool prog run` tells
    net: Estimate  # ns beyond an empty program
    loads: list[float | None]  # ns of one run, of each load
    turns: list[float | None]  # the same of all samples, also of disturbed ones
    runs: int  # all that were timed


class Outcome(NamedTuple):
    """What a measurement came to."""

    subjects: list[Measured | None]  # None: there was no undisturbed sample, or it failed
    failed: dict[int, str]  # of subjects that did not do what they should, why
    baseline: Estimate | None  # ns of an empty program
    loads: int
    samples: int
    discarded: int  # samples that were disturbed
    limit: float  # of `DISTURBED`, which was taken
    busy: tuple[float, float]  # ns of the busy loop: undisturbed, and in the median
    precise: bool  # whether all intervals are as narrow as was asked for
    seconds: float

    def why(self, subject: int) -> str:
        """Why nothing is known of a subject."""
        return self.failed.get(subject, "the CPU was slowed down too much whenever it was timed")


class _Timed(NamedTuple):
    """A sample, and how long the busy loop took beside it."""

    part: int
    subject: int
    nanoseconds: float  # of one run
    busy: float


def measure(bench: Bench, quota: Quota, go_on: Callable[["Progress"], bool]) -> Outcome:
    """Measures all subjects of a bench until that is precise enough, or `go_on` says no.

    It is looked at rarely whether it is: who stops as soon as an interval happens to be narrow has
    intervals that are too narrow. Who stops as soon as one happens to lie on one side of a limit is
    wrong more often still, so with something to decide it is looked at even more rarely.
    """
    started = time.monotonic()
    sampler, look = Sampler(bench), quota.fewest_loads
    more = _MORE if quota.decided is None else _MORE_TO_DECIDE
    while True:
        sampler.add_load()
        seconds = time.monotonic() - started
        loads, (precise, widest) = sampler.loads, sampler.is_precise(quota)
        asked = not go_on(Progress(loads, seconds, widest))
        over = seconds >= quota.seconds or loads >= _MOST_LOADS
        # A program that takes seconds to load is not loaded as often.
        fewest = _LEAST_LOADS if seconds >= 2 * quota.seconds else quota.fewest_loads
        enough = loads >= look and precise and sampler.decides(quota)
        if asked or (over and loads >= fewest) or enough:
            return sampler.outcome(seconds, precise=precise and loads >= quota.fewest_loads)
        if loads >= look:
            look = int(more * look)


class Progress(NamedTuple):
    """How far a measurement is."""

    loads: int
    seconds: float
    widest: float | None  # half the longest interval, as a share of its mean


class Told(NamedTuple):
    """Who is told how far it is, and says whether to go on."""

    preparing: Callable[[int, int], bool]  # how many paths are prepared, and of how many
    measuring: Callable[[Progress], bool]


class Sampler:
    """Samples of all loads until now."""

    def __init__(self, bench: Bench) -> None:
        """Nothing is loaded yet."""
        self._bench = bench
        self._order = random.Random(0)  # noqa: S311 - no secret
        self._loads: list[list[_Timed]] = []
        self._repeats: dict[int, int] = {}
        self._rounds: dict[int, int] = {}  # in which a subject takes part, at most
        self._busy: list[float] = []
        self._runs = [0] * len(bench.wrapped)
        self._failed: dict[int, str] = {}

    @property
    def loads(self) -> int:
        """How many there were."""
        return len(self._loads)

    def add_load(self) -> None:
        """Loads everything anew and lets subjects take turns."""
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
                taken = self._sample_subject(load, subject, call)
                after = self._sample(load, Reference.BUSY, call)
                if taken is not None:
                    timed.append(_Timed(number, subject, taken, max(before, after)))
                before = after
        return timed

    def _are_enough(self, timed: Sequence[_Timed], turns: Sequence[int], quiet: float) -> bool:
        """Whether so many samples of each subject are undisturbed that a load can end."""
        undisturbed = Counter(sample.subject for sample in timed if sample.busy <= quiet)
        asked = (subject for subject in turns if subject not in self._failed)
        return all(undisturbed[subject] >= _ENOUGH for subject in asked)

    def _prepare(self, load: Load, subject: int) -> None:
        """Finds out how many runs a sample of a subject has."""
        try:
            most = self._bench.most[subject] if subject >= 0 else sys.maxsize
            self._repeats[subject], self._rounds[subject] = _repeats(load, subject, most)
        except SubjectError as problem:
            if subject < 0:
                raise
            self._rounds[subject], self._failed[subject] = 0, problem.reason

    def _sample_subject(self, load: Load, subject: int, call: float) -> float | None:
        """Nanoseconds of one run; None if it fails, now and in all loads to come."""
        try:
            return self._sample(load, subject, call)
        except SubjectError as problem:
            if subject < 0:
                raise
            self._failed[subject] = problem.reason
            return None

    def _sample(self, load: Load, subject: int, call: float) -> float:
        """Nanoseconds of one run."""
        sample = load.sample(subject, self._repeats[subject])
        if subject >= 0:
            self._runs[subject] += sample.runs
        net = subject == Reference.WRAPPED or (subject >= 0 and self._bench.net[subject])
        besides = 0.0 if net else call
        taken = max(sample.nanoseconds - besides, _LEAST) / max(sample.runs, 1)
        if subject == Reference.BUSY:
            self._busy.append(taken)
        return taken

    def _observations(self) -> tuple[float, list[Observation]]:
        """What the loads said, and how disturbed samples may be that count."""
        quiet = quantile(self._busy, _UNDISTURBED)
        needed = min(_LEAST_LOADS, len(self._loads))
        for limit in DISTURBED[:-1]:
            found = [self._observation(timed, quiet * limit) for timed in self._loads]
            values = zip(*(each.net for each in found), strict=True)
            enough = [len(one) - one.count(None) >= needed for one in values]
            if all(fine or number in self._failed for number, fine in enumerate(enough)):
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

    def is_precise(self, quota: Quota) -> tuple[bool, float | None]:
        """Whether all intervals are narrow enough, and the widest, as a share of the mean."""
        _, subjects, _ = self._evaluated()
        asked = [
            None if subject is None else subject.run
            for number, subject in enumerate(subjects)
            if number not in self._failed
        ]
        if quota.between is not None and not self._failed:
            asked.append(quota.between(subjects))
        widest = 0.0
        for known in asked:
            if known is None or known.value <= 0 or not math.isfinite(known.interval.half_width):
                return False, None
            widest = max(widest, known.interval.half_width / known.value)
        return widest <= quota.precision, widest

    def decides(self, quota: Quota) -> bool:
        """Whether what is known decides what is asked."""
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
        """Nanoseconds of one run in the kernel's loop, of each load."""
        if not self._bench.wrapped[subject]:
            return [each.whole[subject] for each in observations]
        # The clock was read around the program alone.
        nets = (each.net[subject] for each in observations)
        return [None if net is None else net + baseline for net in nets]

    def outcome(self, seconds: float, *, precise: bool) -> Outcome:
        """What all samples say."""
        limit, subjects, baseline = self._evaluated()
        samples = [sample for timed in self._loads for sample in timed]
        quiet = quantile(self._busy, _UNDISTURBED)
        discarded = sum(sample.busy > quiet * limit for sample in samples)
        busy = (quiet, statistics.median(self._busy))
        loads, size = self.loads, len(samples)
        return Outcome(
            subjects,
            self._failed,
            baseline,
            loads,
            size,
            discarded,
            limit,
            busy,
            precise,
            seconds,
        )


def _repeats(load: Load, subject: int, most: int) -> tuple[int, int]:
    """How many runs a sample needs to take as long as it should, and how many samples a load has.

    All runs of a load are `most`.
    """
    aim = _BUSY if subject == Reference.BUSY else _SAMPLE
    second = max(_TRIAL, min(int(aim / _taken(load, subject, _TRIAL) / 4), most // 16, _MOST_RUNS))
    taken = _taken(load, subject, second)
    left = most - _TRIALS * (_TRIAL + second)
    repeats = max(_FEWEST_RUNS, min(int(aim / taken), left // _ROUNDS, _MOST_RUNS))
    return repeats, max(_ROUNDS, min(_MOST_ROUNDS, left // repeats))


def _taken(load: Load, subject: int, repeat: int) -> float:
    """Nanoseconds of one run, as the least disturbed of a few samples says."""
    trials = (load.sample(subject, repeat) for _ in range(_TRIALS))
    return max(min(trial.nanoseconds / max(trial.runs, 1) for trial in trials), 0.1)


def _call(load: Load, repeat: int) -> float:
    """Nanoseconds that a call takes besides its runs."""
    one = min(load.sample(Reference.EMPTY, 1).nanoseconds for _ in range(_CALLS))
    many = load.sample(Reference.EMPTY, repeat)
    return max(one - many.nanoseconds / max(many.runs, 1), 0.0)


def ratio(old: Measured, new: Measured) -> Estimate | None:
    """How much longer the new one takes, as often as both were loaded together; None: never.

    What disturbs one of two that take turns disturbs the other, too. So where few samples are
    undisturbed, all of them together tell the ratio more precisely, and they are taken.
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
