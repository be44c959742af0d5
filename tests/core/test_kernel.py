"""Tests access to the running kernel, with and without privileges."""

import platform
import shutil
import subprocess
import sys
from collections.abc import Sequence

import pytest

from oracles import compared, missing
from slowpath.core.engine import kernel
from slowpath.core.errors import InputError, UnavailableError

OPEN = """
from slowpath.core.engine import kernel
from slowpath.core.errors import UnavailableError
try:
    kernel.open_kernel()
    print("opened")
except UnavailableError as problem:
    print(problem)
"""
"""Python code that opens the kernel, and prints `opened` or the reason why this failed."""
KIND = """
from slowpath import _core
try:
    _core.Kernel.open()
except _core.Error as problem:
    print(problem.kind)
"""
FILTER = """
import ctypes, struct, sys
number = {"x86_64": 321, "aarch64": 280}[sys.argv[1]]
codes = [(0x20, 0, 0, 0), (0x15, 0, 1, number), (0x06, 0, 0, 0x50001), (0x06, 0, 0, 0x7FFF0000)]
code = b"".join(struct.pack("HBBI", *each) for each in codes)
class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_char_p)]
libc = ctypes.CDLL(None)
assert libc.prctl(38, 1, 0, 0, 0) == 0  # PR_SET_NO_NEW_PRIVS
assert libc.prctl(22, 2, ctypes.byref(Program(len(codes), code)), 0, 0) == 0  # PR_SET_SECCOMP
"""
"""Python code that installs a seccomp filter as containers do: bpf(2) fails with EPERM."""


def _under(command: Sequence[str], code: str = OPEN, *arguments: str) -> str:
    """Run Python code through a command that removes privileges, and return the code's output.

    Skip the test if programs cannot be loaded into the kernel.
    """
    try:
        kernel.open_kernel()
    except UnavailableError as problem:
        missing("kernel", str(problem))
    if command and shutil.which(command[0]) is None:
        pytest.skip(
            f"{command[0]}, which takes privileges from a process, is not installed "
            "(apt install util-linux)"
        )
    output = _process(command, code, *arguments)
    compared("kernel", 1, "answers to processes without privileges")
    return output


def _process(command: Sequence[str], code: str, *arguments: str) -> str:
    run = [*command, sys.executable, "-c", code, *arguments]
    ended = subprocess.run(run, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_the_kernel_opens_or_the_reason_is_printed() -> None:
    output = _process([], OPEN)
    assert output == "opened\n" or output.startswith(
        "this machine: the kernel does not run BPF programs"
    )


def test_a_missing_feature_has_its_own_kind_of_error() -> None:
    output = _under(["setpriv", "--bounding-set=-all"], KIND)
    assert output == "unavailable\n"
    assert issubclass(UnavailableError, InputError)  # with its exit code


def test_missing_capabilities_are_named() -> None:
    output = _under(["setpriv", "--bounding-set=-all"])
    assert "this process has no CAP_BPF and no CAP_NET_ADMIN; " in output


def test_a_seccomp_filter_is_named() -> None:
    name = platform.machine()
    if name not in {"x86_64", "aarch64"}:
        pytest.skip(
            f"the filter is written for x86_64 and aarch64; on {name}, bpf(2) has another number"
        )
    output = _under([], FILTER + OPEN, name)
    assert "a seccomp filter prevents it (Operation not permitted" in output
