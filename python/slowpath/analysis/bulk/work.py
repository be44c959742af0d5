"""What a worker does with a program: analyses it in a process of its own, which alone may die."""

import json
from functools import lru_cache

from slowpath.analysis.analyst import Analyst, Audience
from slowpath.analysis.bulk.items import Answer, Common, Item
from slowpath.analysis.plan import Task
from slowpath.analysis.progress import Watcher
from slowpath.engine import identity, objects, targets
from slowpath.engine.analyses import Run
from slowpath.fleet.ordered import Asked
from slowpath.programs.kernel_btf import CarriedBtf, KernelBtf
from slowpath.work.stopping import Stopping

_FILES = 4
"""Files that are kept: programs of one come one after the other."""
_TARGETS = 64


def analyse(common: Common, item: Item, asked: Asked) -> Answer:
    """Analyses a program; whatever becomes of it is a result."""
    part = common.parts[item.part]
    target = _target(part.target)
    found = _object(item.file, item.data)
    task = Task(item.file, found, len(item.data), item.program, target.name, part.metric)
    options = part.options
    if options.memory_bytes is None:
        options = options._replace(memory_bytes=_memory(common.beside))
    stopping = Stopping()
    audience = Audience(stopping, lambda *_: _Heeding(asked, stopping))
    with Analyst([task], target, options, _btf(common.btf), audience, apart=True) as analyst:
        outcome = analyst.analyse(0, options.deadline_seconds)
    return Answer(identity.version(), outcome.text, json.dumps(outcome.detail))


class _Heeding(Watcher):
    """Looks at whether an analysis is to end."""

    def __init__(self, asked: Asked, stopping: Stopping) -> None:
        self._asked, self._stopping = asked, stopping

    def look(self, run: Run) -> None:  # noqa: ARG002 - nobody is here who would see it
        """As `Watcher` has it."""
        if not self._stopping.asked and self._asked():
            self._stopping.ask()


@lru_cache(_TARGETS)
def _target(described: targets.Description) -> targets.Target:
    return targets.made(described)


@lru_cache(_FILES)
def _object(file: str, data: bytes) -> objects.Object:
    return objects.read_object(file, data)


@lru_cache(1)
def _btf(carried: CarriedBtf) -> KernelBtf:
    return KernelBtf.arrived(carried)


@lru_cache(1)
def _memory(beside: int) -> int | None:
    """How much of this machine's memory is for each of so many analyses."""
    from slowpath.work.memory import default_limit

    return default_limit(beside)
