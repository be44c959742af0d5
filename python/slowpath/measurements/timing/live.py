"""When to time which packets that really go somewhere, and what the samples come to.

As in `sampling`: a load is one independent observation, subjects take turns in random order, and a
busy loop beside each sample tells whether it was disturbed.
"""

import math
import random
import statistics
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from slowpath.measurements.timing.sampling import DISTURBED, Progress, Quota
from slowpath.measurements.timing.statistics import Estimate, estimate, quantile

_UNDISTURBED = 0.1  # share of the busy loop's samples that are taken for undisturbed
_LEAST_LOADS = 3
_MOST_LOADS = 200
_ROUNDS = 3  # of a load
_SAMPLE = 3e6  # nanoseconds that a sample is to take
_TRIAL = 2048  # packets of first samples, which say how many are needed
_TRIALS = 5  # of which the fastest counts
_FEWEST, _MOST = 4096, 1_000_000
_MORE = 1.4  # times as many loads, before whether it is precise is looked at again


class LiveSubject:
    """What is timed of a path, by the number that the bench has for it."""

    PROGRAM = 0  # the program, on packets that the kernel makes
    BASELINE = 1  # the minimal program of the same action, on the same packets
    RECEIVER = 2  # a device that receives the packets, with the program in its driver
    RECEIVER_DROP = 3  # a device that receives them, with a program that drops all


class LiveSample(NamedTuple):
    """One timed call."""

    nanoseconds: int  # until all packets were sent
    frames: int
    arrived: int  # of them: at the other end of the device, or at the receiver
    lost: int  # of them: found no room


class LiveLoad(Protocol):
    """All paths, loaded."""

    def busy(self) -> float:
        """Nanoseconds of a busy loop."""

    def sample(self, path: int, subject: int, frames: int) -> LiveSample:
        """Times a `LiveSubject` of a path on so many packets in one call."""


class LiveBench(Protocol):
    """What loads paths and times them."""

    @property
    def received(self) -> Sequence[bool]:
        """Of each path, whether it can be timed at a receiver."""

    @property
    def counted(self) -> Sequence[int]:
        """Of each path, how many packets a load times at most."""

    def load(self) -> LiveLoad:
        """Loads all paths anew."""


class MeasuredLive(NamedTuple):
    """A path's cost."""

    program: Estimate  # ns of one packet beyond the minimal program of the same action
    run: Estimate  # ns of one packet, with making and sending it
    baseline: Estimate  # the same with the minimal program
    receiver: Estimate | None  # ns of one packet that is sent and received; None: not timed
    receiver_drop: Estimate | None  # the same with a program that drops all
    frames: int  # packets that the program was run on
    arrived: int  # of these packets, how many did at the other end of the device
    sent: int  # packets of all subjects of the path
    lost: int  # of these packets, how many found no room


class LiveOutcome(NamedTuple):
    """What a measurement came to."""

    paths: list[MeasuredLive | None]  # None: there was no sample
    loads: int
    samples: int
    discarded: int  # samples that were disturbed
    limit: float  # of `DISTURBED`, which was taken
    precise: bool  # whether all intervals are as narrow as was asked for
    seconds: float


class _Timed(NamedTuple):
    path: int
    subject: int
    nanoseconds: float  # of one packet
    busy: float


_Key = tuple[int, int]


def measure_live(bench: LiveBench, quota: Quota, go_on: Callable[[Progress], bool]) -> LiveOutcome:
    """Measures all paths of a bench until that is precise enough, or `go_on` says no."""
    started = time.monotonic()
    sampler, look = _Sampler(bench), quota.fewest_loads
    widest: float | None = None

    def going() -> bool:
        return go_on(Progress(len(sampler.loads), time.monotonic() - started, widest))

    while True:
        sampler.add_load(going)
        seconds = time.monotonic() - started
        loads = len(sampler.loads)
        widest = sampler.widest()
        precise = widest is not None and widest <= quota.precision
        asked = not go_on(Progress(loads, seconds, widest))
        over = seconds >= quota.seconds or loads >= _MOST_LOADS
        if asked or (over and loads >= _LEAST_LOADS) or (loads >= look and precise):
            return sampler.outcome(seconds, precise=precise and loads >= quota.fewest_loads)
        if loads >= look:
            look = int(_MORE * look)


class _Sampler:
    def __init__(self, bench: LiveBench) -> None:
        self._bench = bench
        self._order = random.Random(0)  # noqa: S311 - no secret
        self.loads: list[list[_Timed]] = []
        self._frames: dict[int, int] = {}
        self._busy: list[float] = []
        self._ran = [0] * len(bench.received)
        self._arrived = [0] * len(bench.received)
        self._sent = [0] * len(bench.received)
        self._lost = [0] * len(bench.received)

    def add_load(self, going: Callable[[], bool]) -> None:
        """Loads everything anew and lets subjects take turns, as many rounds as `going` says."""
        load = self._bench.load()
        turns: list[_Key] = []
        for path, received in enumerate(self._bench.received):
            turns += [(path, LiveSubject.PROGRAM), (path, LiveSubject.BASELINE)]
            if received:
                turns += [(path, LiveSubject.RECEIVER), (path, LiveSubject.RECEIVER_DROP)]
            if path not in self._frames:
                self._frames[path] = _frames(load, path, self._bench.counted[path])
        timed: list[_Timed] = []
        for number in range(_ROUNDS):
            if number and not going():
                break
            self._order.shuffle(turns)
            before = self._busy_loop(load)
            for path, subject in turns:
                # As many packets of all subjects: what a call takes besides is in all of them.
                sample = load.sample(path, subject, self._frames[path])
                after = self._busy_loop(load)
                self._sent[path] += sample.frames
                self._lost[path] += sample.lost
                if subject == LiveSubject.PROGRAM:
                    self._ran[path] += sample.frames
                    self._arrived[path] += sample.arrived
                taken = sample.nanoseconds / max(sample.frames, 1)
                timed.append(_Timed(path, subject, taken, max(before, after)))
                before = after
        self.loads.append(timed)

    def _busy_loop(self, load: LiveLoad) -> float:
        self._busy.append(load.busy())
        return self._busy[-1]

    def _medians(self) -> tuple[float, list[dict[_Key, float]]]:
        """Of each load, the median of each subject; and how disturbed samples may be that count."""
        quiet = quantile(self._busy, _UNDISTURBED)
        needed = min(_LEAST_LOADS, len(self.loads))
        wanted = {(sample.path, sample.subject) for sample in self.loads[0]}
        for limit in DISTURBED:
            found = [_of_load(timed, quiet * limit) for timed in self.loads]
            if all(sum(key in each for each in found) >= needed for key in wanted):
                return limit, found
        return math.inf, [_of_load(timed, math.inf) for timed in self.loads]

    def _evaluated(self) -> tuple[float, list[MeasuredLive | None]]:
        limit, medians = self._medians()
        paths: list[MeasuredLive | None] = []
        for path, ran in enumerate(self._ran):
            both = [
                (each[path, LiveSubject.PROGRAM], each[path, LiveSubject.BASELINE])
                for each in medians
                if (path, LiveSubject.PROGRAM) in each and (path, LiveSubject.BASELINE) in each
            ]
            if not both:
                paths.append(None)
                continue
            paths.append(
                MeasuredLive(
                    estimate([run - baseline for run, baseline in both]),
                    estimate([run for run, _ in both]),
                    estimate([baseline for _, baseline in both]),
                    _estimate_of(medians, (path, LiveSubject.RECEIVER)),
                    _estimate_of(medians, (path, LiveSubject.RECEIVER_DROP)),
                    ran,
                    self._arrived[path],
                    self._sent[path],
                    self._lost[path],
                )
            )
        return limit, paths

    def widest(self) -> float | None:
        """Half the longest interval of a program's cost, as a share of what a packet takes."""
        found = 0.0
        for path in self._evaluated()[1]:
            if path is None or path.run.value <= 0:
                return None
            found = max(found, path.program.interval.half_width / path.run.value)
        return found

    def outcome(self, seconds: float, *, precise: bool) -> LiveOutcome:
        """What all samples say."""
        limit, paths = self._evaluated()
        bound = quantile(self._busy, _UNDISTURBED) * limit
        samples = [sample for timed in self.loads for sample in timed]
        discarded = sum(sample.busy > bound for sample in samples)
        return LiveOutcome(paths, len(self.loads), len(samples), discarded, limit, precise, seconds)


def _of_load(timed: Sequence[_Timed], limit: float) -> dict[_Key, float]:
    kept: dict[_Key, list[float]] = {}
    for sample in timed:
        if sample.busy <= limit:
            kept.setdefault((sample.path, sample.subject), []).append(sample.nanoseconds)
    return {key: statistics.median(values) for key, values in kept.items()}


def _estimate_of(medians: Sequence[dict[_Key, float]], key: _Key) -> Estimate | None:
    values = [each[key] for each in medians if key in each]
    return estimate(values) if values else None


def _frames(load: LiveLoad, path: int, counted: int) -> int:
    """How many packets a sample needs to take as long as it should, as far as all can have them."""
    trials = [load.sample(path, LiveSubject.PROGRAM, _TRIAL) for _ in range(_TRIALS)]
    taken = min(trial.nanoseconds / max(trial.frames, 1) for trial in trials)
    most = min(_MOST, (counted - _TRIALS * _TRIAL) // _ROUNDS)
    return min(max(_FEWEST, int(_SAMPLE / max(taken, 0.1))), most)
