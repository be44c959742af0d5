"""Errors of command lines and files, and exit codes."""

from collections.abc import Sequence
from enum import IntEnum


class OptionError(Exception):
    """A value of an option that makes no sense."""

    def __init__(self, option: str, reason: str) -> None:
        super().__init__(f"{option}: {reason}")
        self.option = option
        self.reason = reason


class InputError(Exception):
    """A file that cannot be used: which, and why in one line; further reasons, one line each."""

    def __init__(self, file: str, reason: str, more: Sequence[str] = ()) -> None:
        super().__init__(f"{file}: {reason}")
        self.file = file
        self.reason = reason
        self.more = more


class UnavailableError(InputError):
    """Something that this machine does not do for us: `file` is `this machine`."""

    def __init__(self, reason: str) -> None:
        super().__init__("this machine", reason)


class StoppedError(InputError):
    """Work that had to stop before there was anything to show for it."""


class DisagreementError(InputError):
    """The running kernel does something else than slowpath's model of it: a defect here."""

    def __init__(self, file: str, reason: str, report: str) -> None:
        super().__init__(file, reason)
        self.report = report  # all that it takes to report it, but for the file


class ExitCode(IntEnum):
    """What a command's exit code says."""

    FINE = 0
    FAILED = 1  # a required rate is not met, or what is to be verified is wrong
    USAGE = 2  # the command line is wrong
    INPUT = 3  # a file cannot be read, analysed or written; this machine lacks what it takes
    UNDECIDED = 4  # stopped before the requirement, or what is to be verified, was decided
    DEFECT = 70  # slowpath itself failed
    INTERRUPTED = 130  # a second Ctrl-C, or one while nothing was being analysed
    BROKEN_PIPE = 141  # nobody reads the output any more; as if SIGPIPE (128 + 13) had ended it


_WORST_FIRST = (
    ExitCode.USAGE,
    ExitCode.INPUT,
    ExitCode.FAILED,
    ExitCode.UNDECIDED,
    ExitCode.FINE,
)


def worst(codes: list[ExitCode]) -> ExitCode:
    """The exit code of several files: a missing verdict outweighs a failed one."""
    return next((code for code in _WORST_FIRST if code in codes), ExitCode.FINE)
