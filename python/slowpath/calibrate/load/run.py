"""Runs `slowpath calibrate --testbed load`: measures losses and latencies of programs."""

import os
import random
import statistics
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from slowpath.calibrate.experiments.folder import write
from slowpath.calibrate.experiments.specification import swept_values
from slowpath.calibrate.load.beds import (
    MARK,
    PIPELINE_NOTES,
    XDP_NOTES,
    OfferedProgram,
    Offering,
    open_pipelines,
    open_xdp,
)
from slowpath.calibrate.load.documents import (
    Latency,
    LoadDocument,
    LoadedProgram,
    OfferedRate,
    PacketFates,
)
from slowpath.calibrate.load.search import Offer, highest_rate
from slowpath.calibrate.load.settings import LoadSettings
from slowpath.core import codes, engine
from slowpath.core.engine.kernel import OfferedTrial
from slowpath.core.errors import ExitCode, InputError
from slowpath.core.formats import Reporter
from slowpath.core.jobs import Stopping, heeding_signals
from slowpath.core.terminal import LiveLine, error, note_progress
from slowpath.measure.machine import Files, sibling_cpus

_SEARCH = 0.5  # share of the time of a program that the search takes, approximately
_TRIALS = 25  # usual number of trials of a search
_ROUNDS = 3  # minimum number of trials at each rate
_SHORTEST, _LONGEST = 0.02, 0.5  # seconds of a trial
_PROBE = 1000.0  # rate of the first packets, in packets a second


class _Taken(NamedTuple):
    """Results of the trials at one offered rate."""

    share: float | None
    rate: float | None
    trials: list[OfferedTrial]


def measure_load(settings: LoadSettings, reporter: Reporter) -> ExitCode:
    """Measure all programs at several offered rates, and print the report.

    Raises:
        InputError: when this machine lacks something, or files cannot be written.
    """
    date = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    programs = list[LoadedProgram]()
    open_bed = open_pipelines if settings.attachment == "dpdk-swx" else open_xdp
    with (
        heeding_signals() as stopping,
        open_bed(settings, stopping) as offered,
        _Progress(settings) as progress,
    ):
        for each in offered:
            if stopping.asked:
                break
            progress.begin(f"{each.experiment['name']}, {each.parameter} = {each.value:,}")
            programs.append(_Search(settings, stopping, progress.show).measure(each))
        stopped = stopping.asked
    document: LoadDocument = {
        **engine.head("calibrate", "load"),
        "directory": str(settings.folder),
        "date": date,
        "attachment": settings.attachment,
        "sender_cpu": settings.sender,
        "program_cpu": settings.program,
        "cpus": len(os.sched_getaffinity(0)),
        "tolerance": settings.tolerance,
        "notes": _notes(settings),
        "programs": programs,
    }
    if settings.html is not None:
        from slowpath.calibrate.load.page import load_page

        write(Path(settings.html), load_page(document))
    reporter.write(document)
    failed = [one for one in programs if one["reason"] is not None]
    if stopped:
        return ExitCode.UNDECIDED
    for one in failed:
        where = f"{one['parameter']} = {one['value']:,}"
        error(codes.TESTBED_FAILED, one["experiment"], f"{where}: {one['reason']}")
    return ExitCode.INPUT if failed else ExitCode.FINE


class _Progress(LiveLine):
    """Line that shows the progress; without a terminal, a new line for each measured program."""

    def __init__(self, settings: LoadSettings) -> None:
        super().__init__()
        self._count = sum(len(swept_values(one)) for one in settings.experiments)
        self._done, self._name = 0, ""

    def begin(self, name: str) -> None:
        self._done += 1
        self._name = f"{self._done} of {self._count}: {name}"
        self.show("compiling")
        if not self.live:
            note_progress(self._name)

    def show(self, text: str) -> None:
        self.draw(f"{self._name}: {text}")


class _Search:
    """Search for the highest rate of a program without loss, and trials at shares of that rate."""

    def __init__(
        self, settings: LoadSettings, stopping: Stopping, say: Callable[[str], None]
    ) -> None:
        self._settings, self._stopping, self._say = settings, stopping, say

    def measure(self, offered: OfferedProgram) -> LoadedProgram:
        """Start a program and measure it; if this fails, the result has the reason."""
        program: LoadedProgram = {
            "experiment": offered.experiment["name"],
            "parameter": offered.parameter,
            "value": offered.value,
            "bytes": len(offered.packet) + MARK,
            "highest_pps": None,
            "limit": None,
            "trials": 0,
            "full": None,
            "rates": [],
            "reason": None,
        }
        try:
            with offered.open() as offering:
                self._fill(program, offering)
        except InputError as problem:
            program["reason"] = problem.reason
        if self._stopping.asked:
            program["reason"] = "interrupted"
        return program

    def _fill(self, program: LoadedProgram, offering: Offering) -> None:
        program["reason"] = _unfit(offering(_PROBE, _SHORTEST))
        if program["reason"] is not None:
            return
        seconds = self._settings.seconds
        length = _trial_seconds(_SEARCH * seconds / _TRIALS)
        full = _Taken(None, None, [])

        def offer(rate: float | None) -> Offer:
            shown = "all that the sender can" if rate is None else _rate_text(rate)
            self._say(f"searching the highest rate: {shown}")
            trial = offering(rate, length)
            if rate is None:
                full.trials.append(trial)
            sent_rate = trial.sent / max(trial.nanoseconds, 1) * 1e9
            return Offer(trial.due, trial.sent, trial.received, sent_rate)

        found = highest_rate(offer, self._settings.tolerance, lambda: self._stopping.asked)
        if found is None:
            return
        program["full"] = offered_rate(full)
        program["highest_pps"], program["trials"] = found.rate, found.trials
        program["limit"] = found.limit
        if found.rate == 0:
            program["reason"] = (
                "packets are lost at every rate; end other work on the machine, allow more loss "
                "with --loss, or choose another CPU with --cpu"
            )
            return
        program["rates"] = self._at_shares(offering, found.rate)

    def _at_shares(self, offering: Offering, highest: float) -> list[OfferedRate]:
        shares = self._settings.shares
        left = (1 - _SEARCH) * self._settings.seconds / len(shares)
        rounds = max(_ROUNDS, round(left / _LONGEST))
        taken = [_Taken(share, share * highest, []) for share in shares]
        order = random.Random(1)  # noqa: S311 - an order of measurements
        for _ in range(rounds):
            for one in order.sample(taken, len(taken)):
                if self._stopping.asked:
                    break
                self._say(f"offering {one.share:.0%} of {_rate_text(highest)}")
                one.trials.append(offering(one.rate, _trial_seconds(left / rounds)))
        if self._stopping.asked:
            return []
        return [offered_rate(one) for one in taken]


def _trial_seconds(seconds: float) -> float:
    return min(max(seconds, _SHORTEST), _LONGEST)


def _rate_text(rate: float) -> str:
    return f"{rate / 1e3:,.1f} kpps"


def _unfit(trial: OfferedTrial) -> str | None:
    """Return the reason why a program cannot be measured; None if it can.

    `trial` is a trial at a low rate.
    """
    if trial.received or not trial.sent:
        return None
    if trial.kept:
        return (
            "the program does not send packets back; the test bed load measures only programs "
            "that do"
        )
    if trial.unmarked:
        return (
            f"the program changes the last {MARK} bytes of packets, which hold the time of sending"
        )
    return "no packet reaches the program; another CPU (--cpu) may be less busy"


def offered_rate(taken: _Taken) -> OfferedRate:
    """Summarise the trials at one offered rate."""
    trials = taken.trials
    nanoseconds = max(sum(one.nanoseconds for one in trials), 1)
    packets = _fates(trials)
    sent, received = packets["sent"], packets["received"]
    return {
        "share": taken.share,
        "requested_pps": taken.rate,
        "offered_pps": sent / nanoseconds * 1e9,
        "received_pps": received / nanoseconds * 1e9,
        "loss": (sent - received) / sent if sent else 0.0,
        "trials": len(trials),
        "packets": packets,
        "latency": _latency([one.latencies for one in trials if one.latencies]),
    }


def _fates(trials: Sequence[OfferedTrial]) -> PacketFates:
    def total(read: Callable[[OfferedTrial], int]) -> int:
        return sum(map(read, trials))

    def explained(one: OfferedTrial) -> int:
        return one.received + one.refused + one.kept + one.lost_back + one.unmarked

    return {
        "due": total(lambda one: one.due),
        "late": total(lambda one: one.late),
        "sent": total(lambda one: one.sent),
        "received": total(lambda one: one.received),
        "queue": total(lambda one: one.refused),
        "program": total(lambda one: one.kept),
        "return_queue": total(lambda one: one.lost_back),
        "unmarked": total(lambda one: one.unmarked),
        "unexplained": total(lambda one: one.sent - explained(one)),
    }


def _latency(trials: Sequence[Sequence[int]]) -> Latency | None:
    """Return the quantiles of latency in microseconds; None without trials.

    Each trial has six quantiles in nanoseconds. For each quantile, the result is the median over
    all trials.
    """
    if not trials:
        return None
    least, p50, p90, p99, p999, most = (
        statistics.median(values) / 1e3 for values in zip(*trials, strict=True)
    )
    return {"least": least, "p50": p50, "p90": p90, "p99": p99, "p999": p999, "most": most}


def _notes(settings: LoadSettings) -> list[str]:
    siblings = sibling_cpus(Files(), settings.program) or []
    shared = [
        f"CPU {settings.sender} and CPU {settings.program} are hardware threads of one core, so "
        "sender and program slow each other down."
    ]
    return [
        *(PIPELINE_NOTES if settings.attachment == "dpdk-swx" else XDP_NOTES),
        *(shared if settings.sender in siblings else []),
        "Other work on both CPUs decides about latencies from 99 % on, and about small losses.",
        "A trial lasts at most half a second, where RFC 2544 asks for a minute.",
    ]
