"""Runs a command with its arguments, and sends its output to the file that `--output` names."""

import os
import sys
from argparse import Namespace
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TypeVar

from slowpath.core import codes, terminal
from slowpath.core.command import Option
from slowpath.core.errors import ExitCode, UnavailableError
from slowpath.core.inputs import NewFile, check_writable, write_error

R = TypeVar("R")


def run_checked(
    path: str, options: Sequence[Option], args: Namespace, run: Callable[[Namespace], R]
) -> R:
    """Check the files in the arguments of a command, and run the command.

    Args:
        path: The command with its groups, such as `slowpath chain facts`.
        options: The options of the command.
        args: The arguments; folders in them become the program files below them.
        run: Function that runs the command.

    Raises:
        OptionError: if an option is invalid.
        InputError: if a file cannot be used, or this machine lacks a package or feature.
    """
    from slowpath.core.inputs import check_written, expand_folders, expand_output_folders

    try:
        expand_folders(options, args)
        expand_output_folders(options, args)
        check_written(options, args)
        return run(args)
    except ModuleNotFoundError as missing:
        from slowpath.core.extras import missing_package

        unavailable = missing_package(missing.name, path)
        if unavailable is None:
            raise
        raise UnavailableError(codes.MISSING_PACKAGE, unavailable) from None


def run_into(file: str, run: Callable[[], int]) -> int:
    """Run a command with its standard output written to a file; return its exit code.

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
