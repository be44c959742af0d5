"""Errors in the user's input, such as options and files, and the exit codes of commands."""

import re
from collections.abc import Sequence
from enum import IntEnum
from typing import Self

from slowpath.core import codes
from slowpath.core.codes import Code


class Coded(str):
    """The text of an error or warning, with the code of its cause as an attribute."""

    __slots__ = ("code",)
    code: Code

    def __new__(cls, code: Code, text: str) -> Self:
        """Create the text. Documents and reports use it like a `str`, without the code."""
        made = super().__new__(cls, text)
        made.code = code
        return made

    def __reduce__(self) -> tuple[type[Self], tuple[Code, str]]:
        """Return the constructor's arguments for pickle, which sends errors between processes."""
        return (type(self), (self.code, str(self)))


def stopped_code(reason: str | None) -> Code:
    """Return the error code for an analysis that ended early, by the reason's text (`deadline`)."""
    reason = reason or ""
    if reason.startswith("internal error"):
        return codes.ENGINE_ENDED
    if "deadline" in reason or "time limit" in reason:
        return codes.STOPPED_AT_DEADLINE
    if reason.startswith("interrupted"):
        return codes.INTERRUPTED
    return codes.STOPPED_AT_MEMORY_LIMIT if "memory" in reason else codes.STOPPED


def without_code(text: str) -> Coded:
    """Split a text of `with_code` into the text and its code, which becomes the attribute `code`.

    A text without a code gets the code `STOPPED`.
    """
    found = re.fullmatch(r"(?P<text>.*) \[(?P<code>SP\d{4})\]", text, re.DOTALL)
    if found is None:
        return Coded(codes.STOPPED, text)
    return Coded(Code(found["code"]), found["text"])


def with_code(text: str, code: str | None) -> str:
    """Append an error code to a text: `no such file [SP0201]`; None appends nothing."""
    return text if code is None else f"{text} [{code}]"


class OptionError(Exception):
    """The value of a command-line option is invalid."""

    def __init__(self, code: Code, option: str, reason: str) -> None:
        super().__init__(f"{option}: {reason}")
        self.code = code
        self.option = option
        self.reason = reason

    @property
    def coded(self) -> Coded:
        """The reason of the error, as a text with its code."""
        return Coded(self.code, self.reason)


class InputError(Exception):
    """A file cannot be used.

    The error has the name of the file, a reason in one line, and further reasons.
    """

    def __init__(self, code: Code, file: str, reason: str, further: Sequence[str] = ()) -> None:
        super().__init__(f"{file}: {reason}")
        self.code = code
        self.file = file
        self.reason = reason
        self.further = further

    @property
    def coded(self) -> Coded:
        """The reason of the error, as a text with its code."""
        return Coded(self.code, self.reason)


class UnavailableError(InputError):
    """This machine lacks a required feature; the error names `this machine` as the file."""

    def __init__(self, code: Code, reason: str) -> None:
        super().__init__(code, "this machine", reason)


class StoppedError(InputError):
    """Work was stopped, for example by the user, before it had a result."""


class DisagreementError(InputError):
    """The running kernel behaves differently from slowpath's model of it: a defect of slowpath."""

    def __init__(self, file: str, reason: str, report: str) -> None:
        super().__init__(codes.MODEL_AND_KERNEL_DIFFER, file, reason)
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
