"""Draws pictures with matplotlib and writes them as reproducible SVG or PNG files."""

import importlib.util
import io
from contextlib import contextmanager
from typing import TYPE_CHECKING

from slowpath.core import codes
from slowpath.core.errors import OptionError, UnavailableError
from slowpath.core.extras import not_installed
from slowpath.core.inputs import replace_file
from slowpath.core.printable import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matplotlib.figure import Figure


PICTURES = (".svg", ".png")
"""File extensions of pictures."""
_DOTS = 150
"""Resolution of a PNG, in dots per inch."""


def can_draw() -> bool:
    """Return true if matplotlib is installed."""
    return importlib.util.find_spec("matplotlib") is not None


def check_picture(file: str | None) -> None:
    """Check before long work that the file of `--plot` can be drawn; None always passes.

    Raises:
        OptionError: if the file does not end in `.svg` or `.png`.
        UnavailableError: if matplotlib is not installed.
    """
    if file is None:
        return
    if not file.endswith(PICTURES):
        raise OptionError(codes.WRONG_SUFFIX, "--plot", "the file name must end in .svg or .png")
    if not can_draw():
        raise UnavailableError(codes.MISSING_PACKAGE, not_installed(["matplotlib"], "plots"))


@contextmanager
def picture(file: str, width: float, height: float) -> "Iterator[Figure]":
    """Yield an empty matplotlib figure, and write it to `file` at the end of the context.

    `width` and `height` are in inches.

    Raises:
        OSError: if the file cannot be written.
    """
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with mpl.rc_context({"svg.hashsalt": "slowpath", "svg.fonttype": "none"}):
        figure = Figure(figsize=(width, height), layout="constrained")
        FigureCanvasAgg(figure)
        yield figure
        # A date or version in the metadata would make files of the same data differ.
        metadata = {"Date": None} if file.endswith(".svg") else {"Software": None}
        content = io.BytesIO()
        figure.savefig(content, format=file.rpartition(".")[2], metadata=metadata, dpi=_DOTS)
        replace_file(file, content.getvalue())


def plain(text: str) -> str:
    """Escape a text for matplotlib, where `$` starts a formula and a leading `_` hides a label."""
    return one_line(text).replace("$", r"\$").lstrip("_") or "?"
