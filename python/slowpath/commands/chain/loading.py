"""A chain as it is in files: its description, and the objects that it names."""

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from slowpath import engine
from slowpath.analysis.plan import Plan, Request, Task
from slowpath.cli.errors import InputError
from slowpath.cli.inputs import read_text
from slowpath.programs.loading import load_program
from slowpath.programs.selection import Selection, choose, list_programs, nothing_to_choose
from slowpath.programs.sources import Clang


class LoadedChain(NamedTuple):
    """A chain, and the objects of its programs."""

    file: str
    chain: engine.Chain
    members: list[tuple[engine.Object, int]]  # each with the number of its program there
    size: int  # of all objects, in bytes
    needs_kernel: bool  # whether a program depends on the types of the kernel

    @property
    def label(self) -> str:
        """What it is called."""
        return Path(self.file).stem


def load_chain(file: str, clang: Clang) -> LoadedChain:
    """The chain that a file describes, or that has the program of an object only.

    Raises:
        InputError: when it is no chain, or one of its objects cannot be read.
    """
    text = read_text(file) if _is_description(file) else _description(file)
    chain = engine.read_chain(file, text)
    loaded = load_members(file, chain.members, clang)
    members = [(member.object, member.program) for member in loaded]
    size = sum(len(member.data) for member in loaded)
    needs_kernel = any(member.needs_kernel for member in loaded)
    return LoadedChain(file, chain, members, size, needs_kernel)


class LoadedMember(NamedTuple):
    """A program that a description names, and its object."""

    object: engine.Object
    program: int  # its number there
    data: bytes  # the object's file
    needs_kernel: bool  # whether it depends on the types of the kernel


def load_members(
    file: str, members: Iterable[tuple[str, str, str | None]], clang: Clang
) -> list[LoadedMember]:
    """The programs that a description names: each by its name, its file, and its name there.

    Raises:
        InputError: when an object cannot be read, or has no such program.
    """
    folder = Path(file).parent
    read = dict[str, tuple[bytes, engine.Object]]()
    loaded = list[LoadedMember]()
    for name, place, program in members:
        path = str(folder / place)
        if path not in read:
            data = load_program(path, clang)
            read[path] = data, engine.read_object(path, data)
        data, found = read[path]
        chosen = _program(file, name, path, found, program)
        loaded.append(LoadedMember(found, chosen.number, data, chosen.needs_kernel))
    return loaded


def _is_description(file: str) -> bool:
    """Whether a file is one, by its name: objects and sources are programs."""
    return Path(file).suffix not in {".o", ".c"}


def _description(file: str) -> str:
    """A chain of one program."""
    path = Path(file)
    name = re.sub(r"[^A-Za-z0-9_.-]", "_", path.name.split(".")[0]) or "program"
    return f"schema: 1\nprograms:\n  - name: {name}\n    object: {json.dumps(path.name)}\n"


def plan_of(file: str, request: Request) -> Plan:
    """The chain that a file describes: once for each device that its programs run on.

    Raises:
        InputError: when it is no chain, names targets, or one of its objects cannot be read.
    """
    loaded = load_chain(file, request.clang)
    devices, tasks = loaded.chain.devices, list[Task]()
    for device in devices:
        _check_device(file, device)
        label = loaded.label
        name = label if len(devices) == 1 else f"{label}@{device or 'device'}"
        combined = engine.combine(file, loaded.chain, name, loaded.members, device)
        (entry,) = engine.programs(combined) or []
        tasks.append(Task(file, combined, loaded.size, entry, request.target.name, request.metric))
    return Plan(tasks, [])


def _check_device(file: str, device: str | None) -> None:
    """Refuses devices that are named like targets: all of a chain are the same.

    Raises:
        InputError: when one is.
    """
    if device is not None and (device in engine.target_names() or device.endswith(".toml")):
        what = (
            f"device {device} is called like a target; devices have names of their own and are all "
            "analysed on --target: chains over several targets, such as a card in front of a "
            "host, are not supported"
        )
        raise InputError(file, what)


def _program(
    file: str, name: str, path: str, read: engine.Object, wanted: str | None
) -> engine.ProgramInfo:
    """The program that a member of a chain means.

    Raises:
        InputError: when the object has no such program, or several.
    """
    programs = engine.programs(read)
    if programs is None:
        raise InputError(file, f"{name}: {path} is no BPF object; chains are of these")
    if wanted is not None:
        named = [one for one in programs if one.name == wanted]
        if not named:
            known = list_programs(programs)
            raise InputError(file, f"{name}: {path} has no program {wanted}; there are {known}")
        return named[0]
    chosen, others = choose(programs, Selection())
    if not chosen:
        raise InputError(file, f"{name}: {path}: {nothing_to_choose(others)}")
    if len(chosen) > 1:
        known = list_programs(chosen)
        raise InputError(file, f"{name}: {path} has several programs; say `program:`, of {known}")
    return chosen[0]
