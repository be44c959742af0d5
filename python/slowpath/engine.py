"""Runs analyses in the compiled engine: the only module that imports it.

It knows no command line and prints nothing.
"""

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Generic, Literal, NamedTuple, TypedDict, TypeVar

from slowpath import _core
from slowpath.cli.errors import DisagreementError, InputError, StoppedError, UnavailableError
from slowpath.schema.results import Detail, Result
from slowpath.schema.wording import refusal_text
from slowpath.work.stopping import Stopping

T = TypeVar("T")
_LOOK = 0.1
"""Seconds between two looks at what is being done."""

Message = tuple[Any, ...]
"""What an analysis reports: a word, and what belongs to it. See `Run.take`."""


class Options(NamedTuple):
    """What an analysis is asked for, but for the target: fields of the engine's options.

    They cross the border as one value; nothing between here and there names them again.
    """

    metric: str | None = None  # None: the target's first
    cores: int | None = None  # None: as many as the target has
    unroll: list[str] = []  # noqa: RUF012 - `160`, or `10@LOCATION`; nobody changes it
    paths: int | None = 1  # None: all
    mtu: int | None = None  # bytes, without frame check sequence; None: the target's greatest
    entries: int | None = None  # of each map with room for so many; None: one
    deadline_seconds: float | None = None
    memory_bytes: int | None = None  # of the process; None: a share of what is free, or no limit
    assume: str | None = None  # TOML text
    maps: str | None = None  # TOML or JSON text
    map_abi: str | None = None  # how compiled programs reach maps; None: the default
    path_details: int = 0  # of so many paths, what only human reports show
    code: bool = False  # all instructions of the program, in the detail


class Progress(NamedTuple):
    """How far an analysis is."""

    value: float  # of the metric: bit/s, packets/s, or a count
    seconds: float
    candidates: int
    nogoods: int
    paths: int  # satisfiable ones found; from the first one on, the value is exact and stays


class Outcome(NamedTuple):
    """The result of an analysis."""

    result: Result
    text: str  # the result, as the JSON that the engine wrote
    detail: Detail


Model = _core.Model
"""What a component of a target takes by one parameter."""
Object = _core.Object
"""A file with programs, read once; from `read_object`."""
Chain = _core.Chain
"""A chain of programs; from `read_chain`."""
KnownStart = _core.KnownStart
"""What is known of runs through a chain before they begin; from `known_start`."""
Topology = _core.Topology
"""Programs on the paths of a network; from `read_topology`."""
Target = _core.Target
"""A device, read once; from `builtin_target` and `described_target`."""
Btf = _core.Btf
"""Types of the kernel that programs are for; from `read_btf`."""
Kernel = _core.Kernel
"""The running kernel; from `open_kernel`."""


class Subject(NamedTuple):
    """A program to work on."""

    file: str  # names it in messages
    object: Object
    program: int  # its number in the object
    btf: Btf | None


class View(NamedTuple):
    """What is to be said of an object."""

    programs: list[int]  # their numbers
    btf: Btf | None
    listing: bool
    deadline_seconds: float  # for the loops of one program
    memory_bytes: int | None  # of the process


class ProgramInfo(NamedTuple):
    """A program of an object, for choosing."""

    number: int  # in the object
    section: str
    name: str
    kind: str
    needs_kernel: bool  # whether it depends on the types of the kernel that it runs on


def version() -> str:
    """The version of slowpath."""
    return _core.version()


def target_names() -> list[str]:
    """Names of the built-in targets."""
    return _core.target_names()


def target_text(name: str) -> str | None:
    """The description of a built-in target, or None when there is none of that name."""
    return _core.target_text(name)


def builtin_target(name: str) -> Target:
    """The built-in target of a name."""
    return _core.Target(name)


def described_target(name: str, text: str) -> Target:
    """The target that a text describes. One that is not valid is an error of each analysis."""
    return _core.Target(_as_text(name), text)


def read_object(file: str, data: bytes) -> Object:
    """The content of a file with programs; `file` names it.

    Raises:
        InputError: when it is an object that cannot be read.
    """
    try:
        return _core.Object(data)
    except _core.Error as problem:
        raise _input_error(file, problem) from None


def read_chain(file: str, text: str) -> Chain:
    """A chain of programs, by its description; `file` names it.

    Raises:
        InputError: when it is no chain.
    """
    try:
        return _core.Chain(text)
    except _core.Error as problem:
        raise _input_error(file, problem) from None


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
    try:
        return subject.chain.combine(name, subject.objects, device, list(compiled), known)
    except _core.Error as problem:
        raise _input_error(subject.file, problem) from None


class MapsFile(NamedTuple):
    """A file with content of maps."""

    name: str
    text: str


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
    try:
        return subject.chain.known_start(subject.objects, *given)
    except _core.Error as problem:
        raise _maps_error(subject.file, known.maps, problem) from None


def combine_for(
    subject: ChainSubject, name: str, member: int, compiled: Sequence[int], known: KnownStart
) -> Object:
    """The chain, of which the work of one program counts, by its number; otherwise as `combine`.

    Raises:
        InputError: when the programs do not fit together.
    """
    try:
        return subject.chain.combine_for(name, subject.objects, member, list(compiled), known)
    except _core.Error as problem:
        raise _input_error(subject.file, problem) from None


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
    try:
        start = known_start(subject, Known()) if known is None else known
        return subject.chain.arriving(name, subject.objects, member, list(compiled), start)
    except _core.Error as problem:
        raise _input_error(subject.file, problem) from None


def as_compiled(subject: ChainSubject, member: int, compiled: Sequence[int]) -> list[str]:
    """Conditions under which the programs `compiled` do what their BPF programs do.

    That is to packets on their way to a program, by its number; one sentence each.

    Raises:
        InputError: when the programs of a dispatcher cannot be put in order.
    """
    try:
        return subject.chain.as_compiled(subject.objects, member, list(compiled))
    except _core.Error as problem:
        raise _input_error(subject.file, problem) from None


def way_to(subject: ChainSubject, member: int) -> list[tuple[int, list[int]]]:
    """How packets get to a program: those in front of it, with the results with which they go on.

    Raises:
        InputError: when the programs of a dispatcher cannot be put in order.
    """
    try:
        return subject.chain.way_to(subject.objects, member)
    except _core.Error as problem:
        raise _input_error(subject.file, problem) from None


def start_maps(subject: ChainSubject, maps: MapsFile) -> dict[str, list[object]]:
    """What a file with content of maps says, as the `maps` of a witness of the whole chain.

    Raises:
        InputError: when it cannot be read, or does not fit the maps.
    """
    try:
        said: dict[str, dict[str, list[object]]] = json.loads(
            subject.chain.start_maps(subject.objects, maps.text)
        )
    except _core.Error as problem:
        raise _maps_error(subject.file, maps, problem) from None
    return said["maps"]


class Rewriting(NamedTuple):
    """How the programs of a chain are rewritten."""

    mode: Literal["trust", "guard"] | None  # None: they are not, and only facts are looked for
    fuse: str | None = None  # what they are called as one, if they are to become one
    deadline_seconds: float | None = None
    memory_bytes: int | None = None  # of the process; None: no limit
    assumed: Sequence[str] = ()  # facts about packets that arrive, in words
    maps: MapsFile | None = None  # content of maps that is frozen
    graphs: bool = False  # whether the control-flow graphs of programs are asked for


class Doing(NamedTuple):
    """What is being done."""

    subject: str  # to what, such as the name of a program; empty: nobody says
    stage: str  # such as `rewriting`; empty: nobody says
    done: int  # how much of that
    unit: str  # what `done` counts; empty: nothing is counted


def rewrite_messages(
    subject: ChainSubject, rewriting: Rewriting, stopping: Stopping
) -> Iterator[Message]:
    """What holds of packets that arrive at each program of a chain, and objects to load instead.

    Each message `rewritten` has more than the one before: a document (`docs/json.md`), in the order
    of the programs the bytes of an object where one was rewritten, those of an object with all as
    one, in the order of the programs what each can be tried on (`Rehearsed.covers`), and the
    control-flow graphs as JSON if they are asked for. Messages between them say what is being done
    (`Doing`). An end of time, or being asked to stop, ends it with what is known by then.

    Raises:
        InputError: when a program cannot be linked, or what is known cannot be read.
    """
    stop = _core.Stop(rewriting.deadline_seconds, rewriting.memory_bytes)
    how = rewriting.mode, rewriting.fuse, rewriting.graphs
    asked = (subject.objects, how, subject.btf, stop)
    known = (list(rewriting.assumed), rewriting.maps.text if rewriting.maps else None)
    try:
        with stopping.calling(stop.set):
            for said in subject.chain.rewrite(*asked, *known):
                if said is not None:
                    yield ("rewritten", *said)
                else:
                    yield ("doing", *stop.doing)
    except _core.Error as problem:
        raise _maps_error(subject.file, rewriting.maps, problem) from None


def read_topology(file: str, text: str) -> Topology:
    """Programs on the paths of a network, by their description; `file` names it.

    Raises:
        InputError: when it is none.
    """
    try:
        return _core.Topology(text)
    except _core.Error as problem:
        raise _input_error(file, problem) from None


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


class _Meanwhile(Generic[T]):
    """Work on another thread."""

    def __init__(self, work: Callable[[], T]) -> None:
        import threading

        self._done = list[T]()
        self._failed = list[BaseException]()

        def run() -> None:
            try:
                self._done.append(work())
            except BaseException as problem:  # noqa: BLE001 - raised where it is waited for
                self._failed.append(problem)

        self._thread = threading.Thread(target=run, daemon=True)
        self._thread.start()

    def wait(self, seconds: float) -> bool:
        """Whether it is over within so many seconds."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def result(self) -> T:
        """What has come of it; raises what it raised."""
        if self._failed:
            raise self._failed[0]
        return self._done[0]


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
    try:
        with stopping.calling(stop.set):

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

            doing = _Meanwhile(work)
            while not doing.wait(_LOOK):
                yield ("doing", *stop.doing)
            yield ("planned", *doing.result())
    except _core.Error as problem:
        raise _input_error(subject.file, problem) from None


def build() -> str:
    """Tells this engine from others, also from those of the same version."""
    about = os.stat(_core.__file__)  # noqa: PTH116 - no short run is to import pathlib
    return f"{version()} {about.st_size} {about.st_mtime_ns}"


def read_btf(file: str, data: bytes) -> Btf:
    """The types of a kernel; `file` names them.

    Raises:
        InputError: when they cannot be read.
    """
    try:
        return _core.Btf(data)
    except _core.Error as problem:
        raise _input_error(file, problem) from None


def open_kernel() -> Kernel:
    """The running kernel, to load programs into.

    Raises:
        UnavailableError: when it loads and runs none for this process; it says what is missing.
    """
    try:
        return _core.Kernel.open()
    except _core.Error as problem:
        raise UnavailableError(str(problem)) from None


def programs(found: Object) -> list[ProgramInfo] | None:
    """The programs of a BPF object; None for a listing, which is one."""
    listed = found.programs()
    if listed is None:
        return None
    return [ProgramInfo(p.index, p.section, p.name, p.kind, p.needs_kernel) for p in listed]


def map_names(found: Object) -> list[str]:
    """The names of the maps of a BPF object; a listing has none."""
    return found.map_names()


def show(file: str, found: Object, view: View, stopping: Stopping) -> str:
    """What programs of a BPF object contain, as JSON; `file` names it.

    Raises:
        InputError: when it is no BPF object.
    """
    programs, btf, listing, seconds, memory = view
    stop = _core.Stop(None, memory)
    asked = (_as_text(file), found, programs, btf, stop)
    try:
        with stopping.calling(stop.set):
            return _core.show(*asked, listing=listing, deadline_seconds=seconds)
    except _core.Error as problem:
        raise _input_error(file, problem) from None


def compile_messages(
    subject: Subject, target: Target, options: Options, stopping: Stopping, *, verify: bool
) -> Iterator[Message]:
    """Compiles a program of a BPF object for the card, whose description the target is.

    The first message has what was compiled, the second one whether that does the same on the card,
    if it is to be verified: `docs/json.md`. An end of time, or being asked to stop, ends a
    verification with what is known by then.

    Raises:
        InputError: when the object cannot be read, the card cannot run the program, or it has to
            stop before it was compiled.
    """
    stop = _core.Stop(options.deadline_seconds, options.memory_bytes)
    subject = subject._replace(file=_as_text(subject.file))
    asked = (subject, target, options._asdict(), stop)
    try:
        with stopping.calling(stop.set):
            yield ("compiled", _core.compile_program(*asked))
            if verify:
                yield ("verified", _core.verify_program(*asked))
    except _core.Error as problem:
        raise _input_error(subject.file, problem) from None


def _maps_error(file: str, maps: MapsFile | None, problem: _core.Error) -> InputError:
    """The error of a file, or of the one with content of maps, with the line if it is known."""
    if maps is None or problem.option != "--maps":
        return _input_error(file, problem)
    line = "" if problem.line is None else f"line {problem.line}: "
    return InputError(maps.name, f"{line}{problem.what}")


def _input_error(file: str, problem: _core.Error) -> InputError:
    """The error of a file: the first reason, and all others."""
    if problem.kind == "stopped":
        return StoppedError(file, str(problem))
    return InputError(file, str(problem), [refusal_text(each) for each in problem.refusals[1:]])


class Run:
    """What is known of an analysis that runs."""

    def __init__(self) -> None:
        self.news = Progress(0.0, 0.0, 0, 0, 0)
        self.stage = ""  # what is being done, such as "unrolling the program"
        self.so_far: str | None = None  # the result if it ended now, as JSON

    def take(self, message: Message) -> tuple[str, str] | None:
        """Learns from a message; the result and its detail, as JSON, if that is what it is."""
        match message:
            case ("stage", stage):
                self.stage = stage
            case ("bound", value, seconds, candidates, nogoods):
                self.news = _updated(self.news, value, seconds, candidates, nogoods)
            case ("path", index):
                self.news = self.news._replace(paths=index)
            case ("so far", text):
                self.so_far = text
            case ("result", text, detail):
                return text, detail
        return None


def messages(
    subject: Subject, target: Target, options: Options, stopping: Stopping
) -> Iterator[Message]:
    """Analyses a program, and says how far it is; the last message is the result."""
    asked = (_as_text(subject.file), *subject[1:], target, options._asdict())
    analysis = _core.Analysis(*asked)
    stage = ""
    with stopping.calling(analysis.stop):
        for event in analysis:
            if analysis.stage != stage:
                stage = analysis.stage
                yield ("stage", stage)
            match event:
                case _core.Bound(
                    value=value, seconds=seconds, candidates=candidates, nogoods=nogoods
                ):
                    yield ("bound", value, seconds, candidates, nogoods)
                case _core.Path(index=index):
                    yield ("path", index)
                case _core.SoFar(json=text):
                    yield ("so far", text)
                case _core.Result(json=text, detail=detail):
                    yield ("result", text, detail)
                    return


def outcome(text: str, detail: str) -> Outcome:
    """The outcome that a result in JSON, and its detail, are."""
    return Outcome(json.loads(text), text, json.loads(detail))


def _as_text(file: str) -> str:
    """The name of a file, which need not be Unicode."""
    return file.encode(errors="backslashreplace").decode()


def _updated(
    news: Progress, value: float, seconds: float, candidates: int, nogoods: int
) -> Progress:
    """Once a path is found, later bounds are about the paths that are left, not the program."""
    if not news.paths:
        news = news._replace(value=value)
    return news._replace(seconds=seconds, candidates=candidates, nogoods=nogoods)


Station = _core.Station
"""The thread that programs are timed on; from `open_station`."""
Case = _core.Case
"""A path that can be timed; from `prepare_case`."""
Later = _core.Later  # what packets do that come behind a first one
Cold = _core.Cold
"""A path that many flows take; from `cool_case`."""
Stretch = _core.Stretch  # a part of a path, with the case that ends where it does
Load = _core.Load
"""Paths in the kernel; from `load_cases` or `load_cold`."""


def open_station(kernel: Kernel, cpu: int | None) -> Station:
    """A thread to time programs on, on this CPU where that is possible.

    Raises:
        UnavailableError: when this machine has no network namespaces for us.
    """
    try:
        return _core.Station(kernel, cpu)
    except _core.Error as problem:
        raise UnavailableError(str(problem)) from None


def prepare_case(
    station: Station,
    subject: Subject,
    witness: str,
    instructions: int | None,
    maps: str | None = None,
) -> Case:
    """Finds out how a path can be timed; the witness is JSON.

    `maps` is the text of `--maps`, where that was known when the path was found.

    Raises:
        DisagreementError: when the kernel does something else than the interpreter.
        InputError: when the kernel does not take the path, or not again and again.
    """
    try:
        return station.prepare(subject.object, subject.program, witness, instructions, maps)
    except _core.Error as problem:
        report = getattr(problem, "report", None)
        if report is not None:
            raise DisagreementError(_as_text(subject.file), str(problem), report) from None
        raise InputError(_as_text(subject.file), str(problem)) from None


@contextmanager
def _of_the_kernel() -> Iterator[None]:
    """What the kernel refuses is an error that says so."""
    try:
        yield
    except _core.Error as problem:
        raise InputError("the running kernel", str(problem)) from None


def cut_case(station: Station, case: Case) -> tuple[list[Stretch], list[int]]:
    """Cuts a path into stretches; also the instructions at which it could not be cut.

    Raises:
        InputError: when its instructions are not known, or the kernel refuses the cut program.
    """
    with _of_the_kernel():
        return _core.stretches(station, case)


def load_cases(station: Station, cases: Sequence[Case]) -> Load:
    """Loads paths anew.

    Raises:
        InputError: when the kernel does not take one of them.
    """
    with _of_the_kernel():
        return station.load(list(cases))


Flow = _core.Flow
"""A path as a core sees it; from `flow` and `flow_of`."""


def flow(case: Case) -> Flow | None:
    """The path of a case; None where the interpreter did not take it by itself."""
    return _core.flow(case)


def flow_of(text: str) -> Flow:
    """The path that `Flow.text` wrote.

    Raises:
        ValueError: when it is none.
    """
    try:
        return Flow(text)
    except _core.Error as problem:
        raise ValueError(str(problem)) from None


def nanoseconds(flows: Sequence[Flow], target: Target) -> list[float]:
    """What a target that estimates says each path takes: a turn of the kernel's loop with it.

    Raises:
        InputError: when the target does not estimate.
    """
    try:
        return _core.nanoseconds(list(flows), target)
    except _core.Error as problem:
        raise InputError(target.name, str(problem)) from None


Busy = _core.Busy
"""A loop that tells whether something disturbs the CPU; from `load_busy`."""


def load_busy(station: Station) -> Busy:
    """Loads the busy loop.

    Raises:
        InputError: when the kernel does not take it.
    """
    with _of_the_kernel():
        return station.load_busy()


def sample_busy(station: Station, busy: Busy, repeat: int) -> tuple[int, int, int]:
    """Times the busy loop in one call; see `sample`.

    Raises:
        InputError: when the kernel does not run it.
    """
    with _of_the_kernel():
        return station.sample_busy(busy, repeat)


Pace = _core.Pace
"""Programs that tell how fast the CPU itself is; from `load_pace`."""


def load_pace(station: Station) -> Pace:
    """Loads programs that tell how fast the CPU of a station is.

    Raises:
        InputError: when the kernel does not take one of them.
    """
    with _of_the_kernel():
        return station.load_pace()


def pace(station: Station, programs: Pace, repeat: int) -> tuple[float, float]:
    """Nanoseconds of an addition that waits for the one before, and of one that waits for none.

    They are timed in calls with so many runs, and are differences: less than nothing where the CPU
    was disturbed.

    Raises:
        InputError: when the kernel does not run them.
    """
    with _of_the_kernel():
        return station.pace(programs, repeat)


def cool_case(station: Station, case: Case, cache_bytes: int) -> Cold:
    """Many flows that take the path of a case and touch more memory than the last-level cache has.

    Raises:
        InputError: when there are none, with the reason.
    """
    with _of_the_kernel():
        return station.cool(case, cache_bytes)


def load_cold(station: Station, cases: Sequence[Cold]) -> Load:
    """Loads cold paths anew, each followed by an empty program that gets the same packets.

    Raises:
        InputError: when the kernel does not take one of them.
    """
    with _of_the_kernel():
        return station.load_cold(list(cases))


Refusal = InputError
"""What functions here raise when the kernel does not do what it is asked for."""


def sample(station: Station, load: Load, subject: int, repeat: int) -> tuple[int, int, int]:
    """Times a path of a load, or what has a negative number, in one call with so many runs.

    What it returns: nanoseconds of all runs, how many these are, and what the last one returned.

    Raises:
        InputError: when the kernel does not run it.
    """
    with _of_the_kernel():
        return station.sample(load, subject, repeat)


LiveCase = _core.LiveCase
"""A path that live packets take; from `prepare_live_case`."""
LiveLoad = _core.LiveLoad
"""Such paths in the kernel; from `load_live_cases`."""


def prepare_live_case(station: Station, file: str, case: Case, batch: int) -> LiveCase:
    """Finds out whether live packets take a path, so many at a time; `file` names the program.

    Raises:
        InputError: when they do not, or the kernel makes none.
    """
    try:
        return _core.LiveCase(station, case, batch)
    except _core.Error as problem:
        raise InputError(_as_text(file), str(problem)) from None


def load_live_cases(station: Station, cases: Sequence[LiveCase]) -> LiveLoad:
    """Loads paths anew, with devices of their own.

    Raises:
        InputError: when the kernel does not take one of them.
    """
    with _of_the_kernel():
        return _core.LiveLoad(station, list(cases))


def sample_live(
    station: Station, load: LiveLoad, asked: tuple[int, int], frames: int, batch: int
) -> tuple[int, int, int, int]:
    """Times a subject of a path on so many packets in one call, so many at a time.

    What it returns: nanoseconds, how many packets these were, how many arrived, how many found no
    room.

    Raises:
        InputError: when the kernel does not run them.
    """
    with _of_the_kernel():
        return load.sample(station, asked, frames, batch)


Trace = _core.Trace
"""A trace on its way through a program; from `open_trace`."""


class TraceFault(TypedDict):
    """Packets whose path is not known, for one reason."""

    packets: int
    first: int | None
    what: str | None
    report: str | None


class TracePath(TypedDict):
    """A path that packets of a trace take."""

    path: str
    packets: int
    instructions: int
    action: int
    first: int
    kept: int | None


class TraceMap(TypedDict):
    """What a map held before the first packet."""

    name: str
    entries: int | None
    others: int


class TraceReport(TypedDict):
    """What is known of a trace: `slowpath_measure::TraceReport`."""

    format: str
    packets: int
    truncated: int
    uncertain: int
    refused: TraceFault
    undecided: TraceFault
    disagreements: TraceFault
    complete: bool
    ended: str | None
    maps: list[TraceMap]
    paths: list[TracePath]
    taken: list[int | None]


def open_trace(station: Station, subject: Subject, file: str, maps: str | None) -> Trace:
    """Opens a capture file for a program; `maps` is the text of `--maps`.

    Maps that it does not name are as the kernel makes them.

    Raises:
        InputError: when it is no capture file, the program cannot be run, or a map does not take
            its content.
    """
    try:
        return _core.Trace(station, subject.object, subject.program, file, maps)
    except _core.Error as problem:
        raise InputError(_as_text(subject.file), str(problem)) from None


def advance_trace(station: Station, trace: Trace, milliseconds: int) -> bool:
    """Runs packets of a trace for about so long; whether there may be more.

    Raises:
        InputError: when nothing can be run any more.
    """
    with _of_the_kernel():
        return trace.advance(station, milliseconds)


def report_trace(trace: Trace) -> TraceReport:
    """What is known of a trace by now."""
    report: TraceReport = json.loads(trace.report())
    return report


class Stage(NamedTuple):
    """A program in front of the one that is rehearsed."""

    object: Object
    program: int  # its number in the object
    results: list[int]  # with these, the packet goes on
    maps: str = ""  # the `maps` of a witness, as JSON; empty: as the kernel makes them


class Rehearsed(NamedTuple):
    """A program, what it was rewritten to, and where both are."""

    upstream: Sequence[Stage]  # in the order in which packets pass them
    original: tuple[Object, int]  # the object of the program, and its number there
    rewritten: bytes  # an object file with one XDP program, or one of the same name
    seeds: Sequence[bytes]  # packets as they arrive at the chain, which get through; mutated
    maps: str = ""  # as of a `Stage`, for both programs alike
    covers: str = ""  # JSON: packets in hexadecimal, each with `maps` of a witness, for both alike
    more: str = ""  # the same of maps that only the rewritten program has
    assumed: Sequence[
        str
    ] = ()  # facts, in words, that hold of all packets that arrive at the chain


class Rehearsing(NamedTuple):
    """How much is tried in a rehearsal."""

    packets: int = 100_000  # how many are to get through to both programs
    arbitrary: bool = False  # as many more go to both directly
    rounds: int = 15  # how often both are timed; 0: not at all
    deadline_seconds: float | None = None


class RehearsalDifference(TypedDict):
    """How two programs differ: `slowpath_rehearsal::Found`."""

    what: str
    packet: str | None  # hexadecimal digits
    metadata: str
    before: int  # packets that both ran before, on maps as at the start


class RehearsalRate(TypedDict):
    """How long two programs take: `slowpath_rehearsal::Rate`."""

    original_ns: float  # of a run, the kernel's loop of repeated test runs included
    rewritten_ns: float
    ratio: float  # of the rewritten one to the original: below 1 it is faster
    ratio_quartiles: list[float]  # of all rounds: two
    copy_ratio: float  # of a second copy of the original: as far from 1 for no reason
    frame_ns: float  # an empty program instead
    restoring_ns: float  # that were taken away of each time, as the packet was put back
    ratio_without_frame: float | None
    rounds: int
    repetitions: int
    restored: bool
    packet: str  # hexadecimal digits


class RehearsalCovered(TypedDict):
    """What packets that were given did: `slowpath_rehearsal::Covered`."""

    packets: int
    ways: int
    difference: RehearsalDifference | None
    not_installed: str | None


class RehearsalReport(TypedDict):
    """What is known of two programs: `slowpath_rehearsal::Rehearsal`."""

    covered: RehearsalCovered

    compared: int
    arbitrary: int
    ran: int
    tried: int
    ways: int
    undetermined: str | None
    difference: RehearsalDifference | None
    unread: list[str]
    rate: RehearsalRate | None
    ended: str | None
    notes: list[str]


def rehearse(
    kernel: Kernel,
    chain: Rehearsed,
    rehearsing: Rehearsing,
    stopping: Stopping,
    look: Callable[[Doing], None] = lambda _: None,
) -> RehearsalReport:
    """Runs packets through a chain whose last program is there twice, and times both.

    What the programs in front let through goes through the original and the rewritten program,
    after the packets of `covers`, which go there directly. An end of time, or being asked to stop,
    ends it with what is known by then (`ended`). `look` is told what is being done, ten times a
    second.

    Raises:
        InputError: when the kernel refuses a program (then with what its verifier says), maps do
            not take their content, or the rewritten program does not run what the original runs.
    """
    packets, arbitrary, rounds, seconds = rehearsing
    stop = _core.Stop(seconds, None)
    stages: list[tuple[Object, int, list[int], str]] = list(chain.upstream)
    packets_and_maps = (list(chain.seeds), chain.maps, chain.covers)
    asked = (stages, chain.original, chain.rewritten, *packets_and_maps)
    more = (chain.more, list(chain.assumed))
    with _of_the_kernel(), stopping.calling(stop.set):
        running = _Meanwhile(
            lambda: _core.rehearse(kernel, *asked, packets, arbitrary, rounds, stop, *more)
        )
        try:
            while not running.wait(_LOOK):
                look(Doing(*stop.doing))
        except BaseException:
            stop.set()
            raise
        text = running.result()
    report: RehearsalReport = json.loads(text)
    return report
