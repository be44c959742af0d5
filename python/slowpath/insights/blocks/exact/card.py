"""A program as the card runs it: instructions by slot of BPF, and what the card refuses, apart."""

from typing import NamedTuple

from slowpath.cli.errors import InputError
from slowpath.engine import analyses, objects, targets
from slowpath.insights.blocks.exact.elf import Code
from slowpath.insights.blocks.exact.layout import Placed, linked
from slowpath.insights.blocks.exact.replacing import depth, is_call, stands_in
from slowpath.insights.blocks.predictions.question import TARGET
from slowpath.schema.compiled import Compiled
from slowpath.schema.instructions import Refusal
from slowpath.work.stopping import Stopping


class Refused(NamedTuple):
    """An instruction that the card does not have."""

    function: str
    slot: int  # in the function
    reason: str


class Lowered(NamedTuple):
    """A program on the card."""

    compiled: Compiled
    functions: list[tuple[str, int]]  # with their first slots
    refused: list[Refused]

    def by_slot(self) -> dict[int, list[str]]:
        """By slot of the program, the instructions of the card that are for it."""
        found = dict[int, list[str]]()
        for one in self.compiled["instructions"]:
            if one["bpf"] is not None:
                found.setdefault(one["bpf"], []).append(one["text"])
        return found

    @property
    def around(self) -> int:
        """Instructions before and behind the program, which the driver adds."""
        return sum(one["bpf"] is None for one in self.compiled["instructions"])


class Subject(NamedTuple):
    """A program that is to be compiled."""

    file: str
    number: int  # in the object
    entry: str
    functions: dict[str, list[Placed]]
    btf: objects.Btf | None


def lower(subject: Subject, code: Code, map_abi: str, stopping: Stopping) -> Lowered:
    """Compiles a program for the card; instead of what it refuses, other instructions stand in.

    Raises:
        InputError: when the card refuses it as a whole, or nothing can stand in for an instruction.
        StoppedError: when it is to stop.
    """
    target, options = targets.builtin_target(TARGET), analyses.Options(map_abi=map_abi)
    exchange = _Exchange(subject, code)
    while True:
        found = objects.read_object(subject.file, bytes(code.data))
        named = objects.Subject(subject.file, found, subject.number, subject.btf)
        try:
            compiled = analyses.compiled(named, target, options, stopping)
        except analyses.RefusedError as problem:
            exchange.take(problem.refusals)
        else:
            return Lowered(compiled, exchange.functions, exchange.done)


class _Exchange:
    """Instructions that are refused, and others that stand in for them."""

    def __init__(self, subject: Subject, code: Code) -> None:
        self.functions = linked(subject.entry, subject.functions)
        self.done = list[Refused]()
        self._file = subject.file
        self._code = code
        self._depths = {name: depth(code.instructions(name)) for name, _ in self.functions}

    def take(self, refusals: list[Refusal]) -> None:
        """Exchanges what is refused; calls first, which have to find the maps that they name.

        Raises:
            InputError: when nothing can stand in for one.
        """
        calls = [one for one in refusals if self._is_call(one)]
        for one in calls or refusals:
            self._replace(one)

    def _is_call(self, refusal: Refusal) -> bool:
        slot = refusal["instruction"]
        return slot is not None and is_call(self._code.instruction(*self._place(slot)))

    def _place(self, slot: int) -> tuple[str, int]:
        """The function that a slot of the program belongs to, and the slot in it."""
        name, first = max((one for one in self.functions if one[1] <= slot), key=lambda one: one[1])
        return name, slot - first

    def _replace(self, refusal: Refusal) -> None:
        slot = refusal["instruction"]
        why = f"{refusal['place']}: {refusal['reason']}" if refusal["place"] else refusal["reason"]
        if slot is None:
            raise InputError(self._file, f"the card cannot run it: {why}")
        name, at = self._place(slot)
        instead = stands_in(self._code.instruction(name, at), self._depths[name])
        if instead is None or any(one[:2] == (name, at) for one in self.done):
            raise InputError(self._file, f"{why}; nothing can stand in for it")
        self._code.exchange(name, at, instead)
        self.done.append(Refused(name, at, refusal["reason"]))
