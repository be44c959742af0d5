"""Runs the command `slowpath lsp`."""

import gc
import os
import select
import sys
from argparse import Namespace
from collections.abc import Sequence
from tempfile import TemporaryDirectory
from typing import NoReturn

from slowpath.core import codes
from slowpath.core.command import Option
from slowpath.core.errors import ExitCode
from slowpath.core.jobs import handling_signals
from slowpath.core.jobs.memory import default_limit
from slowpath.core.jobs.supervision import ProcessWorker
from slowpath.core.terminal import error, note
from slowpath.lsp.analysis import buffer_job
from slowpath.lsp.messages import Connection, NoInputError, ProtocolError
from slowpath.lsp.server import Server, Timing

_CHUNK = 1 << 20


def serve(args: Namespace, options: Sequence[Option]) -> int:
    """Serve the editor on standard input and output until the editor ends the server."""
    gc.enable()  # the command line turns automatic collections off, for short runs
    with handling_signals(_interrupt), TemporaryDirectory(prefix="slowpath-") as folder:
        worker = ProcessWorker([buffer_job(args, options, folder)], default_limit)
        connection = Connection(_write)
        if sys.stdin.isatty():
            note("note: an editor starts this command and writes to its standard input")
        server = Server(connection, worker, Timing(args.delay, args.on_save))
        try:
            return _loop(server, connection, worker)
        except NoInputError as problem:
            error(codes.FILE_EMPTY, "standard input", str(problem))
            return ExitCode.FAILED
        except ProtocolError as problem:
            error(
                codes.NOT_JSON,
                "standard input",
                f"is not the protocol of a language server: {problem}",
            )
            return ExitCode.FAILED
        except BrokenPipeError:
            return ExitCode.FAILED
        finally:
            server.end()


def _loop(server: Server, connection: Connection, worker: ProcessWorker) -> int:
    """Handle messages until the editor ends the server or closes standard input.

    Return the exit code.
    """
    while server.exit_code is None:
        seconds = server.wait_seconds()
        poll = select.poll()
        poll.register(0, select.POLLIN)
        output = worker.descriptor()
        if output is not None:
            poll.register(output, select.POLLIN)
        ready = poll.poll(None if seconds is None else 1000 * seconds)
        if any(number == 0 for number, _ in ready):
            data = os.read(0, _CHUNK)
            if not data:
                connection.end()
                return ExitCode.FAILED
            for message in connection.feed(data):
                server.handle(message)
        server.tick()
    return server.exit_code


def _write(data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(sys.stdout.fileno(), view) :]


def _interrupt() -> NoReturn:
    raise KeyboardInterrupt
