"""Reads model, caches, frequency and sibling threads of the CPU on which a measurement runs."""

import os
from typing import TypedDict

from slowpath.core import codes
from slowpath.core.errors import OptionError
from slowpath.measure.machine_files import Files, parse_size

_SYSTEM = "sys/devices/system/cpu"


class Cache(TypedDict):
    """A cache that the CPU uses; unknown values are null."""

    level: int | None
    """Level of the cache, from 1 for the nearest."""
    kind: str | None
    """Kind: `Data`, `Instruction` or `Unified`."""
    bytes: int | None
    """Size in bytes."""
    line_bytes: int | None
    """Size of a cache line in bytes."""
    cpus: list[int] | None
    """CPUs that share the cache."""


class IdleState(TypedDict):
    """An idle state of the CPU."""

    name: str
    """Name of the state in the idle driver."""
    exit_us: int | None
    """Exit latency of the state in microseconds."""
    disabled: bool
    """True if the kernel may not use the state."""


class Frequency(TypedDict):
    """Frequency scaling of the CPU; unknown values are null."""

    driver: str | None
    """Scaling driver, such as `intel_pstate`."""
    governor: str | None
    """Scaling governor, such as `performance`."""
    least_hz: int | None
    """Minimum allowed frequency in hertz."""
    most_hz: int | None
    """Maximum allowed frequency in hertz."""
    boost: bool | None
    """True if the CPU may exceed its nominal frequency (turbo, boost)."""


class Processor(TypedDict):
    """The CPU that a measurement ran on; unknown values are null."""

    cpu: int
    """Number of the CPU."""
    model: str | None
    """Model name in /proc/cpuinfo."""
    online: list[int] | None
    """CPUs of the machine that are online."""
    possible: list[int] | None
    """CPUs that can be online while the machine runs."""
    isolated: list[int] | None
    """CPUs that run only explicitly assigned work (isolcpus)."""
    tickless: list[int] | None
    """CPUs without timer interrupts while they run a single task (nohz_full)."""
    siblings: list[int] | None
    """Other CPUs of the same core (SMT)."""
    frequency: Frequency
    """Frequency scaling of the CPU."""
    idle_driver: str | None
    """Driver that controls idle states."""
    idle_states: list[IdleState]
    """Available idle states of the CPU."""
    idle_exit_us: int | None
    """Longest exit latency of the enabled idle states, in microseconds."""
    caches: list[Cache]
    """Caches of the CPU."""


def processor(files: Files, cpu: int) -> Processor:
    """Read model, caches, frequency and idle states of a CPU."""
    folder = f"{_SYSTEM}/cpu{cpu}"
    states = _idle_states(files, f"{folder}/cpuidle")
    exits = [s["exit_us"] for s in states if not s["disabled"] and s["exit_us"] is not None]
    return {
        "cpu": cpu,
        "model": _model(files, cpu),
        "online": files.cpus(f"{_SYSTEM}/online"),
        "possible": files.cpus(f"{_SYSTEM}/possible"),
        "isolated": files.cpus(f"{_SYSTEM}/isolated"),
        "tickless": files.cpus(f"{_SYSTEM}/nohz_full"),
        "siblings": sibling_cpus(files, cpu),
        "frequency": _frequency(files, f"{folder}/cpufreq"),
        "idle_driver": files.text(f"{_SYSTEM}/cpuidle/current_driver"),
        "idle_states": states,
        "idle_exit_us": max(exits, default=None),
        "caches": _caches(files, f"{folder}/cache"),
    }


def frequency_now(files: Files, cpu: int) -> int | None:
    """Return the current frequency of a CPU in hertz, or None if it is unknown."""
    scaled = _hz(files, f"{_SYSTEM}/cpu{cpu}/cpufreq/scaling_cur_freq")
    if scaled is not None:
        return scaled
    try:
        return round(float(cpu_lines(files, cpu).get("cpu MHz", "")) * 1e6)
    except (ValueError, OverflowError):
        return None


def cpu_lines(files: Files, cpu: int) -> dict[str, str]:
    """Return the fields of a CPU in /proc/cpuinfo, by name."""
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


def sibling_cpus(files: Files, cpu: int) -> list[int] | None:
    """Return the other CPUs of the same core (SMT); None if they are unknown."""
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


def chosen_cpu(requested: int | None) -> int:
    """Return the CPU to measure on: `requested`, or the last CPU that this process may use.

    Raises:
        OptionError: if this process may not run on `requested`.
    """
    allowed = os.sched_getaffinity(0)
    if requested is None:
        return max(allowed)
    if requested not in allowed:
        listed = ", ".join(map(str, sorted(allowed)))
        raise OptionError(
            codes.CPU_NOT_ALLOWED,
            "--cpu",
            f"this process may not run on CPU {requested}; allowed are {listed}",
        )
    return requested
