"""What workers are given: all that an analysis depends on, as they have none of the user's files.

C sources are compiled, and files that options name are read, by whoever asks.
"""

from collections.abc import Sequence
from typing import NamedTuple

from slowpath.analysis.plan import Request, Task
from slowpath.engine import analyses, objects, targets
from slowpath.programs.kernel_btf import CarriedBtf


class Part(NamedTuple):
    """What is asked of programs: the same for all of them on a target."""

    target: targets.Description
    metric: str
    options: analyses.Options


class Common(NamedTuple):
    """What goes to each worker once."""

    parts: tuple[Part, ...]
    btf: CarriedBtf
    beside: int  # analyses at once on a machine, which share what memory is free


class Item(NamedTuple):
    """A program to analyse."""

    part: int
    file: str  # names it in messages
    data: bytes
    program: objects.ProgramInfo | None


class Answer(NamedTuple):
    """What comes back."""

    version: str  # of the worker's engine
    text: str  # the result, as JSON
    detail: str  # the same


def part_of(request: Request, described_paths: int) -> Part:
    """What a request asks for."""
    options = request.options._replace(path_details=described_paths)
    return Part(request.description, request.metric, options)


def item_of(part: int, task: Task) -> Item | None:
    """A program as it is carried; None where there is none."""
    if task.error is not None or task.data is None:
        return None
    return Item(part, task.file, task.data, task.program)


def needs_kernel(items: Sequence[Item]) -> bool:
    """Whether one of them depends on the types of the kernel that it runs on."""
    return any(one.program is not None and one.program.needs_kernel for one in items)
