"""The CPU that is measured on."""

import os

from slowpath.cli.errors import OptionError


def chosen_cpu(asked: int | None) -> int:
    """The CPU to measure on: the last one that this process may use, unless one is named.

    Raises:
        OptionError: when this process may not run there.
    """
    allowed = os.sched_getaffinity(0)
    if asked is None:
        return max(allowed)
    if asked not in allowed:
        listed = ", ".join(map(str, sorted(allowed)))
        raise OptionError("--cpu", f"this process may not run on CPU {asked}, but on {listed}")
    return asked
