"""Requests whose programs are analysed in a pool; what comes of them, in their order."""

import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import NamedTuple

from slowpath.analysis.analyst import stopped
from slowpath.analysis.bulk.items import Answer, Common, item_of, needs_kernel, part_of
from slowpath.analysis.bulk.showing import Showing
from slowpath.analysis.bulk.work import analyse
from slowpath.analysis.outcomes import Analysed
from slowpath.analysis.plan import Request, Task
from slowpath.analysis.session import TOTAL, Session, not_a_program, not_begun, renamed
from slowpath.cli.errors import UnavailableError
from slowpath.engine import analyses, identity
from slowpath.fleet.ordered import Audience, Undone
from slowpath.fleet.pool import Pool
from slowpath.work.stopping import Stopping

_DIED = "worker died"


class Found(NamedTuple):
    """A program and what is known of it, with the number of its request."""

    part: int
    analysed: Analysed


def analyse_all(
    parts: Sequence[tuple[Request, Session]],
    pool: Pool,
    stopping: Stopping,
    described_paths: int,
) -> Iterator[Found]:
    """Analyses every program of each request, in this order, wherever the pool does it.

    So many paths of each program are described in detail. A failure does not stop the rest.

    Raises:
        UnavailableError: when there are no workers, or they have another slowpath.
    """
    tasks = [(at, task) for at, (_, session) in enumerate(parts) for task in session.plan.tasks]
    items = [item_of(at, task) for at, task in tasks]
    given = [item for item in items if item is not None]
    common = Common(
        tuple(part_of(request, described_paths) for request, _ in parts),
        parts[0][1].btf.carried(needed=needs_kernel(given)),
        pool.beside,
    )
    ends = _Ends(parts[0][0].until, stopping)
    with Showing(len(given)) as shown:
        audience = Audience(ends.asked, shown.look)
        with closing(pool.each(analyse, common, given, audience)) as answers:
            for (at, task), item in zip(tasks, items, strict=True):
                outcome = ends.outcome(task, None if item is None else next(answers))
                shown.clear()
                yield Found(at, Analysed(task, outcome.result, outcome.text, outcome.detail))


class _Ends:
    """What ends all of the work: no more time, or somebody who asks for it."""

    def __init__(self, until: float | None, stopping: Stopping) -> None:
        self._until, self._stopping = until, stopping
        self._reason = ""

    def asked(self) -> bool:
        """Whether the work is to end."""
        if not self._reason and self._stopping.asked:
            self._reason = "interrupted"
        if not self._reason and self._until is not None and time.monotonic() >= self._until:
            self._reason = TOTAL
        return bool(self._reason)

    def outcome(self, task: Task, answer: Answer | Undone | None) -> analyses.Outcome:
        """What has become of a program; None where there is none to analyse.

        Raises:
            UnavailableError: when a worker has another slowpath.
        """
        if isinstance(answer, Answer):
            _check_version(answer.version)
            outcome = analyses.outcome(answer.text, answer.detail)
            return renamed(outcome, "interrupted", TOTAL) if self._reason == TOTAL else outcome
        if answer is None:
            return not_a_program(task, task.error or "cannot be read")
        if answer.died:
            reason = (
                "the processes that analysed it died, each time, perhaps for want of memory: "
                "there is no bound; --memory limits it"
            )
            return stopped(task, reason, _DIED)
        return not_begun(task, self._reason)


def _check_version(version: str) -> None:
    own = identity.version()
    if version != own:
        reason = f"the cluster's workers have slowpath {version}, this is {own}"
        raise UnavailableError(f"{reason}; install the same there")
