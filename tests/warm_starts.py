"""The command in processes that have large packages imported already: forks of one that has.

Most runs that compute with scikit-learn take a second to import it, and little more for all else.
Nothing of slowpath itself is imported before the fork, nor read: of all else a run is what
`python -m slowpath` is (`test_startup.py`, `test_streams.py` and others start it themselves).
"""

import atexit
import importlib
import json
import os
import resource
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path
from threading import Lock

IMPORTED = (
    "numpy",
    "ortools.sat.python.cp_model",
    "scipy.optimize",
    "scipy.stats",
    "sklearn.dummy",
    "sklearn.ensemble",
    "sklearn.gaussian_process",
    "sklearn.linear_model",
    "sklearn.pipeline",
    "yaml",
)
"""What runs share; one that is not installed is left out."""
_LONGEST = 1 << 20
"""Bytes of a request."""
_ONE_AT_A_TIME = Lock()


def run_forked(
    words: list[str], cwd: Path, environment: dict[str, str], memory: int, timeout: float
) -> subprocess.CompletedProcess[str]:
    """A run of the command.

    Args:
        words: what is typed after `slowpath`.
        cwd: where it runs.
        environment: all of its variables.
        memory: bytes of address space that it may take.
        timeout: seconds.

    Raises:
        subprocess.TimeoutExpired: after `timeout`; the process is killed.
    """
    request = {"words": words, "cwd": str(cwd), "environment": environment, "memory": memory}
    with (
        _ONE_AT_A_TIME,
        tempfile.TemporaryFile("w+", encoding="utf-8") as output,
        tempfile.TemporaryFile("w+", encoding="utf-8") as errors,
    ):
        server = _server()
        server.settimeout(None)
        files = [output.fileno(), errors.fileno()]
        socket.send_fds(server, [json.dumps(request).encode()], files)
        process = int(server.recv(99))
        server.settimeout(timeout)
        try:
            status = int(server.recv(99))
        except TimeoutError:
            os.kill(process, signal.SIGKILL)
            server.settimeout(None)
            server.recv(99)
            raise subprocess.TimeoutExpired(["slowpath", *words], timeout) from None
        output.seek(0)
        errors.seek(0)
        return subprocess.CompletedProcess(words, status, output.read(), errors.read())


@cache
def _server() -> socket.socket:
    """The process that forks, while this one lives."""
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    words = [sys.executable, __file__, str(its.fileno())]
    process = subprocess.Popen(words, pass_fds=[its.fileno()], stdin=subprocess.DEVNULL)
    its.close()

    def end() -> None:
        ours.close()
        process.wait()

    atexit.register(end)
    return ours


def _serve(number: int) -> None:
    """Forks a run for each request until nobody is there to ask."""
    for name in IMPORTED:
        with suppress(ImportError):
            importlib.import_module(name)
    with socket.socket(fileno=number) as asking:
        while True:
            text, files, *_ = socket.recv_fds(asking, _LONGEST, 2)
            if not text:
                return
            process = os.fork()
            if not process:
                asking.close()
                _run(json.loads(text), files)
            for file in files:
                os.close(file)
            asking.send(str(process).encode())
            _, status = os.waitpid(process, 0)
            asking.send(str(os.waitstatus_to_exitcode(status)).encode())


def _run(request: dict[str, object], files: list[int]) -> None:
    """Becomes a run of the command, and ends as that does."""
    for stream, file in enumerate(files, 1):
        os.dup2(file, stream)
        os.close(file)
    os.chdir(str(request["cwd"]))
    os.environ.clear()
    os.environ.update(request["environment"])  # type: ignore[call-overload]
    resource.setrlimit(resource.RLIMIT_AS, (request["memory"], request["memory"]))  # type: ignore[arg-type]
    sys.path[0] = str(request["cwd"])  # as `python -m` has it
    sys.argv[1:] = request["words"]  # type: ignore[call-overload]
    runpy.run_module("slowpath", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    _serve(int(sys.argv[1]))
