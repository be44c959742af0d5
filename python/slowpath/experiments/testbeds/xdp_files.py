"""XDP programs of an experiment in its directory: written, compiled, each of them once."""

from pathlib import Path
from typing import NamedTuple

from slowpath import engine
from slowpath.cli.errors import InputError
from slowpath.experiments.programs.xdp import ENTRY, XdpProgram, empty_program, xdp_program
from slowpath.experiments.results.folder import write
from slowpath.experiments.specification.documents import Experiment
from slowpath.programs.clang import compile_c
from slowpath.programs.sources import Clang

FLAGS = ("-mcpu=v3", "-fno-unroll-loops")
"""As the examples are compiled: loops stay loops."""
_LARGEST = 1 << 20
"""Bytes of map content that are written down; more follow from the specification as well."""


class Written(NamedTuple):
    """A program that was compiled."""

    file: str
    program: XdpProgram
    object: engine.Object
    number: int  # of the program in the object


class Pair(NamedTuple):
    """What is measured for a point."""

    component: Written
    baseline: Written


class Compiler:
    """Compiles each program once, whichever experiments have it."""

    def __init__(self) -> None:
        """Nothing is compiled yet."""
        self._known = dict[str, tuple[engine.Object, int]]()

    def compiled(self, source: Path, text: str) -> tuple[engine.Object, int]:
        """The object of a source file with this text, and the program's number in it.

        Raises:
            InputError: when clang does not compile it.
        """
        bare = _bare(text)
        if bare not in self._known:
            found = engine.read_object(str(source), compile_c(str(source), Clang(FLAGS)))
            numbers = [one.number for one in engine.programs(found) or [] if one.name == ENTRY]
            if not numbers:
                raise InputError(str(source), f"has no program {ENTRY!r}")
            self._known[bare] = found, numbers[0]
        return self._known[bare]


class XdpFiles:
    """The programs of one experiment; those that are the same are one."""

    def __init__(self, experiment: Experiment, folder: Path, compiler: Compiler) -> None:
        """Nothing is written yet."""
        self._compiler = compiler
        self._experiment = experiment
        self._folder = folder
        self._known: list[Written] = []

    def pair(self, value: int) -> Pair:
        """The programs of a point.

        Raises:
            InputError: when parameters do not fit together, or clang does not compile it.
        """
        experiment = self._experiment
        name = f"{experiment['component']['sweep']['parameter']}-{value}"
        component = self._written(name, xdp_program(experiment, value, component=True))
        if experiment["baseline"] == "empty":
            program, name = empty_program(experiment, value), f"{name}.empty"
        else:
            program = xdp_program(experiment, value, component=False)
            name = f"{name}.without"
        return Pair(component, self._written(name, program))

    def _written(self, name: str, program: XdpProgram) -> Written:
        for known in self._known:
            if known.program._replace(text=_bare(known.program.text)) == program._replace(
                text=_bare(program.text)
            ):
                return known
        source = self._folder / f"{name}.bpf.c"
        write(source, program.text)
        write(self._folder / f"{name}.packet", program.packet.hex() + "\n")
        if len(program.maps) <= _LARGEST:
            write(self._folder / f"{name}.maps.json", program.maps)
        found, number = self._compiler.compiled(source, program.text)
        written = Written(str(source), program, found, number)
        self._known.append(written)
        return written


def _bare(text: str) -> str:
    """A program without its first comment, which names the point."""
    return text.partition("*/")[2]
