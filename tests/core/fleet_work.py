"""What workers do in tests, in a module of its own: they import it."""

import os
import signal
import time
from collections.abc import Callable
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


def dies_of_three(common: int, item: int, _asked: Callable[[], bool]) -> int:
    """No worker survives the number 3."""
    if item == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return common * item


def waits_for_a_file(common: str, item: int, _asked: Callable[[], bool]) -> int:
    """Each but the first waits until somebody has had the first."""
    while item and not Path(common).exists():
        time.sleep(0.01)
    return item


def waits_to_be_asked(common: str, item: int, asked: Callable[[], bool]) -> str:
    """Does not end by itself; says which process it is in, and that it has ended."""
    Path(common, f"begun {item}").write_text(f"{os.getpid()}")
    while not asked():
        time.sleep(0.01)
    Path(common, f"ended {item}").touch()
    return "ended"
