"""Runs the command line as a process; reports every failure in one line, without a traceback."""

import os
import signal
from types import FrameType

_INTERRUPTED = 130


def _leave(_signal: int, _frame: FrameType | None) -> None:
    os._exit(_INTERRUPTED)


# While modules are imported, there is nothing to clean up: an interrupt exits without a traceback.
if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, _leave)

import gc  # noqa: E402 - imports follow the signal handler
import sys  # noqa: E402

from slowpath.app import app  # noqa: E402
from slowpath.core import THREAD_VARIABLES  # noqa: E402
from slowpath.core.codes import INTERNAL_ERROR  # noqa: E402
from slowpath.core.errors import ExitCode  # noqa: E402
from slowpath.core.terminal import complain, prepare_streams  # noqa: E402

_TRACEBACK = "SLOWPATH_TRACEBACK"


def main() -> None:
    """Run the command line, and exit the process."""
    # Results are trees without cycles; a search for cycles in thousands of paths takes seconds.
    gc.disable()
    # Matrices of all commands are small, and threads would wait for each other: on a busy machine a
    # hundred times as long as one thread computes. Libraries read these variables on import.
    for name in THREAD_VARIABLES:
        os.environ.setdefault(name, "1")
    prepare_streams()
    try:
        code = app(sys.argv[1:])
    except KeyboardInterrupt:
        code = ExitCode.INTERRUPTED
    except SystemExit:
        raise
    except BaseException as defect:  # noqa: BLE001 - a panic of the engine is not an Exception
        _report(defect)
        code = ExitCode.DEFECT
    gc.freeze()  # skips the collection at exit
    sys.exit(code)


def _report(defect: BaseException) -> None:
    if os.environ.get(_TRACEBACK):
        import traceback

        traceback.print_exception(defect)
    complain(
        f"internal error: {type(defect).__name__}: {defect} (please report it with the traceback "
        f"that {_TRACEBACK}=1 prints) [{INTERNAL_ERROR}]"
    )
