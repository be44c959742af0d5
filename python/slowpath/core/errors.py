"""Errors in the user's input, such as arguments and files, and the exit codes of commands."""

from collections.abc import Sequence
from enum import IntEnum


class OptionError(Exception):
    """The value of a command-line option is invalid."""

    def __init__(self, option: str, reason: str) -> None:
        super().__init__(f"{option}: {reason}")
        self.option = option
        self.reason = reason


class InputError(Exception):
    """A file cannot be used; the error has its name, a reason in one line, and further reasons."""

    def __init__(self, file: str, reason: str, further: Sequence[str] = ()) -> None:
        super().__init__(f"{file}: {reason}")
        self.file = file
        self.reason = reason
        self.further = further


class UnavailableError(InputError):
    """This machine lacks a required feature; the error names `this machine` as the file."""

    def __init__(self, reason: str) -> None:
        super().__init__("this machine", reason)


class StoppedError(InputError):
    """Work was stopped, for example by the user, before it had a result."""


class DisagreementError(InputError):
    """The running kernel and slowpath's model of it behave differently: a defect of slowpath."""

    def __init__(self, file: str, reason: str, report: str) -> None:
        super().__init__(file, reason)
        self.report = report  # all data for a bug report, except the file


class ExitCode(IntEnum):
    """Exit code of a command."""

    FINE = 0
    FAILED = 1  # a required rate is not met, or a verification failed
    USAGE = 2  # the command line is wrong
    INPUT = 3  # a file cannot be read, analysed or written, or this machine lacks a feature
    UNDECIDED = 4  # stopped before the requirement or the verification was decided
    DEFECT = 70  # internal error of slowpath
    INTERRUPTED = 130  # a second Ctrl-C, or the first one if no analysis was running
    BROKEN_PIPE = 141  # the reader of the output has exited; as after SIGPIPE (128 + 13)


_WORST_FIRST = (
    ExitCode.DEFECT,
    ExitCode.INTERRUPTED,
    ExitCode.BROKEN_PIPE,
    ExitCode.USAGE,
    ExitCode.INPUT,
    ExitCode.FAILED,
    ExitCode.UNDECIDED,
    ExitCode.FINE,
)


def worst(codes: list[ExitCode]) -> ExitCode:
    """Return one exit code for several files: the most severe of their codes."""
    return next((code for code in _WORST_FIRST if code in codes), ExitCode.FINE)
