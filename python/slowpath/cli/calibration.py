"""Where this machine's calibration is kept: a target file that `slowpath calibrate` writes."""

import os

from slowpath.cli.inputs import read_text, replace_file, write_error

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
