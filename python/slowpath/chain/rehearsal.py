"""Tests rewritten programs against their originals in the running kernel (rehearsal).

Test packets are mutations of the packet that takes the slowest path through the whole chain, with
the map content of this path. If the search does not find the path in time, they are mutations of
common packets, with empty maps. All test packets satisfy the assumptions about arriving packets.
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
from slowpath.core.engine import MapsFile, chains, kernel, objects
from slowpath.core.engine.analyses import StageProgress
from slowpath.core.engine.kernel import Kernel, RewrittenRefusedError, open_kernel
from slowpath.core.engine.report_types import RehearsalOnDevice, RehearsalReport
from slowpath.core.errors import InputError, UnavailableError
from slowpath.core.jobs import Stopping
from slowpath.core.programs.packet import wire_bytes
from slowpath.core.programs.selection import Selection
from slowpath.core.schema.results import Witness

_SEARCH = 10.0  # time limit of the search for the slowest path's packet, in seconds
_FRAMES = 1000  # maximum number of frames on virtual Ethernet, per XDP mode
_COMMON_PACKETS = [
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
"""Common packets with correct checksums, from which test packets are made if the search finds no
slowest path.
"""


class RehearsalOptions(NamedTuple):
    """Chain and options for testing rewritten programs in the kernel."""

    subject: chains.ChainSubject
    loaded: LoadedChain
    packets: int  # number of packets that have to reach each program
    guarded: bool  # true: rewritten programs have guards
    seconds: float | None  # time limit for each program
    frozen: MapsFile | None  # content of frozen maps
    assumed: Sequence[str]  # facts about packets that arrive at the first program, in words
    receive: str | None  # receiving environment; None: any device
    watch: WorkWatch


class RewrittenPrograms(NamedTuple):
    """The rewritten programs of a chain that are tested in the kernel."""

    # For each program, its rewritten object (None: not rewritten), and its test packets
    # (`Rehearsed.covers`).
    programs: Sequence[tuple[bytes | None, str]]
    fused: chains.FusedObject | None = None


def rehearse(
    options: RehearsalOptions,
    programs: Sequence[ChainProgram],
    rewritten: RewrittenPrograms,
    stopping: Stopping,
) -> tuple[list[Rehearsal | None], Rehearsal | None]:
    """Test each rewritten program, and the fused one, against the originals in the kernel.

    Return a result for each program, and one for the fused program. A program that was not
    rewritten has the result None. If the kernel cannot run a program, the result has the reason.
    """
    fused = rewritten.fused
    if fused is None and not any(data for data, _ in rewritten.programs):
        return [None for _ in programs], None
    try:
        running = open_kernel()
    except UnavailableError as problem:
        reason = str(problem)
        results = [_not_compared(reason) if data else None for data, _ in rewritten.programs]
        return results, _not_compared(reason) if fused else None
    stage = _Stage(running, options, _find_witness(options, stopping), stopping)
    found = [
        None if data is None else stage.rehearse_program(number, programs[number], data, covers)
        for number, (data, covers) in enumerate(rewritten.programs)
    ]
    return found, stage.rehearse_fused(fused) if fused else None


def _find_witness(options: RehearsalOptions, stopping: Stopping) -> Witness | None:
    """Search for the packet of the slowest path through the chain; return None if it is not found.

    The search ends after `_SEARCH` seconds.
    """
    loaded = options.loaded
    maps = options.frozen.name if options.frozen else None
    written = WrittenOptions(
        Selection(), target="ebpf", deadline=_SEARCH, maps=maps, receive="test-run"
    )
    request = read_request([loaded.file], written)
    known = chains.known_start(options.subject, chains.ChainKnowledge(options.assumed))
    session = Session(request, plan_for(loaded, request, known))
    watcher = PartWatcher(options.watch, "start packet")
    for analysed in session.analyse(RunContext(stopping, lambda *_: watcher)):
        for path in analysed.result["paths"]:
            return path["witness"]
    return None


class _Stage:
    """The running kernel, and the packets and map content from which the tests of a chain start."""

    def __init__(
        self,
        running: Kernel,
        options: RehearsalOptions,
        witness: Witness | None,
        stopping: Stopping,
    ) -> None:
        self._kernel, self._options, self._stopping = running, options, stopping
        self._seeds = [wire_bytes(witness)] if witness else _COMMON_PACKETS
        self._frozen = dict[str, object]()  # content of frozen maps, by their names in the chain
        if options.frozen is not None:
            self._frozen |= chains.start_maps(options.subject, options.frozen)
        self._maps = dict[str, object](witness["maps"] if witness else {}) | self._frozen

    def rehearse_program(
        self, number: int, program: ChainProgram, rewritten: bytes, covers: str
    ) -> Rehearsal:
        """Test a rewritten program in the kernel; `number` is its index in the chain.

        `covers` has test packets as JSON, each with the map content under which it runs.
        """
        subject = self._options.subject
        stages = [
            kernel.Stage(*subject.objects[member], results, self._maps_of(member))
            for member, results in chains.upstream_programs(subject, number)
        ]
        frozen = self._rename(number, self._frozen)
        if frozen and covers:
            covers = json.dumps([[packet, maps | frozen] for packet, maps in json.loads(covers)])
        chain = kernel.Rehearsed(
            stages,
            subject.objects[number],
            rewritten,
            self._seeds,
            self._maps_of(number),
            covers,
            assumed=self._options.assumed,
        )
        size = self._size(arbitrary=self._options.guarded)
        look = self._progress(self._options.loaded.chain.members[number][0])
        guard = program["guard"]
        return self._compare(chain, size, look, guard["generation"] if guard else None)

    def rehearse_fused(self, fused: chains.FusedObject) -> Rehearsal:
        """Test the fused program against the original programs, which use tail calls."""
        look = self._progress("fused program")
        if fused.separate is None:
            return self._load(fused.data, fused.entry, look)

        def renamed(maps: dict[str, object]) -> dict[str, object]:
            return {_name_in_object(fused.maps, name): content for name, content in maps.items()}

        covers = [
            [packet, renamed(maps | self._frozen)]
            for packet, maps in json.loads(fused.covers or "[]")
        ]
        chain = kernel.Rehearsed(
            [],
            _find_program(fused.separate, fused.entry),
            fused.data,
            self._seeds,
            json.dumps(renamed(self._maps)),
            json.dumps(covers),
            assumed=self._options.assumed,
        )
        result = self._compare(chain, self._size(arbitrary=not self._options.assumed), look)
        if result["why_not"] and not result["refused"] and not result["packets"]:
            # The kernel may reject the original programs rather than the fused one.
            return self._load(fused.data, result["why_not"], look)
        result["notes"] = [note for note in result["notes"] if _NEXT not in note]
        return result

    def _size(self, *, arbitrary: bool) -> kernel.Rehearsing:
        return kernel.Rehearsing(
            self._options.packets,
            arbitrary=arbitrary,
            frames=min(self._options.packets, _FRAMES),
            receive=self._options.receive,
            deadline_seconds=self._options.seconds,
        )

    def _progress(self, name: str) -> Callable[[StageProgress], None]:
        """Return a callback that shows the progress of work on the program `name`."""
        return lambda stage: self._options.watch.see(stage._replace(subject=name))

    def _maps_of(self, member: int) -> str:
        """Return the content of a program's maps for its test, as JSON.

        Maps have the content that the user gave, if the program relies on it. Other maps have the
        content that the slowest path needs.
        """
        return json.dumps(self._rename(member, self._maps))

    def _rename(self, member: int, maps: dict[str, object]) -> dict[str, object]:
        """Select the content of the maps that a program uses, by their names in its object.

        `member` is the index of the program in the chain.
        """
        (name, _, _) = self._options.loaded.chain.members[member]
        (found, _) = self._options.subject.objects[member]
        used = set(objects.map_names(found))
        renamed = {key.removeprefix(f"{name}:"): content for key, content in maps.items()}
        return {key: content for key, content in renamed.items() if key in used}

    def _load(self, data: bytes, why: str, look: Callable[[StageProgress], None]) -> Rehearsal:
        """Check that the kernel loads the fused program, without comparing it with the originals.

        `why` is the reason why they cannot be compared, for the result. `look` shows progress.
        """
        fused = objects.read_object("fused program", data)
        chain = kernel.Rehearsed([], (fused, 0), data, _COMMON_PACKETS)
        size = kernel.Rehearsing(1, rounds=0)
        try:
            kernel.rehearse(self._kernel, chain, size, self._stopping, look)
        except (RewrittenRefusedError, InputError) as problem:
            return _not_compared(str(problem), refused=True)
        return _not_compared(why)

    def _compare(
        self,
        chain: kernel.Rehearsed,
        size: kernel.Rehearsing,
        look: Callable[[StageProgress], None],
        generation: str | None = None,
    ) -> Rehearsal:
        """Run packets through two programs in the kernel, and compare the results.

        If `generation` is the name of a map, compare again after the number in this map was raised.
        The control plane raises it before it changes the content of maps that the rewritten program
        relies on.
        """
        raised = None
        try:
            report = kernel.rehearse(self._kernel, chain, size, self._stopping, look)
            if generation is not None:
                # A tenth of the packets, without frames and timing.
                short = size._replace(packets=size.packets // 10, rounds=0, frames=0)
                changed = _raise_generation(chain, generation)
                second = kernel.rehearse(self._kernel, changed, short, self._stopping, look)
                difference = second["difference"]
                raised = difference is None and second["undetermined"] is None
                if difference and report["difference"] is None:
                    what = f"with the generation raised: {difference['what']}"
                    report["difference"] = difference | {"what": what}
        except RewrittenRefusedError as problem:
            return _not_compared(problem.reason, refused=True)
        except InputError as problem:
            return _not_compared(problem.reason)
        return _rehearsal(report, raised=raised)


_NEXT = "slowpath_next"
"""Name of the program array through which the original programs call each other when they are
compared with the fused program.
"""


def _name_in_object(names: dict[str, str], name: str) -> str:
    """Return the name of a map in a written object file.

    `names` has the new names of renamed maps. A name that ends in `.inner` stands for the inner
    maps of a map of maps.
    """
    outer = name.removesuffix(".inner")
    return names.get(outer, outer) + name[len(outer) :]


def _find_program(data: bytes, name: str) -> tuple[objects.Object, int]:
    """Read an object; return it with the index of the program `name` in it."""
    read = objects.read_object("the programs of the chain", data)
    numbers = (one.number for one in objects.programs(read) or [] if one.name == name)
    return read, next(numbers, 0)


def _rehearsal(report: RehearsalReport, *, raised: bool | None) -> Rehearsal:
    """Convert the engine's report on a test to the form of the JSON document.

    A program with a guard reads a map with a generation, a number that is raised before content of
    other maps changes. `raised` is true if the programs agree even then; None without such a map.
    """
    rate, covered = report["rate"], report["covered"]
    difference = covered["difference"] or report["difference"]
    program_ratio = rate["ratio_without_frame"] if rate else None
    quartiles = rate["ratio_quartiles"] if rate else []
    notes = list[str]()
    if why := covered["not_installed"]:
        notes.append(f"paths are omitted because the kernel rejects their map content: {why}")
    if not_run := covered["not_run"]:
        notes.append(f"in the kernel, {not_run} further paths were not tested for lack of time")
    notes += report["notes"]
    if report["unread"]:
        notes.append(f"not compared: the content of {', '.join(report['unread'])}")
    return {
        "paths": covered["packets"],
        "packets": report["compared"],
        "arbitrary": report["arbitrary"],
        "refused": False,
        "differs": difference is not None,
        "agrees": difference is None and report["undetermined"] is None,
        "difference": difference["what"] if difference else report["undetermined"],
        "packet": difference["packet"] if difference else None,
        "original_ns": rate["original_ns"] if rate else None,
        "rewritten_ns": rate["rewritten_ns"] if rate else None,
        "frame_ns": rate["frame_ns"] if rate else None,
        "restored": rate["restored"] if rate else False,
        "rate_ratio": 1 / rate["ratio"] if rate else None,
        "rate_ratio_quartiles": [1 / ratio for ratio in reversed(quartiles)],
        "program_ratio": 1 / program_ratio if program_ratio else None,
        "raised": raised,
        "why_not": report["ended"],
        "devices": [_on_device(one) for one in report["devices"]],
        "notes": notes,
    }


def _on_device(report: RehearsalOnDevice) -> OnDevice:
    lengths = report["lengths"]
    return {
        "mode": report["mode"],
        "frames": report["frames"],
        "shortest": lengths[0] if lengths else None,
        "longest": lengths[1] if lengths else None,
        "why_not": report["why_not"],
    }


def _raise_generation(chain: kernel.Rehearsed, generation: str) -> kernel.Rehearsed:
    """Return a copy of a comparison in which the number in the map `generation` is raised.

    The content of all other maps is changed, because the rewritten program must not rely on it
    then.
    """
    more = {generation: [{"key": "00000000", "value": "0100000000000000"}]}
    maps: dict[str, list[dict[str, object]]] = json.loads(chain.maps)
    changed = {name: _change_entries(entries) for name, entries in maps.items()}
    return chain._replace(maps=json.dumps(changed), covers="", rewritten_maps=json.dumps(more))


def _change_entries(entries: list[dict[str, object]]) -> list[dict[str, object]]:
    """Return changed entries of a map: with other values, and without the first of several."""
    found = list[dict[str, object]]()
    for entry in entries[min(1, len(entries) - 1) :]:
        value = entry.get("value")
        if isinstance(value, str) and re.fullmatch("([0-9a-f]{2})+", value):
            first = (int(value[:2], 16) + 1) % 256
            found.append(entry | {"value": f"{first:02x}{value[2:]}"})
        else:
            found.append(entry)
    return found


def _not_compared(reason: str, *, refused: bool = False) -> Rehearsal:
    """Return the result of a test without comparison.

    `refused` is true if the kernel rejects the rewritten program.
    """
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
