"""Events on a CPU during a run."""

from collections.abc import Mapping, Sequence
from typing import TypedDict

from slowpath.measure.machine.counters import Counters, Ticks

_DECIMALS = 4
_NAMED = 8
"""Maximum number of listed interrupt sources."""


class CpuTime(TypedDict):
    """Time of a CPU during a run, as shares from 0 to 1 of the kernel's clock ticks."""

    user: float
    """Programs in user mode."""
    system: float
    """Kernel on behalf of programs, including test runs."""
    interrupts: float
    """Interrupts of devices and timers (irq)."""
    deferred: float
    """Work deferred by interrupts (softirq)."""
    stolen: float
    """Time that the hypervisor gave to other machines (steal)."""
    idle: float
    """Idle time."""


class Interrupt(TypedDict):
    """An interrupt source, with its count."""

    name: str
    """Name in /proc/interrupts."""
    count: int
    """Number of interrupts."""


class BusyCpu(TypedDict):
    """Another CPU, with its load."""

    cpu: int
    """Number of the CPU."""
    busy: float
    """Busy share of the time, from 0 to 1."""


class RunFacts(TypedDict):
    """Events during a run; unknown values are null."""

    seconds: float
    """Duration in seconds, without the analysis and other pauses."""
    load_start: list[float] | None
    """Load averages of 1, 5 and 15 minutes at the start, before slowpath searched for paths."""
    load_end: list[float] | None
    """Load averages of 1, 5 and 15 minutes at the end, including slowpath's own work."""
    frequency_start_hz: int | None
    """Frequency of the CPU at the start."""
    frequency_end_hz: int | None
    """Frequency of the CPU at the end."""
    time: CpuTime | None
    """Time of the CPU by kind; null also if the run is too short."""
    siblings: list[BusyCpu]
    """Other CPUs of the same core."""
    others_busy: float | None
    """Mean busy share of the CPUs of all other cores, from 0 to 1."""
    interrupts: int | None
    """Number of interrupts of the CPU."""
    interrupted_by: list[Interrupt]
    """Most frequent interrupt sources, by decreasing count; not complete."""
    voluntary_switches: int | None
    """Number of times that the measuring thread gave up its CPU."""
    involuntary_switches: int | None
    """Number of times that another thread displaced the measuring thread."""
    waited_ns: int | None
    """Nanoseconds that the measuring thread was runnable while others ran."""
    throttled: int | None
    """Number of thermal throttling events of the CPU."""
    quota_stops: int | None
    """Number of times that the process was stopped because its control group exhausted its CPU
    quota."""


def between(
    before: Counters, after: Counters, cpu: int, siblings: Sequence[int] | None
) -> RunFacts:
    """Compare two readings of a CPU with these siblings, and return the events between them."""
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
    """Return the growth of each counter; a counter that is new in `after` began at 0."""
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
