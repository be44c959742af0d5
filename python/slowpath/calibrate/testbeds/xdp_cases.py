"""Programs of an experiment, prepared once for all blocks of a run.

Preparation runs a program in kernel and interpreter, and counts how often it can be repeated.
Prepared cases stay in memory from block to block, except those with much map content. Each load of
a measurement nevertheless loads all programs into the kernel anew.
"""

from collections.abc import Callable
from typing import NamedTuple

from slowpath.calibrate.experiments.bed import Job
from slowpath.calibrate.testbeds.xdp_files import Compiler, Pair, Written, XdpFiles
from slowpath.core.engine import estimates, kernel, objects
from slowpath.core.errors import InputError

_LARGEST = 4 << 20
_ROOM = 64 << 20
"""Maximum bytes of map content, as text, of one kept case and of all kept cases. A case takes about
ten times as much memory."""


class CaseBudget:
    """Memory budget for map content of kept cases."""

    def __init__(self) -> None:
        self._left = _ROOM

    def takes(self, size: int) -> bool:
        """Return true if a case of this size may be kept, and charge it to the budget."""
        if size > min(_LARGEST, self._left):
            return False
        self._left -= size
        return True


class _Origin(NamedTuple):
    """Program of a case."""

    value: int
    component: bool
    kept: bool


class Cases:
    """The cases of an experiment, each program once."""

    def __init__(
        self, station: kernel.Station, compiler: Compiler, job: Job, room: CaseBudget
    ) -> None:
        self._station, self._compiler, self._room = station, compiler, room
        self._points = job.points
        self._parameter = job.experiment["component"]["sweep"]["parameter"]
        self._files = XdpFiles(job.experiment, job.folder)
        self._origins: list[_Origin] = []
        self._known: list[kernel.Case | None] = []
        self._complete = False
        self.flows: list[estimates.Flow | None] = []
        self.pairs = dict[int, tuple[int, int]]()
        """Numbers of the cases of each point: with the component, and without."""
        self.errors = dict[int, str]()
        """Reason why a point has no cases, by point."""

    def prepare(self, say: Callable[[str], None], stopped: Callable[[], bool]) -> bool:
        """Prepare the missing cases; return true if all are prepared, false if it had to stop."""
        if not self._complete:
            return self._prepare_all(say, stopped)
        for number, origin in enumerate(self._origins):
            if self._known[number] is None:
                if stopped():
                    return False
                self._tell(say, origin.value)
                written = self._files.again(origin.value, component=origin.component)
                self._known[number] = self._prepared(written)
        return True

    def ready(self) -> list[kernel.Case]:
        """Return the prepared cases in order of their numbers."""
        return [case for case in self._known if case is not None]

    def let_go(self) -> None:
        """Release the cases that the memory budget does not cover until the next block."""
        self._files.forget()
        for number, origin in enumerate(self._origins):
            if not origin.kept:
                self._known[number] = None

    def _prepare_all(self, say: Callable[[str], None], stopped: Callable[[], bool]) -> bool:
        for known in (self._origins, self._known, self.flows, self.pairs, self.errors):
            known.clear()
        numbers = dict[str, int]()
        for value, pair in self._written(stopped):
            if stopped():
                return False
            self._tell(say, value)
            try:
                self.pairs[value] = (
                    self._number(pair.component, value, numbers, component=True),
                    self._number(pair.baseline, value, numbers, component=False),
                )
            except InputError as problem:
                self.errors[value] = problem.reason
        self._complete = not stopped()
        return self._complete

    def _written(self, stopped: Callable[[], bool]) -> list[tuple[int, Pair]]:
        """Write the programs of all points and start their compilation in the background."""
        found = []
        for value in self._points:
            if stopped():
                break
            try:
                pair = self._files.pair(value)
            except InputError as problem:
                self.errors[value] = problem.reason
                continue
            for one in pair:
                self._compiler.begin(one)
            found.append((value, pair))
        return found

    def _number(
        self, written: Written, value: int, numbers: dict[str, int], *, component: bool
    ) -> int:
        """Return the number of a program's case; prepare the case if it is missing.

        Raises:
            InputError: when the program cannot be compiled or measured.
        """
        if written.file not in numbers:
            case = self._prepared(written)
            numbers[written.file] = len(self._known)
            kept = self._room.takes(len(written.program.maps))
            self._origins.append(_Origin(value, component, kept))
            self._known.append(case)
            self.flows.append(estimates.flow(case))
        return numbers[written.file]

    def _prepared(self, written: Written) -> kernel.Case:
        compiled = self._compiler.begin(written).result()
        subject = objects.Subject(written.file, compiled.object, compiled.number, None)
        return kernel.prepare_case(self._station, subject, _witness(written), None)

    def _tell(self, say: Callable[[str], None], value: int) -> None:
        say(f"preparing {self._parameter} = {value:,}")


def _witness(written: Written) -> str:
    """Return packet and maps as the witness of a path, in JSON."""
    program = written.program
    return (
        f'{{"packet":"{program.packet.hex()}","length":{len(program.packet)},'
        f'"maps":{program.maps},"unknowns":[],"environment":[]}}'
    )
