"""Loads descriptions of chains, the BPF objects that they name, and the targets of their devices.

This module also runs the rewriting of programs in worker processes, and writes object files.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from slowpath.bounds.multi_target import applicable
from slowpath.bounds.options import WrittenOptions, check_valid, choose_target, read_request
from slowpath.bounds.plan import Plan, Request, Task
from slowpath.bounds.progress import WorkWatch
from slowpath.core import codes
from slowpath.core.engine import chains, objects
from slowpath.core.engine.analyses import StageProgress
from slowpath.core.engine.p4 import translated
from slowpath.core.engine.targets import Target
from slowpath.core.errors import Coded, InputError, OptionError
from slowpath.core.inputs import read_program, text_of, write_bytes, write_error
from slowpath.core.jobs import Message, Stopping
from slowpath.core.jobs.isolated_job import IsolatedJob
from slowpath.core.programs.loading import load_program
from slowpath.core.programs.selection import find_program
from slowpath.core.programs.sources import Clang, advice_for, is_source


class LoadedChain(NamedTuple):
    """A chain of programs with the BPF objects of the programs."""

    file: str
    chain: chains.Chain
    members: list[tuple[objects.Object, int]]  # object of each program, and its number in there
    size: int  # total size of all objects, in bytes
    needs_kernel: bool  # true if a program depends on the kernel's types
    compiled: bool  # true if a program is C source
    conditions: Sequence[str] = ()  # of the translations of P4 programs

    @property
    def label(self) -> str:
        """Name of the chain: its file name without suffix."""
        return Path(self.file).stem

    def subject(self, btf: objects.Btf | None = None) -> chains.ChainSubject:
        """Return the chain in the form that the engine analyses.

        `btf` has the kernel's types; None if no program needs them.
        """
        return chains.ChainSubject(self.file, self.chain, self.members, btf)


def load_chain(
    file: str, clang: Clang, variables: Sequence[str] = (), maps: str | None = None
) -> LoadedChain:
    """Load the chain that `file` describes; a BPF object or C source is a chain of one program.

    `variables` and read-only sections of `maps` set variables as a loader does
    (`chains.configured`).

    Raises:
        InputError: if the file is not a chain, an object cannot be read, or a variable does not
            exist.
    """
    text = _read_description(file) if _is_description(file) else _describe_object(file)
    chain = chains.read_chain(file, text)
    loaded = load_members(file, chain, clang)
    members = [(member.object, member.program) for member in loaded]
    if variables or maps is not None:
        members = chains.configured(file, chain, members, variables, maps)
    size = sum(len(member.data) for member in loaded)
    needs_kernel = any(member.needs_kernel for member in loaded)
    compiled = any(is_source(path) for _, path, _ in chain.members)
    sources = [translated(str(Path(file).parent / path)) for _, path, _ in chain.members]
    found = [one for source in sources if source is not None for one in source.conditions]
    conditions = list(dict.fromkeys(found))
    return LoadedChain(file, chain, members, size, needs_kernel, compiled, conditions)


class ProgramDescription(Protocol):
    """Common interface of descriptions of chains and of network topologies."""

    @property
    def members(self) -> list[tuple[str, str, str | None]]:
        """For each program: its name, its file, and its name in the file (None: not stated)."""

    @property
    def lines(self) -> list[int]:
        """Line of each program in the description."""


class LoadedMember(NamedTuple):
    """An object file, and the program in it that runs in a chain or topology."""

    object: objects.Object
    program: int  # index of the program in the object
    data: bytes  # content of the object file
    needs_kernel: bool  # true if the program depends on the kernel's types


def load_members(file: str, description: ProgramDescription, clang: Clang) -> list[LoadedMember]:
    """Load the programs that a description names; `file` is the description.

    Raises:
        InputError: if an object cannot be read or lacks the program.
    """
    if clang.flags and not any(is_source(path) for _, path, _ in description.members):
        raise InputError(
            codes.OPTION_WITHOUT_EFFECT,
            file,
            "no program is a C or P4 source, so --cflags has no effect",
        )
    folder = Path(file).parent
    read = dict[str, tuple[bytes, objects.Object]]()
    loaded = list[LoadedMember]()
    for member, line in zip(description.members, description.lines, strict=True):
        path = str(folder / member[1])
        if path not in read:
            data = load_program(path, clang)
            read[path] = data, objects.read_object(path, data)
        data, found = read[path]
        program = _choose_program(file, member, line, path, read[path])
        loaded.append(LoadedMember(found, program.number, data, program.needs_kernel))
    return loaded


def _read_description(file: str) -> str:
    """Read the text of a description of a chain or a topology.

    Raises:
        InputError: if the file cannot be read or has another known format.
    """
    data = read_program(file)
    known = advice_for(file, data)
    if known is not None:
        raise InputError(known.code, file, known)
    return text_of(file, data)


def _is_description(file: str) -> bool:
    """Return true if a file is a description: its suffix is neither `.o` nor `.c`."""
    return Path(file).suffix not in {".o", ".c"}


def _describe_object(file: str) -> str:
    """Return a description in YAML of a chain whose only program is in the object `file`."""
    path = Path(file)
    name = re.sub(r"[^A-Za-z0-9_.-]", "_", path.name.split(".")[0]) or "program"
    return f"schema: 1\nprograms:\n  - name: {name}\n    object: {json.dumps(path.name)}\n"


def plan_for(loaded: LoadedChain, request: Request, known: chains.KnownStart | None = None) -> Plan:
    """Return the analyses of a chain on the target of a request, one for each device of the chain.

    If `known` is given, the analyses assume these facts about arriving packets and map content.

    Raises:
        InputError: if the programs do not fit together.
    """
    compiled = range(len(loaded.members)) if request.target.compiles else ()
    devices = loaded.chain.devices
    return Plan([_task(loaded, device, request, compiled, known) for device in devices], [])


def _task(
    loaded: LoadedChain,
    device: str | None,
    request: Request,
    compiled: Sequence[int],
    known: chains.KnownStart | None = None,
) -> Task:
    """Return the analysis of the programs on one device, on the target of the request.

    `compiled` has the indices of the programs that run compiled for a SmartNIC instead of as BPF.
    `known` has assumptions about arriving packets and map content.

    Raises:
        InputError: if the programs do not fit together.
    """
    chain = loaded.chain
    name = loaded.label if len(chain.devices) == 1 else f"{loaded.label}@{device or 'device'}"
    members = chain.on_device(device)
    if request.target.compiles and len(members) == 1:
        found = chains.with_arriving_packets(loaded.subject(), name, members[0], compiled, known)
    else:
        found = chains.combine(loaded.subject(), name, device, compiled, known)
    (entry,) = objects.programs(found) or []
    target, metric = request.target.name, request.metric
    return Task(
        loaded.file,
        found,
        loaded.size,
        entry,
        target,
        metric,
        compiled=loaded.compiled,
        conditions=loaded.conditions,
    )


def _choose_program(
    file: str,
    member: tuple[str, str, str | None],
    line: int,
    path: str,
    content: tuple[bytes, objects.Object],
) -> objects.ProgramInfo:
    """Return the program of an object that a description names.

    Args:
        file: Description, for errors.
        member: Name of the program in the chain, file, and name in the file if given.
        line: Line of the program in the description.
        path: File of the object, for errors.
        content: The file's bytes, and the object read from them.

    Raises:
        InputError: if the object lacks the program, or has several and none is named.
    """
    (name, _, program) = member
    # A chain of a single object was generated, so line numbers would mislead the user.
    name = f"line {line}: {name}" if _is_description(file) else name
    data, read = content
    programs = objects.programs(read)
    chosen = find_program(path, data, programs, program)
    if isinstance(chosen, Coded):
        reason = f"{chosen}; a chain consists of BPF objects" if programs is None else chosen
        raise InputError(chosen.code, file, f"{name}: {reason}")
    return chosen


def plans_of(file: str, written: WrittenOptions, request: Request) -> list[tuple[Request, Plan]]:
    """Return the analyses of a chain, each with the request for its target.

    `written` has the options from which `request` was read. Devices without a target in the
    description use the target of `request`.

    Raises:
        OptionError: if an option is invalid for a target.
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
        read_request([file], applicable(written._replace(target=target), each, known))
        for target, each in zip(targets, known, strict=True)
    ]
    compiled = _compiled(loaded, zip(devices, known, strict=True))
    # All requests share one deadline.
    requests = [one._replace(until=request.until) for one in requests]
    return [
        (one, Plan([_task(loaded, device, one, compiled)], []))
        for one, device in zip(requests, devices, strict=True)
    ]


def targets_of(loaded: LoadedChain) -> dict[str, str]:
    """Return the targets that the description states, by device.

    A target is the name of a built-in one or a file.

    Raises:
        InputError: if a target is invalid, or several programs run on a target that runs only one.
    """
    found = dict[str, str]()
    for device, name, line in loaded.chain.targets:
        is_file = name.endswith(".toml") or "/" in name
        target = str(Path(loaded.file).parent / name) if is_file else name
        try:
            known = choose_target(target)
            check_valid(known, target)
            if known.compiles and len(loaded.chain.on_device(device)) > 1:
                raise ValueError(
                    f"target {known.name} runs a single program, not a chain of several"
                )
        except (ValueError, InputError) as problem:
            what = f"line {line}: device {device}: {problem}"
            raise InputError(
                problem.code if isinstance(problem, InputError) else codes.CHAIN_INVALID,
                loaded.file,
                what,
            ) from None
        found[device] = target
    return found


def compiled_of(loaded: LoadedChain) -> list[int]:
    """Return the indices of programs that are compiled for the target of their device.

    Raises:
        InputError: if the description names an invalid target.
    """
    named = targets_of(loaded).items()
    return _compiled(loaded, ((device, choose_target(target)) for device, target in named))


def conditions_of(loaded: LoadedChain) -> list[list[str]]:
    """Return the conditions under which each rewritten program is equivalent to the original.

    See `chains.equivalence_conditions`.

    Raises:
        InputError: if the description names an invalid target.
    """
    compiled, subject = compiled_of(loaded), loaded.subject()
    return [
        chains.equivalence_conditions(subject, member, compiled)
        for member in range(len(loaded.members))
    ]


def _compiled(loaded: LoadedChain, devices: Iterable[tuple[str | None, Target]]) -> list[int]:
    """Return the indices of programs that are compiled for the target of their device.

    `devices` has the target of each device.
    """
    return [
        member
        for device, target in devices
        if target.compiles
        for member in loaded.chain.on_device(device)
    ]


def run_watched(
    work: Callable[[Stopping], Iterator[Message]],
    watch: WorkWatch,
    stopping: Stopping,
    seconds: float | None,
    memory: int | None,
) -> tuple[Message | None, str | None]:
    """Run `work` in a worker process, and show its stages with `watch`.

    The work is limited to `seconds` and to `memory` bytes; None: no limit. Return its last result,
    and the reason why it was stopped early, if it was.

    Raises:
        InputError: if the work cannot be done.
    """
    results = list[Message]()

    def take(message: Message) -> None:
        match message:
            case ("doing", *stage):
                watch.take(StageProgress(*stage))
            case _:
                results.append(message)

    with IsolatedJob(memory, lambda _seconds, stopping: work(stopping)) as job:
        stopped = job.run(seconds, stopping, take, watch.look)
    return results[-1] if results else None, stopped


def check_folder(output: Path | None) -> None:
    """Check that the argument of `--output` is a folder, or that such a folder can be created.

    Raises:
        OptionError: if it, or what it is in, is an existing file.
    """
    if output is None:
        return
    existing = next(path for path in (output, *output.absolute().parents) if path.exists())
    if not existing.is_dir():
        raise OptionError(
            codes.FOLDER_EXPECTED,
            "--output",
            f"{existing} is a file, not a folder; name another one",
        )


def object_file(folder: Path, name: str) -> Path:
    """Return the path of the object file for the program `name` in `folder`."""
    return folder / f"{name}.bpf.o"


def write_object(folder: Path, name: str, data: bytes) -> str:
    """Write the object file of the program `name` to `folder`, and return its path.

    The folder is created if necessary.

    Raises:
        InputError: if the file cannot be written.
    """
    path = object_file(folder, name)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise write_error(str(path), problem) from None
    write_bytes(str(path), data)
    return str(path)
