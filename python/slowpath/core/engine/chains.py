"""Loads, combines, analyses and rewrites BPF programs that process packets together.

A chain is a sequence of programs that process the same packets one after the other. A topology has
programs on the nodes of a network.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from slowpath import _core
from slowpath.core.engine import MapsFile, errors_as_file_errors, errors_as_maps_errors
from slowpath.core.engine.analyses import POLL_SECONDS, BackgroundWork, Message
from slowpath.core.engine.objects import Btf, Object
from slowpath.core.jobs import Stopping

Chain = _core.Chain
"""A chain of programs; `read_chain` returns it."""
KnownStart = _core.KnownStart
"""Facts about arriving packets and content of maps that a chain starts with; see `known_start`."""


def read_chain(file: str, text: str) -> Chain:
    """Read the description of a chain: programs that process a packet one after the other.

    `file` is the name of the description in errors.

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
    """Set global variables in the objects of a chain, as a loader would; return the new objects.

    Args:
        file: Name of the chain's description in errors.
        chain: The chain.
        members: Object of each program, and index of the program in the object.
        variables: `NAME=VALUE` or `NAME=any`; `PROGRAM:NAME=VALUE` if several programs have the
            variable.
        maps: Content of the file of `--maps`; only its read-only sections are used.

    Raises:
        InputError: if a variable or section does not exist, or a value does not fit.
    """
    with errors_as_file_errors(file):
        try:
            return chain.configured(members, list(variables), maps)
        except _core.Error as problem:
            if problem.option != "--maps":
                raise
            # The analysis reports this error later, with the name of the maps file and the line.
            return members


def check_assumed(assumed: Sequence[str]) -> tuple[str, ...]:
    """Check that assumed facts about packets, such as `length >= 64`, are valid; return them.

    Raises:
        ValueError: if a fact is invalid, or facts contradict each other.
    """
    try:
        _core.Chain.check_assumed(list(assumed))
    except _core.Error as problem:
        raise ValueError(str(problem)) from None
    return tuple(assumed)


class ChainSubject(NamedTuple):
    """A chain of programs, with the BPF object of each program."""

    file: str  # file of the description
    chain: Chain
    objects: list[tuple[Object, int]]  # object of each program, index of the program in it
    btf: Btf | None  # types of the kernel that the programs are for


def combine(
    subject: ChainSubject,
    name: str,
    device: str | None = None,
    compiled: Sequence[int] = (),
    known: KnownStart | None = None,
) -> Object:
    """Combine the programs of a chain into one object, so that they can be analysed together.

    Args:
        subject: The chain.
        name: Name of the chain in results.
        device: Count only the work on this device, if the chain runs on several.
        compiled: Indices of the programs that run in compiled form.
        known: Known facts about arriving packets and content of maps; None: nothing is known.

    Raises:
        InputError: if the objects do not fit together.
    """
    with errors_as_file_errors(subject.file):
        return subject.chain.combine(name, subject.objects, device, list(compiled), known)


class ChainKnowledge(NamedTuple):
    """Knowledge about a chain before packets arrive: facts about packets, and content of maps."""

    assumed: Sequence[str] = ()  # facts about arriving packets, in words
    maps: MapsFile | None = None  # initial content of maps
    frozen: frozenset[tuple[int, str]] = frozenset()  # maps that keep it: program, map name
    generations: Sequence[tuple[int, str]] = ()  # generation maps of rewritten programs; all zero


def known_start(subject: ChainSubject, known: ChainKnowledge) -> KnownStart:
    """Convert facts about packets that arrive at a chain, and initial map content, for the engine.

    Raises:
        InputError: if a text cannot be read, or does not fit the maps.
    """
    text = known.maps.text if known.maps else ""
    arguments = (list(known.assumed), text, set(known.frozen), list(known.generations))
    with errors_as_maps_errors(subject.file, known.maps):
        return subject.chain.known_start(subject.objects, *arguments)


def combine_for(
    subject: ChainSubject, name: str, member: int, compiled: Sequence[int], known: KnownStart
) -> Object:
    """Combine a chain as `combine` does, but count only the work of one program.

    `member` is the index of the program in the chain.

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
    """Return the program `member` alone, restricted to packets that earlier programs pass on.

    `member` is the index of the program in the chain; for other parameters see `combine`.

    Raises:
        InputError: if the programs of a dispatcher cannot be ordered.
    """
    start = known_start(subject, ChainKnowledge()) if known is None else known
    with errors_as_file_errors(subject.file):
        return subject.chain.arriving(name, subject.objects, member, list(compiled), start)


def equivalence_conditions(
    subject: ChainSubject, member: int, compiled: Sequence[int]
) -> list[str]:
    """Return the conditions under which compiled programs behave like their BPF programs.

    Each condition is a sentence. Only packets on their way to the program `member` are considered;
    `compiled` has the indices of the compiled programs.

    Raises:
        InputError: if the programs of a dispatcher cannot be ordered.
    """
    with errors_as_file_errors(subject.file):
        return subject.chain.as_compiled(subject.objects, member, list(compiled))


def upstream_programs(subject: ChainSubject, member: int) -> list[tuple[int, list[int]]]:
    """Return the programs that packets pass before `member`, by index.

    For each, return the values with which it passes packets on.

    Raises:
        InputError: if the programs of a dispatcher cannot be ordered.
    """
    with errors_as_file_errors(subject.file):
        return subject.chain.way_to(subject.objects, member)


def start_maps(subject: ChainSubject, maps: MapsFile) -> dict[str, list[object]]:
    """Convert the content of a maps file to the form of map content in the chain's witnesses.

    A witness is a packet, with map content, that takes a certain path.

    Raises:
        InputError: if the file cannot be read, or does not fit the maps.
    """
    with errors_as_maps_errors(subject.file, maps):
        witness: dict[str, dict[str, list[object]]] = json.loads(
            subject.chain.start_maps(subject.objects, maps.text)
        )
    return witness["maps"]


class FusedObject(NamedTuple):
    """An object with a whole chain fused into one program, and an object to test it against."""

    data: bytes
    separate: bytes | None  # object with separate programs that call each other; None: missing
    entry: str  # name of the first program in `separate`, or the reason why that is missing
    maps: dict[str, str]  # names of maps in both objects, by their names in the chain
    covers: str  # test inputs (`Rehearsed.covers`)


class Rewriting(NamedTuple):
    """Options for rewriting the programs of a chain to run faster."""

    mode: Literal["trust", "guard"] | None  # None: derive facts only, do not rewrite
    fuse: str | None = None  # name of the fused program; None: do not fuse
    deadline_seconds: float | None = None
    memory_bytes: int | None = None  # limit of the process; None: no limit
    assumed: Sequence[str] = ()  # facts about arriving packets, in words
    maps: MapsFile | None = None  # content of frozen maps
    graphs: bool = False  # true: also return control-flow graphs of the programs
    receive: str | None = None  # receiving environment; None: any device


class Verifying(NamedTuple):
    """Two programs to compare for equal behaviour, and options of the comparison."""

    both: tuple[tuple[Object, int], tuple[Object, int]]  # object, index of the program in it
    assumed: Sequence[str] = ()  # facts about packets, in words
    btf: Btf | None = None
    deadline_seconds: float | None = None
    memory_bytes: int | None = None  # limit of the process; None: no limit
    receive: str | None = None  # receiving environment; None: any device
    replaced: tuple[ChainSubject, int] | None = None  # chain, number of the replaced program in it


def verify(verifying: Verifying, file: str, stopping: Stopping) -> str:
    """Prove that two programs do the same, or find a difference; return the result as JSON.

    `docs/reference/json.md` describes the JSON. `file` is the file of the second program.

    Raises:
        InputError: if one of the programs cannot be linked or analysed.
    """
    stop = _core.Stop(verifying.deadline_seconds, verifying.memory_bytes)
    with errors_as_file_errors(file), stopping.calling(stop.set):
        assumed, btf, receive = list(verifying.assumed), verifying.btf, verifying.receive
        arguments = (*verifying.both, assumed, btf, stop, receive)
        if verifying.replaced is None:
            return _core.verify(*arguments)
        subject, member = verifying.replaced
        return _core.verify(*arguments, (subject.chain, subject.objects, member))


def rewrite_messages(
    subject: ChainSubject, rewriting: Rewriting, stopping: Stopping
) -> Iterator[Message]:
    """Rewrite the programs of a chain, using facts about the packets at each program.

    Yield messages. Each message `rewritten` replaces the previous one. It has a document
    (`docs/reference/json.md`), the object of each program (None: not rewritten), the fused program
    (`FusedObject`), test inputs of each program (`Rehearsed.covers`), and the control-flow graphs
    as JSON if requested. Messages `doing` have the current stage (`StageProgress`). A deadline or a
    stop request ends the work early, with its results so far.

    Raises:
        InputError: if a program cannot be linked, or facts or content of maps cannot be read.
    """
    stop = _core.Stop(rewriting.deadline_seconds, rewriting.memory_bytes)
    options = rewriting.mode, rewriting.fuse, rewriting.graphs
    arguments = (subject.objects, options, subject.btf, stop)
    maps = rewriting.maps.text if rewriting.maps else None
    known = (list(rewriting.assumed), maps, rewriting.receive)
    with errors_as_maps_errors(subject.file, rewriting.maps), stopping.calling(stop.set):
        for rewritten in subject.chain.rewrite(*arguments, *known):
            if rewritten is not None:
                yield ("rewritten", *rewritten)
            else:
                yield ("doing", *stop.doing)


Topology = _core.Topology
"""Programs on the paths of a network; `read_topology` returns it."""


def read_topology(file: str, text: str) -> Topology:
    """Read the description of a topology: programs on the paths of a network.

    `file` is the name of the description in errors.

    Raises:
        InputError: if the description is invalid.
    """
    with errors_as_file_errors(file):
        return _core.Topology(text)


class TopologySubject(NamedTuple):
    """A topology (programs on the paths of a network), with the objects of its programs."""

    file: str  # file of the description
    topology: Topology
    objects: list[tuple[Object, int, str]]  # of each program: object, number in it, file digest
    btf: Btf | None  # types of the kernel that the programs are for


class Planning(NamedTuple):
    """Options for finding program variants in a topology.

    A variant is a program rewritten for the packets that arrive from certain nodes.
    """

    mode: Literal["trust", "guard"]
    neighbours: bool  # true: use only facts from the previous program on the path
    variants: int  # maximum number of variants on a node
    threads: int
    cache: str | None  # folder of the cache; None: no cache
    build: str  # identifies the engine and the kernel types in the cache
    identity: str  # identifies the topology in the cache
    deadline_seconds: float | None = None
    memory_bytes: int | None = None  # limit of the process; None: no limit


def plan_messages(
    subject: TopologySubject, planning: Planning, stopping: Stopping
) -> Iterator[Message]:
    """Find program variants that save work on the paths of a topology, and yield messages.

    A variant is a program rewritten for the packets that arrive from certain nodes. The last
    message, `planned`, has a document (`docs/reference/json.md`), and the object of each variant in
    it. Earlier messages have the current stage (`StageProgress`). A deadline or a stop request ends
    the work early, with its results so far.

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
