"""Model, caches, frequency and siblings of the measured CPU."""

import os
from typing import TypedDict

from slowpath.core.errors import OptionError
from slowpath.measure.machine.files import Files, parse_size

_SYSTEM = "sys/devices/system/cpu"


class Cache(TypedDict):
    """A cache that the CPU uses; null is what is not known."""

    level: int | None
    """1 is the nearest."""
    kind: str | None
    """`Data`, `Instruction` or `Unified`."""
    bytes: int | None
    """Its size."""
    line_bytes: int | None
    """Size of a cache line."""
    cpus: list[int] | None
    """The CPUs that share it."""


class IdleState(TypedDict):
    """A state in which the CPU waits for work."""

    name: str
    """As the driver calls it."""
    exit_us: int | None
    """Microseconds until it works again."""
    disabled: bool
    """Whether the kernel may not use it."""


class Frequency(TypedDict):
    """How the CPU's frequency is chosen; null is what is not known."""

    driver: str | None
    """Who sets it, such as `intel_pstate`."""
    governor: str | None
    """Who decides, such as `performance`."""
    least_hz: int | None
    """The lowest that is allowed."""
    most_hz: int | None
    """The highest that is allowed."""
    boost: bool | None
    """Whether it may exceed the nominal one (turbo, boost)."""


class Processor(TypedDict):
    """The CPU that is measured on; null is what is not known."""

    cpu: int
    """Its number."""
    model: str | None
    """As /proc/cpuinfo says."""
    online: list[int] | None
    """All CPUs that the machine has now."""
    possible: list[int] | None
    """All that it can have while it runs."""
    isolated: list[int] | None
    """Those that get no work but what is put there (isolcpus)."""
    tickless: list[int] | None
    """Those that have no timer interrupts while they have one task (nohz_full)."""
    siblings: list[int] | None
    """The other CPUs of the same core (SMT)."""
    frequency: Frequency
    """How its frequency is chosen."""
    idle_driver: str | None
    """Who chooses how it waits for work."""
    idle_states: list[IdleState]
    """How it can."""
    idle_exit_us: int | None
    """Of those that are allowed, the longest time until it works again, in microseconds."""
    caches: list[Cache]
    """Its caches."""


def processor(files: Files, cpu: int) -> Processor:
    """What the machine says of a CPU."""
    here = f"{_SYSTEM}/cpu{cpu}"
    states = _idle_states(files, f"{here}/cpuidle")
    exits = [s["exit_us"] for s in states if not s["disabled"] and s["exit_us"] is not None]
    return {
        "cpu": cpu,
        "model": _model(files, cpu),
        "online": files.cpus(f"{_SYSTEM}/online"),
        "possible": files.cpus(f"{_SYSTEM}/possible"),
        "isolated": files.cpus(f"{_SYSTEM}/isolated"),
        "tickless": files.cpus(f"{_SYSTEM}/nohz_full"),
        "siblings": _siblings(files, cpu),
        "frequency": _frequency(files, f"{here}/cpufreq"),
        "idle_driver": files.text(f"{_SYSTEM}/cpuidle/current_driver"),
        "idle_states": states,
        "idle_exit_us": max(exits, default=None),
        "caches": _caches(files, f"{here}/cache"),
    }


def frequency_now(files: Files, cpu: int) -> int | None:
    """The frequency of a CPU at this moment, in Hz."""
    scaled = _hz(files, f"{_SYSTEM}/cpu{cpu}/cpufreq/scaling_cur_freq")
    if scaled is not None:
        return scaled
    try:
        return round(float(cpu_lines(files, cpu).get("cpu MHz", "")) * 1e6)
    except (ValueError, OverflowError):
        return None


def cpu_lines(files: Files, cpu: int) -> dict[str, str]:
    """What /proc/cpuinfo says of a CPU, by name."""
    blocks = (files.text("proc/cpuinfo") or "").split("\n\n")
    for block in blocks:
        pairs = (line.partition(":") for line in block.splitlines())
        found = {name.strip(): value.strip() for name, _, value in pairs}
        if found.get("processor") == str(cpu):
            return found
    return {}


def _model(files: Files, cpu: int) -> str | None:
    lines = cpu_lines(files, cpu)
    arm = " ".join(
        f"{name} {lines[name]}"
        for name in ("CPU implementer", "CPU architecture", "CPU part", "CPU revision")
        if name in lines
    )
    return lines.get("model name") or lines.get("cpu model") or arm or None


def _siblings(files: Files, cpu: int) -> list[int] | None:
    topology = f"{_SYSTEM}/cpu{cpu}/topology"
    cpus = files.cpus(f"{topology}/thread_siblings_list")
    return None if cpus is None else [other for other in cpus if other != cpu]


def _frequency(files: Files, folder: str) -> Frequency:
    return {
        "driver": files.text(f"{folder}/scaling_driver"),
        "governor": files.text(f"{folder}/scaling_governor"),
        "least_hz": _hz(files, f"{folder}/scaling_min_freq"),
        "most_hz": _hz(files, f"{folder}/scaling_max_freq"),
        "boost": _boost(files),
    }


def _boost(files: Files) -> bool | None:
    no_turbo = files.number(f"{_SYSTEM}/intel_pstate/no_turbo")
    if no_turbo is not None:
        return no_turbo == 0
    boost = files.number(f"{_SYSTEM}/cpufreq/boost")
    return None if boost is None else boost != 0


def _hz(files: Files, file: str) -> int | None:
    khz = files.number(file)
    return None if khz is None else khz * 1000


def _idle_states(files: Files, folder: str) -> list[IdleState]:
    return [
        {
            "name": files.text(f"{folder}/{state}/name") or state,
            "exit_us": files.number(f"{folder}/{state}/latency"),
            "disabled": files.number(f"{folder}/{state}/disable") == 1,
        }
        for state in files.names(folder)
        if state.startswith("state")
    ]


def _caches(files: Files, folder: str) -> list[Cache]:
    return [
        {
            "level": files.number(f"{folder}/{index}/level"),
            "kind": files.text(f"{folder}/{index}/type"),
            "bytes": parse_size(files.text(f"{folder}/{index}/size")),
            "line_bytes": files.number(f"{folder}/{index}/coherency_line_size"),
            "cpus": files.cpus(f"{folder}/{index}/shared_cpu_list"),
        }
        for index in files.names(folder)
        if index.startswith("index")
    ]


def chosen_cpu(asked: int | None) -> int:
    """The CPU to measure on: the last one that this process may use, unless one is named.

    Raises:
        OptionError: when this process may not run there.
    """
    allowed = os.sched_getaffinity(0)
    if asked is None:
        return max(allowed)
    if asked not in allowed:
        listed = ", ".join(map(str, sorted(allowed)))
        raise OptionError("--cpu", f"this process may not run on CPU {asked}, but on {listed}")
    return asked
