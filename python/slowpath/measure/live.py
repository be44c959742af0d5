"""Measures the time of program paths on live frames.

Live frames are packets that the kernel forwards, drops or passes on as the program decides.

One loading of all programs is one independent observation. Within a load, the programs take turns
in random order. A busy loop before and after each sample shows whether other work disturbed the
sample. The module `sampling` does the same for test runs.
"""

import math
import random
import statistics
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from slowpath.core import codes
from slowpath.core.engine import kernel
from slowpath.core.errors import Coded, InputError, StoppedError
from slowpath.measure.conclusions import imprecise
from slowpath.measure.documents import LivePath, MeasuredPath, MeasuredProgram, fail, set_warnings
from slowpath.measure.programs import PreparedProgram, mark_unmeasured
from slowpath.measure.sampling import (
    DISTURBED,
    UNMEASURED,
    Progress,
    ProgressCallbacks,
    StopCriteria,
)
from slowpath.measure.statistics import Estimate, estimate, quantile

_UNDISTURBED = 0.1  # fastest share of the busy loop's samples, which count as undisturbed
_LEAST_LOADS = 3
_MOST_LOADS = 200
_ROUNDS = 3  # per load
_SAMPLE = 3e6  # target duration of a sample in nanoseconds
_TRIAL = 2048  # packets in a trial sample, which determines the number needed
_TRIALS = 5  # number of trial samples, of which the fastest counts
_FEWEST, _MOST = 4096, 1_000_000
_MORE = 1.4  # factor between the numbers of loads at two checks of the precision


class LiveSubject:
    """Numbers of the four programs that are timed for each path, for the argument `subject`."""

    PROGRAM = 0  # the program, on packets that the kernel makes
    BASELINE = 1  # the minimal program with the same action, on the same packets
    RECEIVER = 2  # a device that receives the packets, with the program in its driver
    RECEIVER_DROP = 3  # a device that receives the packets, with a program that drops all


class LiveSample(NamedTuple):
    """The result of one timed call of the kernel with live packets."""

    nanoseconds: int  # time until all packets were sent
    frames: int  # number of packets
    arrived: int  # number of packets at the other end of the device, or at the receiver
    lost: int  # number of packets dropped for lack of room


class LiveLoad(Protocol):
    """Interface of the loaded programs of all measured paths, which can be timed."""

    def busy(self) -> float:
        """Time the busy loop (a loop of additions) once, and return its time in nanoseconds."""

    def sample(self, path: int, subject: int, frames: int) -> LiveSample:
        """Time one program of a path on `frames` packets, in one call of the kernel.

        `path` is the index of the path, `subject` a constant of `LiveSubject`.
        """


class LiveBench(Protocol):
    """Interface of test benches, which load programs and time them on live packets."""

    @property
    def received(self) -> Sequence[bool]:
        """For each path, true if a device that receives the packets can be timed, too."""

    @property
    def counted(self) -> Sequence[int]:
        """Maximum number of live packets that can be timed in one load, for each path."""

    def load(self) -> LiveLoad:
        """Load the programs of all paths into the kernel anew."""


class MeasuredLive(NamedTuple):
    """The measured cost of a path on live packets."""

    program: Estimate  # ns of one packet beyond the minimal program of the same action
    run: Estimate  # ns of one packet, including creating and sending it
    baseline: Estimate  # ns of one packet with the minimal program, in the same way
    receiver: Estimate | None  # ns of one packet that is sent and received; None: not timed
    receiver_drop: Estimate | None  # like `receiver`, with a program that drops all packets
    frames: int  # number of packets that the program ran on
    arrived: int  # number of packets of `frames` that arrived at the other end of the device
    sent: int  # number of packets of all subjects of the path
    lost: int  # number of packets of `sent` that were dropped for lack of room


class LiveOutcome(NamedTuple):
    """The result of measuring all paths of a bench on live packets."""

    paths: list[MeasuredLive | None]  # None: no sample
    loads: int
    samples: int
    discarded: int  # number of disturbed samples
    limit: float  # limit of `DISTURBED` that was applied
    precise: bool  # true if all intervals reached the requested precision
    seconds: float


class _Timed(NamedTuple):
    path: int
    subject: int
    nanoseconds: float  # per packet
    busy: float


_Key = tuple[int, int]


def measure_live(
    bench: LiveBench, quota: StopCriteria, go_on: Callable[[Progress], bool]
) -> LiveOutcome:
    """Measure all paths of a bench until the times are precise, or `go_on` returns false.

    `quota` states the precision and the time limit.

    Raises:
        StoppedError: if the user interrupted the first load, so that there is no result.
    """
    started = time.monotonic()
    sampler, look = _Sampler(bench), quota.fewest_loads
    widest: float | None = None

    def going() -> bool:
        return go_on(Progress(len(sampler.loads), time.monotonic() - started, widest))

    while True:
        try:
            sampler.add_load(going)
        except StoppedError:
            if not sampler.loads:
                raise
            return sampler.outcome(time.monotonic() - started, precise=False)
        seconds = time.monotonic() - started
        loads = len(sampler.loads)
        widest = sampler.widest()
        precise = widest is not None and widest <= quota.precision
        stopped = not go_on(Progress(loads, seconds, widest))
        over = seconds >= quota.seconds or loads >= _MOST_LOADS
        if stopped or (over and loads >= _LEAST_LOADS) or (loads >= look and precise):
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
        """Load all programs anew, and time them in at most `_ROUNDS` rounds.

        The call ends early if `going` returns false.
        """
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
                # Time the same number of packets for all subjects, so that all include the same
                # overhead of the call.
                sample = load.sample(path, subject, self._frames[path])
                after = self._busy_loop(load)
                self._sent[path] += sample.frames
                self._lost[path] += sample.lost
                if subject == LiveSubject.PROGRAM:
                    self._ran[path] += sample.frames
                    self._arrived[path] += sample.arrived
                nanoseconds = sample.nanoseconds / max(sample.frames, 1)
                timed.append(_Timed(path, subject, nanoseconds, max(before, after)))
                before = after
        self.loads.append(timed)

    def _busy_loop(self, load: LiveLoad) -> float:
        self._busy.append(load.busy())
        return self._busy[-1]

    def _medians(self) -> tuple[float, list[dict[_Key, float]]]:
        """Return the limit that selected samples, and each load's median times by path and program.

        A sample counts if the busy loops beside it took at most this limit, which is relative to
        the time of an undisturbed busy loop.
        """
        quiet = quantile(self._busy, _UNDISTURBED)
        needed = min(_LEAST_LOADS, len(self.loads))
        paired = {LiveSubject.PROGRAM, LiveSubject.BASELINE}  # compared within a load
        together = set[frozenset[_Key]]()
        for sample in self.loads[0]:
            subjects = paired if sample.subject in paired else {sample.subject}
            together.add(frozenset((sample.path, subject) for subject in subjects))
        for limit in DISTURBED:
            found = [_load_medians(timed, quiet * limit) for timed in self.loads]
            counts = (sum(keys <= each.keys() for each in found) for keys in together)
            if all(count >= needed for count in counts):
                return limit, found
        return math.inf, [_load_medians(timed, math.inf) for timed in self.loads]

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
        """Return the largest half width of a confidence interval, relative to the path's time.

        Return None if a path has no measured time.
        """
        found = 0.0
        for path in self._evaluated()[1]:
            if path is None or path.run.value <= 0:
                return None
            found = max(found, path.program.interval.half_width / path.run.value)
        return found

    def outcome(self, seconds: float, *, precise: bool) -> LiveOutcome:
        """Return the result of all samples so far. The arguments are stored in it."""
        limit, paths = self._evaluated()
        bound = quantile(self._busy, _UNDISTURBED) * limit
        samples = [sample for timed in self.loads for sample in timed]
        discarded = sum(sample.busy > bound for sample in samples)
        return LiveOutcome(paths, len(self.loads), len(samples), discarded, limit, precise, seconds)


def _load_medians(timed: Sequence[_Timed], limit: float) -> dict[_Key, float]:
    """Return the median time of each program in a load, by path and subject.

    Samples beside a busy loop that took more than `limit` nanoseconds are excluded.
    """
    kept: dict[_Key, list[float]] = {}
    for sample in timed:
        if sample.busy <= limit:
            kept.setdefault((sample.path, sample.subject), []).append(sample.nanoseconds)
    return {key: statistics.median(values) for key, values in kept.items()}


def _estimate_of(medians: Sequence[dict[_Key, float]], key: _Key) -> Estimate | None:
    values = [each[key] for each in medians if key in each]
    return estimate(values) if values else None


def _frames(load: LiveLoad, path: int, counted: int) -> int:
    """Return the number of packets with which a sample of a path takes the target time.

    `counted` is the maximum number of packets that can be timed in one load.
    """
    trials = [load.sample(path, LiveSubject.PROGRAM, _TRIAL) for _ in range(_TRIALS)]
    fastest = min(trial.nanoseconds / max(trial.frames, 1) for trial in trials)
    most = min(_MOST, (counted - _TRIALS * _TRIAL) // _ROUNDS)
    return min(max(_FEWEST, int(_SAMPLE / max(fastest, 0.1))), most)


_BUSY = 1000  # number of runs of the busy loop
_TIMES = 3  # samples of the busy loop per median; single ones may include packets under way


class LiveKernelBench:
    """Test bench that times the programs of paths on live packets in the running kernel."""

    def __init__(
        self, station: kernel.Station, cases: Sequence[kernel.LiveCase], batch: int
    ) -> None:
        """Create the bench and load the busy loop; the programs of the paths are loaded by `load`.

        The kernel processes packets in batches of `batch`.
        """
        self._station = station
        self._cases = list(cases)
        self._batch = batch
        self._busy = kernel.load_busy(station)
        self.received = [case.unreceived is None for case in self._cases]
        self.counted = [case.counted for case in self._cases]

    def load(self) -> LiveLoad:
        """Load the programs of all paths into the kernel anew.

        Raises:
            InputError: if the kernel no longer accepts one of the paths.
        """
        load = kernel.load_live_cases(self._station, self._cases)
        return _KernelLoad(self._station, load, self._busy, self._batch)


class _KernelLoad:
    def __init__(
        self, station: kernel.Station, load: kernel.LiveLoad, busy: kernel.Busy, batch: int
    ) -> None:
        self._station = station
        self._load = load
        self._busy = busy
        self._batch = batch

    def busy(self) -> float:
        loop = self._station, self._busy, _BUSY
        return statistics.median(kernel.sample_busy(*loop)[0] for _ in range(_TIMES))

    def sample(self, path: int, subject: int, frames: int) -> LiveSample:
        key = (path, subject)
        return LiveSample(*kernel.sample_live(self._station, self._load, key, frames, self._batch))


_MANY_LOST = 0.001
"""Share of dropped packets above which the report has a warning."""


def measure_program_live(
    station: kernel.Station,
    program: PreparedProgram,
    batch: int,
    quota: StopCriteria,
    callbacks: ProgressCallbacks,
) -> None:
    """Time the paths of a program on live packets, and store the times in its record.

    The kernel processes packets in batches of `batch`.

    Raises:
        InputError: if the kernel no longer accepts a path.
    """
    record = program.record
    record["mode"] = "live"
    for each in program.later:
        each.record["reason"] = "not measured with --mode live"
    cases: list[kernel.LiveCase] = []
    rows: list[MeasuredPath] = []
    prepared = zip(program.cases, program.numbers, strict=True)
    for done, (case, number) in enumerate(prepared):
        row = record["paths"][number]
        if not callbacks.preparing(done, len(program.cases)):
            fail(row, UNMEASURED)
            continue
        try:
            cases.append(kernel.prepare_live_case(station, record["file"], case, batch))
        except InputError as problem:
            fail(row, problem.coded)
            continue
        rows.append(row)
    if not cases:
        mark_unmeasured(program)
        return
    crowded: list[Coded] = []
    outcome = measure_live(LiveKernelBench(station, cases, batch), quota, callbacks.measuring)
    for live, row, measured in zip(cases, rows, outcome.paths, strict=True):
        if measured is None:
            reason = "the CPU was slowed down during all its samples"
            fail(row, Coded(codes.MEASUREMENT_INTERRUPTED, reason))
        else:
            row["live"] = _path(live, row, measured, batch)
            row["runs"] = measured.frames
            if measured.lost > _MANY_LOST * measured.sent:
                text = (
                    f"Devices dropped {measured.lost:,} packets of path {row['rank']} for lack of "
                    "room; choose a smaller --batch."
                )
                crowded.append(Coded(codes.PACKETS_DROPPED, text))
    record["loads"], record["samples"] = outcome.loads, outcome.samples
    record["discarded"], record["precise"] = outcome.discarded, outcome.precise
    record["seconds"] = outcome.seconds
    set_warnings(record, [*_warnings(outcome), *crowded])
    record["conclusion"] = _conclusion(record)


def _path(case: kernel.LiveCase, row: MeasuredPath, measured: MeasuredLive, batch: int) -> LivePath:
    low, high = measured.program.interval.known
    notes = []
    if case.rewritten:
        notes.append(
            "The program changes packets so that later ones take another path. So slowpath "
            "rewrote each packet before its arrival, also for the minimal program."
        )
    if case.unreceived is not None:
        notes.append(f"The rate at a receiver was not measured: {case.unreceived}.")
    return {
        "program_ns": measured.program.value,
        "program_spread_ns": measured.program.spread,
        "low_ns": low,
        "high_ns": high,
        "run_ns": measured.run.value,
        "baseline_ns": measured.baseline.value,
        "baseline_action": row["action"] or "",
        "receiver_pps": _rate(measured.receiver),
        "receiver_drop_pps": _rate(measured.receiver_drop),
        "batch": batch,
        "frames": measured.frames,
        "arrived": measured.arrived,
        "lost": measured.lost,
        "notes": notes,
    }


def _rate(taken: Estimate | None) -> float | None:
    return None if taken is None or taken.value <= 0 else 1e9 / taken.value


def _conclusion(record: MeasuredProgram) -> str | None:
    known = [(path["live"], path["rank"]) for path in record["paths"] if path["live"] is not None]
    if not known:
        return None
    slowest, rank = max(known, key=lambda each: each[0]["program_ns"])
    sentence = (
        f"Path {rank} costs most: {slowest['program_ns']:.1f} ns a packet more than a program that "
        f"only returns {slowest['baseline_action']}."
    )
    rate, dropping = slowest["receiver_pps"], slowest["receiver_drop_pps"]
    if rate is not None and dropping is not None:
        sentence += (
            f" A virtual device of this machine receives {rate / 1e6:.2f} million packets a second "
            f"with the program, and {dropping / 1e6:.2f} with one that drops all."
        )
    return sentence


def _warnings(outcome: LiveOutcome) -> list[Coded]:
    found = list[Coded]()
    if outcome.limit > DISTURBED[0]:
        slower = f"up to {outcome.limit:g} times as long as undisturbed"
        if outcome.limit == math.inf:
            slower = "any time"
        text = (
            f"The measurement was disturbed: a busy loop took {slower}. Disturbed samples are "
            "included, because too few others exist. Measure again when the machine is quiet."
        )
        found.append(Coded(codes.MEASUREMENT_DISTURBED, text))
    if not outcome.precise:
        found.append(imprecise(outcome.seconds))
    return found
