"""Sends the output of a command to a file, for the option `--output`."""

import os
import sys
from collections.abc import Callable
from contextlib import suppress

from slowpath.core import terminal
from slowpath.core.errors import ExitCode
from slowpath.core.inputs import NewFile, check_writable, write_error


def run_into(file: str, run: Callable[[], int]) -> int:
    """Run a command whose standard output goes to a file, and return its exit code.

    The file is replaced when the command ends. It stays as it is if the command fails without a
    result, or if the disk is full.

    Raises:
        InputError: if the file cannot be written.
    """
    check_writable(file)
    try:
        new = NewFile(file)
    except OSError as problem:
        raise write_error(file, problem) from None
    screen = sys.stdout
    try:
        with open(new.descriptor, "w", encoding="utf-8", errors="backslashreplace") as stream:
            sys.stdout = stream
            terminal.name_output(file)
            try:
                code = run()
            finally:
                sys.stdout = screen
                terminal.name_output(None)
            try:
                stream.flush()
                if code == ExitCode.FINE or os.fstat(new.descriptor).st_size:
                    new.keep()
            except OSError as problem:
                raise write_error(file, problem) from None
    finally:
        with suppress(OSError):
            new.discard()
    return code
