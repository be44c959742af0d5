"""Rehearsal of rewritten programs in the running kernel.

Packets are derived from the packet that takes the slowest path through the whole chain, with its
map content. If that path is not found in time, they are derived from common packets, with empty
maps. Assumptions about packets that arrive are enforced on all packets.
"""

import json
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from slowpath.bounds.analyst import RunContext, Session
from slowpath.bounds.options import WrittenOptions, read_request
from slowpath.bounds.progress import PartWatcher, WorkWatch
from slowpath.chain.documents import ChainProgram, OnDevice, Rehearsal
from slowpath.chain.loading import LoadedChain, plan_for
from slowpath.core.engine import chains, objects, rehearsals
from slowpath.core.engine.current_stage import StageProgress
from slowpath.core.engine.errors import MapsFile
from slowpath.core.engine.kernel import Kernel, RewrittenRefusedError, open_kernel
from slowpath.core.engine.report_types import RehearsalCovered, RehearsalOnDevice
from slowpath.core.errors import InputError, UnavailableError
from slowpath.core.jobs.stopping import Stopping
from slowpath.core.programs.packet import wire_bytes
from slowpath.core.programs.selection import Selection
from slowpath.core.schema.results import Witness

_SEARCH = 10.0  # time limit of the search for the slowest path's packet, in seconds
_FRAMES = 1000  # maximum number of frames on virtual Ethernet, per XDP mode
_USUAL = [
    # TCP over IPv4
    bytes.fromhex(
        "02000000000102000000000208004500003c0001000040068e84c0000201c63364029c400050"
        "00000001000000005002faf0c7a600000102030405060708090a0b0c0d0e0f1011121314"
    ),
    # UDP over IPv4
    bytes.fromhex(
        "0200000000010200000000020800450000300001000040118e85c0000201c63364029c400035"
        "001c129b0102030405060708090a0b0c0d0e0f1011121314"
    ),
    # TCP over IPv6
    bytes.fromhex(
        "02000000000102000000000286dd600000000028064020010db8000000000000000000000001"
        "20010db80000000000000000000000029c40005000000001000000005002faf0586900000102"
        "030405060708090a0b0c0d0e0f1011121314"
    ),
    # UDP over IPv6
    bytes.fromhex(
        "02000000000102000000000286dd60000000001c114020010db8000000000000000000000001"
        "20010db80000000000000000000000029c400035001ca35d0102030405060708090a0b0c0d0e"
        "0f1011121314"
    ),
]
"""Seed packets with correct checksums, used if the search finds no packet."""


class RehearsalOptions(NamedTuple):
    """Options of a rehearsal."""

    subject: chains.ChainSubject
    loaded: LoadedChain
    packets: int
    guarded: bool
    seconds: float | None
    frozen: MapsFile | None  # content of frozen maps
    assumed: Sequence[str]  # facts about packets that arrive at the first program, in words
    receive: str | None  # delivery of packets; None: as on any device
    watch: WorkWatch


class _Tried(NamedTuple):
    number: int
    data: bytes
    covers: str
    generation: str | None


class RewrittenPrograms(NamedTuple):
    """The rewritten programs to rehearse."""

    programs: Sequence[tuple[bytes | None, str]]  # objects and their test packets
    fused: chains.FusedObject | None = None


def rehearse(
    rehearsing: RehearsalOptions,
    programs: Sequence[ChainProgram],
    rewritten: RewrittenPrograms,
    stopping: Stopping,
) -> tuple[list[Rehearsal | None], Rehearsal | None]:
    """Rehearse each rewritten program, and the fused one.

    If the kernel cannot run a program, its result has the reason.
    """
    nothing: list[Rehearsal | None] = [None for _ in programs]
    fused = rewritten.fused
    if fused is None and not any(data for data, _ in rewritten.programs):
        return nothing, None
    try:
        kernel = open_kernel()
    except UnavailableError as reason:
        why = str(reason)
        each = [_without(why) if data else None for data, _ in rewritten.programs]
        return each, _without(why) if fused else None
    witness = _witness(rehearsing, stopping)
    found = list[Rehearsal | None]()
    for number, (data, covers) in enumerate(rewritten.programs):
        if data is None:
            found.append(None)
        else:
            tried = _Tried(number, data, covers, _generation(programs[number]))
            found.append(_one(kernel, rehearsing, tried, witness, stopping))
    whole = _whole(kernel, rehearsing, fused, witness, stopping) if fused else None
    return found, whole


def _witness(rehearsing: RehearsalOptions, stopping: Stopping) -> Witness | None:
    """Return the packet of the slowest path through the chain, if the search finds it in time."""
    loaded = rehearsing.loaded
    maps = rehearsing.frozen.name if rehearsing.frozen else None
    written = WrittenOptions(
        Selection(), target="ebpf", deadline=_SEARCH, maps=maps, receive="test-run"
    )
    request = read_request([loaded.file], written)
    known = chains.known_start(rehearsing.subject, chains.ChainKnowledge(rehearsing.assumed))
    session = Session(request, plan_for(loaded, request, known))
    looking = PartWatcher(rehearsing.watch, "a packet to begin with")
    audience = RunContext(stopping, lambda *_: looking)
    for analysed in session.analyse(audience):
        for path in analysed.result["paths"]:
            return path["witness"]
    return None


def _one(
    kernel: Kernel,
    rehearsing: RehearsalOptions,
    tried: _Tried,
    witness: Witness | None,
    stopping: Stopping,
) -> Rehearsal:
    (number, data, covers, generation), subject = tried, rehearsing.subject
    stages = [
        rehearsals.Stage(*subject.objects[place], results, _maps(rehearsing, place, witness))
        for place, results in chains.upstream_programs(subject, number)
    ]
    maps = _maps(rehearsing, number, witness)
    seeds = [wire_bytes(witness)] if witness else _USUAL
    original = subject.objects[number]
    chain = rehearsals.Rehearsed(
        stages,
        original,
        data,
        seeds,
        maps,
        _covers(rehearsing, number, covers),
        assumed=rehearsing.assumed,
    )
    how = _how(rehearsing, arbitrary=rehearsing.guarded)
    (name, _, _) = rehearsing.loaded.chain.members[number]
    return _said(kernel, chain, how, (generation, _looking(rehearsing, name)), stopping)


def _how(rehearsing: RehearsalOptions, *, arbitrary: bool) -> rehearsals.Rehearsing:
    return rehearsals.Rehearsing(
        rehearsing.packets,
        arbitrary=arbitrary,
        frames=min(rehearsing.packets, _FRAMES),
        receive=rehearsing.receive,
        deadline_seconds=rehearsing.seconds,
    )


def _whole(
    kernel: Kernel,
    rehearsing: RehearsalOptions,
    fused: chains.FusedObject,
    witness: Witness | None,
    stopping: Stopping,
) -> Rehearsal:
    """Rehearse the fused program beside the original programs, chained by tail calls."""
    look = _looking(rehearsing, "all programs as one")
    how = _how(rehearsing, arbitrary=not rehearsing.assumed)
    if fused.apart is None:
        return _loaded(kernel, fused.data, fused.entry, (look, stopping))

    def renamed(maps: dict[str, object]) -> dict[str, object]:
        return {_written(fused.maps, name): entries for name, entries in maps.items()}

    frozen = _frozen(rehearsing)
    known = dict[str, object](witness["maps"] if witness else {}) | frozen
    covers = [[packet, renamed(maps | frozen)] for packet, maps in json.loads(fused.covers or "[]")]
    chain = rehearsals.Rehearsed(
        [],
        _program_of(fused.apart, fused.entry),
        fused.data,
        [wire_bytes(witness)] if witness else _USUAL,
        json.dumps(renamed(known)),
        json.dumps(covers),
        assumed=rehearsing.assumed,
    )
    said = _said(kernel, chain, how, (None, look), stopping)
    if said["why_not"] and not said["refused"] and not said["packets"]:
        # The kernel may reject the original programs rather than the fused one.
        return _loaded(kernel, fused.data, said["why_not"], (look, stopping))
    said["notes"] = [note for note in said["notes"] if _NEXT not in note]
    return said


_NEXT = "slowpath_next"
"""Map by which the original programs call each other in the comparison."""


def _written(names: dict[str, str], name: str) -> str:
    """Return the name of a map in a written object; also for inner maps of a map in maps."""
    inner = ".inner"
    if name.endswith(inner):
        return names.get(name.removesuffix(inner), name.removesuffix(inner)) + inner
    return names.get(name, name)


def _program_of(data: bytes, entry: str) -> tuple[objects.Object, int]:
    """Return the object with the number of the program of this name."""
    read = objects.read_object("the programs of the chain", data)
    named = (one.number for one in objects.programs(read) or [] if one.name == entry)
    return read, next(named, 0)


def _loaded(
    kernel: Kernel,
    data: bytes,
    why: str,
    how: tuple[Callable[[StageProgress], None], Stopping],
) -> Rehearsal:
    """Check that the kernel loads the fused program, without comparing it."""
    look, stopping = how
    own = objects.read_object("all programs as one", data)
    chain = rehearsals.Rehearsed([], (own, 0), data, _USUAL)
    try:
        rehearsals.rehearse(kernel, chain, rehearsals.Rehearsing(1, rounds=0), stopping, look)
    except (RewrittenRefusedError, InputError) as problem:
        return _without(str(problem), refused=True)
    return _without(why)


def _looking(rehearsing: RehearsalOptions, name: str) -> Callable[[StageProgress], None]:
    """Return a progress callback for work on the named program."""

    def look(doing: StageProgress) -> None:
        rehearsing.watch.see(doing._replace(subject=name))

    return look


def _said(
    kernel: Kernel,
    chain: rehearsals.Rehearsed,
    how: rehearsals.Rehearsing,
    about: tuple[str | None, Callable[[StageProgress], None]],
    stopping: Stopping,
) -> Rehearsal:
    """Compare two programs in the kernel; with a generation, also after raising it."""
    generation, look = about
    try:
        said = rehearsals.rehearse(kernel, chain, how, stopping, look)
        raised = None
        if generation is not None:
            other = _raised(chain, generation)
            again = rehearsals.rehearse(kernel, other, _short(how), stopping, look)
            raised = again["difference"] is None and again["undetermined"] is None
            difference = again["difference"]
            if difference and said["difference"] is None:
                what = f"with the generation raised: {difference['what']}"
                said["difference"] = difference | {"what": what}
    except RewrittenRefusedError as problem:
        return _without(problem.reason, refused=True)
    except InputError as problem:
        return _without(problem.reason)
    rate, covered = said["rate"], said["covered"]
    difference = covered["difference"] or said["difference"]
    alone = rate["ratio_without_frame"] if rate else None
    quartiles = rate["ratio_quartiles"] if rate else []
    return {
        "paths": covered["packets"],
        "packets": said["compared"],
        "arbitrary": said["arbitrary"],
        "refused": False,
        "differs": difference is not None,
        "agrees": difference is None and said["undetermined"] is None,
        "difference": difference["what"] if difference else said["undetermined"],
        "packet": difference["packet"] if difference else None,
        "original_ns": rate["original_ns"] if rate else None,
        "rewritten_ns": rate["rewritten_ns"] if rate else None,
        "frame_ns": rate["frame_ns"] if rate else None,
        "restored": rate["restored"] if rate else False,
        "rate_ratio": 1 / rate["ratio"] if rate else None,
        "rate_ratio_quartiles": [1 / ratio for ratio in reversed(quartiles)],
        "program_ratio": 1 / alone if alone else None,
        "raised": raised,
        "why_not": said["ended"],
        "devices": [_on_device(one) for one in said["devices"]],
        "notes": [*_left_out(covered), *said["notes"], *_unread(said["unread"])],
    }


def _on_device(said: RehearsalOnDevice) -> OnDevice:
    lengths = said["lengths"]
    return {
        "mode": said["mode"],
        "frames": said["frames"],
        "shortest": lengths[0] if lengths else None,
        "longest": lengths[1] if lengths else None,
        "why_not": said["why_not"],
    }


def _left_out(covered: RehearsalCovered) -> list[str]:
    """Return notes on paths that were not tried."""
    why, not_run = covered["not_installed"], covered["not_run"]
    notes = list[str]()
    if why:
        notes.append(f"paths were left out whose map content the kernel does not take: {why}")
    if not_run:
        notes.append(f"in the kernel, no time for a packet for each of {not_run} further paths")
    return notes


def _unread(maps: list[str]) -> list[str]:
    """Return a note on maps whose content was not compared."""
    return [f"not compared: the content of {', '.join(maps)}"] if maps else []


def _maps(rehearsing: RehearsalOptions, place: int, witness: Witness | None) -> str:
    """Return the content of one program's maps, by their names in its object, as JSON.

    Frozen maps have their given content, other maps that of the witness.
    """
    known = dict[str, object](witness["maps"] if witness else {})
    known |= _frozen(rehearsing)
    return json.dumps(_own(rehearsing, place, known))


def _frozen(rehearsing: RehearsalOptions) -> dict[str, object]:
    """Return the content of frozen maps, by their names in the chain."""
    if rehearsing.frozen is None:
        return {}
    return dict(chains.start_maps(rehearsing.subject, rehearsing.frozen))


def _covers(rehearsing: RehearsalOptions, place: int, covers: str) -> str:
    """Return the test packets of a program with the frozen content added."""
    frozen = _own(rehearsing, place, _frozen(rehearsing))
    if not frozen or not covers:
        return covers
    return json.dumps([[packet, maps | frozen] for packet, maps in json.loads(covers)])


def _own(rehearsing: RehearsalOptions, place: int, known: dict[str, object]) -> dict[str, object]:
    """Return the content of one program's maps, by their names in its object."""
    (name, _, _) = rehearsing.loaded.chain.members[place]
    (found, _) = rehearsing.subject.objects[place]
    own = set(objects.map_names(found))
    content = dict[str, object]()
    for map_name, entries in known.items():
        short = map_name.removeprefix(f"{name}:")
        if short in own:
            content[short] = entries
    return content


def _generation(program: ChainProgram) -> str | None:
    """Return the generation map that a program's guard checks."""
    guard = program["guard"]
    return guard["generation"] if guard else None


def _raised(chain: rehearsals.Rehearsed, generation: str) -> rehearsals.Rehearsed:
    """Return the same comparison with a raised generation and other map content."""
    more = {generation: [{"key": "00000000", "value": "0100000000000000"}]}
    maps: dict[str, list[dict[str, object]]] = json.loads(chain.maps)
    others = {name: _others(entries) for name, entries in maps.items()}
    return chain._replace(maps=json.dumps(others), covers="", more=json.dumps(more))


def _others(entries: list[dict[str, object]]) -> list[dict[str, object]]:
    """Return the entries except the first, with changed values."""
    found = list[dict[str, object]]()
    for entry in entries[min(1, len(entries) - 1) :]:
        value = entry.get("value")
        if isinstance(value, str) and re.fullmatch("([0-9a-f]{2})+", value):
            first = (int(value[:2], 16) + 1) % 256
            found.append(entry | {"value": f"{first:02x}{value[2:]}"})
        else:
            found.append(entry)
    return found


def _short(how: rehearsals.Rehearsing) -> rehearsals.Rehearsing:
    """Return options with a tenth of the packets, no frames and no timing."""
    return how._replace(packets=how.packets // 10, rounds=0, frames=0)


def _without(reason: str, *, refused: bool = False) -> Rehearsal:
    return {
        "paths": 0,
        "packets": 0,
        "arbitrary": 0,
        "refused": refused,
        "differs": False,
        "agrees": False,
        "difference": None,
        "packet": None,
        "original_ns": None,
        "rewritten_ns": None,
        "frame_ns": None,
        "restored": False,
        "rate_ratio": None,
        "rate_ratio_quartiles": [],
        "program_ratio": None,
        "raised": None,
        "why_not": reason,
        "devices": [],
        "notes": [],
    }
