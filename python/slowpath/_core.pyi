"""The compiled engine (crates/python). Import it through `slowpath.engine` only."""

from collections.abc import Iterator
from typing import final

@final
class Bound:
    """The bound got tighter."""

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
    """A satisfiable path was found."""

    @property
    def index(self) -> int: ...

@final
class SoFar:
    """What the result would be if the analysis ended here, as JSON text."""

    @property
    def json(self) -> str: ...

@final
class Result:
    """The final result, as JSON texts."""

    @property
    def json(self) -> str: ...
    @property
    def detail(self) -> str: ...

@final
class Kernel:
    """Types (BTF) of the kernel that programs are for."""

    def __new__(cls, data: bytes) -> Kernel: ...

@final
class File:
    """The content of a file, read as far as all its programs have in common."""

    def __new__(cls, data: bytes) -> File: ...

@final
class Program:
    """A program of an object, for choosing."""

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
        data: File,
        program: int,
        kernel: Kernel | None,
        *,
        target: str,
        target_is_text: bool,
        metric: str | None,
        cores: int | None,
        unroll: list[str],
        paths: int | None,
        mtu: int,
        deadline_seconds: float | None,
        memory_bytes: int | None,
        assume: str | None,
        maps: str | None,
        map_abi: str | None,
        path_details: int,
        code: bool,
    ) -> Analysis: ...
    def stop(self) -> None: ...
    @property
    def stage(self) -> str: ...
    def __iter__(self) -> Iterator[Bound | Path | SoFar | Result | None]: ...
    def __next__(self) -> Bound | Path | SoFar | Result | None: ...

@final
class Stop:
    """Says when work has to stop with what it has."""

    def __new__(cls, deadline_seconds: float | None, memory_bytes: int | None) -> Stop: ...
    def set(self) -> None: ...
    @property
    def reason(self) -> str | None: ...
    @property
    def stage(self) -> str: ...

def version() -> str: ...
def target_names() -> list[str]: ...
def target_text(name: str) -> str | None: ...
def check_target(text: str) -> list[str]: ...
def target_counters(target: str, is_text: bool) -> list[str] | None: ...
def target_compiles(target: str, is_text: bool) -> bool: ...
def programs(data: bytes) -> list[Program] | None: ...
def show(
    file: str,
    data: bytes,
    programs: list[int],
    kernel: Kernel | None,
    stop: Stop,
    *,
    listing: bool,
    deadline_seconds: float,
) -> str: ...
def compile_program(
    file: str,
    data: bytes,
    program: int,
    kernel: Kernel | None,
    stop: Stop,
    *,
    map_abi: str | None,
) -> str: ...
def verify_program(
    file: str,
    data: bytes,
    program: int,
    kernel: Kernel | None,
    stop: Stop,
    *,
    mtu: int,
    map_abi: str | None,
) -> str: ...
