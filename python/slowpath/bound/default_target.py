"""The default target, and the calibrated target file of this machine."""

import os
import os.path
from collections.abc import Sequence

from slowpath.core.inputs import read_text, replace_file, write_error
from slowpath.core.programs.sources import HEAD, is_listing

SERVER = "linux-xdp"
"""That of objects, and of what is compiled to them."""
CARD = "agilio-cx-2x40"
"""That of listings, which are code of this card; what objects are translated for."""


def default_target(files: Sequence[str]) -> str:
    """The target of all of the files: the server, unless some file is a listing.

    One target for all, so that what stands in one table can be compared. A file that cannot be
    read, or only once, such as a pipe, counts as an object; its error comes when it is read.
    """
    return CARD if any(map(_has_listing, files)) else SERVER


def _has_listing(file: str) -> bool:
    if not os.path.isfile(file):
        return False
    try:
        with open(file, "rb") as opened:
            return is_listing(opened.read(HEAD))
    except OSError:
        return False


CALIBRATED = "linux-xdp"
"""The target that a machine can be calibrated for."""


def calibration_file() -> str:
    """The file, whether it is there or not: in the user's directory for data (XDG)."""
    data = os.environ.get("XDG_DATA_HOME", "")
    if not os.path.isabs(data):  # what XDG asks: other paths count as not set
        data = os.path.expanduser("~/.local/share")
    return os.path.join(data, "slowpath", f"{CALIBRATED}.toml")


def calibration() -> str | None:
    """The description of this machine; None where it was not calibrated.

    Raises:
        InputError: when there is one that cannot be read: another machine's times in its place
            would look like this one's.
    """
    file = calibration_file()
    return read_text(file) if os.path.lexists(file) else None


def keep_calibration(text: str) -> str:
    """Keeps a description as that of this machine; where.

    Raises:
        InputError: when it cannot be written.
    """
    kept = calibration_file()
    try:
        os.makedirs(os.path.dirname(kept), exist_ok=True)
        replace_file(kept, text.encode())
    except OSError as problem:
        raise write_error(kept, problem) from None
    return kept
