"""Pictures by matplotlib as reproducible SVG or PNG files."""

import importlib.util
import io
from contextlib import contextmanager
from typing import TYPE_CHECKING

from slowpath.core.errors import OptionError, UnavailableError
from slowpath.core.inputs import replace_file
from slowpath.core.printable import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matplotlib.figure import Figure


PICTURES = (".svg", ".png")
"""What names of files end in."""
_DOTS = 150
"""For each inch of a PNG."""


def check_picture(file: str | None) -> None:
    """Finds out before the work whether the picture of `--plot`, if one is named, can be drawn.

    Raises:
        OptionError: when the file is none for pictures.
        UnavailableError: when matplotlib is not installed.
    """
    if file is None:
        return
    if not file.endswith(PICTURES):
        raise OptionError("--plot", "the file has to end in .svg or .png")
    if importlib.util.find_spec("matplotlib") is None:
        raise UnavailableError("matplotlib is not installed; pip install slowpath[models]")


@contextmanager
def picture(file: str, width: float, height: float) -> "Iterator[Figure]":
    """A figure of so many inches to draw on, which is then written.

    Raises:
        OSError: when the file cannot be written.
    """
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with mpl.rc_context({"svg.hashsalt": "slowpath", "svg.fonttype": "none"}):
        figure = Figure(figsize=(width, height), layout="constrained")
        FigureCanvasAgg(figure)
        yield figure
        # A date, or a version, would make two files of the same data.
        said = {"Date": None} if file.endswith(".svg") else {"Software": None}
        drawn = io.BytesIO()
        figure.savefig(drawn, format=file.rpartition(".")[2], metadata=said, dpi=_DOTS)
        replace_file(file, drawn.getvalue())


def plain(text: str) -> str:
    """A text in which dollars are no formula, and which begins such that it is shown."""
    return one_line(text).replace("$", r"\$").lstrip("_") or "?"
