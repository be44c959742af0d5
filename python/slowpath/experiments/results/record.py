"""What is known of an experiment, block by block; written after each of them."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, cast

from slowpath.experiments.results.documents import Measurement, Sample
from slowpath.experiments.results.folder import ExperimentFolder
from slowpath.measurements.environment import Environment


class Block(NamedTuple):
    """What was found out in one block of time."""

    samples: Sequence[Sample]
    errors: Mapping[int, str]  # by value of the parameter, why nothing is known
    environment: Environment | None
    notes: Sequence[str]
    paths: Mapping[str, str]
    date: str
    seconds: float


class Record(NamedTuple):
    """All blocks until now, the first one first."""

    samples: Sequence[Sample] = ()
    errors: Mapping[int, str] = {}
    environments: Sequence[Environment | None] = ()
    notes: Sequence[str] = ()
    paths: Mapping[str, str] = {}
    date: str = ""  # of the first one
    seconds: float = 0.0

    @property
    def blocks(self) -> int:
        """How many there are."""
        return len(self.environments)

    def pace(self, number: int) -> float | None:
        """How many instructions the CPU did in a cycle in a block, where that is known."""
        where = self.environments[number - 1]
        pace = None if where is None else where["pace"]
        return None if pace is None else pace["instructions_per_cycle"]

    def with_block(self, number: int, block: Block) -> "Record":
        """The same with one more block, or with another one in the place of one."""
        others = [one for one in self.samples if one.block != number]
        mine = [one._replace(block=number) for one in block.samples]
        known = {one.value for one in (*others, *mine)}
        errors = {**self.errors, **block.errors}
        environments = [*self.environments]
        environments[number - 1 :] = [block.environment, *environments[number:]]
        return Record(
            sorted([*others, *mine], key=lambda one: (one.value, one.block, one.number)),
            {value: reason for value, reason in errors.items() if value not in known},
            environments,
            list(dict.fromkeys([*self.notes, *block.notes])),
            {**self.paths, **block.paths},
            self.date or block.date,
            self.seconds + block.seconds,
        )

    def with_note(self, note: str) -> "Record":
        """The same with something more that has to be known of it."""
        return self._replace(notes=list(dict.fromkeys([*self.notes, note])))


def recorded(folder: ExperimentFolder) -> Record:
    """What a directory has of blocks that were measured as a whole.

    Raises:
        InputError: when a file is damaged.
    """
    if not folder.begun:
        return Record()
    known: Measurement = folder.measurement()
    return Record(
        folder.samples(),
        {one["value"]: one["reason"] for one in known["errors"]},
        cast("list[Environment | None]", folder.environments()),
        known["notes"],
        folder.flows(),
        known["date"],
        known["seconds"],
    )
