"""Event counters of a CPU, read before and after a run.

Source: proc_stat(5); the kernel's `Documentation/scheduler/sched-stats.rst`,
`Documentation/admin-guide/cgroup-v2.rst`, `arch/x86/kernel/cpu/mce/therm_throt.c`.
"""

import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from slowpath.measure.machine.files import Files, parse_number
from slowpath.measure.machine.processor import frequency_now

_TICKS = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
"""Columns of /proc/stat. `user` and `nice` include the time of guests of this machine."""


class Ticks(NamedTuple):
    """Time of a CPU by kind, in ticks of the kernel's clock (mostly 10 ms)."""

    user: int
    nice: int
    system: int
    idle: int
    iowait: int
    irq: int
    softirq: int
    steal: int

    def since(self, before: "Ticks") -> "Ticks":
        """Return the ticks between two readings. Some columns can decrease; these count as 0."""
        return Ticks(*(max(0, b - a) for a, b in zip(before, self, strict=True)))

    def plus(self, more: "Ticks") -> "Ticks":
        """Return the sum with other ticks."""
        return Ticks(*(a + b for a, b in zip(self, more, strict=True)))

    @property
    def total(self) -> int:
        """Sum of all columns."""
        return sum(self)

    @property
    def idling(self) -> int:
        """Ticks without work."""
        return self.idle + self.iowait


class Counters(NamedTuple):
    """All counters at one moment; unknown values are None."""

    seconds: float  # of a monotonic clock
    ticks: Mapping[int, Ticks]  # by CPU
    interrupts: Mapping[str, int] | None  # of the CPU, by source
    load: Sequence[float] | None  # averages of 1, 5 and 15 minutes
    frequency_hz: int | None
    throttled: int | None  # number of thermal throttling events of the CPU's core or package
    quota_stops: int | None  # number of times that the control group exhausted its CPU quota
    voluntary: int | None  # context switches of the thread
    involuntary: int | None
    waited_ns: int | None  # time that the thread was runnable while others ran


def without_pause(start: Counters, paused: Counters, resumed: Counters) -> Counters:
    """Return the counters at `start` with the growth during a pause added.

    The difference between later counters and these excludes the pause. Frequency and load averages
    do not accumulate: they keep the values of the start.
    """
    ticks = {
        number: each.plus(resumed.ticks[number].since(paused.ticks[number]))
        for number, each in start.ticks.items()
        if number in paused.ticks and number in resumed.ticks
    }
    return start._replace(
        seconds=start.seconds + resumed.seconds - paused.seconds,
        ticks=ticks,
        interrupts=_moved(start.interrupts, paused.interrupts, resumed.interrupts),
        throttled=_later(start.throttled, paused.throttled, resumed.throttled),
        quota_stops=_later(start.quota_stops, paused.quota_stops, resumed.quota_stops),
        voluntary=_later(start.voluntary, paused.voluntary, resumed.voluntary),
        involuntary=_later(start.involuntary, paused.involuntary, resumed.involuntary),
        waited_ns=_later(start.waited_ns, paused.waited_ns, resumed.waited_ns),
    )


def _later(start: int | None, paused: int | None, resumed: int | None) -> int | None:
    if start is None or paused is None or resumed is None:
        return None
    return start + max(0, resumed - paused)


def _moved(
    start: Mapping[str, int] | None,
    paused: Mapping[str, int] | None,
    resumed: Mapping[str, int] | None,
) -> dict[str, int] | None:
    if start is None or paused is None or resumed is None:
        return None
    return {
        name: start.get(name, 0) + max(0, count - paused.get(name, 0))
        for name, count in resumed.items()
    }


def read_counters(files: Files, cpu: int, thread: int) -> Counters:
    """Read the counters of a CPU, and of a thread of this process by its system-wide number."""
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
    """Parse the lines `cpuN` of /proc/stat by CPU number, skipping other lines."""
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
    """Parse a CPU's column of /proc/interrupts, by source; None if the CPU has no column.

    `36 virtio1-req.0` is a device with its number, `LOC Local timer interrupts` an interrupt of the
    kernel.
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
        said = words[len(heads) :]
        said = said[-1:] if name.strip().isdecimal() else said
        found[" ".join([name.strip(), *said])] = count
    return found


def parse_load(text: str) -> list[float] | None:
    """Parse the averages of /proc/loadavg; None if the text is malformed."""
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
    """Return the quota stops of the process's control group (version 2)."""
    for line in (files.text("proc/self/cgroup") or "").splitlines():
        if line.startswith("0::"):
            group = line.removeprefix("0::").strip("/")
            stat = files.text(f"sys/fs/cgroup/{group}/cpu.stat") or ""
            pairs = (each.split() for each in stat.splitlines())
            counts = {pair[0]: pair[1] for pair in pairs if len(pair) == len(("name", "count"))}
            return parse_number(counts.get("nr_throttled"))
    return None
