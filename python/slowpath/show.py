"""The command `slowpath show`: says what BPF objects contain."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal

from slowpath import engine
from slowpath.exit_codes import ExitCode, worst
from slowpath.inputs import InputError, read_program
from slowpath.objects import BpfObject, failed_object
from slowpath.report_objects import object_report
from slowpath.terminal import error, out

_RUNNING_KERNEL = "/sys/kernel/btf/vmlinux"


@dataclass(frozen=True)
class Wanted:
    """What is to be shown of each object."""

    section: str | None  # glob; None: all
    name: str | None  # glob; None: all
    form: Literal["table", "json"]
    listing: bool


def show_objects(files: Sequence[str], wanted: Wanted, btf: str | None) -> ExitCode:
    """Shows every object; a failure does not stop the rest.

    Raises:
        InputError: when the kernel's type information in the file `btf` cannot be read.
    """
    kernel = None if btf is None else engine.KernelTypes(btf, read_program(btf))
    codes = []
    if wanted.form == "json":
        out(f'{{"slowpath": {json.dumps(engine.version())}, "objects": [')
    for index, file in enumerate(files):
        shown = _shown(file, wanted, kernel)
        if wanted.form == "json":
            out(("," if index else "") + json.dumps(shown))
        elif shown["error"] is None:
            if ExitCode.FINE in codes:
                out("")
            for line in object_report(shown, listing=wanted.listing):
                out(line)
        codes.append(_judge(file, shown))
    if wanted.form == "json":
        out("]}")
    return worst(codes)


def _resolved(file: str, data: bytes, kernel: engine.KernelTypes | None) -> BpfObject:
    """The object; what it leaves open is looked up in the running kernel where none is given."""
    shown = engine.show(file, data, kernel)
    if kernel is not None or not any(program["unresolved"] for program in shown["programs"]):
        return shown
    try:
        running = engine.KernelTypes(_RUNNING_KERNEL, read_program(_RUNNING_KERNEL))
        return engine.show(file, data, running)
    except InputError:
        return shown  # a kernel without BTF, or of another kind


def _shown(file: str, wanted: Wanted, kernel: engine.KernelTypes | None) -> BpfObject:
    try:
        shown = _resolved(file, read_program(file), kernel)
    except InputError as problem:
        if problem.file != file:
            raise
        return failed_object(file, problem.reason)
    chosen = [
        program
        for program in shown["programs"]
        if fnmatchcase(program["section"], wanted.section or "*")
        and fnmatchcase(program["name"], wanted.name or "*")
    ]
    if not chosen:
        return failed_object(file, _no_match(shown, wanted))
    if not wanted.listing:
        for program in chosen:
            program["listing"] = None
    shown["programs"] = chosen
    return shown


def _no_match(shown: BpfObject, wanted: Wanted) -> str:
    options = (("--section", wanted.section), ("--prog-name", wanted.name))
    asked = " ".join(f"{option} {glob!r}" for option, glob in options if glob is not None)
    known = ", ".join(f"{program['section']}: {program['name']}" for program in shown["programs"])
    return f"no program matches {asked}; there are {known}"


def _judge(file: str, shown: BpfObject) -> ExitCode:
    """Says on standard error what went wrong with an object."""
    problems = [f"{p['name']}: {p['error']}" for p in shown["programs"] if p["error"] is not None]
    if shown["error"] is not None:
        problems.append(shown["error"])
    for problem in problems:
        error(file, problem)
    return ExitCode.INPUT if problems else ExitCode.FINE
