"""Reads files in which Linux describes the machine and its CPUs, for records of measurements.

Values that cannot be read are None: containers hide some of these files, and some kernels and all
other systems lack them.
"""

import os
import re
from pathlib import Path
from typing import TypedDict

from slowpath.core import codes
from slowpath.core.errors import OptionError

_MOST_CPUS = 1 << 20
"""Upper limit on the number of CPUs. A text with larger numbers is treated as malformed."""


class Files:
    """Reader of the files in a folder with the layout of `/`; tests use a folder with copies."""

    def __init__(self, root: Path = Path("/")) -> None:
        self._root = root

    def text(self, file: str) -> str | None:
        """Return the text of a file without surrounding white space; None if it is unreadable."""
        data = self.data(file)
        return None if data is None else data.decode(errors="replace").strip()

    def data(self, file: str) -> bytes | None:
        """Return the bytes of a file, or None if it cannot be read."""
        try:
            return (self._root / file).read_bytes()
        except (OSError, ValueError):
            return None

    def number(self, file: str) -> int | None:
        """Return the integer in a file, or None if it does not contain one."""
        return parse_number(self.text(file))

    def cpus(self, file: str) -> list[int] | None:
        """Return the CPU numbers in a file such as `0-3,8`.

        None if it is unreadable or malformed.
        """
        text = self.text(file)
        return None if text is None else parse_cpus(text)

    def exists(self, file: str) -> bool:
        """Return true if the file or folder exists and is visible to this process."""
        try:
            return (self._root / file).exists()
        except (OSError, ValueError):
            return False

    def names(self, folder: str) -> list[str]:
        """Return the names in a folder, in numeric order: `cpu2` before `cpu10`."""
        try:
            found = [path.name for path in (self._root / folder).iterdir()]
        except (OSError, ValueError):
            return []
        return sorted(found, key=_numeric_order)

    def fields(self, file: str) -> dict[str, str]:
        """Parse a file with lines such as `MemTotal: 24684084 kB`; return the values by name.

        If a name occurs more than once, the first line counts.
        """
        found = dict[str, str]()
        for line in (self.text(file) or "").splitlines():
            name, colon, value = line.partition(":")
            if colon:
                found.setdefault(name.strip(), value.strip())
        return found


def parse_number(text: str | None) -> int | None:
    """Parse an integer as the kernel writes it, or return None if the text is not an integer."""
    words = (text or "").split()
    return int(words[0]) if words and re.fullmatch(r"-?[0-9]{1,20}", words[0]) else None


def parse_cpus(text: str) -> list[int] | None:
    """Parse a list of CPU numbers such as `0-3,8`, or return None if the text is malformed."""
    cpus = set[int]()
    for piece in text.strip().split(",") if text.strip() else ():
        read = re.fullmatch(r"([0-9]{1,7})(?:-([0-9]{1,7}))?", piece.strip())
        first, last = (int(read[1]), int(read[2] or read[1])) if read else (1, 0)
        if not first <= last < _MOST_CPUS:
            return None
        cpus.update(range(first, last + 1))
    return sorted(cpus)


def show_cpus(cpus: list[int]) -> str:
    """Format a list of CPUs as the kernel does: `0-3,8`."""
    ranges = list[list[int]]()
    for cpu in sorted(set(cpus)):
        if ranges and ranges[-1][1] == cpu - 1:
            ranges[-1][1] = cpu
        else:
            ranges.append([cpu, cpu])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in ranges)


def parse_size(text: str | None) -> int | None:
    """Parse a size such as `32K`, `24684084 kB` or `64`.

    Return it in bytes, or None if malformed.
    """
    read = re.fullmatch(r"([0-9]{1,15})\s*([KMG]?)B?", (text or "").strip(), re.IGNORECASE)
    if read is None:
        return None
    return int(read[1]) << {"": 0, "K": 10, "M": 20, "G": 30}[read[2].upper()]


def chosen(text: str | None) -> str | None:
    """Return the word in brackets in a text such as `always [madvise] never`.

    None if there is none.
    """
    read = re.search(r"\[([^\]\s]+)\]", text or "")
    return read[1] if read else None


def _numeric_order(name: str) -> tuple[str, int, str]:
    """Return a sort key that orders names by their final number: `state2` before `state10`."""
    stem = name.rstrip("0123456789")
    number = name[len(stem) :]
    return stem, int(number[:18] or 0), name


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
    """Read the model, caches, frequency and idle states of CPU number `cpu`."""
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
    """Return the values of a CPU in /proc/cpuinfo by name; empty if the CPU is not listed."""
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
    """Return the other CPUs (SMT threads) of the core that a CPU belongs to; None if unknown."""
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
    """Return the number of the CPU to measure on: `requested` (the option `--cpu`) if given.

    If `requested` is None, this is the last CPU that this process may use.

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
