"""The line on standard error that shows how far a measurement is."""

import sys
from types import TracebackType

from slowpath.cli.printable import one_line
from slowpath.cli.terminal import is_terminal, tell
from slowpath.measurements.timing.sampling import Progress

_CLEAR = "\r\x1b[K"


class LiveLine:
    """Is there while a program is measured, on terminals only."""

    def __init__(self, subject: str, seconds: float) -> None:
        """The measurement takes no longer than so many seconds."""
        self._subject = one_line(subject)
        self._seconds = seconds
        self._live = is_terminal(sys.stderr)

    def __enter__(self) -> "LiveLine":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        if self._live:
            tell(_CLEAR)

    def show(self, text: str) -> None:
        """Shows what is being done."""
        if self._live:
            tell(f"{_CLEAR}{self._subject}: {text}")

    def show_progress(self, progress: Progress) -> None:
        """Shows how precise it is by now."""
        sure = "" if progress.widest is None else f", ± {progress.widest:.1%} at worst"
        self.show(
            f"measured for {progress.seconds:.1f} of at most {self._seconds:g} s, loaded "
            f"{progress.loads} times{sure}"
        )
