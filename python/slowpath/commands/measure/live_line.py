"""The line on standard error that shows how far a measurement is."""

from slowpath.cli import live_line
from slowpath.measurements.timing.sampling import Progress


class LiveLine(live_line.LiveLine):
    """Is there while a program is measured, on terminals only."""

    def __init__(self, subject: str, seconds: float) -> None:
        """The measurement takes no longer than so many seconds."""
        super().__init__()
        self._subject = subject
        self._seconds = seconds

    def show(self, text: str) -> None:
        """Shows what is being done."""
        self.draw(f"{self._subject}: {text}")

    def show_progress(self, progress: Progress) -> None:
        """Shows how precise it is by now."""
        sure = "" if progress.widest is None else f", ± {progress.widest:.1%} at worst"
        self.show(
            f"measured for {progress.seconds:.1f} of at most {self._seconds:g} s, loaded "
            f"{progress.loads} times{sure}"
        )
