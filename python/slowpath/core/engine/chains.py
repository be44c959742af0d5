"""Chains and topologies of programs: loading, facts about packets, rewriting, plans."""

import json
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from slowpath import _core
from slowpath.core.engine.analyses import Message
from slowpath.core.engine.current_stage import POLL_SECONDS, BackgroundWork
from slowpath.core.engine.errors import MapsFile, errors_as_file_errors, errors_as_maps_errors
from slowpath.core.engine.objects import Btf, Object
from slowpath.core.jobs.stopping import Stopping

Chain = _core.Chain
"""A chain of programs; from `read_chain`."""
KnownStart = _core.KnownStart
"""Facts about arriving packets and initial content of maps of a chain; from `known_start`."""


def read_chain(file: str, text: str) -> Chain:
    """Read the description of a chain; `file` is its name in errors.

    Raises:
        InputError: if the description is invalid.
    """
    with errors_as_file_errors(file):
        return _core.Chain(text)


def configured(
    file: str,
    chain: Chain,
    members: list[tuple[Object, int]],
    variables: Sequence[str],
    maps: str | None,
) -> list[tuple[Object, int]]:
    """Return the objects of a chain with the values of variables that a loader would set.

    Args:
        file: Name of the chain's description.
        chain: The chain.
        members: Object of each program, and number of the program in the object.
        variables: `NAME=VALUE` or `NAME=any`; `PROGRAM:NAME=VALUE` if several programs have the
            variable.
        maps: Text of a file with content of maps; only read-only sections are used.

    Raises:
        InputError: if a variable or section does not exist, or a value does not fit.
    """
    with errors_as_file_errors(file):
        try:
            return chain.configured(members, list(variables), maps)
        except _core.Error as problem:
            if problem.option != "--maps":
                raise
            # The analysis reports the error, with the name of the maps file and the line.
            return members


def check_assumed(assumed: Sequence[str]) -> tuple[str, ...]:
    """Return facts about packets, in words, if they are valid and do not contradict each other.

    Raises:
        ValueError: if a fact is invalid, or facts contradict each other.
    """
    try:
        _core.Chain.check_assumed(list(assumed))
    except _core.Error as problem:
        raise ValueError(str(problem)) from None
    return tuple(assumed)


class ChainSubject(NamedTuple):
    """A chain with the objects of its programs."""

    file: str  # file of the description
    chain: Chain
    objects: list[tuple[Object, int]]  # object of each program, and its number in the object
    btf: Btf | None  # types of the kernel that the programs are for


def combine(
    subject: ChainSubject,
    name: str,
    device: str | None = None,
    compiled: Sequence[int] = (),
    known: KnownStart | None = None,
) -> Object:
    """Combine the objects of a chain into one file.

    Args:
        subject: The chain.
        name: Name of the chain in results.
        device: The device whose work counts, if there are several.
        compiled: Numbers of the programs that run in compiled form.
        known: Known facts about arriving packets and content of maps; None: no knowledge.

    Raises:
        InputError: if the objects do not fit together.
    """
    with errors_as_file_errors(subject.file):
        return subject.chain.combine(name, subject.objects, device, list(compiled), known)


class ChainKnowledge(NamedTuple):
    """Known facts about arriving packets, and known initial content of maps of a chain."""

    assumed: Sequence[str] = ()  # facts about arriving packets, in words
    maps: MapsFile | None = None
    frozen: frozenset[tuple[int, str]] = frozenset()  # maps with that content: program, map name
    generations: Sequence[tuple[int, str]] = ()  # maps of rewritten programs that hold zero


def known_start(subject: ChainSubject, known: ChainKnowledge) -> KnownStart:
    """Read this knowledge for the original programs of a chain.

    Raises:
        InputError: if a text cannot be read, or does not fit the maps.
    """
    text = known.maps.text if known.maps else ""
    given = (list(known.assumed), text, set(known.frozen), list(known.generations))
    with errors_as_maps_errors(subject.file, known.maps):
        return subject.chain.known_start(subject.objects, *given)


def combine_for(
    subject: ChainSubject, name: str, member: int, compiled: Sequence[int], known: KnownStart
) -> Object:
    """Combine a chain as `combine` does, but count only the work of program number `member`.

    Raises:
        InputError: if the programs do not fit together.
    """
    with errors_as_file_errors(subject.file):
        return subject.chain.combine_for(name, subject.objects, member, list(compiled), known)


def with_arriving_packets(
    subject: ChainSubject,
    name: str,
    member: int,
    compiled: Sequence[int],
    known: KnownStart | None = None,
) -> Object:
    """Return program number `member` alone, for the packets that the programs before it pass on.

    The other parameters are those of `combine`.

    Raises:
        InputError: if the programs of a dispatcher cannot be ordered.
    """
    start = known_start(subject, ChainKnowledge()) if known is None else known
    with errors_as_file_errors(subject.file):
        return subject.chain.arriving(name, subject.objects, member, list(compiled), start)


def equivalence_conditions(
    subject: ChainSubject, member: int, compiled: Sequence[int]
) -> list[str]:
    """Return the conditions under which the programs `compiled` behave like their BPF programs.

    The conditions are for packets on their way to program number `member`; one sentence each.

    Raises:
        InputError: if the programs of a dispatcher cannot be ordered.
    """
    with errors_as_file_errors(subject.file):
        return subject.chain.as_compiled(subject.objects, member, list(compiled))


def upstream_programs(subject: ChainSubject, member: int) -> list[tuple[int, list[int]]]:
    """Return the programs before a program, each with the return values that pass packets on.

    Raises:
        InputError: if the programs of a dispatcher cannot be ordered.
    """
    with errors_as_file_errors(subject.file):
        return subject.chain.way_to(subject.objects, member)


def start_maps(subject: ChainSubject, maps: MapsFile) -> dict[str, list[object]]:
    """Convert a file with content of maps into the `maps` of a witness of the whole chain.

    Raises:
        InputError: if the file cannot be read, or does not fit the maps.
    """
    with errors_as_maps_errors(subject.file, maps):
        said: dict[str, dict[str, list[object]]] = json.loads(
            subject.chain.start_maps(subject.objects, maps.text)
        )
    return said["maps"]


class FusedObject(NamedTuple):
    """All programs of a chain fused into one, and an object to compare it with."""

    data: bytes
    apart: bytes | None  # object with separate programs that call each other; None: not available
    entry: str  # name of the first program in `apart`, or the reason why `apart` is missing
    maps: dict[str, str]  # names of maps in both objects, by their names in the chain
    covers: str  # test inputs (`Rehearsed.covers`)


class Rewriting(NamedTuple):
    """Options for rewriting the programs of a chain."""

    mode: Literal["trust", "guard"] | None  # None: derive facts only, do not rewrite
    fuse: str | None = None  # name of the fused program; None: do not fuse
    deadline_seconds: float | None = None
    memory_bytes: int | None = None  # limit of the process; None: no limit
    assumed: Sequence[str] = ()  # facts about arriving packets, in words
    maps: MapsFile | None = None  # content of frozen maps
    graphs: bool = False  # true: also return control-flow graphs of the programs
    receive: str | None = None  # receiving environment; None: any device


class Verifying(NamedTuple):
    """Two programs to compare."""

    both: tuple[tuple[Object, int], tuple[Object, int]]  # object, number of the program in it
    assumed: Sequence[str] = ()  # facts about packets, in words
    btf: Btf | None = None
    deadline_seconds: float | None = None
    memory_bytes: int | None = None  # limit of the process; None: no limit
    receive: str | None = None  # receiving environment; None: any device
    behind: tuple[ChainSubject, int] | None = None  # chain, and the program that both replace


def verify(verifying: Verifying, file: str, stopping: Stopping) -> str:
    """Check two programs for equivalence and return the result as JSON text (`docs/json.md`).

    `file` is the file of the second program.

    Raises:
        InputError: if one of the programs cannot be linked or analysed.
    """
    stop = _core.Stop(verifying.deadline_seconds, verifying.memory_bytes)
    with errors_as_file_errors(file), stopping.calling(stop.set):
        asked = (*verifying.both, list(verifying.assumed), verifying.btf, stop, verifying.receive)
        if verifying.behind is None:
            return _core.verify(*asked)
        subject, member = verifying.behind
        return _core.verify(*asked, (subject.chain, subject.objects, member))


def rewrite_messages(
    subject: ChainSubject, rewriting: Rewriting, stopping: Stopping
) -> Iterator[Message]:
    """Derive facts about the packets at each program of a chain, and rewrite the programs.

    Each message `rewritten` replaces the one before. It has a document (`docs/json.md`), the object
    of each program (None: not rewritten), the fused program (`FusedObject`), test inputs of each
    program (`Rehearsed.covers`), and the control-flow graphs as JSON text if requested. Messages
    `doing` have the current stage (`StageProgress`). A deadline or a request to stop ends the
    work with the results so far.

    Raises:
        InputError: if a program cannot be linked, or facts or content of maps cannot be read.
    """
    stop = _core.Stop(rewriting.deadline_seconds, rewriting.memory_bytes)
    how = rewriting.mode, rewriting.fuse, rewriting.graphs
    asked = (subject.objects, how, subject.btf, stop)
    maps = rewriting.maps.text if rewriting.maps else None
    known = (list(rewriting.assumed), maps, rewriting.receive)
    with errors_as_maps_errors(subject.file, rewriting.maps), stopping.calling(stop.set):
        for said in subject.chain.rewrite(*asked, *known):
            if said is not None:
                yield ("rewritten", *said)
            else:
                yield ("doing", *stop.doing)


Topology = _core.Topology
"""A topology: programs on the paths of a network; from `read_topology`."""


def read_topology(file: str, text: str) -> Topology:
    """Read the description of a topology; `file` is its name in errors.

    Raises:
        InputError: if the description is invalid.
    """
    with errors_as_file_errors(file):
        return _core.Topology(text)


class TopologySubject(NamedTuple):
    """A topology with the objects of its programs."""

    file: str  # file of the description
    topology: Topology
    objects: list[tuple[Object, int, str]]  # object, program number in it, digest of the file
    btf: Btf | None  # types of the kernel that the programs are for


class Planning(NamedTuple):
    """Options for planning variants of programs."""

    mode: Literal["trust", "guard"]
    neighbours: bool  # true: use only facts from the program directly before
    variants: int  # maximum number for a node
    threads: int
    cache: str | None  # folder of the cache; None: no cache
    build: str  # further key of the cache: everything else that results depend on
    identity: str  # identifies the topology in the cache
    deadline_seconds: float | None = None
    memory_bytes: int | None = None  # limit of the process; None: no limit


def plan_messages(
    subject: TopologySubject, planning: Planning, stopping: Stopping
) -> Iterator[Message]:
    """Find the variants of programs that pay on the paths of a network.

    The message `planned` has a document (`docs/json.md`), and the object of each variant in it.
    Messages before it have the current stage (`StageProgress`). A deadline or a request to stop
    ends the work with the results so far.

    Raises:
        InputError: if a program cannot be linked.
    """
    stop = _core.Stop(planning.deadline_seconds, planning.memory_bytes)
    with errors_as_file_errors(subject.file), stopping.calling(stop.set):

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

        planned = BackgroundWork(work)
        while not planned.wait(POLL_SECONDS):
            yield ("doing", *stop.doing)
        yield ("planned", *planned.result())
