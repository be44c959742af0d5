"""Measures the profile of a network function: its throughput beside many competitors.

It also measures the probe, accelerator request times, the function's effect on others, and noise.
"""

import statistics
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from slowpath.contention.profiling import mixes
from slowpath.contention.profiling.machine import (
    MEGABYTE,
    PATIENCE,
    Calibration,
    CpuMonitor,
    Level,
    Machine,
    bubble_sizes,
    calibrated,
)
from slowpath.contention.profiling.mixes import (
    Measured,
    MemBench,
    Point,
    Rate,
    Timing,
    Traffic,
    Turns,
    measure_interleaved,
)
from slowpath.contention.profiling.plans import MachineProperties, Planner, between, middle
from slowpath.contention.profiling.setup import PlanRecord, Setup, Span
from slowpath.core import codes
from slowpath.core.engine.neighbours import Mix
from slowpath.core.errors import StoppedError
from slowpath.core.jobs import Stopping

_LEVELS = 9  # number of bubble sizes that calibrate the probe
_RATIOS = 5  # number of match ratios with measured request times


class Audience(NamedTuple):
    """Callbacks and limits while a profile is measured: stop requests, progress and deadline."""

    stopping: Stopping
    show: Callable[[str], None]
    until: float | None  # deadline, as `time.monotonic`


class RequestRow(NamedTuple):
    """Time that the accelerator takes for a request, measured without other clients."""

    mtbr: float
    seconds: Rate


class OwnRow(NamedTuple):
    """Score of the contention that the function causes for others, under one kind of traffic."""

    traffic: Traffic
    score: float


class Probed(NamedTuple):
    """Calibration of the probe (a program that contention for memory slows down).

    It has the probe's slowdowns beside competitors with known working sets.
    """

    measured: tuple[Level, ...]
    calibration: Calibration
    largest_shift: float  # largest deviation of the probe's rate alone from its median, a share


class Noise(NamedTuple):
    """Differences between repeated measurements, as shares of the throughput."""

    repetitions: int  # number of measurements of one point
    spread: float | None  # standard deviation between these measurements; None after one
    within: float  # median difference of two medians in the same measurement


class Found(NamedTuple):
    """All results of measuring the profile of a function."""

    probed: Probed
    requests: tuple[RequestRow, ...]  # request times of the function
    own: tuple[OwnRow, ...]
    noise: Noise
    scores: dict[MemBench, float]
    points: tuple[Measured, ...]
    plan: PlanRecord
    disturbed: int  # blocks in which a thread waited for its CPU
    misplaced: float  # share of observations with misplaced CPUs
    stopped: bool


class Profiling:
    """Measures the profile of a network function on this machine."""

    def __init__(self, setup: Setup, machine: Machine, audience: Audience) -> None:
        self._setup = setup
        self._machine = machine
        self._audience = audience
        effort = setup.effort
        self._timing = Timing(effort.pairs, effort.block_seconds, effort.warm_seconds)
        self._disturbed = 0
        # A mix waits for misplaced or busy CPUs at most three times as long as it is measured.
        kinds = ("alone", "beside", *(["the client"] if setup.client is not None else []))
        wait = 3 * len(kinds) * effort.pairs * (effort.block_seconds + effort.warm_seconds)
        places = machine.places.function, machine.places.other
        self._monitor = CpuMonitor(places, effort.mixes * wait, patience=min(PATIENCE, wait))

    def run(self, make_planner: Callable[[MachineProperties], Planner]) -> Found:
        """Measure everything, until the planner has no more points or a stop is requested.

        Args:
            make_planner: function that creates the planner, which chooses the points to measure.

        Raises:
            StoppedError: if a stop is requested before the first point.
            InputError: if this machine cannot measure the setup.
        """
        probed = self._probed()
        requests = self._requests(round(self._setup.traffic.size.most), self._setup.traffic.mtbr)
        own = self._own(probed.calibration)
        noise = self._noise()
        scores = dict[MemBench, float]()

        def score_of(competitor: MemBench) -> float:
            if competitor not in scores:
                scores[competitor] = self._score(competitor, probed.calibration)
            return scores[competitor]

        points = list[Measured]()
        planner, stopped = make_planner(MachineProperties(noise.spread, score_of)), False
        try:
            while (point := planner.next(points)) is not None:
                if point.memory is not None:
                    score_of(point.memory)
                self._audience.show(f"mix {len(points) + 1} of {self._setup.effort.mixes}")
                points.append(self.measure(point))
        except StoppedError:
            stopped = True
            if not points:
                raise
        return Found(
            probed,
            requests,
            own,
            noise,
            scores,
            tuple(points),
            planner.record,
            self._disturbed,
            self._monitor.misplaced,
            stopped,
        )

    def measure(self, point: Point) -> Measured:
        """Measure the function alone and beside the competitors of a point.

        If one of them is a client of the accelerator, its request time is measured in the same
        turns, because the speed of a shared processor changes over time.

        Raises:
            StoppedError: if a stop is requested.
        """
        function, places = self._setup.function, self._machine.places
        client = None
        if point.client is not None:
            client = mixes.client_alone(function, point.client, places)
        turns = self._turns(mixes.mix_of(function, point, places), client)
        return Measured(point, turns.alone, turns.beside, turns.competitor, turns.reference)

    def _turns(self, spec: mixes.MixSpec, reference: mixes.MixSpec | None = None) -> Turns:
        self._check_stop()
        other = None if reference is None else self._mix(reference)
        turns = measure_interleaved(
            self._mix(spec), self._timing, self._check_stop, self._monitor, other
        )
        rates = (turns.alone, turns.beside, turns.reference)
        self._disturbed += sum(rate.disturbed for rate in rates if rate is not None)
        return turns

    def _mix(self, spec: mixes.MixSpec) -> Mix:
        stopping, kernel = self._audience.stopping, self._machine.kernel
        return Mix(spec.subjects, spec.competitors, stopping, spec.programs, kernel)

    def _check_stop(self) -> None:
        until = self._audience.until
        if self._audience.stopping.asked or (until is not None and time.monotonic() > until):
            raise StoppedError(
                codes.STOPPED_AT_DEADLINE,
                "this machine",
                "the profile stopped before anything was measured; allow more time with --deadline",
            )

    def _probed(self) -> Probed:
        levels, alone = list[Level](), list[float]()
        sizes = bubble_sizes(self._machine.cache_bytes, _LEVELS)
        for at, size in enumerate(sizes, 1):
            self._audience.show(f"calibrating the probe: level {at} of {len(sizes)}")
            turns = self._beside_probe(MemBench(size, "copies", None))
            alone.append(turns.alone.value)
            levels.append(Level(size / MEGABYTE, turns.slowdown))
        center = statistics.median(alone)
        shift = max(abs(one / center - 1) for one in alone)
        return Probed(tuple(levels), calibrated(levels), shift)

    def _score(self, competitor: MemBench, calibration: Calibration) -> float:
        size = competitor.working_set / MEGABYTE
        self._audience.show(f"measuring the score of a competitor over {size:.1f} MB")
        return calibration.score(self._beside_probe(competitor).slowdown)

    def _beside_probe(self, competitor: MemBench) -> Turns:
        """Measure how much a competitor for memory slows down the probe on the function's CPU."""
        places = self._machine.places
        probe = mixes.probe(self._machine.probe_bytes, places.function)
        return self._turns(mixes.MixSpec([probe], [mixes.mem_bench(competitor, places.other)]))

    def _requests(self, size: int, ratios: Span) -> tuple[RequestRow, ...]:
        """Measure the accelerator's request times at several match ratios, for `size` bytes.

        `ratios` is the range of match ratios.
        """
        function = self._setup.function
        if function.service is None:
            return ()
        cpu = mixes.accelerator_cpu(function, self._machine.places)
        found = []
        for at in range(_RATIOS if ratios.least < ratios.most else 1):
            mtbr = ratios.least + (ratios.most - ratios.least) * at / (_RATIOS - 1)
            self._audience.show(f"measuring request times at {mtbr:g} matches/MB")
            traffic = Traffic(1, size, mtbr)
            rate = self._turns(mixes.accelerator_alone(function, traffic, cpu)).alone
            found.append(RequestRow(mtbr, _reciprocal(rate)))
        return tuple(found)

    def _own(self, calibration: Calibration) -> tuple[OwnRow, ...]:
        """Measure the function's score as a competitor, under several kinds of traffic."""
        flows, size, mtbr = self._setup.traffic
        function, machine = self._setup.function, self._machine
        counts = dict.fromkeys(round(between(flows, share)) for share in (0.0, 0.5, 1.0))
        sizes = dict.fromkeys(round(one) for one in size)
        found = []
        for traffic in (Traffic(n, length, mtbr.least) for n in counts for length in sizes):
            self._audience.show(f"measuring the effect on others with {traffic.flows} flows")
            spec = mixes.probed(function, traffic, machine.places, machine.probe_bytes)
            found.append(OwnRow(traffic, calibration.score(self._turns(spec).slowdown)))
        return tuple(found)

    def _noise(self) -> Noise:
        """Determine the measurement noise: measure one point repeatedly, without competitors."""
        traffic = middle(self._setup.traffic)
        rates, within = list[float](), list[float]()
        repetitions = self._setup.effort.repetitions
        for at in range(repetitions):
            self._audience.show(f"measuring the noise floor, {at + 1} of {repetitions}")
            one = self.measure(Point(traffic, None, None))
            rates.append(statistics.fmean((one.alone.value, one.beside.value)))
            within.append(abs(one.beside.value / one.alone.value - 1))
        spread = statistics.stdev(rates) / statistics.fmean(rates) if repetitions > 1 else None
        return Noise(repetitions, spread, statistics.median(within))


def request_time(rows: Sequence[RequestRow], mtbr: float) -> float:
    """Return the accelerator's request time in seconds at match ratio `mtbr`, by interpolation."""
    below = rows[0]
    for row in rows:
        if mtbr <= row.mtbr:
            if row.mtbr == below.mtbr:
                return row.seconds.value
            share = (mtbr - below.mtbr) / (row.mtbr - below.mtbr)
            return below.seconds.value + share * (row.seconds.value - below.seconds.value)
        below = row
    return rows[-1].seconds.value


def _reciprocal(rate: Rate) -> Rate:
    value, low, high = (1 / max(one, 1e-12) for one in rate[:3])
    return Rate(value, high, low, rate.blocks, rate.disturbed)
