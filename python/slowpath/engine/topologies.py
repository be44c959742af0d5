"""Programs on the paths of a network."""

from collections.abc import Iterator
from typing import Literal, NamedTuple

from slowpath import _core
from slowpath.engine.analyses import Message
from slowpath.engine.errors import of_file
from slowpath.engine.meanwhile import LOOK, Meanwhile
from slowpath.engine.objects import Btf, Object
from slowpath.work.stopping import Stopping

Topology = _core.Topology
"""Programs on the paths of a network; from `read_topology`."""


def read_topology(file: str, text: str) -> Topology:
    """Programs on the paths of a network, by their description; `file` names it.

    Raises:
        InputError: when it is none.
    """
    with of_file(file):
        return _core.Topology(text)


class TopologySubject(NamedTuple):
    """Programs on the paths of a network, as they are in files."""

    file: str  # its description
    topology: Topology
    objects: list[tuple[Object, int, str]]  # with the program's number and the file's digest
    btf: Btf | None  # the types of the kernel that the programs are for


class Planning(NamedTuple):
    """How variants of programs are planned."""

    mode: Literal["trust", "guard"]
    neighbours: bool  # only what the program right before establishes is used
    variants: int  # at most, for a node
    threads: int
    cache: str | None  # a folder; None: nothing is kept
    build: str  # tells what kept results rest on besides
    identity: str  # tells the topology from others
    deadline_seconds: float | None = None
    memory_bytes: int | None = None  # of the process; None: no limit


def plan_messages(
    subject: TopologySubject, planning: Planning, stopping: Stopping
) -> Iterator[Message]:
    """Which variants of programs pay on the paths of a network.

    The message `planned` has a document (`docs/json.md`), and the bytes of an object for each
    variant in it. Messages before it say what is being done (`Doing`). An end of time, or being
    asked to stop, ends it with what is known by then.

    Raises:
        InputError: when a program cannot be linked.
    """
    stop = _core.Stop(planning.deadline_seconds, planning.memory_bytes)
    with of_file(subject.file), stopping.calling(stop.set):

        def work() -> tuple[str, list[bytes]]:
            return subject.topology.plan(
                subject.objects,
                subject.btf,
                stop,
                mode=planning.mode,
                neighbours=planning.neighbours,
                variants=planning.variants,
                threads=planning.threads,
                cache=planning.cache,
                build=planning.build,
                identity=planning.identity,
            )

        planned = Meanwhile(work)
        while not planned.wait(LOOK):
            yield ("doing", *stop.doing)
        yield ("planned", *planned.result())
