"""Work on a file in a process that may die: what ends it is said of the file."""

from collections.abc import Callable

from slowpath.cli.errors import InputError
from slowpath.work.errand import Errand, Work
from slowpath.work.jobs import Message
from slowpath.work.stopping import Stopping


def attempt(
    file: str,
    work: Work,
    allowed: tuple[float | None, int | None],
    stopping: Stopping,
    take: Callable[[Message], None],
) -> str | None:
    """Has the work done, within so many seconds and bytes; why it ended early, if it did.

    Raises:
        InputError: when it cannot be done, or a defect ended it.
    """
    seconds, memory = allowed
    with Errand(work, memory) as errand:
        stopped = errand.run(seconds, stopping, take)
    if stopped is not None and stopped.startswith("internal error"):
        raise InputError(file, stopped)
    return stopped
