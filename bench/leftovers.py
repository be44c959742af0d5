"""What a machine holds that `slowpath measure` may leave behind, asked without slowpath.

What other processes hold is no leftover of ours; a mark in the environment tells ours from others.
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
"""Environment variable by which processes of tries are known."""
_SYS_BPF = {"x86_64": 321, "aarch64": 280}
_NEXT = {"program": 11, "map": 12, "link": 31}
"""Commands of bpf(2), of `uapi/linux/bpf.h`: the next number after one."""
_OPEN = re.compile(r"^(prog|map|link)_id:\s*(\d+)", re.MULTILINE)
_OWNER = re.compile(r"net:\[(\d+)\]")
_BPFFS = "bpf"


class Thing(NamedTuple):
    """Something that can stay."""

    kind: str
    name: str


class Held(NamedTuple):
    """What a machine holds."""

    things: frozenset[Thing]
    others: frozenset[Thing]  # of these, what processes without our mark have open


def held(mark: str, folder: Path) -> Held:
    """What the machine holds, with files in a folder that is ours."""
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
    """How many network namespaces the kernel has room for in use, also those nobody can name."""
    try:
        rows = Path("/proc/slabinfo").read_text().splitlines()
    except OSError:
        return None
    found = [row.split() for row in rows if row.startswith("net_namespace ")]
    return int(found[0][1]) if found else None


def _numbers(command: int) -> Iterator[int]:
    """All of a kind by number, none of which is opened.

    `bpftool map show` opens each. Linux forgets to let go of a program array that is opened and
    closed while it is being cleared, and it is never freed: looking would leave what is looked for.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    last = 0
    while True:
        asked = ctypes.create_string_buffer(struct.pack("<3I", last, 0, 0), 12)
        if libc.syscall(_SYS_BPF[os.uname().machine], command, asked, len(asked)) < 0:
            if ctypes.get_errno() == errno.ENOENT:
                return
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        last = int(struct.unpack_from("<3I", asked)[1])
        yield last


def _is_ours(process: Path, mark: str) -> bool:
    try:
        return f"{MARK}={mark}".encode() in (process / "environ").read_bytes().split(b"\0")
    except OSError:  # it has ended
        return False


def _reached(process: Path) -> Iterator[Thing]:
    """What a process has open, and the namespaces that it is in."""
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
    """Namespaces that are mounted, those with names, and what is pinned."""
    for row in Path("/proc/self/mountinfo").read_text().splitlines():
        place, behind = row.split()[4], row.partition(" - ")[2].split()
        if behind[0] == "nsfs":
            yield Thing("mount", place)
        elif behind[0] == _BPFFS:
            yield from (Thing("pin", str(path)) for path in Path(place).rglob("*"))
    yield from (Thing("named namespace", name) for name in _names("/run/netns"))


def _names(folder: str) -> list[str]:
    """What is in a folder, if there is one."""
    path = Path(folder)
    return [entry.name for entry in path.iterdir()] if path.is_dir() else []
