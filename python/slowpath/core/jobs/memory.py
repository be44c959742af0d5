"""Chooses the memory limit of an analysis: the requested limit, or a share of the free memory."""

import os
import sys
from collections.abc import Iterator

from slowpath.core.quantities import size

SHARE = 2
"""The default limit is the free memory divided by this number."""
_RESERVED = 768 << 20
"""Bytes of address space that an analysis reserves but does not fill: stacks, the interpreter."""
_LEAST = 64 << 20
"""Minimum limit in bytes; no analysis succeeds with less memory."""
_LIMIT = "Max address space"
"""Label of `ulimit -v` in /proc/self/limits (proc(5)); importing `resource` takes longer."""


def parse_size(text: str) -> int:
    """Convert a memory limit such as `500M` to bytes, as `quantities.size` does.

    Raises:
        ValueError: if the text is not a size, or the size is too small for any analysis.
    """
    read = size(text)
    if read < _LEAST:
        raise ValueError(f"{text!r} is too little; an analysis needs at least 64M")
    return read


def default_limit(concurrency: int = 1) -> int | None:
    """Return the default memory limit in bytes of each of `concurrency` parallel analyses.

    The limit is a fraction of the memory that is free on the machine and in its control groups, and
    never above `ulimit -v`. The result is None if neither the free memory nor a `ulimit` is known.
    """
    free = min(_free(), default=None)
    share = None if free is None else free // (SHARE * concurrency)
    allowed = _address_space()
    known = [size for size in (share, allowed) if size is not None]
    return max(min(known), _LEAST) if known else None


def _free() -> Iterator[int]:
    """Yield the bytes that are free on the machine, and in each control group of this process."""
    if not sys.platform.startswith("linux"):
        return
    available = _field("/proc/meminfo", "MemAvailable:")
    if available is not None:
        yield available << 10
    yield from _free_in_groups()


def _free_in_groups() -> Iterator[int]:
    """Yield the free bytes of each control group of the process (cgroup v2)."""
    root = "/sys/fs/cgroup"
    lines = _read("/proc/self/cgroup").splitlines()
    path = next((line.removeprefix("0::") for line in lines if line.startswith("0::")), "/")
    while True:
        folder = root + path.rstrip("/")
        most, used = _number(f"{folder}/memory.max"), _number(f"{folder}/memory.current")
        if most is not None and used is not None:
            # The kernel drops the page cache when memory is needed.
            cached = _field(f"{folder}/memory.stat", "inactive_file") or 0
            yield max(0, most - used + cached)
        if path in {"", "/"}:
            return
        path = path.rpartition("/")[0]


def _address_space() -> int | None:
    """Return the bytes that `ulimit -v` leaves to this process; None without a limit."""
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
