"""XDP programs of an experiment on disk, compiled several at a time."""

import os
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from slowpath.calibrate.experiments.folder import write
from slowpath.calibrate.experiments.specification import Experiment
from slowpath.calibrate.programs.xdp import ENTRY, XdpProgram, empty_program, xdp_program
from slowpath.core.engine import objects
from slowpath.core.errors import InputError
from slowpath.core.programs.clang import compile_c
from slowpath.core.programs.compilers import CompilerError, find_compiler
from slowpath.core.programs.sources import Clang

_LARGEST = 1 << 20
"""Bytes of map content that are written down; more follow from the specification as well."""


class Written(NamedTuple):
    """A program that was written."""

    file: str
    program: XdpProgram


class Pair(NamedTuple):
    """What is measured for a point."""

    component: Written
    baseline: Written


class XdpFiles:
    """The programs of one experiment; those that are the same are one."""

    def __init__(self, experiment: Experiment, folder: Path) -> None:
        """Nothing is written yet."""
        self._experiment = experiment
        self._folder = folder
        self._known: list[Written] = []

    def pair(self, value: int) -> Pair:
        """The programs of a point.

        Raises:
            InputError: when parameters do not fit together.
        """
        return Pair(self._written(value, component=True), self._written(value, component=False))

    def again(self, value: int, *, component: bool) -> Written:
        """A program of a point as it was written before; nothing is written."""
        name, program = self._made(value, component=component)
        return Written(str(self._source(name)), program)

    def forget(self) -> None:
        """Needs no memory any more for what was written."""
        self._known.clear()

    def _written(self, value: int, *, component: bool) -> Written:
        name, program = self._made(value, component=component)
        for known in self._known:
            if known.program._replace(text=bare(known.program.text)) == program._replace(
                text=bare(program.text)
            ):
                return known
        source = self._source(name)
        write(source, program.text)
        write(self._folder / f"{name}.packet", program.packet.hex() + "\n")
        if len(program.maps) <= _LARGEST:
            write(self._folder / f"{name}.maps.json", program.maps)
        written = Written(str(source), program)
        self._known.append(written)
        return written

    def _source(self, name: str) -> Path:
        return self._folder / f"{name}.bpf.c"

    def _made(self, value: int, *, component: bool) -> tuple[str, XdpProgram]:
        """A program of a point, and its name."""
        experiment = self._experiment
        name = f"{experiment['component']['sweep']['parameter']}-{value}"
        if component:
            return name, xdp_program(experiment, value, component=True)
        if experiment["baseline"] == "empty":
            return f"{name}.empty", empty_program(experiment, value)
        return f"{name}.without", xdp_program(experiment, value, component=False)


def bare(text: str) -> str:
    """A program without its first comment, which names the point."""
    return text.partition("*/")[2]


FLAGS = ("-mcpu=v3", "-fno-unroll-loops")
"""As the examples are compiled: loops stay loops."""


class Compiled(NamedTuple):
    """A program in an object."""

    object: objects.Object
    number: int


class Compiler:
    """Compiles each program once, whichever experiments have it; one at a time on each CPU."""

    def __init__(self, bed: str) -> None:
        """Look for clang once, before a test bed has hundreds of programs for it.

        Raises:
            InputError: when there is no clang that can be used.
        """
        try:
            find_compiler()
        except CompilerError as problem:
            raise InputError(bed, f"compiles its programs, and {problem}") from None
        self._known = dict[str, Future[Compiled]]()
        self._threads = ThreadPoolExecutor(len(os.sched_getaffinity(0)), "clang")

    def begin(self, written: Written) -> "Future[Compiled]":
        """Compiles a program from now on; what clang does not compile, is an `InputError` there."""
        text = bare(written.program.text)
        if text not in self._known:
            self._known[text] = self._threads.submit(_compiled, written.file)
        return self._known[text]

    def stop(self) -> None:
        """What is under way is waited for, and nothing is begun any more."""
        self._threads.shutdown(cancel_futures=True)


def _compiled(file: str) -> Compiled:
    found = objects.read_object(file, compile_c(file, Clang(FLAGS)))
    numbers = [one.number for one in objects.programs(found) or [] if one.name == ENTRY]
    if not numbers:
        raise InputError(file, f"has no program {ENTRY!r}")
    return Compiled(found, numbers[0])
