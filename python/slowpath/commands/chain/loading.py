"""A chain as it is in files: its description, and the objects that it names."""

from pathlib import Path

from slowpath import engine
from slowpath.analysis.plan import Plan, Request, Task
from slowpath.cli.errors import InputError
from slowpath.cli.inputs import read_text
from slowpath.programs.loading import load_program
from slowpath.programs.selection import Selection, choose, list_programs, nothing_to_choose


def plan_of(file: str, request: Request) -> Plan:
    """The chain that a file describes: once for each device that its programs run on.

    Raises:
        InputError: when it is no chain, names targets, or one of its objects cannot be read.
    """
    chain = engine.read_chain(file, read_text(file))
    folder, size = Path(file).parent, 0
    members = list[tuple[engine.Object, int]]()
    for name, place, program in chain.members:
        path = str(folder / place)
        data = load_program(path, request.clang)
        read = engine.read_object(path, data)
        members.append((read, _program(file, name, path, read, program)))
        size += len(data)
    label, devices, tasks = Path(file).stem, chain.devices, list[Task]()
    for device in devices:
        _check_device(file, device)
        name = label if len(devices) == 1 else f"{label}@{device or 'device'}"
        combined = engine.combine(file, chain, name, members, device)
        (entry,) = engine.programs(combined) or []
        tasks.append(Task(file, combined, size, entry, request.target.name, request.metric))
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


def _program(file: str, name: str, path: str, read: engine.Object, wanted: str | None) -> int:
    """The number of the program that a member of a chain means.

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
        return named[0].number
    chosen, others = choose(programs, Selection())
    if not chosen:
        raise InputError(file, f"{name}: {path}: {nothing_to_choose(others)}")
    if len(chosen) > 1:
        known = list_programs(chosen)
        raise InputError(file, f"{name}: {path} has several programs; say `program:`, of {known}")
    return chosen[0].number
