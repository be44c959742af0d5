"""Finds program files and results in folders, without files that Git ignores."""

import os
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import subprocess

_NAMES = (".bpf.o", ".bpf.c", ".asm")
"""Ends of names of program files."""
_P4 = ".p4"
_MAIN = re.compile(rb"\)\s*main\s*;")
"""The package of a P4 program (P4_16 specification, section 17); included files have none."""
_PIPELINE = ".spec"
_APPLY = re.compile(rb"^[ \t]*apply[ \t]*\{", re.MULTILINE)
"""The main block of a pipeline of DPDK's software switch; other `.spec` files have none."""
_RESULTS = ".json"
"""End of names of saved results."""
_OBJECT = ".o"
"""End of names of objects, which may be for any machine."""
_ELF = b"\x7fELF"
_MACHINE = slice(18, 20)
"""Place of the machine in an ELF header (gabi, chapter 4: e_machine)."""
_BPF = (b"\xf7\x00", b"\x00\xf7")
"""EM_BPF, 247, in both byte orders."""


def program_files(folder: str) -> list[str]:
    """Return the program files below a folder in order: objects, C, P4, pipelines, listings."""
    return sorted(file for file in _files(folder) if _is_program(file))


def result_files(folder: str) -> list[str]:
    """Return the JSON files below a folder in order: output of commands with `--format json`."""
    return sorted(file for file in _files(folder) if file.endswith(_RESULTS))


def expanded(files: Sequence[str]) -> list[str]:
    """Return the files with the program files of each folder in its place.

    A folder without program files stays; reading it is an error.
    """
    found = list[str]()
    for file in files:
        found += (program_files(file) if os.path.isdir(file) else []) or [file]
    return found


def _is_program(file: str) -> bool:
    if file.endswith(_NAMES):
        return True
    if not file.endswith((_OBJECT, _P4, _PIPELINE)):
        return False
    try:
        with open(file, "rb") as opened:
            if file.endswith(_P4):
                return _MAIN.search(opened.read()) is not None
            if file.endswith(_PIPELINE):
                return _APPLY.search(opened.read()) is not None
            head = opened.read(_MACHINE.stop)
    except OSError:
        return False
    return head.startswith(_ELF) and head[_MACHINE] in _BPF


def _files(folder: str) -> Iterator[str]:
    """Yield all files below a folder; in a Git repository, only those that Git does not ignore."""
    names = _git(folder)
    if names is not None:
        found = (os.path.join(folder, name) for name in names)
        yield from (file for file in found if os.path.isfile(file))
        return
    for path, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        yield from (os.path.join(path, name) for name in files)


def _git(folder: str) -> list[str] | None:
    """Return the names of files that Git tracks or does not ignore.

    Return None without Git or a repository, and for a folder that Git ignores: the user named it.
    """
    import subprocess

    command = ["git", "-C", folder]
    listing = ["ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate"]
    try:
        if _run([*command, "check-ignore", "-q", "."]).returncode == 0:
            return None
        listed = _run([*command, *listing])
    except (OSError, subprocess.SubprocessError):
        return None
    if listed.returncode:
        return None
    return [os.fsdecode(name) for name in listed.stdout.split(b"\0") if name]


def _run(command: Sequence[str]) -> "subprocess.CompletedProcess[bytes]":
    import subprocess

    return subprocess.run(  # noqa: S603 - git with a folder of the user
        command, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False
    )
