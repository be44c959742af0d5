"""A request on its way: planned, then analysed program by program, for whoever asks."""

import time
from collections.abc import Iterator

from slowpath.analysis.analyst import Analyst, Audience, stopped, unreadable
from slowpath.analysis.outcomes import Analysed
from slowpath.analysis.plan import Plan, Request, Task, for_target, make_plan
from slowpath.cli.printable import json_line
from slowpath.engine import analyses
from slowpath.programs.kernel_btf import KernelBtf
from slowpath.work.stopping import Stopping

TOTAL = "total deadline"
"""Why programs are not analysed once the time for all of them is over."""


class Session:
    """What the files have been found to have, and its analyses."""

    def __init__(self, request: Request, plan: Plan | None = None) -> None:
        """Reads the files and chooses programs; C is compiled. Or takes those of another session.

        Raises:
            OptionError: when an option makes no sense for what the files are.
            InputError: when the types of a kernel cannot be read.
        """
        self.btf = KernelBtf(request.btf)
        self._request = request
        self.plan = make_plan(request) if plan is None else for_target(plan, request)

    def analyse(
        self, audience: Audience, options: analyses.Options | None = None
    ) -> Iterator[Analysed]:
        """Analyses every program; a failure does not stop the rest, being asked to stop does.

        `options` are instead of those of the request, but for the metric.

        Raises:
            InputError: when the types of the running kernel cannot be read.
        """
        tasks, target, until = self.plan.tasks, self._request.target, self._request.until
        options = options or self._request.options
        with Analyst(tasks, target, options, self.btf, audience) as analyst:
            for number, task in enumerate(tasks):
                left = None if until is None else until - time.monotonic()
                outcome = _outcome(analyst, number, task, left, audience.stopping)
                yield Analysed(task, outcome.result, outcome.text, outcome.detail)


def _outcome(
    analyst: Analyst, number: int, task: Task, left: float | None, stopping: Stopping
) -> analyses.Outcome:
    """What becomes of a program when so much time is left for all."""
    if stopping.asked:
        return not_begun(task, "interrupted")
    if task.error is not None:
        return not_a_program(task, task.error)
    if left is not None and left <= 0:
        return not_begun(task, TOTAL)
    seconds = analyst.options.deadline_seconds
    if left is None or (seconds is not None and seconds <= left):
        return analyst.analyse(number, seconds)
    return renamed(analyst.analyse(number, left), "deadline", TOTAL)


def not_a_program(task: Task, reason: str) -> analyses.Outcome:
    """The outcome of a file that has no program, or none that was read in time."""
    return stopped(task, reason, TOTAL) if task.stopped else unreadable(task, reason)


def not_begun(task: Task, reason: str) -> analyses.Outcome:
    """The outcome of a program when all of the work ends before it, for this reason."""
    return stopped(task, f"{reason} before it was analysed", reason)


def renamed(outcome: analyses.Outcome, old: str, new: str) -> analyses.Outcome:
    """The outcome with another word for why it ended early."""
    result, detail = outcome.result, outcome.detail
    ended = [
        part
        for part in (result["guarantee"], result["estimate"])
        if part is not None and part["stopped"] == old
    ]
    for part in ended:
        part["stopped"] = new
    if ended:
        return outcome._replace(text=json_line(result))
    failure = detail["failure"]
    if failure is not None and failure["stopped"] == old:
        message = failure["what"].replace(old, new, 1)
        result["error"] = message
        detail = detail | {"failure": failure | {"stopped": new, "what": message}}
        return outcome._replace(text=json_line(result), detail=detail)
    return outcome
