"""Chains and topologies of programs: loading, facts, rewriting, plans."""

import json
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from slowpath import _core
from slowpath.core.engine.analyses import Message
from slowpath.core.engine.current_stage import LOOK, Meanwhile
from slowpath.core.engine.errors import MapsFile, of_file, of_files
from slowpath.core.engine.objects import Btf, Object
from slowpath.core.jobs.stopping import Stopping

Chain = _core.Chain
"""A chain of programs; from `read_chain`."""
KnownStart = _core.KnownStart
"""What is known of runs through a chain before they begin; from `known_start`."""


def read_chain(file: str, text: str) -> Chain:
    """A chain of programs, by its description; `file` names it.

    Raises:
        InputError: when it is no chain.
    """
    with of_file(file):
        return _core.Chain(text)


def configured(
    file: str,
    chain: Chain,
    members: list[tuple[Object, int]],
    variables: Sequence[str],
    maps: str | None,
) -> list[tuple[Object, int]]:
    """The objects of a chain with variables as a loader sets them; `file` is its description.

    `variables` are `NAME=VALUE` or `NAME=any`, `PROGRAM:NAME=VALUE` where several programs have the
    variable; `maps` is the text of a file with content of maps, of which read-only sections count.

    Raises:
        InputError: when there is no such variable or section, or a value does not fit.
    """
    with of_file(file):
        try:
            return chain.configured(members, list(variables), maps)
        except _core.Error as problem:
            if problem.option != "--maps":
                raise
            # The analysis reports it, with the name and the line of that file.
            return members


def check_assumed(assumed: Sequence[str]) -> tuple[str, ...]:
    """Facts about packets, in words, if they are such, and go together.

    Raises:
        ValueError: when they are not.
    """
    try:
        _core.Chain.check_assumed(list(assumed))
    except _core.Error as problem:
        raise ValueError(str(problem)) from None
    return tuple(assumed)


class ChainSubject(NamedTuple):
    """A chain, as it is in files."""

    file: str  # its description
    chain: Chain
    objects: list[tuple[Object, int]]  # each with the number of its program there
    btf: Btf | None  # the types of the kernel that it is for


def combine(
    subject: ChainSubject,
    name: str,
    device: str | None = None,
    compiled: Sequence[int] = (),
    known: KnownStart | None = None,
) -> Object:
    """One file of the objects of a chain.

    `name` is what the chain is called in results. Of several devices, the work of one counts. The
    programs with the numbers `compiled` run as something that they were compiled to. It is about
    packets that are known to arrive, with maps as they are known; by default, nothing is.

    Raises:
        InputError: when they do not fit together.
    """
    with of_file(subject.file):
        return subject.chain.combine(name, subject.objects, device, list(compiled), known)


class Known(NamedTuple):
    """What is known of runs through a chain before they begin."""

    assumed: Sequence[str] = ()  # facts about packets that arrive, in words
    maps: MapsFile | None = None
    frozen: frozenset[tuple[int, str]] = frozenset()  # those that hold it: program, and name there
    generations: Sequence[tuple[int, str]] = ()  # maps that are zero, of rewritten programs


def known_start(subject: ChainSubject, known: Known) -> KnownStart:
    """The same, read for the programs of a chain as they were written.

    Raises:
        InputError: when a text cannot be read, or does not fit the maps.
    """
    text = known.maps.text if known.maps else ""
    given = (list(known.assumed), text, set(known.frozen), list(known.generations))
    with of_files(subject.file, known.maps):
        return subject.chain.known_start(subject.objects, *given)


def combine_for(
    subject: ChainSubject, name: str, member: int, compiled: Sequence[int], known: KnownStart
) -> Object:
    """The chain, of which the work of one program counts, by its number; otherwise as `combine`.

    Raises:
        InputError: when the programs do not fit together.
    """
    with of_file(subject.file):
        return subject.chain.combine_for(name, subject.objects, member, list(compiled), known)


def arriving(
    subject: ChainSubject,
    name: str,
    member: int,
    compiled: Sequence[int],
    known: KnownStart | None = None,
) -> Object:
    """A program of a chain by itself, for what is known of packets that those in front let through.

    Otherwise as `combine_for`; by default, nothing is known.

    Raises:
        InputError: when the programs of a dispatcher cannot be put in order.
    """
    start = known_start(subject, Known()) if known is None else known
    with of_file(subject.file):
        return subject.chain.arriving(name, subject.objects, member, list(compiled), start)


def as_compiled(subject: ChainSubject, member: int, compiled: Sequence[int]) -> list[str]:
    """Conditions under which the programs `compiled` do what their BPF programs do.

    That is to packets on their way to a program, by its number; one sentence each.

    Raises:
        InputError: when the programs of a dispatcher cannot be put in order.
    """
    with of_file(subject.file):
        return subject.chain.as_compiled(subject.objects, member, list(compiled))


def way_to(subject: ChainSubject, member: int) -> list[tuple[int, list[int]]]:
    """How packets get to a program: those in front of it, with the results with which they go on.

    Raises:
        InputError: when the programs of a dispatcher cannot be put in order.
    """
    with of_file(subject.file):
        return subject.chain.way_to(subject.objects, member)


def start_maps(subject: ChainSubject, maps: MapsFile) -> dict[str, list[object]]:
    """What a file with content of maps says, as the `maps` of a witness of the whole chain.

    Raises:
        InputError: when it cannot be read, or does not fit the maps.
    """
    with of_files(subject.file, maps):
        said: dict[str, dict[str, list[object]]] = json.loads(
            subject.chain.start_maps(subject.objects, maps.text)
        )
    return said["maps"]


class FusedObject(NamedTuple):
    """All programs of a chain as one, and what to compare that with."""

    data: bytes
    apart: bytes | None  # an object with the programs, which call each other; None: there is none
    entry: str  # the name of the first one there; or why there is none
    maps: dict[str, str]  # the names of maps in both, by those in the chain
    covers: str  # what it can be tried on (`Rehearsed.covers`)


class Rewriting(NamedTuple):
    """How the programs of a chain are rewritten."""

    mode: Literal["trust", "guard"] | None  # None: they are not, and only facts are looked for
    fuse: str | None = None  # what they are called as one, if they are to become one
    deadline_seconds: float | None = None
    memory_bytes: int | None = None  # of the process; None: no limit
    assumed: Sequence[str] = ()  # facts about packets that arrive, in words
    maps: MapsFile | None = None  # content of maps that is frozen
    graphs: bool = False  # whether the control-flow graphs of programs are asked for
    receive: str | None = None  # how packets arrive; None: as on any device


class Verifying(NamedTuple):
    """Two programs that are compared."""

    both: tuple[tuple[Object, int], tuple[Object, int]]  # each with its number in the object
    assumed: Sequence[str] = ()  # facts about packets, in words
    btf: Btf | None = None
    deadline_seconds: float | None = None
    memory_bytes: int | None = None  # of the process; None: no limit
    receive: str | None = None  # how packets arrive; None: as on any device
    behind: tuple[ChainSubject, int] | None = None  # the program of a chain in whose place both are


def verify(verifying: Verifying, file: str, stopping: Stopping) -> str:
    """Whether two programs do the same, as JSON (`docs/json.md`); `file` is that of the second.

    Raises:
        InputError: when one of them cannot be linked or analysed.
    """
    stop = _core.Stop(verifying.deadline_seconds, verifying.memory_bytes)
    with of_file(file), stopping.calling(stop.set):
        asked = (*verifying.both, list(verifying.assumed), verifying.btf, stop, verifying.receive)
        if verifying.behind is None:
            return _core.verify(*asked)
        subject, member = verifying.behind
        return _core.verify(*asked, (subject.chain, subject.objects, member))


def rewrite_messages(
    subject: ChainSubject, rewriting: Rewriting, stopping: Stopping
) -> Iterator[Message]:
    """What holds of packets that arrive at each program of a chain, and objects to load instead.

    Each message `rewritten` has more than the one before: a document (`docs/json.md`), in the order
    of the programs the bytes of an object where one was rewritten, all as one (`FusedObject`), in
    the order of the programs what each can be tried on (`Rehearsed.covers`), and the control-flow
    graphs as JSON if they are asked for. Messages between them say what is being done (`Doing`). An
    end of time, or being asked to stop, ends it with what is known by then.

    Raises:
        InputError: when a program cannot be linked, or what is known cannot be read.
    """
    stop = _core.Stop(rewriting.deadline_seconds, rewriting.memory_bytes)
    how = rewriting.mode, rewriting.fuse, rewriting.graphs
    asked = (subject.objects, how, subject.btf, stop)
    maps = rewriting.maps.text if rewriting.maps else None
    known = (list(rewriting.assumed), maps, rewriting.receive)
    with of_files(subject.file, rewriting.maps), stopping.calling(stop.set):
        for said in subject.chain.rewrite(*asked, *known):
            if said is not None:
                yield ("rewritten", *said)
            else:
                yield ("doing", *stop.doing)


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
