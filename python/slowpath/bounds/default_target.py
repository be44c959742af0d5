"""Finds the target device for commands whose user names none.

On a calibrated machine, this module also finds the target file of the calibration.
"""

import os
import os.path
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from slowpath.core.errors import InputError
from slowpath.core.inputs import (
    STANDARD_INPUT,
    read_program,
    read_text,
    replace_file,
    write_error,
)
from slowpath.core.programs.sources import HEAD, is_listing, is_pipeline

SERVER = "linux-xdp"
"""The default target of BPF objects and of sources that are compiled to them."""
CARD = "agilio-cx-2x40"
"""The SmartNIC target: listings contain its code, and objects can be compiled for it."""
SWITCH = "dpdk-swx"
"""The target of pipelines for DPDK's software switch."""


def default_target(files: Sequence[str]) -> str:
    """Return the default target for files: a network card for assembly listings, else a server.

    If one of the files is a listing, all files get the card as their target, so that rows of a
    table can be compared. Pipelines of DPDK's software switch get the switch as target, unless
    other files are among them; a missing or empty pipeline is recognised by its name. Unreadable
    files and pipes count as objects. Later readers report errors.
    """
    if any(map(_has_listing, files)):
        return CARD
    return SWITCH if files and all(map(_has_pipeline, files)) else SERVER


def default_remark(files: Sequence[str]) -> tuple[str, str] | None:
    """Return a note for the user if a listing makes the card the target of other files, too.

    The note consists of the listing's file name and a text. Return None if no other file is
    affected. Missing files do not count, because they have errors of their own.
    """
    listing = next(filter(_has_listing, files), None)
    if listing is None:
        return None
    others = [one for one in files if one == STANDARD_INPUT or os.path.exists(one)]
    count = sum(not _has_listing(one) for one in others)
    if not count:
        return None
    named = "another file" if count == 1 else f"{count} other files"
    text = f"is a listing, so {CARD} is the target of {named} too; choose another with --target"
    return listing, text


def _has_listing(file: str) -> bool:
    return is_listing(_head(file))


def _has_pipeline(file: str) -> bool:
    return is_pipeline(file, _head(file))


def _head(file: str) -> bytes:
    """Return the first bytes of a file; empty if the file cannot be read."""
    if file == STANDARD_INPUT:
        with suppress(InputError):
            return read_program(file)[:HEAD]
    if not os.path.isfile(file):
        return b""
    try:
        with open(file, "rb") as opened:
            return opened.read(HEAD)
    except OSError:
        return b""


CALIBRATED = "linux-xdp"
"""The target that calibration adapts to a machine."""


def calibration_file() -> str:
    """Return the path of this machine's calibration in the user's data directory (XDG).

    The file may be missing.
    """
    data = os.environ.get("XDG_DATA_HOME", "")
    if not os.path.isabs(data):  # the XDG specification ignores relative paths
        data = os.path.expanduser("~/.local/share")
    return os.path.join(data, "slowpath", f"{CALIBRATED}.toml")


def calibration() -> str | None:
    """Read the target description that a calibration of this machine wrote; None without one.

    A shipped target is no replacement, because it has the times of another machine.

    Raises:
        InputError: if the file exists but cannot be read.
    """
    file = calibration_file()
    return read_text(file) if os.path.lexists(file) else None


def keep_calibration(text: str) -> str:
    """Save a target description as the calibration of this machine; return the path of its file.

    Raises:
        InputError: if the file cannot be written.
    """
    file = calibration_file()
    try:
        os.makedirs(os.path.dirname(file), exist_ok=True)
        replace_file(file, text.encode())
    except OSError as problem:
        raise write_error(file, problem) from None
    return file


class Cpu(NamedTuple):
    """Identification of a CPU as in `/proc/cpuinfo`, with its name for messages."""

    vendor: str
    family: int
    model: int
    name: str
    flags: frozenset[str] = frozenset()  # features; empty if they are not known


class Measured(NamedTuple):
    """CPUs of one microarchitecture, with the shipped target that was calibrated on one of them."""

    vendor: str
    family: int
    models: tuple[range, ...]
    target: str
    flag: str | None = None  # feature that only these CPUs of the family have


MEASURED = (
    Measured("AuthenticAMD", 25, (range(0x10), range(0x20, 0x60)), "linux-xdp-zen3"),
    Measured(
        "AuthenticAMD",
        25,
        (range(0x10, 0x20), range(0x60, 0x80), range(0xA0, 0xB0)),
        "linux-xdp-zen4",
    ),
    # Hypervisors mask model numbers. Only these cores and their successors have matrix extensions.
    Measured(
        "GenuineIntel",
        6,
        (range(0x8F, 0x90), range(0xCF, 0xD0), range(0xAD, 0xAF)),
        "linux-xdp-golden-cove",
        flag="amx_tile",
    ),
)
"""Microarchitectures with shipped targets. Model numbers are those of the Linux kernel
(arch/x86/kernel/cpu/amd.c, `bsp_init_amd`, and arch/x86/include/asm/intel-family.h)."""
_USUAL = "linux-xdp-zen4"
"""The shipped target that stands for CPUs of all other families."""
MEASURED_WITH_SWITCH = "linux-xdp-golden-cove"
"""The shipped target of the machine that measured the times of `dpdk-swx`."""
CPU_VARIABLE = "SLOWPATH_CPU"
"""Environment variable with the CPU for which times are estimated, as `VENDOR-FAMILY-MODEL`."""


class Nearest(NamedTuple):
    """The shipped target whose CPU is most like a given CPU."""

    target: str
    foreign_cpu: str | None  # name of the CPU if it is of another family than the target's


def nearest_target() -> Nearest:
    """Return the shipped target that was calibrated on the CPU most like this machine's.

    Raises:
        ValueError: if the environment variable `SLOWPATH_CPU` is set, but not to a CPU.
    """
    cpu = _requested_cpu() or _own_cpu()
    if cpu is None:
        return Nearest(_USUAL, "unknown")
    alike = [one for one in MEASURED if (one.vendor, one.family) == (cpu.vendor, cpu.family)]
    for one in alike:
        if one.flag in cpu.flags or any(cpu.model in models for models in one.models):
            return Nearest(one.target, None)
    return Nearest(alike[0].target if alike else _USUAL, cpu.name)


def cpu_unlike(target: str) -> str | None:
    """Return the name of this machine's CPU if a shipped target is from another CPU family.

    Return None if the target fits this machine.

    Raises:
        ValueError: as in `nearest_target`.
    """
    nearest = nearest_target()
    if nearest.target == target and nearest.foreign_cpu is None:
        return None
    cpu = _requested_cpu() or _own_cpu()
    return "unknown" if cpu is None else cpu.name


def _requested_cpu() -> Cpu | None:
    text = os.environ.get(CPU_VARIABLE)
    if not text:
        return None
    vendor, *numbers = text.split("-")
    if len(numbers) != 2 or not all(one.isdecimal() for one in numbers):  # noqa: PLR2004
        raise ValueError(
            f"environment variable {CPU_VARIABLE}: {text!r} is not a CPU; write "
            "VENDOR-FAMILY-MODEL of /proc/cpuinfo, such as AuthenticAMD-25-17"
        )
    return Cpu(vendor, int(numbers[0]), int(numbers[1]), text)


def _own_cpu() -> Cpu | None:
    """Return the CPU of this machine; None if the kernel does not state family and model."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            found: dict[str, str] = {}
            for line in file:
                key, _, value = line.partition(":")
                if not key.strip():  # the end of the first CPU
                    break
                found[key.strip()] = value.strip()
        family, model = int(found["cpu family"]), int(found["model"])
        flags = frozenset(found.get("flags", "").split())
        return Cpu(found["vendor_id"], family, model, found["model name"], flags)
    except (OSError, KeyError, ValueError):
        return None
