"""Rewritten programs of a chain in the running kernel: do they do the same there, and how fast.

Packets begin as the one that takes the slowest path through the whole chain, on its map content.
"""

import json
import re
from collections.abc import Sequence
from typing import NamedTuple

from slowpath import engine
from slowpath.analysis.analyst import Audience
from slowpath.analysis.options import WrittenOptions, read_request
from slowpath.analysis.progress import Watcher
from slowpath.analysis.session import Session
from slowpath.cli.errors import InputError, UnavailableError
from slowpath.cli.inputs import read_text
from slowpath.commands.chain.documents import ChainProgram, Rehearsal
from slowpath.commands.chain.loading import LoadedChain, plan_of
from slowpath.packet.witness import wire_bytes
from slowpath.programs.selection import Selection
from slowpath.schema.results import Witness
from slowpath.work.stopping import Stopping

_SEARCH = 10.0  # seconds for the search of a packet


class Rehearsing(NamedTuple):
    """What is rehearsed, and how long."""

    subject: engine.ChainSubject
    loaded: LoadedChain
    packets: int
    guarded: bool
    seconds: float | None
    frozen: str | None  # the name of a file with content of maps that is frozen
    assumes: bool  # whether something is known of packets that arrive at the first program


def rehearse(
    rehearsing: Rehearsing,
    programs: Sequence[ChainProgram],
    objects: Sequence[bytes | None],
    stopping: Stopping,
) -> list[Rehearsal | None]:
    """What the kernel says of each program that was rewritten; why not, where it says nothing."""
    nothing: list[Rehearsal | None] = [None for _ in programs]
    if not any(objects):
        return nothing
    try:
        kernel = engine.open_kernel()
    except UnavailableError as reason:
        return [_without(str(reason)) if data else None for data in objects]
    if rehearsing.assumes and not rehearsing.guarded:
        why = "with --assume and --trust, packets would have to be as they are assumed to be"
        return [_without(why) if data else None for data in objects]
    witness = _witness(rehearsing, stopping)
    found = list[Rehearsal | None]()
    for number, data in enumerate(objects):
        if data is None:
            found.append(None)
        elif witness is None:
            found.append(_without("no packet is known that gets through the chain"))
        else:
            generation = _generation(programs[number])
            rewritten = (number, data, generation)
            found.append(_one(kernel, rehearsing, rewritten, witness, stopping))
    return found


def _witness(rehearsing: Rehearsing, stopping: Stopping) -> Witness | None:
    """The packet of the slowest path through the chain, if one is found in time."""
    file = rehearsing.loaded.file
    maps = rehearsing.frozen
    written = WrittenOptions(selection=Selection(), target="ebpf", deadline=_SEARCH, maps=maps)
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
    rewritten: tuple[int, bytes, str | None],
    witness: Witness,
    stopping: Stopping,
) -> Rehearsal:
    """What the kernel says of a program."""
    (number, data, generation), subject = rewritten, rehearsing.subject
    stages = [
        engine.Stage(*subject.objects[place], results, _maps(rehearsing, place, witness))
        for place, results in engine.way_to(subject, number)
    ]
    maps = _maps(rehearsing, number, witness)
    seeds = [wire_bytes(witness)]
    original = subject.objects[number]
    chain = engine.Rehearsed(stages, original, data, seeds, maps)
    how = engine.Rehearsing(
        rehearsing.packets, arbitrary=rehearsing.guarded, deadline_seconds=rehearsing.seconds
    )
    try:
        said = engine.rehearse(kernel, chain, how, stopping)
        raised = None
        if generation is not None:
            again = engine.rehearse(kernel, _raised(chain, generation), _short(how), stopping)
            raised = again["difference"] is None and again["undetermined"] is None
            difference = again["difference"]
            if difference and said["difference"] is None:
                what = f"with the generation raised: {difference['what']}"
                said["difference"] = difference | {"what": what}
    except InputError as problem:
        return _without(problem.reason)
    rate, difference = said["rate"], said["difference"]
    alone = rate["ratio_without_frame"] if rate else None
    return {
        "packets": said["compared"],
        "arbitrary": said["arbitrary"],
        "agrees": difference is None and said["undetermined"] is None,
        "difference": difference["what"] if difference else said["undetermined"],
        "packet": difference["packet"] if difference else None,
        "original_ns": rate["original_ns"] if rate else None,
        "rewritten_ns": rate["rewritten_ns"] if rate else None,
        "frame_ns": rate["frame_ns"] if rate else None,
        "rate_ratio": 1 / alone if alone else None,
        "raised": raised,
        "why_not": said["ended"],
        "notes": said["notes"],
    }


def _maps(rehearsing: Rehearsing, place: int, witness: Witness) -> str:
    """The content of the maps of one program, by their names in its object, as JSON.

    What is frozen is as it is given, other maps are as the witness has them.
    """
    known = dict[str, object](witness["maps"])
    if rehearsing.frozen is not None:
        known |= engine.start_maps(rehearsing.subject, read_text(rehearsing.frozen))
    (name, _, _) = rehearsing.loaded.chain.members[place]
    (found, _) = rehearsing.subject.objects[place]
    own = set(engine.map_names(found))
    content = dict[str, object]()
    for map_name, entries in known.items():
        short = map_name.removeprefix(f"{name}:")
        if short in own:
            content[short] = entries
    return json.dumps(content)


def _generation(program: ChainProgram) -> str | None:
    """The map that says whether what is frozen is as it was."""
    guard = program["guard"]
    return guard["generation"] if guard else None


def _raised(chain: engine.Rehearsed, generation: str) -> engine.Rehearsed:
    """The same after a change: the generation is raised, and maps hold something else."""
    more = {generation: [{"key": "00000000", "value": "0100000000000000"}]}
    maps: dict[str, list[dict[str, object]]] = json.loads(chain.maps)
    others = {name: _others(entries) for name, entries in maps.items()}
    return chain._replace(maps=json.dumps(others), more=json.dumps(more))


def _others(entries: list[dict[str, object]]) -> list[dict[str, object]]:
    """The same entries but the first, with other values."""
    found = list[dict[str, object]]()
    for entry in entries[min(1, len(entries) - 1) :]:
        value = entry.get("value")
        if isinstance(value, str) and re.fullmatch("([0-9a-f]{2})+", value):
            first = (int(value[:2], 16) + 1) % 256
            found.append(entry | {"value": f"{first:02x}{value[2:]}"})
        else:
            found.append(entry)
    return found


def _short(how: engine.Rehearsing) -> engine.Rehearsing:
    """A tenth of the packets, and nothing is timed."""
    return how._replace(packets=how.packets // 10, rounds=0)


def _without(reason: str) -> Rehearsal:
    return {
        "packets": 0,
        "arbitrary": 0,
        "agrees": False,
        "difference": None,
        "packet": None,
        "original_ns": None,
        "rewritten_ns": None,
        "frame_ns": None,
        "rate_ratio": None,
        "raised": None,
        "why_not": reason,
        "notes": [],
    }
