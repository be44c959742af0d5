"""What is wrong with a command line, or with a call from Python: an option, or a file."""

from collections.abc import Sequence


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
