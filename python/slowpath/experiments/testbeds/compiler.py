"""Compiles the XDP programs of experiments, several at a time."""

import os
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple

from slowpath.cli.errors import InputError
from slowpath.engine import objects
from slowpath.experiments.programs.xdp import ENTRY
from slowpath.experiments.testbeds.xdp_files import Written, bare
from slowpath.programs.clang import compile_c
from slowpath.programs.compilers import CompilerError, find_compiler
from slowpath.programs.sources import Clang

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
