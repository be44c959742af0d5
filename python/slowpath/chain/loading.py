"""Loading of chain descriptions, their objects, and the target of each device."""

import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from slowpath.bounds.multi_target import without_others
from slowpath.bounds.options import WrittenOptions, check_valid, choose_target, read_request
from slowpath.bounds.plan import Plan, Request, Task
from slowpath.core.engine import chains, objects
from slowpath.core.engine.targets import Target
from slowpath.core.errors import InputError
from slowpath.core.inputs import read_program, text_of
from slowpath.core.programs.loading import load_program
from slowpath.core.programs.selection import meant_by
from slowpath.core.programs.sources import Clang, is_c, known_as


class LoadedChain(NamedTuple):
    """A chain with the objects of its programs."""

    file: str
    chain: chains.Chain
    members: list[tuple[objects.Object, int]]  # each with the program's number in the object
    size: int  # total size of all objects, in bytes
    needs_kernel: bool  # true if a program depends on the kernel's types
    compiled: bool  # true if a program is C source

    @property
    def label(self) -> str:
        """Name of the chain, from its file."""
        return Path(self.file).stem


def load_chain(
    file: str, clang: Clang, variables: Sequence[str] = (), maps: str | None = None
) -> LoadedChain:
    """Load the chain that a file describes, or a chain of the one program in an object.

    `variables` and read-only sections of `maps` are set as by a loader (`chains.configured`).

    Raises:
        InputError: if the file is not a chain, an object cannot be read, or a variable does not
            exist.
    """
    text = _described(file) if _is_description(file) else _description(file)
    chain = chains.read_chain(file, text)
    loaded = load_members(file, chain, clang)
    members = [(member.object, member.program) for member in loaded]
    if variables or maps is not None:
        members = chains.configured(file, chain, members, variables, maps)
    size = sum(len(member.data) for member in loaded)
    needs_kernel = any(member.needs_kernel for member in loaded)
    compiled = any(is_c(place) for _, place, _ in chain.members)
    return LoadedChain(file, chain, members, size, needs_kernel, compiled)


class ProgramDescription(Protocol):
    """A description that names programs."""

    @property
    def members(self) -> list[tuple[str, str, str | None]]:
        """Name, file, and name in the file of each program."""

    @property
    def lines(self) -> list[int]:
        """Line of each program in the description."""


class LoadedMember(NamedTuple):
    """A program that a description names, with its object."""

    object: objects.Object
    program: int  # its number in the object
    data: bytes  # the object's file
    needs_kernel: bool  # true if it depends on the kernel's types


def load_members(file: str, described: ProgramDescription, clang: Clang) -> list[LoadedMember]:
    """Load the programs that a description names.

    Raises:
        InputError: if an object cannot be read or lacks the program.
    """
    if clang.flags and not any(is_c(place) for _, place, _ in described.members):
        raise InputError(file, "no program is C source (*.c), nothing is compiled with --cflags")
    folder = Path(file).parent
    read = dict[str, tuple[bytes, objects.Object]]()
    loaded = list[LoadedMember]()
    for (name, place, program), line in zip(described.members, described.lines, strict=True):
        path = str(folder / place)
        if path not in read:
            data = load_program(path, clang)
            read[path] = data, objects.read_object(path, data)
        data, found = read[path]
        chosen = _program(file, (name, line), path, found, program)
        loaded.append(LoadedMember(found, chosen.number, data, chosen.needs_kernel))
    return loaded


def _described(file: str) -> str:
    """Return the text of a description.

    Raises:
        InputError: if the file cannot be read or has another known format.
    """
    data = read_program(file)
    known = known_as(file, data)
    if known is not None:
        raise InputError(file, known)
    return text_of(file, data)


def _is_description(file: str) -> bool:
    """Return true if a file is a description, by its suffix: `.o` and `.c` are programs."""
    return Path(file).suffix not in {".o", ".c"}


def _description(file: str) -> str:
    """Return the description of a chain of one program."""
    path = Path(file)
    name = re.sub(r"[^A-Za-z0-9_.-]", "_", path.name.split(".")[0]) or "program"
    return f"schema: 1\nprograms:\n  - name: {name}\n    object: {json.dumps(path.name)}\n"


def plan_for(loaded: LoadedChain, request: Request, known: chains.KnownStart | None = None) -> Plan:
    """Return the analyses of a chain on one target, one for each device of its programs.

    With `known`, they assume this knowledge about packets and maps before the chain runs.

    Raises:
        InputError: if the programs do not fit together.
    """
    compiled = range(len(loaded.members)) if request.target.compiles else ()
    devices = loaded.chain.devices
    return Plan([task_of(loaded, device, request, compiled, known) for device in devices], [])


def task_of(
    loaded: LoadedChain,
    device: str | None,
    request: Request,
    compiled: Sequence[int],
    known: chains.KnownStart | None = None,
) -> Task:
    """Return the analysis of a chain on one of its devices, for the target of the request.

    `compiled` has the numbers of the programs that run in compiled form.

    Raises:
        InputError: if the programs do not fit together.
    """
    file, chain = loaded.file, loaded.chain
    name = loaded.label if len(chain.devices) == 1 else f"{loaded.label}@{device or 'device'}"
    on_it = chain.on_device(device)
    subject = chains.ChainSubject(file, chain, loaded.members, None)
    if request.target.compiles and len(on_it) == 1:
        found = chains.with_arriving_packets(subject, name, on_it[0], compiled, known)
    else:
        found = chains.combine(subject, name, device, compiled, known)
    (entry,) = objects.programs(found) or []
    target, metric = request.target.name, request.metric
    return Task(file, found, loaded.size, entry, target, metric, compiled=loaded.compiled)


def _program(
    file: str, member: tuple[str, int], path: str, read: objects.Object, wanted: str | None
) -> objects.ProgramInfo:
    """Return the program that a member of a chain means.

    Raises:
        InputError: if the object has no such program, or several.
    """
    (name, line) = member
    # A chain made of one object has no description with line numbers.
    name = f"line {line}: {name}" if _is_description(file) else name
    programs = objects.programs(read)
    meant = meant_by(path, programs, wanted)
    if isinstance(meant, str):
        reason = f"{meant}; chains are of these" if programs is None else meant
        raise InputError(file, f"{name}: {reason}")
    return meant


def plans_of(file: str, written: WrittenOptions, request: Request) -> list[tuple[Request, Plan]]:
    """Return the analyses of a chain, each with its request.

    `written` are the options of `request`. Devices without a target in the description use the
    target of `request`.

    Raises:
        OptionError: if an option makes no sense for a target.
        InputError: if the file is not a chain, a target is invalid, or an object cannot be read.
    """
    loaded = load_chain(file, request.clang, request.options.set, request.options.maps)
    named = targets_of(loaded)
    if not named:
        return [(request, plan_for(loaded, request))]
    devices = loaded.chain.devices
    targets = [named.get(device or "", request.target.name) for device in devices]
    known = [choose_target(target) for target in targets]
    requests = [
        read_request([file], without_others(written._replace(target=target), each, known))
        for target, each in zip(targets, known, strict=True)
    ]
    compiled = _compiled(loaded, zip(devices, known, strict=True))
    # All requests share one deadline.
    requests = [one._replace(until=request.until) for one in requests]
    return [
        (one, Plan([task_of(loaded, device, one, compiled)], []))
        for one, device in zip(requests, devices, strict=True)
    ]


def targets_of(loaded: LoadedChain) -> dict[str, str]:
    """Return the target of each device with a target in the description: its name or file.

    Raises:
        InputError: if a target is invalid or cannot run several programs.
    """
    found = dict[str, str]()
    for device, name, line in loaded.chain.targets:
        described = name.endswith(".toml") or "/" in name
        target = str(Path(loaded.file).parent / name) if described else name
        try:
            known = choose_target(target)
            check_valid(known, target)
            if known.compiles and len(loaded.chain.on_device(device)) > 1:
                raise ValueError(f"target {known.name} runs one program, and no chain of several")
        except (ValueError, InputError) as problem:
            what = f"line {line}: device {device}: {problem}"
            raise InputError(loaded.file, what) from None
        found[device] = target
    return found


def compiled_of(loaded: LoadedChain) -> list[int]:
    """Return the numbers of the programs on devices whose targets compile programs.

    Raises:
        InputError: if the description names an invalid target.
    """
    named = targets_of(loaded).items()
    return _compiled(loaded, ((device, choose_target(target)) for device, target in named))


def conditions_of(loaded: LoadedChain) -> list[list[str]]:
    """Return the conditions under which compiled programs in front behave as their BPF originals.

    Raises:
        InputError: if the description names an invalid target.
    """
    compiled, members = compiled_of(loaded), loaded.members
    subject = chains.ChainSubject(loaded.file, loaded.chain, members, None)
    return [
        chains.equivalence_conditions(subject, member, compiled) for member in range(len(members))
    ]


def _compiled(loaded: LoadedChain, devices: Iterable[tuple[str | None, Target]]) -> list[int]:
    return [
        member
        for device, target in devices
        if target.compiles
        for member in loaded.chain.on_device(device)
    ]
