"""Repeats analyses with other numbers of cores, packet lengths and map entries.

Each value comes from an analysis of its own; nothing is interpolated.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from slowpath.bounds.analyst import RunContext, Session
from slowpath.bounds.outcomes import Analysed
from slowpath.bounds.plan import Request
from slowpath.core.jobs.stopping import Stopping
from slowpath.core.schema.results import Result

CORES, LENGTH, ENTRIES = "cores", "longest packet", "map entries"
_LENGTHS = (64, 256, 1514)
_ENTRIES = (1, 1_000, 1_000_000)
_SECONDS = 10.0
"""Maximum time of an analysis; afterwards its bound so far counts."""


class Alternative(NamedTuple):
    """A result of a program for another value of one setting."""

    setting: str  # CORES, LENGTH or ENTRIES
    value: int
    result: Result


def alternatives(
    request: Request, session: Session, analysed: Sequence[Analysed], stopping: Stopping
) -> list[list[Alternative]]:
    """Return results for other settings, for each analysed program of a session.

    Programs without a complete analysis get none, because their alternatives would need as long.

    Raises:
        InputError: if the types of the running kernel cannot be read.
    """
    found: list[list[Alternative]] = [[] for _ in analysed]
    numbers = [at for at, one in enumerate(analysed) if _is_complete(one.result)]
    if not numbers:
        return found
    tasks = [session.plan.tasks[at] for at in numbers]
    cores = max((analysed[at].result["cores"] or 0 for at in numbers), default=0)
    for setting, value in _settings(request, cores):
        changed = _changed(request, setting, value)
        part = Session(changed, session.plan._replace(tasks=tasks))
        for at, one in zip(numbers, part.analyse(RunContext(stopping)), strict=True):
            if one.result["guarantee"] is not None:
                found[at].append(Alternative(setting, value, one.result))
    return found


def _is_complete(result: Result) -> bool:
    guarantee = result["guarantee"]
    return guarantee is not None and guarantee["stopped"] is None


def _settings(request: Request, cores: int) -> Iterator[tuple[str, int]]:
    """Yield the settings that make a difference on the target, with their other values."""
    halved = cores
    counts = list[int]()
    while halved > 1:
        halved //= 2
        counts.append(halved)
    yield from ((CORES, count) for count in reversed(counts))
    longest = request.options.mtu
    lengths = (length for length in _LENGTHS if longest is None or length < longest)
    yield from ((LENGTH, length) for length in lengths)
    if request.target.machine is not None:
        given = request.options.entries
        yield from ((ENTRIES, count) for count in _ENTRIES if count != given)


def _changed(request: Request, setting: str, value: int) -> Request:
    options = request.options._replace(paths=1, code=False, path_details=0)
    if setting == CORES:
        options = options._replace(cores=value)
    elif setting == LENGTH:
        options = options._replace(mtu=value)
    else:
        options = options._replace(entries=value, entries_of={})
    seconds = options.deadline_seconds
    limit = _SECONDS if seconds is None else min(seconds, _SECONDS)
    return request._replace(options=options._replace(deadline_seconds=limit))
