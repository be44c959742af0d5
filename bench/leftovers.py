"""Lists the resources that `slowpath measure` could leave behind, without using slowpath.

Resources are, for example, BPF maps and network devices. Processes of the tests have a mark in
their environment. Resources of other processes do not count.
"""

import ctypes
import errno
import os
import re
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

MARK = "SLOWPATH_KILLS"
"""Environment variable that marks the processes of the tests."""
_SYS_BPF = {"x86_64": 321, "aarch64": 280}
_NEXT = {"program": 11, "map": 12, "link": 31}
"""For each kind of BPF object, the command of bpf(2) that returns the next id (`uapi/linux/bpf.h`).
"""
_OPEN = re.compile(r"^(prog|map|link)_id:\s*(\d+)", re.MULTILINE)
_OWNER = re.compile(r"net:\[(\d+)\]")
_BPFFS = "bpf"


class Thing(NamedTuple):
    """A resource that a measurement can leave behind, such as a BPF map or a file."""

    kind: str
    name: str


class Held(NamedTuple):
    """All resources at one moment that a measurement could have left behind."""

    things: frozenset[Thing]
    others: frozenset[Thing]  # of these, what is open in processes without our mark


def held(mark: str, folder: Path) -> Held:
    """List all resources that could be left behind, including the files in `folder`.

    `mark` identifies the processes of the tests by their environment.
    """
    things = {Thing(kind, str(number)) for kind, ask in _NEXT.items() for number in _numbers(ask)}
    things |= {Thing("device", device) for device in _names("/sys/class/net")}
    things |= {Thing("file", str(path)) for path in folder.rglob("*")}
    things |= {Thing("shared memory", name) for name in _names("/dev/shm")}  # noqa: S108
    things |= set(_mounted())
    others = set[Thing]()
    for process in Path("/proc").glob("[0-9]*"):
        ours = _is_ours(process, mark)
        if ours:
            things.add(Thing("process", process.name))
        reached = set(_reached(process))
        things |= {thing for thing in reached if thing.kind == "namespace"}
        if not ours:
            others |= reached
    return Held(frozenset(things), frozenset(others))


def namespaces_in_memory() -> int | None:
    """Return the number of network namespaces in kernel memory, including unreachable ones."""
    try:
        rows = Path("/proc/slabinfo").read_text().splitlines()
    except OSError:
        return None
    found = [row.split() for row in rows if row.startswith("net_namespace ")]
    return int(found[0][1]) if found else None


def _numbers(command: int) -> Iterator[int]:
    """Yield the ids of all BPF objects of a kind, without opening them.

    `bpftool map show` opens each object. Linux never frees a program array that is opened and
    closed while it is being cleared, so listing maps with `bpftool` would itself leave arrays
    behind.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    last = 0
    while True:
        attributes = ctypes.create_string_buffer(struct.pack("<3I", last, 0, 0), 12)
        if libc.syscall(_SYS_BPF[os.uname().machine], command, attributes, len(attributes)) < 0:
            if ctypes.get_errno() == errno.ENOENT:
                return
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        last = int(struct.unpack_from("<3I", attributes)[1])
        yield last


def _is_ours(process: Path, mark: str) -> bool:
    try:
        return f"{MARK}={mark}".encode() in (process / "environ").read_bytes().split(b"\0")
    except OSError:  # it has ended
        return False


def _reached(process: Path) -> Iterator[Thing]:
    """Yield the BPF objects and network namespaces that a process keeps in existence."""
    try:
        for task in (process / "task").iterdir():
            yield from _namespace((task / "ns/net").readlink())
        for file in (process / "fdinfo").iterdir():
            for kind, number in _OPEN.findall(file.read_text()):
                yield Thing({"prog": "program"}.get(kind, kind), number)
            yield from _namespace((process / "fd" / file.name).readlink())
    except OSError:  # it has ended
        return


def _namespace(target: Path) -> Iterator[Thing]:
    for number in _OWNER.findall(str(target)):
        yield Thing("namespace", number)


def _mounted() -> Iterator[Thing]:
    """Yield mounted or named network namespaces, and pinned BPF objects."""
    for row in Path("/proc/self/mountinfo").read_text().splitlines():
        place, behind = row.split()[4], row.partition(" - ")[2].split()
        if behind[0] == "nsfs":
            yield Thing("mount", place)
        elif behind[0] == _BPFFS:
            yield from (Thing("pin", str(path)) for path in Path(place).rglob("*"))
    yield from (Thing("named namespace", name) for name in _names("/run/netns"))


def _names(folder: str) -> list[str]:
    """Return the names of the files in a folder; empty if the folder does not exist."""
    path = Path(folder)
    return [entry.name for entry in path.iterdir()] if path.is_dir() else []
