"""Reads counters of events that can disturb a measurement, and compares two readings.

Source: proc_stat(5); the kernel's `Documentation/scheduler/sched-stats.rst`,
`Documentation/admin-guide/cgroup-v2.rst`, `arch/x86/kernel/cpu/mce/therm_throt.c`.
"""

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypedDict

from slowpath.measure.machine import Files, frequency_now, parse_number

_TICKS = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
"""Names of the columns of /proc/stat. `user` and `nice` include the time of virtual machines that
this machine hosts.
"""


class Ticks(NamedTuple):
    """Time that a CPU spent in each state, in ticks of the kernel's clock (mostly 10 ms)."""

    user: int
    nice: int
    system: int
    idle: int
    iowait: int
    irq: int
    softirq: int
    steal: int

    def since(self, before: "Ticks") -> "Ticks":
        """Return the ticks in each state since the reading `before`.

        0 if the kernel's counter decreased.
        """
        return Ticks(*(max(0, b - a) for a, b in zip(before, self, strict=True)))

    def plus(self, other: "Ticks") -> "Ticks":
        """Return, for each state, the sum of the ticks of both readings."""
        return Ticks(*(a + b for a, b in zip(self, other, strict=True)))

    @property
    def total(self) -> int:
        """Sum of the ticks in all states."""
        return sum(self)

    @property
    def idling(self) -> int:
        """Ticks in which the CPU was idle, including waits for input and output."""
        return self.idle + self.iowait


class Counters(NamedTuple):
    """Counters of all events that can disturb a measurement, read at one moment; None: unknown."""

    seconds: float  # monotonic clock
    ticks: Mapping[int, Ticks]  # time of each CPU, by CPU number
    interrupts: Mapping[str, int] | None  # number of interrupts of the CPU, by source
    load: Sequence[float] | None  # load averages of 1, 5 and 15 minutes
    frequency_hz: int | None
    throttled: int | None  # number of thermal throttling events of the CPU's core or package
    quota_stops: int | None  # number of times that the control group exhausted its CPU quota
    voluntary: int | None  # number of voluntary context switches of the thread
    involuntary: int | None  # number of involuntary context switches of the thread
    waited_ns: int | None  # time that the thread was runnable while others ran


def without_pause(start: Counters, paused: Counters, resumed: Counters) -> Counters:
    """Exclude a pause from later differences: add its events to the counters at `start`.

    `paused` and `resumed` are the counters at the start and the end of the pause. Frequency and
    load averages do not accumulate: the result has the values of `start`.
    """
    ticks = {
        number: each.plus(resumed.ticks[number].since(paused.ticks[number]))
        for number, each in start.ticks.items()
        if number in paused.ticks and number in resumed.ticks
    }
    interrupts, growth = start.interrupts, _growth_by_name(paused.interrupts, resumed.interrupts)
    if interrupts is not None:
        interrupts = None if growth is None else Counter(interrupts) + Counter(growth)

    def shifted(start: int | None, paused: int | None, resumed: int | None) -> int | None:
        growth = _growth(paused, resumed)
        return None if start is None or growth is None else start + growth

    return start._replace(
        seconds=start.seconds + resumed.seconds - paused.seconds,
        ticks=ticks,
        interrupts=interrupts,
        throttled=shifted(start.throttled, paused.throttled, resumed.throttled),
        quota_stops=shifted(start.quota_stops, paused.quota_stops, resumed.quota_stops),
        voluntary=shifted(start.voluntary, paused.voluntary, resumed.voluntary),
        involuntary=shifted(start.involuntary, paused.involuntary, resumed.involuntary),
        waited_ns=shifted(start.waited_ns, paused.waited_ns, resumed.waited_ns),
    )


def read_counters(files: Files, cpu: int, thread: int) -> Counters:
    """Read the counters of CPU `cpu` and of one thread of this process.

    `thread` is the thread's ID in the kernel (`gettid`).
    """
    task = f"proc/self/task/{thread}"
    status = files.fields(f"{task}/status")
    schedule = (files.text(f"{task}/schedstat") or "").split()
    return Counters(
        seconds=time.monotonic(),
        ticks=parse_ticks(files.text("proc/stat") or ""),
        interrupts=parse_interrupts(files.text("proc/interrupts") or "", cpu),
        load=parse_load(files.text("proc/loadavg") or ""),
        frequency_hz=frequency_now(files, cpu),
        throttled=_throttled(files, cpu),
        quota_stops=_quota_stops(files),
        voluntary=parse_number(status.get("voluntary_ctxt_switches")),
        involuntary=parse_number(status.get("nonvoluntary_ctxt_switches")),
        waited_ns=parse_number(schedule[1]) if len(schedule) > 1 else None,
    )


def parse_ticks(text: str) -> dict[int, Ticks]:
    """Parse the lines `cpuN` of /proc/stat; return the ticks by CPU number.

    Other lines are ignored.
    """
    found = dict[int, Ticks]()
    for line in text.splitlines():
        name, *columns = line.split() or [""]
        cpu = parse_number(name.removeprefix("cpu"))
        numbers = [parse_number(column) for column in columns[: len(_TICKS)]]
        known = [number for number in numbers if number is not None]
        if name.startswith("cpu") and cpu is not None and len(known) == len(_TICKS):
            found[cpu] = Ticks(*known)
    return found


def parse_interrupts(text: str, cpu: int) -> dict[str, int] | None:
    """Parse a CPU's column of /proc/interrupts; return the number of interrupts by source.

    Return None if the CPU has no column. `36 virtio1-req.0` is a device with its interrupt number,
    `LOC Local timer interrupts` an interrupt of the kernel.
    """
    lines = text.splitlines()
    heads = lines[0].split() if lines else []
    if f"CPU{cpu}" not in heads:
        return None
    column, found = heads.index(f"CPU{cpu}"), dict[str, int]()
    for line in lines[1:]:
        name, _, rest = line.partition(":")
        words = rest.split()
        count = parse_number(words[column]) if column < len(words) else None
        if count is None or len(words) < len(heads):
            continue  # ERR and MIS are not per CPU
        description = words[len(heads) :]
        if name.strip().isdecimal():  # an interrupt of a device
            description = description[-1:]
        found[" ".join([name.strip(), *description])] = count
    return found


def parse_load(text: str) -> list[float] | None:
    """Parse the load averages in /proc/loadavg: 1, 5 and 15 minutes.

    Return None if it is malformed.
    """
    try:
        found = [float(word) for word in text.split()[:3]]
    except ValueError:
        return None
    return found if len(found) == len(("1", "5", "15")) else None


def _throttled(files: Files, cpu: int) -> int | None:
    folder = f"sys/devices/system/cpu/cpu{cpu}/thermal_throttle"
    counts = (files.number(f"{folder}/{each}_throttle_count") for each in ("core", "package"))
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def _quota_stops(files: Files) -> int | None:
    """Return how often this process's control group (version 2) used up its CPU quota.

    None if unknown.
    """
    for line in (files.text("proc/self/cgroup") or "").splitlines():
        if line.startswith("0::"):
            group = line.removeprefix("0::").strip("/")
            stat = files.text(f"sys/fs/cgroup/{group}/cpu.stat") or ""
            pairs = (each.split() for each in stat.splitlines())
            counts = {pair[0]: pair[1] for pair in pairs if len(pair) == len(("name", "count"))}
            return parse_number(counts.get("nr_throttled"))
    return None


_DECIMALS = 4  # digits after the point of shares
_SOURCES = 8  # maximum number of listed interrupt sources


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
    """An interrupt source, with its number of interrupts."""

    name: str
    """Name in /proc/interrupts."""
    count: int
    """Number of interrupts."""


class BusyCpu(TypedDict):
    """Another CPU, with the share of time in which it was busy."""

    cpu: int
    """Number of the CPU."""
    busy: float
    """Busy share of the time, from 0 to 1."""


class RunFacts(TypedDict):
    """Events that can disturb a measurement during a run; unknown values are null."""

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
    """Return the events on CPU `cpu` between the readings `before` and `after`.

    `siblings` are the other CPUs of its core; None if they are unknown.
    """
    ticks = {
        number: after.ticks[number].since(earlier)
        for number, earlier in before.ticks.items()
        if number in after.ticks
    }
    core = {cpu, *(siblings or ())}
    busy = {number: share for number, each in ticks.items() if (share := _busy(each)) is not None}
    others = [share for number, share in busy.items() if number not in core]
    interrupts = _growth_by_name(before.interrupts, after.interrupts)
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
        "interrupted_by": _most_frequent(interrupts or {}),
        "voluntary_switches": _growth(before.voluntary, after.voluntary),
        "involuntary_switches": _growth(before.involuntary, after.involuntary),
        "waited_ns": _growth(before.waited_ns, after.waited_ns),
        "throttled": _growth(before.throttled, after.throttled),
        "quota_stops": _growth(before.quota_stops, after.quota_stops),
    }


def _growth(before: int | None, after: int | None) -> int | None:
    return None if before is None or after is None else max(0, after - before)


def _growth_by_name(
    before: Mapping[str, int] | None, after: Mapping[str, int] | None
) -> dict[str, int] | None:
    """Return the growth of each counter between two readings, without counters that did not grow.

    A counter that is missing in `before` began at 0. Return None if a reading is missing.
    """
    if before is None or after is None:
        return None
    growth = {name: count - before.get(name, 0) for name, count in after.items()}
    return {name: count for name, count in growth.items() if count > 0}


def _most_frequent(interrupts: Mapping[str, int]) -> list[Interrupt]:
    ordered = sorted(interrupts.items(), key=lambda each: (-each[1], each[0]))
    return [{"name": name, "count": count} for name, count in ordered[:_SOURCES]]


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
