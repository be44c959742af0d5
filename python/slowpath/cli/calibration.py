"""Where this machine's calibration is kept: a target file that `slowpath calibrate` writes."""

import os

from slowpath.cli.inputs import write_error

CALIBRATED = "linux-xdp"
"""The target that a machine can be calibrated for."""


def calibration_file() -> str:
    """The file, whether it is there or not: in the user's directory for data (XDG)."""
    data = os.environ.get("XDG_DATA_HOME", "")
    if not os.path.isabs(data):  # what XDG asks: other paths count as not set
        data = os.path.expanduser("~/.local/share")
    return os.path.join(data, "slowpath", f"{CALIBRATED}.toml")


def calibration() -> str | None:
    """The description of this machine; None where it was not calibrated."""
    try:
        with open(calibration_file(), encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError):
        return None


def keep_calibration(text: str) -> str:
    """Keeps a description as that of this machine; where.

    Raises:
        InputError: when it cannot be written.
    """
    kept = calibration_file()
    folder, name = os.path.split(kept)
    fresh = os.path.join(folder, f".{name}.new")
    try:
        os.makedirs(folder, exist_ok=True)
        with open(fresh, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(fresh, kept)
    except OSError as problem:
        raise write_error(kept, problem) from None
    return kept
