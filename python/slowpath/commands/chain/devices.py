"""The devices of a chain: which target each of them is, and what there is to analyse on it."""

from collections.abc import Iterable
from pathlib import Path

from slowpath.analysis.options import WrittenOptions, check_valid, choose_target, read_request
from slowpath.analysis.plan import Plan, Request
from slowpath.analysis.several import without_others
from slowpath.cli.errors import InputError
from slowpath.commands.chain.loading import LoadedChain, load_chain, plan_for, task_of
from slowpath.engine import chains
from slowpath.engine.targets import Target


def plans_of(file: str, written: WrittenOptions, request: Request) -> list[tuple[Request, Plan]]:
    """What there is to analyse of a chain, with the request that it is part of.

    `written` are the options of `request`, whose target is that of devices of which none is said.

    Raises:
        OptionError: when an option makes no sense for a target.
        InputError: when it is no chain, a target is none, or an object cannot be read.
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
    # Time for all of it is counted from one moment.
    requests = [one._replace(until=request.until) for one in requests]
    return [
        (one, Plan([task_of(loaded, device, one, compiled)], []))
        for one, device in zip(requests, devices, strict=True)
    ]


def targets_of(loaded: LoadedChain) -> dict[str, str]:
    """The target of each device of which the description says it: its name, or its file.

    Raises:
        InputError: when one is no target, or does not run as many programs.
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
    """The programs that run on devices whose targets, as the description has them, compile them.

    They are told by their numbers.

    Raises:
        InputError: when one is no target.
    """
    named = targets_of(loaded).items()
    return _compiled(loaded, ((device, choose_target(target)) for device, target in named))


def conditions_of(loaded: LoadedChain) -> list[list[str]]:
    """What has to hold for each program, so that those in front do what their BPF programs do.

    Raises:
        InputError: when the description has a target that is none.
    """
    compiled, members = compiled_of(loaded), loaded.members
    subject = chains.ChainSubject(loaded.file, loaded.chain, members, None)
    return [chains.as_compiled(subject, member, compiled) for member in range(len(members))]


def _compiled(loaded: LoadedChain, devices: Iterable[tuple[str | None, Target]]) -> list[int]:
    return [
        member
        for device, target in devices
        if target.compiles
        for member in loaded.chain.on_device(device)
    ]
