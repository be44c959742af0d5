"""A line on standard error that shows how far work is, on terminals that can clear it again."""

import sys
from types import TracebackType
from typing import Self

from slowpath.cli.printable import one_line
from slowpath.cli.terminal import is_terminal, tell

_CLEAR = "\r\x1b[K"
_MINUTE = 60.0


class LiveLine:
    """Is there while work goes on, and gone when that has ended."""

    def __init__(self) -> None:
        self.live = is_terminal(sys.stderr)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        if self.live:
            tell(_CLEAR)

    def draw(self, text: str) -> None:
        """Shows a text instead of what was there."""
        if self.live:
            tell(f"{_CLEAR}{one_line(text)}")


def about_left(seconds: float) -> str:
    """How long work may still take, in words."""
    if seconds < _MINUTE:
        return f"about {max(seconds, 1):.0f} s left"
    return f"about {seconds / _MINUTE:.0f} min left"
