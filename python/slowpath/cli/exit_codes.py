"""Exit codes of every command."""

from enum import IntEnum


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
