"""What workers do in tests, in a module of its own: they import it."""

import os
import signal
from pathlib import Path


def squared(common: int, item: int) -> int:
    """Something that is known."""
    return common * item * item


def dies_once(common: str, item: int) -> tuple[int, int]:
    """The first worker that gets to it is killed while it works; says who did it then."""
    if item == 1:
        try:
            Path(common).touch(exist_ok=False)
        except FileExistsError:
            pass
        else:
            os.kill(os.getpid(), signal.SIGKILL)
    return item, os.getpid()


def always_dies(_common: None, _item: int) -> None:
    """No worker survives it."""
    os.kill(os.getpid(), signal.SIGKILL)


def place_of_work(_common: None, _item: int) -> int:
    """Which process works."""
    return os.getpid()
