"""The entry point: whatever happens, the user reads a line and not a traceback."""

import os
import sys
import traceback

from slowpath.cli import app
from slowpath.exit_codes import ExitCode
from slowpath.terminal import note, prepare_streams

_TRACEBACK = "SLOWPATH_TRACEBACK"


def main() -> None:
    """Runs the command line and exits."""
    prepare_streams()
    try:
        app(prog_name="slowpath")
    except (SystemExit, KeyboardInterrupt) as leaving:
        sys.exit(leaving.code if isinstance(leaving, SystemExit) else ExitCode.INTERRUPTED)
    except BaseException as defect:  # noqa: BLE001 - a panic of the engine is no Exception
        if os.environ.get(_TRACEBACK):
            traceback.print_exc()
        note(
            f"internal error: {type(defect).__name__}: {defect} "
            f"(please report it; {_TRACEBACK}=1 shows where)"
        )
        sys.exit(ExitCode.DEFECT)
