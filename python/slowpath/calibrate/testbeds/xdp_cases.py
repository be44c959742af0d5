"""Programs of an experiment, prepared once for all blocks of a run.

To prepare a program is to run it in kernel and interpreter, and to count how often it can be
repeated. What comes of it is kept from block to block; the kernel loads each program anew for each
load of a measurement all the same. Cases with much map content are let go meanwhile.
"""

from collections.abc import Callable
from typing import NamedTuple

from slowpath.calibrate.experiments.bed import Job
from slowpath.calibrate.testbeds.xdp_files import Compiler, Pair, Written, XdpFiles
from slowpath.core.engine import estimates, kernel, objects
from slowpath.core.errors import InputError

_LARGEST = 4 << 20
_ROOM = 64 << 20
"""Bytes of map content, as text, of a case that is kept, and of all of them. A case takes about ten
times as much memory."""


class Room:
    """How much more map content may be kept."""

    def __init__(self) -> None:
        """Nothing is kept yet."""
        self._left = _ROOM

    def takes(self, size: int) -> bool:
        """Whether a case of this size may be kept; it counts from now on."""
        if size > min(_LARGEST, self._left):
            return False
        self._left -= size
        return True


class _Origin(NamedTuple):
    """Which program a case is of."""

    value: int
    component: bool
    kept: bool


class Cases:
    """The cases of an experiment, each program once."""

    def __init__(self, station: kernel.Station, compiler: Compiler, job: Job, room: Room) -> None:
        """Nothing is prepared yet."""
        self._station, self._compiler, self._room = station, compiler, room
        self._points = job.points
        self._parameter = job.experiment["component"]["sweep"]["parameter"]
        self._files = XdpFiles(job.experiment, job.folder)
        self._origins: list[_Origin] = []
        self._known: list[kernel.Case | None] = []
        self._complete = False
        self.flows: list[estimates.Flow | None] = []
        self.pairs = dict[int, tuple[int, int]]()
        """Of each point, the numbers of its cases: with the component, and without."""
        self.errors = dict[int, str]()
        """Of each other point, why there are none."""

    def prepare(self, say: Callable[[str], None], stopped: Callable[[], bool]) -> bool:
        """Prepares what is not; whether all is, when it does not have to stop before."""
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
        """All cases by number."""
        return [case for case in self._known if case is not None]

    def let_go(self) -> None:
        """Keeps what there is room for until the next block."""
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
        """The programs of all points, which are being compiled meanwhile."""
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
        """The number of a program's case, which it gets now if it has none.

        Raises:
            InputError: when it is not compiled, or cannot be measured.
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
    """Packet and maps as the witness of a path, in JSON."""
    program = written.program
    return (
        f'{{"packet":"{program.packet.hex()}","length":{len(program.packet)},'
        f'"maps":{program.maps},"unknowns":[],"environment":[]}}'
    )
