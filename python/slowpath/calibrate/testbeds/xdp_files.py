"""Writes the XDP programs of experiments to files, and compiles them in parallel."""

import os
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from slowpath.calibrate.experiments.folder import write
from slowpath.calibrate.experiments.specification import Experiment
from slowpath.calibrate.testbeds.xdp_programs import ENTRY, XdpProgram, empty_program, xdp_program
from slowpath.core import codes
from slowpath.core.engine import objects
from slowpath.core.errors import InputError
from slowpath.core.programs.clang import compile_c
from slowpath.core.programs.compilers import CompilerError, find_compiler
from slowpath.core.programs.sources import Clang

_LARGEST = 1 << 20
"""Maximum size of a file with map content, in bytes. Larger content is not written, because it
follows from the specification of the experiment.
"""


class Written(NamedTuple):
    """A generated XDP program, and its source file on disk."""

    file: str
    program: XdpProgram


class Pair(NamedTuple):
    """The programs for a value of the swept parameter: with and without the component."""

    component: Written
    baseline: Written


class XdpFiles:
    """The generated programs of an experiment and their files; equal programs share a file."""

    def __init__(self, experiment: Experiment, folder: Path, *, sends_back: bool = False) -> None:
        """Prepare to write the programs of an experiment.

        Args:
            experiment: The experiment.
            folder: Folder for the files.
            sends_back: True if programs send packets back, in place of passing them on.
        """
        self._experiment = experiment
        self._sends_back = sends_back
        self._folder = folder
        self._known: list[Written] = []

    def pair(self, value: int) -> Pair:
        """Write the programs for a value of the swept parameter: with and without the component.

        Raises:
            InputError: when parameters do not fit together.
        """
        return Pair(self._written(value, component=True), self._written(value, component=False))

    def again(self, value: int, *, component: bool) -> Written:
        """Return a program that `pair` has written; its file is not written again."""
        name, program = self._made(value, component=component)
        return Written(str(self._source(name)), program)

    def forget(self) -> None:
        """Release the memory of all programs written so far."""
        self._known.clear()

    def _written(self, value: int, *, component: bool) -> Written:
        name, program = self._made(value, component=component)
        for known in self._known:
            if known.program._replace(
                text=without_first_comment(known.program.text)
            ) == program._replace(text=without_first_comment(program.text)):
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
        """Generate the program for a value of the swept parameter.

        Return its name and the program.
        """
        experiment = self._experiment
        name = f"{experiment['component']['sweep']['parameter']}-{value}"
        if component:
            program = xdp_program(experiment, value, component=True)
            if self._sends_back:
                text = program.text.replace("return XDP_PASS;", "return XDP_TX;")
                program = program._replace(text=text)
            return name, program
        if experiment["baseline"] == "empty":
            return f"{name}.empty", empty_program(experiment, value)
        return f"{name}.without", xdp_program(experiment, value, component=False)


def without_first_comment(text: str) -> str:
    """Return the source of a program without its first comment, which names the swept value.

    Programs with the same remaining text are equal.
    """
    return text.partition("*/")[2]


FLAGS = ("-mcpu=v3", "-fno-unroll-loops")
"""Compiler flags, as for examples/; loops are not unrolled."""


class Compiled(NamedTuple):
    """A compiled program: its object, and its index in the object."""

    object: objects.Object
    number: int


class Compiler:
    """Compiler of the programs of all experiments.

    It works in parallel, and compiles equal programs once.
    """

    def __init__(self, bed: str) -> None:
        """Look for clang, so that a missing one is reported before many programs are written.

        `bed` is the name of the test bed, for the error.

        Raises:
            InputError: when no usable clang is installed.
        """
        try:
            find_compiler()
        except CompilerError as problem:
            raise InputError(
                codes.NO_COMPILER, bed, f"the experiment needs a compiler: {problem}"
            ) from None
        self._known = dict[str, Future[Compiled]]()
        self._threads = ThreadPoolExecutor(len(os.sched_getaffinity(0)), "clang")

    def begin(self, written: Written) -> "Future[Compiled]":
        """Start to compile a program; the future raises an `InputError` if clang fails."""
        text = without_first_comment(written.program.text)
        if text not in self._known:
            self._known[text] = self._threads.submit(_compiled, written.file)
        return self._known[text]

    def stop(self) -> None:
        """Wait for running compilations, and cancel those that have not started."""
        self._threads.shutdown(cancel_futures=True)


def _compiled(file: str) -> Compiled:
    found = objects.read_object(file, compile_c(file, Clang(FLAGS)))
    numbers = [one.number for one in objects.programs(found) or [] if one.name == ENTRY]
    if not numbers:
        raise InputError(codes.NO_SUCH_PROGRAM, file, f"the object lacks the program {ENTRY!r}")
    return Compiled(found, numbers[0])
