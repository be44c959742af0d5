"""Memory limits of analyses: the requested one, or a share of free memory."""

import os
import re
import sys
from collections.abc import Iterator

SHARE = 2
"""By default, one part in so many of what is free."""
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_RESERVED = 768 << 20
"""Bytes of address space that an analysis takes without filling them: stacks, the interpreter."""
_LEAST = 64 << 20
"""Bytes without which there is no use in beginning."""
_LIMIT = "Max address space"
"""The line of `ulimit -v` in proc(5)'s limits; the module `resource` is longer to load."""


def parse_size(text: str) -> int:
    """Reads a number of bytes: `500M`, `2G`, `1.5GiB`; the units are powers of 1024.

    Raises:
        ValueError: when it is none, or not enough for anything.
    """
    read = re.fullmatch(r"(\d+(?:\.\d+)?)([KMGT]?)(?:i?B)?", text.strip(), re.IGNORECASE | re.ASCII)
    if read is None:
        raise ValueError(f"{text!r} is not a size of memory; write 500M or 2G")
    size = int(float(read[1]) * _UNITS[read[2].upper()])
    if size < _LEAST:
        raise ValueError(f"{text!r} is too little for any analysis; it takes 64M and more")
    return size


def default_limit(beside: int = 1) -> int | None:
    """A share of what is free on the machine, in its control group, and under its limits (ulimit).

    So many analyses at once divide what is free. None where nothing tells.
    """
    free = min(_free(), default=None)
    shared = None if free is None else free // (SHARE * beside)
    allowed = _address_space()
    known = [size for size in (shared, allowed) if size is not None]
    return max(min(known), _LEAST) if known else None


def _free() -> Iterator[int]:
    """What is free, by everyone who limits it; in bytes."""
    if not sys.platform.startswith("linux"):
        return
    available = _field("/proc/meminfo", "MemAvailable:")
    if available is not None:
        yield available << 10
    yield from _free_in_groups()


def _free_in_groups() -> Iterator[int]:
    """What is left to the control groups that the process is in (cgroup v2)."""
    root = "/sys/fs/cgroup"
    lines = _read("/proc/self/cgroup").splitlines()
    path = next((line.removeprefix("0::") for line in lines if line.startswith("0::")), "/")
    while True:
        folder = root + path.rstrip("/")
        most, used = _number(f"{folder}/memory.max"), _number(f"{folder}/memory.current")
        if most is not None and used is not None:
            # The page cache goes when memory is needed.
            cached = _field(f"{folder}/memory.stat", "inactive_file") or 0
            yield max(0, most - used + cached)
        if path in {"", "/"}:
            return
        path = path.rpartition("/")[0]


def _address_space() -> int | None:
    """What `ulimit -v` leaves."""
    lines = _read("/proc/self/limits").splitlines()
    named = (line.split(_LIMIT)[1] for line in lines if line.startswith(_LIMIT))
    soft = next(named, "").split()[:1]
    if not soft or not soft[0].isdigit():  # "unlimited"
        return None
    pages = _read("/proc/self/statm").split()
    used = int(pages[0]) * os.sysconf("SC_PAGE_SIZE") if pages else 0
    return max(0, int(soft[0]) - used - _RESERVED)


def _field(file: str, name: str) -> int | None:
    for line in _read(file).splitlines():
        words = line.split()
        if words[:1] == [name] and words[1].isdigit():
            return int(words[1])
    return None


def _number(file: str) -> int | None:
    text = _read(file).strip()
    return int(text) if text.isdigit() else None


def _read(file: str) -> str:
    try:
        with open(file, encoding="utf-8", errors="replace") as stream:
            return stream.read()
    except OSError:
        return ""
