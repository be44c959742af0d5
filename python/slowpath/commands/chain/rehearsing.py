"""Rewritten programs of a chain in the running kernel: do they do the same there, and how fast.

Packets begin as the one that takes the slowest path through the whole chain, on its map content;
where that path is not found in time, as usual ones, on empty maps.
"""

import json
from collections.abc import Sequence
from typing import NamedTuple

from slowpath import engine
from slowpath.analysis.analyst import Audience
from slowpath.analysis.options import WrittenOptions, read_request
from slowpath.analysis.progress import Watcher
from slowpath.analysis.session import Session
from slowpath.cli.errors import InputError, UnavailableError
from slowpath.commands.chain.documents import ChainProgram, Rehearsal
from slowpath.commands.chain.loading import LoadedChain, plan_of
from slowpath.packet.witness import wire_bytes
from slowpath.programs.selection import Selection
from slowpath.schema.results import Witness
from slowpath.work.stopping import Stopping

_SEARCH = 10.0  # seconds for the search of a packet
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
"""Packets to begin with where that finds none, with checksums that are right."""


class Rehearsing(NamedTuple):
    """What is rehearsed, and how long."""

    subject: engine.ChainSubject
    loaded: LoadedChain
    packets: int
    guarded: bool
    seconds: float | None


def rehearse(
    rehearsing: Rehearsing,
    programs: Sequence[ChainProgram],
    rewritten: Sequence[tuple[bytes | None, str]],
    stopping: Stopping,
) -> list[Rehearsal | None]:
    """What the kernel says of each program that was rewritten; why not, where it says nothing.

    `rewritten` has their objects, and what each is tried on (`engine.Rehearsed.covers`).
    """
    nothing: list[Rehearsal | None] = [None for _ in programs]
    if not any(data for data, _ in rewritten):
        return nothing
    try:
        kernel = engine.open_kernel()
    except UnavailableError as reason:
        return [_without(str(reason)) if data else None for data, _ in rewritten]
    witness = _witness(rehearsing, stopping)
    found = list[Rehearsal | None]()
    for number, (data, covers) in enumerate(rewritten):
        if data is None:
            found.append(None)
        else:
            tried = (number, data, covers)
            found.append(_one(kernel, rehearsing, tried, witness, stopping))
    return found


def _witness(rehearsing: Rehearsing, stopping: Stopping) -> Witness | None:
    """The packet of the slowest path through the chain, if one is found in time."""
    file = rehearsing.loaded.file
    written = WrittenOptions(selection=Selection(), target="ebpf", deadline=_SEARCH)
    request = read_request([file], written)
    session = Session(request, plan_of(file, request))
    audience = Audience(stopping, lambda *_: Watcher())
    for analysed in session.analyse(audience):
        for path in analysed.result["paths"]:
            return path["witness"]
    return None


def _one(
    kernel: engine.Kernel,
    rehearsing: Rehearsing,
    rewritten: tuple[int, bytes, str],
    witness: Witness | None,
    stopping: Stopping,
) -> Rehearsal:
    """What the kernel says of a program."""
    (number, data, covers), subject = rewritten, rehearsing.subject
    stages = [
        engine.Stage(*subject.objects[place], results, _maps(rehearsing, place, witness))
        for place, results in engine.way_to(subject, number)
    ]
    maps = _maps(rehearsing, number, witness)
    seeds = [wire_bytes(witness)] if witness else _USUAL
    original = subject.objects[number]
    chain = engine.Rehearsed(stages, original, data, seeds, maps, covers)
    how = engine.Rehearsing(
        rehearsing.packets, arbitrary=rehearsing.guarded, deadline_seconds=rehearsing.seconds
    )
    try:
        said = engine.rehearse(kernel, chain, how, stopping)
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
        "why_not": said["ended"],
        "notes": [*_not_installed(covered), *said["notes"], *_unread(said["unread"])],
    }


def _not_installed(covered: engine.RehearsalCovered) -> list[str]:
    """Why some paths were not tried, if so."""
    why = covered["not_installed"]
    return [f"paths were left out whose map content the kernel does not take: {why}"] if why else []


def _unread(maps: list[str]) -> list[str]:
    """What is to be said of maps that are not compared."""
    return [f"not compared: the content of {', '.join(maps)}"] if maps else []


def _maps(rehearsing: Rehearsing, place: int, witness: Witness | None) -> str:
    """The content of the maps of one program, by their names in its object, as JSON."""
    if witness is None:
        return "{}"
    (name, _, _) = rehearsing.loaded.chain.members[place]
    (found, _) = rehearsing.subject.objects[place]
    own = set(engine.map_names(found))
    content = dict[str, object]()
    for map_name, entries in witness["maps"].items():
        short = map_name.removeprefix(f"{name}:")
        if short in own:
            content[short] = entries
    return json.dumps(content)


def _without(reason: str) -> Rehearsal:
    return {
        "paths": 0,
        "packets": 0,
        "arbitrary": 0,
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
        "why_not": reason,
        "notes": [],
    }
