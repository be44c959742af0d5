"""Runs a command with its arguments, for the command line and for Python programs."""

from argparse import Namespace
from collections.abc import Callable, Sequence
from typing import TypeVar

from slowpath.core import codes
from slowpath.core.command import Option
from slowpath.core.errors import UnavailableError

R = TypeVar("R")


def run_checked(
    path: str, options: Sequence[Option], args: Namespace, run: Callable[[Namespace], R]
) -> R:
    """Check the files in the arguments of a command, and run the command.

    Args:
        path: the command with its groups, such as `slowpath chain facts`.
        options: the options of the command.
        args: the arguments; folders in them become the program files below them.
        run: function that runs the command.

    Raises:
        OptionError: if an option is invalid.
        InputError: if a file or this machine lacks something.
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
