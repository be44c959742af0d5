"""The entry point: whatever happens, the user reads a line and not a traceback."""

import gc
import os
import signal
import sys
from types import FrameType

from slowpath.app import app
from slowpath.core.errors import ExitCode
from slowpath.core.terminal import note, prepare_streams

_INTERRUPTED = 130


def _leave(_signal: int, _frame: FrameType | None) -> None:
    os._exit(_INTERRUPTED)


# An interrupt while modules are imported has nothing to clean up, and shows no traceback.
if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, _leave)


_TRACEBACK = "SLOWPATH_TRACEBACK"


def main() -> None:
    """Runs the command line and exits."""
    # Results are trees without cycles; looking for some among thousands of paths takes seconds.
    gc.disable()
    prepare_streams()
    try:
        code = app(sys.argv[1:])
    except KeyboardInterrupt:
        code = ExitCode.INTERRUPTED
    except SystemExit:
        raise
    except BaseException as defect:  # noqa: BLE001 - a panic of the engine is no Exception
        _report(defect)
        code = ExitCode.DEFECT
    gc.freeze()  # nor is anything to be collected at the end
    sys.exit(code)


def _report(defect: BaseException) -> None:
    if os.environ.get(_TRACEBACK):
        import traceback

        traceback.print_exception(defect)
    note(
        f"internal error: {type(defect).__name__}: {defect} "
        f"(please report it; {_TRACEBACK}=1 shows where)"
    )
