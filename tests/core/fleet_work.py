"""Functions that worker processes run in tests of process pools.

Workers import this module, so it contains nothing else.
"""

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path


def squared(common: int, item: int) -> int:
    return common * item * item


def variable(_common: None, name: str, *_stop: object) -> str | None:
    """Return the value of an environment variable of the worker process."""
    return os.environ.get(name)


def dies_once(common: str, item: int) -> tuple[int, int]:
    """Kill the first worker that gets item 1; a second attempt succeeds.

    Return the item and the id of the process that finished it. `common` is a file that marks the
    first attempt.
    """
    if item == 1:
        try:
            Path(common).touch(exist_ok=False)
        except FileExistsError:
            pass
        else:
            os.kill(os.getpid(), signal.SIGKILL)
    return item, os.getpid()


def always_dies(_common: None, _item: int) -> None:
    """Kill the worker process that runs this function."""
    os.kill(os.getpid(), signal.SIGKILL)


def place_of_work(_common: None, _item: int) -> int:
    """Return the id of the process in which this function runs."""
    return os.getpid()


def dies_of_three(common: int, item: int, _stop: Callable[[], bool]) -> int:
    """Kill the worker that gets item 3; for other items, return `common` times the item."""
    if item == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return common * item


def waits_for_a_file(common: str, item: int, _stop: Callable[[], bool]) -> int:
    """Return item 0 at once; before other items, wait until the file `common` exists."""
    while item and not Path(common).exists():
        time.sleep(0.01)
    return item


def waits_to_be_asked(common: str, item: int, stop_requested: Callable[[], bool]) -> str:
    """Work until a stop is requested, then return `ended`.

    Files in the folder `common` mark the start (with the process id) and the end of the work.
    """
    Path(common, f"begun {item}").write_text(f"{os.getpid()}")
    while not stop_requested():
        time.sleep(0.01)
    Path(common, f"ended {item}").touch()
    return "ended"
