"""Compiles and starts programs that use DPDK; they need neither a network card nor huge pages."""

import os
import shlex
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import IO, NamedTuple

from slowpath.core import codes
from slowpath.core.errors import InputError, UnavailableError

INSTALL = "apt install libdpdk-dev gcc pkg-config"
_ANY_MEMORY = "2048"  # MiB; the system allocates it on first use
_OPTIONS = ("--no-huge", "--no-pci", "--no-telemetry", "--no-shconf", "--log-level=lib.eal:3")


Process = subprocess.Popen[bytes]
"""A running DPDK program; its output is bytes."""


class Link(NamedTuple):
    """The connection of a DPDK program to another DPDK program."""

    device: str  # virtual device, as in DPDK's option --vdev
    memory: int  # file descriptor of shared memory


class Toolchain(NamedTuple):
    """A C compiler, its options for programs that use DPDK, and the version of DPDK."""

    compiler: list[str]
    compiling: list[str]
    linking: list[str]
    version: str

    def compile(self, source: Path, binary: Path) -> None:
        """Compile the C program `source` to the executable `binary`.

        Raises:
            InputError: if the compiler reports an error; it has the compiler's first message.
        """
        words = [*self.compiler, "-O2", "-march=native", *self.compiling, str(source)]
        words += ["-o", str(binary), *self.linking]
        made = subprocess.run(words, capture_output=True, text=True, check=False)  # noqa: S603
        if made.returncode:
            first = next(iter(made.stderr.splitlines()), "the program failed without a message")
            raise InputError(codes.TESTBED_FAILED, str(source), f"{words[0]}: {first}")


def missing(user: str) -> str | None:
    """Return the reason why DPDK programs cannot be compiled here; None if they can.

    The reason names the part of slowpath that needs DPDK, `user`, and the command that installs the
    missing package.
    """
    for tool in (_compiler()[0], "pkg-config"):
        if shutil.which(tool) is None:
            return f"{user} needs {tool}; install it with: {INSTALL}"
    if _pkg_config("--exists").returncode:
        return f"{user} needs DPDK; install it with: {INSTALL}"
    return None


def toolchain(user: str) -> Toolchain:
    """Return the tools that compile DPDK programs.

    `user` is the part of slowpath that needs them, for the error message.

    Raises:
        UnavailableError: if a tool or DPDK is missing; it has the command that installs it.
    """
    lacking = missing(user)
    if lacking is not None:
        raise UnavailableError(codes.MACHINE_UNSUITABLE, lacking)
    compiling, linking = (shlex.split(_pkg_config(one).stdout) for one in ("--cflags", "--libs"))
    return Toolchain(_compiler(), compiling, linking, _pkg_config("--modversion").stdout.strip())


def _compiler() -> list[str]:
    return shlex.split(os.environ.get("CC") or "cc")


def _pkg_config(option: str) -> subprocess.CompletedProcess[str]:
    words = ["pkg-config", option, "libdpdk"]
    return subprocess.run(words, capture_output=True, text=True, check=False)  # noqa: S603


def start(
    binary: Path,
    cpu: int,
    arguments: Iterable[str],
    errors: int | IO[bytes] = subprocess.PIPE,
    link: Link | None = None,
) -> Process:
    """Start a DPDK program on a CPU.

    DPDK's runtime files are in the folder of the program. Ctrl-C does not reach the program; the
    caller handles it.

    Args:
        binary: The executable.
        cpu: Number of the CPU that the program runs on.
        arguments: Arguments of the program after those for DPDK.
        errors: Destination of its standard error.
        link: Its connection to another DPDK program; None: no connection.
    """
    eal = [*_OPTIONS, "-m", _ANY_MEMORY, "-l", str(cpu)]
    if link is not None:
        eal += [f"--vdev={link.device}", "--log-level=pmd.net.memif:2"]  # it misses multi-process
    return subprocess.Popen(  # noqa: S603 - the program that the caller compiled
        [str(binary), *eal, "--", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=errors,
        env=os.environ | {"RUNTIME_DIRECTORY": str(binary.parent)},
        start_new_session=True,
        pass_fds=() if link is None else [link.memory],
    )
