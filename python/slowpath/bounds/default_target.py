"""Finds the target that commands use if the user names none.

On a calibrated machine, this module also finds the target file of the calibration.
"""

import os
import os.path
from collections.abc import Sequence
from contextlib import suppress

from slowpath.core.errors import InputError
from slowpath.core.inputs import (
    STANDARD_INPUT,
    read_program,
    read_text,
    replace_file,
    write_error,
)
from slowpath.core.programs.sources import HEAD, is_listing

SERVER = "linux-xdp"
"""The default target of BPF objects and of sources that are compiled to them."""
CARD = "agilio-cx-2x40"
"""The SmartNIC target: listings contain its code, and objects can be compiled for it."""


def default_target(files: Sequence[str]) -> str:
    """Return the default target for files: a network card for assembly listings, else a server.

    If one of the files is a listing, all files get the card as their target, so that rows of a
    table can be compared. Unreadable files, and pipes, which can be read only once, count as
    objects; errors are reported by later readers.
    """
    return CARD if any(map(_has_listing, files)) else SERVER


def _has_listing(file: str) -> bool:
    if file == STANDARD_INPUT:
        with suppress(InputError):
            return is_listing(read_program(file)[:HEAD])
    if not os.path.isfile(file):
        return False
    try:
        with open(file, "rb") as opened:
            return is_listing(opened.read(HEAD))
    except OSError:
        return False


CALIBRATED = "linux-xdp"
"""The target that calibration adapts to a machine."""


def calibration_file() -> str:
    """Return the path of this machine's calibration in the user's data directory (XDG).

    The file may be missing.
    """
    data = os.environ.get("XDG_DATA_HOME", "")
    if not os.path.isabs(data):  # the XDG specification ignores relative paths
        data = os.path.expanduser("~/.local/share")
    return os.path.join(data, "slowpath", f"{CALIBRATED}.toml")


def calibration() -> str | None:
    """Read the calibrated target description of this machine; None if it was not calibrated.

    Raises:
        InputError: if the file exists but cannot be read. The target that is shipped with slowpath
            does not replace it, because it has the times of another machine.
    """
    file = calibration_file()
    return read_text(file) if os.path.lexists(file) else None


def keep_calibration(text: str) -> str:
    """Save a target description as the calibration of this machine; return the file.

    Raises:
        InputError: if the file cannot be written.
    """
    file = calibration_file()
    try:
        os.makedirs(os.path.dirname(file), exist_ok=True)
        replace_file(file, text.encode())
    except OSError as problem:
        raise write_error(file, problem) from None
    return file
