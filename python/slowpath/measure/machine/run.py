"""Events on a CPU during a run."""

from collections.abc import Mapping, Sequence
from typing import TypedDict

from slowpath.measure.machine.counters import Counters, Ticks

_DECIMALS = 4
_NAMED = 8
"""So many kinds of interrupts are named."""


class CpuTime(TypedDict):
    """What a CPU did: shares, from 0 to 1, of the ticks of the kernel's clock during a run."""

    user: float
    """Programs."""
    system: float
    """The kernel for programs: here test runs are."""
    interrupts: float
    """Interrupts of devices and timers (irq)."""
    deferred: float
    """The work that interrupts leave for later (softirq)."""
    stolen: float
    """Nothing, while the hypervisor let others run (steal)."""
    idle: float
    """Nothing."""


class Interrupt(TypedDict):
    """What interrupted the CPU."""

    name: str
    """As /proc/interrupts calls it."""
    count: int
    """How often."""


class BusyCpu(TypedDict):
    """Another CPU, and how busy it was."""

    cpu: int
    """Its number."""
    busy: float
    """Share of the time, from 0 to 1."""


class RunFacts(TypedDict):
    """What happened during a run; null is what is not known."""

    seconds: float
    """How long it took, without the analysis and other pauses."""
    load_start: list[float] | None
    """Load averages of 1, 5 and 15 minutes when it began, before slowpath looked for paths."""
    load_end: list[float] | None
    """The same when it ended: what slowpath itself did is part of it."""
    frequency_start_hz: int | None
    """The CPU's frequency when it began."""
    frequency_end_hz: int | None
    """The same when it ended."""
    time: CpuTime | None
    """What the CPU did; null also for a run that is too short to tell."""
    siblings: list[BusyCpu]
    """The other CPUs of the same core."""
    others_busy: float | None
    """How busy the CPUs of all other cores were: the mean of their shares, from 0 to 1."""
    interrupts: int | None
    """How often the CPU was interrupted."""
    interrupted_by: list[Interrupt]
    """By what, most often first; not all of it."""
    voluntary_switches: int | None
    """How often the measuring thread gave up its CPU."""
    involuntary_switches: int | None
    """How often others took it away."""
    waited_ns: int | None
    """Nanoseconds that the measuring thread could have run and others did."""
    throttled: int | None
    """How often heat slowed down the CPU."""
    quota_stops: int | None
    """How often the process was stopped because its control group had used up its share of time."""


def between(
    before: Counters, after: Counters, cpu: int, siblings: Sequence[int] | None
) -> RunFacts:
    """What happened on a CPU, which has these siblings, between two readings."""
    ticks = {
        number: after.ticks[number].since(earlier)
        for number, earlier in before.ticks.items()
        if number in after.ticks
    }
    core = {cpu, *(siblings or ())}
    busy = {number: share for number, each in ticks.items() if (share := _busy(each)) is not None}
    others = [share for number, share in busy.items() if number not in core]
    interrupts = _grown(before.interrupts, after.interrupts)
    return {
        "seconds": after.seconds - before.seconds,
        "load_start": None if before.load is None else list(before.load),
        "load_end": None if after.load is None else list(after.load),
        "frequency_start_hz": before.frequency_hz,
        "frequency_end_hz": after.frequency_hz,
        "time": _time(ticks.get(cpu)),
        "siblings": [
            {"cpu": sibling, "busy": busy[sibling]} for sibling in siblings or () if sibling in busy
        ],
        "others_busy": round(sum(others) / len(others), _DECIMALS) if others else None,
        "interrupts": None if interrupts is None else sum(interrupts.values()),
        "interrupted_by": _most(interrupts or {}),
        "voluntary_switches": _more(before.voluntary, after.voluntary),
        "involuntary_switches": _more(before.involuntary, after.involuntary),
        "waited_ns": _more(before.waited_ns, after.waited_ns),
        "throttled": _more(before.throttled, after.throttled),
        "quota_stops": _more(before.quota_stops, after.quota_stops),
    }


def _more(before: int | None, after: int | None) -> int | None:
    return None if before is None or after is None else max(0, after - before)


def _grown(
    before: Mapping[str, int] | None, after: Mapping[str, int] | None
) -> dict[str, int] | None:
    """How much each counter grew; a device that came meanwhile began at 0."""
    if before is None or after is None:
        return None
    grown = {name: count - before.get(name, 0) for name, count in after.items()}
    return {name: count for name, count in grown.items() if count > 0}


def _most(interrupts: Mapping[str, int]) -> list[Interrupt]:
    ordered = sorted(interrupts.items(), key=lambda each: (-each[1], each[0]))
    return [{"name": name, "count": count} for name, count in ordered[:_NAMED]]


def _busy(ticks: Ticks) -> float | None:
    if ticks.total == 0:
        return None
    return round(1 - (ticks.idling + ticks.steal) / ticks.total, _DECIMALS)


def _time(ticks: Ticks | None) -> CpuTime | None:
    if ticks is None or ticks.total == 0:
        return None

    def share(count: int) -> float:
        return round(count / ticks.total, _DECIMALS)

    return {
        "user": share(ticks.user + ticks.nice),
        "system": share(ticks.system),
        "interrupts": share(ticks.irq),
        "deferred": share(ticks.softirq),
        "stolen": share(ticks.steal),
        "idle": share(ticks.idling),
    }
