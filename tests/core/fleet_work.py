"""Functions that worker processes run in tests of pools.

They are in a separate module, because workers import this module.
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
    """Kill the first worker that gets item 1. Return the item and the process that finished it."""
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
    """Kill the worker that gets item 3.

    For other items, return the product of `common` and the item.
    """
    if item == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return common * item


def waits_for_a_file(common: str, item: int, _stop: Callable[[], bool]) -> int:
    """Return item 0 at once; for other items, wait until the file with the name `common` exists."""
    while item and not Path(common).exists():
        time.sleep(0.01)
    return item


def waits_to_be_asked(common: str, item: int, stop_requested: Callable[[], bool]) -> str:
    """Run until a stop is requested, and return a text.

    Files in the folder `common` mark the start (with the process id) and the end of the work.
    """
    Path(common, f"begun {item}").write_text(f"{os.getpid()}")
    while not stop_requested():
        time.sleep(0.01)
    Path(common, f"ended {item}").touch()
    return "ended"
