"""Starts slowpath quickly for tests: a server imports all modules once, and forks for each run.

Tests start thousands of runs, most of which take less time than their imports. Otherwise, a run is
the same as that of `python -m slowpath`. Tests of each command's own imports start the command
without this module, such as those of every command and every format in `test_streams.py`.
"""

import atexit
import ctypes
import gc
import importlib
import json
import os
import pkgutil
import resource
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import IO, Any

IMPORTED = (
    "matplotlib.backends.backend_agg",
    "matplotlib.figure",
    "scipy.optimize",
    "scipy.stats",
    "sklearn.ensemble",
    "sklearn.gaussian_process",
    "sklearn.linear_model",
    "sklearn.pipeline",
    "yaml",
)
"""Modules that functions of slowpath import when they are called; missing modules are skipped."""
NUMERIC = frozenset({"calibrate", "contention", "fit", "insights"})
"""Commands that use numpy.

A process with all of `IMPORTED` takes 30 ms instead of 20 ms to fork and to end. The other commands
are therefore forked from a process without these modules.
"""
_NUMERIC_FOLDERS = NUMERIC - {"fit"} | {"models"}
FRESH = ("slowpath.main", "slowpath.__main__")
"""Modules that each run imports itself, because their import changes the process."""
_HUGE = 2 << 20
"""Size of a huge page in bytes."""
_MADV_COLLAPSE = 25
_LONGEST = 1 << 20
"""Maximum size of a request in bytes."""
_ONE_SERVER = threading.Lock()


def run_forked(
    words: list[str], cwd: Path, environment: dict[str, str], memory: int, timeout: float
) -> subprocess.CompletedProcess[str]:
    """Run `slowpath` in a fork of the server process, and return the completed process.

    Args:
        words: Arguments of the command.
        cwd: Working directory.
        environment: All environment variables.
        memory: Maximum address space in bytes.
        timeout: Time limit in seconds.

    Raises:
        subprocess.TimeoutExpired: after `timeout`; the process is killed.
    """
    request = {"words": words, "cwd": str(cwd), "environment": environment, "memory": memory}
    with tempfile.TemporaryFile("w+", encoding="utf-8") as output:
        run = run_forked_into(output, request, timeout)
        output.seek(0)
        run.stdout = output.read()
    return run


def run_forked_into(
    output: IO[str], request: dict[str, Any], timeout: float
) -> subprocess.CompletedProcess[str]:
    """Run `slowpath` as `run_forked` does, with its output in a file.

    Return the completed process without output. `request` has the first four arguments of
    `run_forked`, by name.
    """
    words = request["words"]
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, tempfile.TemporaryFile("w+", encoding="utf-8") as errors:
        with its, _ONE_SERVER:
            files = [output.fileno(), errors.fileno(), its.fileno()]
            server = _server(numeric=words[:1] != [] and words[0] in NUMERIC)
            socket.send_fds(server, [json.dumps(request).encode()], files)
        process = int(ours.recv(99))
        ours.settimeout(timeout)
        try:
            status = int(ours.recv(99))
        except TimeoutError:
            os.kill(process, signal.SIGKILL)
            ours.settimeout(None)
            ours.recv(99)
            raise subprocess.TimeoutExpired(["slowpath", *words], timeout) from None
        errors.seek(0)
        return subprocess.CompletedProcess(words, status, "", errors.read())


@cache
def _server(*, numeric: bool) -> socket.socket:
    """Start a server process, which ends with this process; return the socket for requests.

    A `numeric` server has also imported the modules that use NumPy.
    """
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    words = [sys.executable, __file__, str(its.fileno()), *(["numeric"] if numeric else [])]
    process = subprocess.Popen(
        words,
        pass_fds=[its.fileno()],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,  # no terminal: streams are made once, as for files
        env=os.environ | {"LC_ALL": "C.UTF-8"},
    )
    its.close()

    def end() -> None:
        ours.close()
        process.wait()

    atexit.register(end)
    return ours


def _serve(asking: socket.socket, *, numeric: bool) -> None:
    """Runs in the server: fork a process for each request until the socket `asking` closes.

    The exit code of each run is sent to the process that requested it.
    """
    _import_all(numeric=numeric)
    ready_to_fork()
    running = dict[int, tuple[int, int]]()  # process and its asker's socket, by process descriptor
    waiting = select.poll()
    waiting.register(asking, select.POLLIN)
    while True:
        for ready, _ in waiting.poll():
            if ready != asking.fileno():
                process, asker = running.pop(ready)
                waiting.unregister(ready)
                os.close(ready)
                _, status = os.waitpid(process, 0)
                _tell(asker, os.waitstatus_to_exitcode(status))
                os.close(asker)
                continue
            text, files, *_ = socket.recv_fds(asking, _LONGEST, 3)
            if not text:
                return
            process = os.fork()
            if not process:
                asking.detach()
                _run(json.loads(text), files)
            output, errors, asker = files
            os.close(output)
            os.close(errors)
            _tell(asker, process)
            end = os.pidfd_open(process)
            running[end] = process, asker
            waiting.register(end, select.POLLIN)


def ready_to_fork() -> None:
    """Make forks of this process quick: they copy fewer page tables, and collect less garbage.

    Memory becomes huge pages if the kernel can do this (Linux 6.1 and newer). A fork of a process
    with `IMPORTED` then takes 30 ms instead of 50 ms.
    """
    gc.freeze()
    madvise = ctypes.CDLL(None).madvise
    for line in Path("/proc/self/maps").read_text().splitlines():
        span, access, _, _, inode, *name = line.split()
        if (access, inode) != ("rw-p", "0") or name not in ([], ["[heap]"]):
            continue
        first, last = (int(one, 16) for one in span.split("-"))
        for page in range(-(-first // _HUGE) * _HUGE, last // _HUGE * _HUGE, _HUGE):
            madvise(ctypes.c_void_p(page), ctypes.c_size_t(_HUGE), _MADV_COLLAPSE)


def _tell(asker: int, number: int) -> None:
    with suppress(BrokenPipeError):  # gone, as after an interrupt
        os.write(asker, str(number).encode())


def _import_all(*, numeric: bool) -> None:
    """Import the modules of slowpath.

    With `numeric`, also import `IMPORTED` and the modules that use NumPy.
    """
    package = importlib.import_module("slowpath")
    folders = [one.name for one in pkgutil.iter_modules(package.__path__)]
    for name in IMPORTED if numeric else ():
        _import(name)
    for name in folders:
        if numeric or name not in _NUMERIC_FOLDERS:
            _import(f"slowpath.{name}")
            inside = getattr(sys.modules.get(f"slowpath.{name}"), "__path__", ())
            for one in pkgutil.walk_packages(inside, f"slowpath.{name}."):
                _import(one.name)


def _import(name: str) -> None:
    if name not in FRESH:
        with suppress(ImportError):
            importlib.import_module(name)


def _run(request: dict[str, object], files: list[int]) -> None:
    """Run `slowpath` with the arguments of a request in this process, and exit with its exit code.

    `files` are the descriptors of standard output and standard error.
    """
    for stream, file in enumerate(files[:2], 1):
        os.dup2(file, stream)
    os.closerange(3, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
    os.chdir(str(request["cwd"]))
    os.environ.clear()
    os.environ.update(request["environment"])  # type: ignore[call-overload]
    resource.setrlimit(resource.RLIMIT_AS, (request["memory"], request["memory"]))  # type: ignore[arg-type]
    sys.path[0] = str(request["cwd"])  # as with `python -m`
    sys.argv[1:] = request["words"]  # type: ignore[call-overload]
    code = 0
    try:
        runpy.run_module("slowpath", run_name="__main__", alter_sys=True)
    except SystemExit as left:
        code = left.code if isinstance(left.code, int) else int(left.code is not None)
    # Exit like the forks of `multiprocessing`: destroying all modules takes longer than most runs.
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])), numeric="numeric" in sys.argv[2:])
