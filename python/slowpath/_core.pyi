"""The compiled engine (crates/python). Import it through `slowpath.core.engine` only."""

from collections.abc import Iterator
from typing import final

from slowpath.core.schema.results import Refusal

@final
class Bound:
    """Event: the bound improved."""

    @property
    def value(self) -> float: ...
    @property
    def seconds(self) -> float: ...
    @property
    def candidates(self) -> int: ...
    @property
    def nogoods(self) -> int: ...

@final
class Path:
    """Event: a satisfiable path was found."""

    @property
    def index(self) -> int: ...

@final
class SoFar:
    """Event: the result if the analysis ended here, as JSON text."""

    @property
    def json(self) -> str: ...

@final
class Result:
    """Event: the final result and its detail, as JSON texts."""

    @property
    def json(self) -> str: ...
    @property
    def detail(self) -> str: ...

class Error(Exception):
    """A failed request to the engine, with the fields of `slowpath.core.schema.results.Failure`."""

    kind: str
    what: str
    option: str | None
    line: int | None
    section: str | None
    instruction: int | None
    stopped: str | None
    refusals: list[Refusal]
    refused: list[list[int]]  # instructions of each refusal; empty: the whole program

@final
class Btf:
    """Types (BTF) of the kernel that programs are for."""

    def __new__(cls, data: bytes) -> Btf: ...

@final
class Object:
    """The content of a file with programs, read once: a BPF object or an NFP listing."""

    def __new__(cls, data: bytes) -> Object: ...
    def configured(self, variables: list[str], maps: str | None) -> Object: ...
    def map_names(self) -> list[str]: ...
    def run_maps(self, text: str) -> str: ...
    def programs(self) -> list[Program] | None: ...

@final
class Chain:
    """A chain of programs, read from its description."""

    def __new__(cls, text: str) -> Chain: ...
    @property
    def members(self) -> list[tuple[str, str, str | None]]: ...
    @property
    def lines(self) -> list[int]: ...
    @property
    def devices(self) -> list[str | None]: ...
    @property
    def targets(self) -> list[tuple[str, str, int]]: ...
    def on_device(self, device: str | None) -> list[int]: ...
    def combine(
        self,
        name: str,
        objects: list[tuple[Object, int]],
        device: str | None = None,
        compiled: list[int] = ...,
        known: KnownStart | None = None,
    ) -> Object: ...
    def combine_for(
        self,
        name: str,
        objects: list[tuple[Object, int]],
        member: int,
        compiled: list[int],
        known: KnownStart,
    ) -> Object: ...
    def arriving(
        self,
        name: str,
        objects: list[tuple[Object, int]],
        member: int,
        compiled: list[int],
        known: KnownStart,
    ) -> Object: ...
    def as_compiled(
        self, objects: list[tuple[Object, int]], member: int, compiled: list[int]
    ) -> list[str]: ...
    def way_to(
        self, objects: list[tuple[Object, int]], member: int
    ) -> list[tuple[int, list[int]]]: ...
    @staticmethod
    def check_assumed(assumed: list[str]) -> None: ...
    def configured(
        self, objects: list[tuple[Object, int]], variables: list[str], maps: str | None
    ) -> list[tuple[Object, int]]: ...
    def start_maps(self, objects: list[tuple[Object, int]], text: str) -> str: ...
    def known_start(
        self,
        objects: list[tuple[Object, int]],
        assumed: list[str],
        maps: str,
        frozen: set[tuple[int, str]],
        generations: list[tuple[int, str]],
    ) -> KnownStart: ...
    def rewrite(
        self,
        objects: list[tuple[Object, int]],
        how: tuple[str | None, str | None, bool],
        btf: Btf | None,
        stop: Stop,
        assumed: list[str] = ...,
        maps: str | None = None,
        receive: str | None = None,
    ) -> Rewriting: ...

@final
class KnownStart:
    """Known facts about arriving packets, and known initial content of maps of a chain."""

@final
class Rewriting:
    """A chain that is being rewritten: yields the results so far, or None if nothing is new."""

    def __iter__(self) -> Rewriting: ...
    def __next__(
        self,
    ) -> (
        tuple[
            str,
            list[bytes | None],
            tuple[bytes, bytes | None, str, dict[str, str], str] | None,
            list[str],
            str | None,
        ]
        | None
    ): ...

def verify(
    first: tuple[Object, int],
    second: tuple[Object, int],
    assumed: list[str],
    btf: Btf | None,
    stop: Stop,
    receive: str | None = None,
    behind: tuple[Chain, list[tuple[Object, int]], int] | None = None,
) -> str: ...

@final
class Topology:
    """A topology: programs on the paths of a network, read from its description."""

    def __new__(cls, text: str) -> Topology: ...
    @property
    def members(self) -> list[tuple[str, str, str | None]]: ...
    @property
    def lines(self) -> list[int]: ...
    def plan(
        self,
        objects: list[tuple[Object, int, str]],
        btf: Btf | None,
        stop: Stop,
        *,
        mode: str,
        neighbours: bool,
        variants: int,
        threads: int,
        cache: str | None,
        build: str,
        identity: str,
    ) -> tuple[str, list[bytes]]: ...

@final
class Target:
    """A device that programs are analysed for, read once."""

    def __new__(cls, name: str, text: str | None = None) -> Target: ...
    @property
    def name(self) -> str: ...
    def problems(self) -> list[str]: ...
    @property
    def counters(self) -> list[str] | None: ...
    @property
    def max_packet(self) -> int | None: ...
    @property
    def machine(self) -> tuple[str, str] | None: ...
    @property
    def doubt(self) -> str | None: ...
    @property
    def models(self) -> list[Model]: ...
    @property
    def compiles(self) -> bool: ...

@final
class Model:
    """Cost of a component as a function of one parameter, fitted to an experiment."""

    @property
    def name(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def parameter(self) -> str: ...
    @property
    def range(self) -> tuple[float, float]: ...
    @property
    def segments(self) -> int: ...
    @property
    def error(self) -> float: ...
    @property
    def held_out(self) -> float | None: ...
    @property
    def calls(self) -> list[str]: ...
    def at(self, value: float) -> float | None: ...

@final
class Mix:
    """Subjects and competitors on CPUs of this machine (`slowpath_neighbours::Mix`)."""

    def __new__(
        cls,
        spec: str,
        stop: Stop,
        kernel: Kernel | None = None,
        programs: list[tuple[Object, int, str]] = ...,
    ) -> Mix: ...
    def block(self, beside: bool, warm: float, seconds: float, stop: Stop) -> str | None: ...

@final
class Kernel:
    """The running kernel, which loads and runs XDP programs."""

    @staticmethod
    def open() -> Kernel: ...
    def objects(self) -> tuple[list[int], list[int], list[int]]: ...

@final
class Station:
    """The thread that times programs, in a private network namespace."""

    def __new__(cls, kernel: Kernel, cpu: int | None) -> Station: ...
    @property
    def cpu(self) -> int | None: ...
    @property
    def real_time(self) -> bool: ...
    @property
    def thread(self) -> int: ...
    def stop(self) -> None: ...
    def prepare(
        self,
        content: Object,
        program: int,
        witness: str,
        instructions: int | None,
        maps: str | None,
    ) -> Case: ...
    def load(self, cases: list[Case]) -> Load: ...
    def cool(self, case: Case, cache_bytes: int) -> Cold: ...
    def load_cold(self, cases: list[Cold]) -> Load: ...
    def load_busy(self) -> Busy: ...
    def sample_busy(self, busy: Busy, repeat: int) -> tuple[int, int, int]: ...
    def load_pace(self) -> Pace: ...
    def pace(self, pace: Pace, repeat: int) -> tuple[float, float]: ...
    def sample(self, load: Load, subject: int, repeat: int) -> tuple[int, int, int]: ...

@final
class Flow:
    """The instructions of a path in order, with their properties."""

    def __new__(cls, text: str) -> Flow: ...
    def text(self) -> str: ...
    @property
    def calls(self) -> list[tuple[str, int, bool | None]]: ...
    @property
    def instructions(self) -> int: ...

def flow(case: Case) -> Flow | None: ...
def nanoseconds(flows: list[Flow], target: Target, entries: int = 1) -> list[float]: ...

@final
class Busy:
    """A busy loop that detects disturbances of the programs that are timed next to it."""

@final
class Pace:
    """Programs that measure the speed of the CPU."""

@final
class Case:
    """A path that can be timed."""

    @property
    def arrangement(self) -> str: ...
    @property
    def drained(self) -> bool: ...
    @property
    def repetitions(self) -> int: ...
    @property
    def action(self) -> int: ...
    @property
    def instructions(self) -> int: ...
    @property
    def later(self) -> Later | None: ...
    @property
    def path(self) -> str | None: ...
    @property
    def answered(self) -> list[str]: ...
    @property
    def omitted(self) -> list[str]: ...

@final
class Later:
    """Behaviour of the packets after the first one, which find its changes in the maps."""

    @property
    def action(self) -> int: ...
    @property
    def instructions(self) -> int: ...
    @property
    def case(self) -> Case | None: ...
    @property
    def reason(self) -> str | None: ...

@final
class Cold:
    """A path that many flows take, each with other map elements."""

    @property
    def flows(self) -> int: ...
    @property
    def entry_bytes(self) -> int: ...
    @property
    def varied(self) -> list[tuple[int, int]]: ...
    @property
    def limited(self) -> str | None: ...

@final
class Stretch:
    """A part of a path between two points where it can be cut."""

    @property
    def case(self) -> Case: ...
    @property
    def questions(self) -> int: ...
    @property
    def from_instruction(self) -> int: ...
    @property
    def to_instruction(self) -> int | None: ...
    @property
    def instructions(self) -> int: ...
    @property
    def call(self) -> str | None: ...
    @property
    def source(self) -> tuple[str, int, str] | None: ...

def stretches(station: Station, case: Case) -> tuple[list[Stretch], list[int]]: ...

@final
class Load:
    """Cases that are loaded in the kernel."""

@final
class Capture:
    """A capture file that is read in pieces."""

    def __new__(cls, file: str) -> Capture: ...
    def packets(self, count: int) -> list[tuple[bytes, int, int | None]]: ...

@final
class Trace:
    """A capture file that is run through a program."""

    def __new__(
        cls, station: Station, content: Object, program: int, file: str, maps: str | None
    ) -> Trace: ...
    def advance(self, station: Station, milliseconds: int) -> bool: ...
    @property
    def packets(self) -> int: ...
    def report(self) -> str: ...
    def witness(self, path: int) -> str | None: ...

@final
class LiveCase:
    """A path that live packets take."""

    def __new__(cls, station: Station, case: Case, batch: int) -> LiveCase: ...
    @property
    def rewritten(self) -> bool: ...
    @property
    def counted(self) -> int: ...
    @property
    def unreceived(self) -> str | None: ...

@final
class LiveLoad:
    """Live paths in the kernel."""

    def __new__(cls, station: Station, cases: list[LiveCase]) -> LiveLoad: ...
    def sample(
        self, station: Station, asked: tuple[int, int], frames: int, batch: int
    ) -> tuple[int, int, int, int]: ...

@final
class Program:
    """Description of a program of an object."""

    @property
    def index(self) -> int: ...
    @property
    def section(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def needs_kernel(self) -> bool: ...

@final
class Analysis:
    """A running analysis: an iterator of events that ends with a `Result`."""

    def __new__(
        cls,
        file: str,
        content: Object,
        program: int,
        btf: Btf | None,
        target: Target,
        options: dict[str, object],
    ) -> Analysis: ...
    def stop(self) -> None: ...
    @property
    def stage(self) -> str: ...
    def __iter__(self) -> Iterator[Bound | Path | SoFar | Result | None]: ...
    def __next__(self) -> Bound | Path | SoFar | Result | None: ...

@final
class Stop:
    """A deadline, memory limit and stop request for work, which then returns its results so far."""

    def __new__(cls, deadline_seconds: float | None, memory_bytes: int | None) -> Stop: ...
    def set(self) -> None: ...
    @property
    def reason(self) -> str | None: ...
    @property
    def stage(self) -> str: ...
    @property
    def doing(self) -> tuple[str, str, int, str]: ...

def allowed_cpus() -> list[int]: ...
def surroundings(one: int, other: int) -> str: ...
def why_no_counters() -> str | None: ...
def version() -> str: ...
def target_names() -> list[str]: ...
def target_text(name: str) -> str | None: ...
def show(
    file: str,
    content: Object,
    programs: list[int],
    btf: Btf | None,
    stop: Stop,
    *,
    listing: bool,
    deadline_seconds: float,
) -> str: ...
def compile_program(
    subject: tuple[str, Object, int, Btf | None],
    target: Target,
    options: dict[str, object],
    stop: Stop,
) -> str: ...
def rehearse(
    kernel: Kernel,
    upstream: list[tuple[Object, int, list[int], str]],
    original: tuple[Object, int],
    rewritten: bytes,
    seeds: list[bytes],
    maps: str,
    covers: str,
    packets: int,
    arbitrary: bool,
    rounds: int,
    stop: Stop,
    more: str = "",
    assumed: list[str] = ...,
    frames: int = 0,
    receive: str | None = None,
) -> str: ...
def verify_program(
    subject: tuple[str, Object, int, Btf | None],
    target: Target,
    options: dict[str, object],
    stop: Stop,
) -> str: ...
