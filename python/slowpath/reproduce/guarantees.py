"""Recomputes guarantees of Krude et al., CoNEXT 2021, from the published programs.

The published tool analyses listings of programs for a Netronome Agilio CX; slowpath analyses the
same listings with the published numbers of cores and loop limits. Rates are for 50 cores: a program
without memory accesses was measured on 5 cores, and its rate is proportional to their number.
"""

import json
import re
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from slowpath.bounds.analyst import RunContext, Session
from slowpath.bounds.bulk import StopWatcher
from slowpath.bounds.default_target import CARD
from slowpath.bounds.options import WrittenOptions, choose_target, read_request
from slowpath.core import codes
from slowpath.core.codes import Code
from slowpath.core.engine import objects
from slowpath.core.engine.analyses import Options, compile_messages
from slowpath.core.errors import InputError
from slowpath.core.inputs import read_program
from slowpath.core.jobs import Stopping
from slowpath.core.jobs.pool import StopRequested
from slowpath.core.schema.results import Result
from slowpath.reproduce.comparison import NOT_COMPUTED, Plan, Quantity, compared
from slowpath.reproduce.documents import ComparedValue
from slowpath.reproduce.predictions import (
    UNROLL,
    PublishedFiles,
    PublishedPath,
    PublishedProgram,
    per_byte,
    read_published,
    read_summary,
)
from slowpath.reproduce.registry import Source

if TYPE_CHECKING:
    from slowpath.core.schema.compiled import Compiled

CORES, CLOCK_HZ = 50, 800_000_000
"""Number of the card's cores for programs, and clock frequency of cores and memory engine."""
_PORTS_MPPS = 54.4
"""Maximum packet rate of the ports of the card (section 4.1 of the paper)."""
_DEADLINE = 60.0
"""Time limit for the analysis of a program, in seconds."""
_LISTINGS = "data-paper/programs/*.asm"
_REPORTS = "data-paper/predictions/*.k.ereport"
_LOGS = "data-paper/measured-throughput/measure-xdp-ereport-*.log.bz2"
_SKETCH = "xdp-count-min."
_WORKAROUND = "workaround-"
_INCOMPLETE = ("xdp-alaw2ulaw", "xdp-alaw2ulaw-opt", "xdp-quic-lb-ipv6-options")
"""Programs whose published analysis ended before it had found all paths."""
_DIGITS = 2  # decimals of DRAM cycles; the published files round to six digits


class Item(NamedTuple):
    """A published program, with its listing and the files that have its results."""

    name: str
    listing: str
    files: PublishedFiles


class Settings(NamedTuple):
    """Options of slowpath for analysing the programs of a figure."""

    metric: str
    paths: int | str = 1


class Recomputed(NamedTuple):
    """Published results of a program, and those of slowpath."""

    published: PublishedProgram
    result: Result
    changed: bool  # true: the listing is not that of the report


def _items(source: Source, prefix: str = "") -> list[Item]:
    """Return the programs of the artefact whose names begin with `prefix`.

    Raises:
        InputError: if listings or results are missing.
    """
    listings = {path.stem: path for path in source.needed(_LISTINGS)}
    found = list[Item]()
    summary = source.file("summary.json")
    if summary is not None:
        paths = {path.name: path for path in source.files("*.jsonl.gz")}
        for name, record in read_summary(summary).items():
            all_paths = paths.get(f"{name}.jsonl.gz")
            files = PublishedFiles(record, None if all_paths is None else str(all_paths))
            if name.startswith(prefix):
                found.append(Item(name, _listing(source, listings, name), files))
    else:
        logs = _logs(source)
        reports = source.files(_REPORTS)
        if not reports:
            raise source.missing(f"summary.json and no {_REPORTS}")
        for path in reports:
            name = path.name.removesuffix(".k.ereport")
            if name.startswith(prefix):
                files = PublishedFiles(str(path), log=logs.get(name))
                found.append(Item(name, _listing(source, listings, name), files))
    if not found:
        raise source.missing(f"results of programs {prefix}*")
    return sorted(found, key=lambda item: _natural(item.name))


def _listing(source: Source, listings: dict[str, Path], name: str) -> str:
    if name not in listings:
        raise source.missing(f"{name}.asm")
    return str(listings[name])


def _natural(name: str) -> list[tuple[int, str]]:
    """Return a sort key that compares numbers in names by value: `hash-2` before `hash-10`."""
    return [(int(one), "") if one.isdigit() else (0, one) for one in re.split(r"(\d+)", name)]


def _logs(source: Source) -> dict[str, str]:
    """Return the path of the log of each program's measurement at full rate, by program name.

    The rates of some programs are limited by the ports of the card. These were measured once more
    at fixed packet rates, in files that slowpath does not read.
    """
    found, fixed = dict[str, str](), set[str]()
    for path in source.files(_LOGS):
        words = path.name.removeprefix("measure-xdp-ereport-").partition(".k-")[0]
        if words.startswith(_WORKAROUND):
            fixed.add(words.removeprefix(_WORKAROUND))
        else:
            found[re.sub(r"^slow-\d+-", "", words)] = str(path)
    return {name: log for name, log in found.items() if name not in fixed}


def recompute(settings: Settings, item: Item, stop_requested: StopRequested) -> Recomputed | None:
    """Read the published results of a program, and analyse it.

    Return None if a stop was requested.

    Raises:
        InputError: if a file cannot be read, or the program cannot be analysed.
    """
    published = read_published(item.files)
    written = WrittenOptions(
        target=CARD,
        metric=settings.metric,
        cores=published.cores,
        unroll=UNROLL.get(item.name),
        paths=settings.paths,
        deadline=_DEADLINE,
    )
    request = read_request([item.listing], written)
    stopping = Stopping()
    context = RunContext(stopping, lambda *_: StopWatcher(stop_requested, stopping))
    [analysed] = Session(request).analyse(context)
    result = analysed.result
    guarantee = result["guarantee"]
    if stopping.asked and (guarantee is None or guarantee["stopped"] is not None):
        return None
    if result["error"] is not None:
        raise InputError(
            Code(result["code"] or codes.INTERNAL_ERROR), item.listing, result["error"]
        )
    listing = sha256(read_program(item.listing)).hexdigest()
    return Recomputed(published, result, published.listing not in (None, listing))


def _plan(source: Source, settings: Settings, rows: "Rows", prefix: str = "") -> Plan:
    items = _items(source, prefix)
    conditions = [
        "Both tools analyse the same listings; the target agilio-cx-2x40 has the published prices "
        "of instructions and memory accesses.",
    ]
    return Plan(
        [item.name for item in items], items, recompute, settings, rows, conditions,
        source.warnings(),
    )  # fmt: skip


class Rows:
    """Function object that converts the results of programs to rows of the comparison."""

    def __init__(self, rows_of: "RowsOf", quantity: Quantity) -> None:
        """Store the function that makes the rows of one program.

        `quantity` is the quantity in the rows of programs that were not analysed.
        """
        self._rows_of, self._quantity = rows_of, quantity

    def __call__(self, pairs: Sequence[tuple[Item, Recomputed | None]]) -> list[ComparedValue]:
        """Return the rows of all programs.

        The result of a program is None if it was not analysed.
        """
        found = list[ComparedValue]()
        for item, result in pairs:
            if result is None:
                found.append(compared(item.name, self._quantity, None, None, NOT_COMPUTED))
            else:
                found += self._rows_of(item, result)
        return found


RowsOf = Callable[[Item, Recomputed], list[ComparedValue]]


def _bit_rate(cost: float) -> float:
    """Return the bit rate of all cores in Gbit/s; `cost` is a core's number of cycles per byte."""
    return 8 * CORES * CLOCK_HZ / cost / 1e9


def _note(found: Recomputed) -> str | None:
    if found.changed:
        return "the listing is not that of the report"
    guarantee = found.result["guarantee"]
    if guarantee is not None and guarantee["verdict"] == "bound":
        return f"a bound only: {guarantee['stopped']}"
    return None


_NAIVE = Quantity("naive bound", "Gbit/s")
_SLOWEST = Quantity("slowest satisfiable path", "Gbit/s")
_ON_CARD = Quantity("slowest measured path", "Gbit/s")


def bit_rates(source: Source) -> Plan:
    """Return the work that recomputes Table 2: bit rates of each program."""
    found = _plan(source, Settings("bitrate"), Rows(_bit_rate_rows, _NAIVE))
    return found._replace(
        conditions=[
            *found.conditions,
            "The naive bound of slowpath may be higher, because slowpath prices each path exactly.",
            "Measured values are from the card; ours are guarantees, which may be lower.",
        ]
    )


def _bit_rate_rows(item: Item, found: Recomputed) -> list[ComparedValue]:
    published, result, note = found.published, found.result, _note(found)
    slowest, cores = published.slowest, published.cores
    naive, ours = _naive(result, cores), _ours(result, cores)
    theirs = None
    if slowest is None:
        note = note or "the published tool found no satisfiable path"
    else:
        theirs = per_byte(slowest.cycles, slowest.dram, slowest.size, cores)
    rows = [
        compared(item.name, _NAIVE, _bit_rate(published.naive_per_byte), naive, note),
        compared(item.name, _SLOWEST, theirs and _bit_rate(theirs), ours, note),
    ]
    measured = [one.measured / one.size for one in _paths(published) if one.measured]
    if measured:
        on_card = _bit_rate(max(measured))
        rows.append(compared(item.name, _ON_CARD, on_card, ours, note))
    return rows


def _paths(published: PublishedProgram) -> Sequence[PublishedPath]:
    """Return all published paths of a program, or the slowest one if only this is published."""
    slowest = published.slowest
    return published.paths or ([] if slowest is None else [slowest])


def _ours(result: Result, cores: int) -> float | None:
    """Return the bit rate in Gbit/s on the slowest path that slowpath found; None without one."""
    if not result["paths"]:
        return None
    path = result["paths"][0]
    cost = path["cost"]
    return _bit_rate(per_byte(cost["processing"], cost["dram"], path["min_packet_size"], cores))


def _naive(result: Result, cores: int) -> float | None:
    """Return the naive bound of slowpath in Gbit/s, which includes paths that no packet can take.

    Limits that do not depend on the program, such as the line rate, do not count.
    """
    naive = result["naive"]
    if naive is None or naive["components"] is None:
        return None
    rates = [naive["components"][name] for name in ("processing", "dram")]
    known = [rate for rate in rates if rate]
    bits, packets = naive["bitrate_bps"], naive["packetrate_pps"]
    if not known or not bits or not packets:
        return None
    return _bit_rate(cores * CLOCK_HZ / min(known) / (bits / 8 / packets))


_UNTIL_SLOWEST = Quantity("time until the slowest satisfiable path", "s")


def seconds(source: Source) -> Plan:
    """Return the work that recomputes Table 3: times until the analysis finds the slowest path."""
    found = _plan(source, Settings("bitrate"), Rows(_seconds_rows, _UNTIL_SLOWEST))
    return found._replace(
        conditions=[
            *found.conditions,
            "Published times are of an Intel Core i7-7700 with 4 cores; ours are of this machine, "
            "beside other analyses (--jobs 1 avoids them).",
            "Our time is that of the whole analysis, without the start of Python.",
        ]
    )


def _seconds_rows(item: Item, found: Recomputed) -> list[ComparedValue]:
    ours = found.result["stats"]["seconds"]
    theirs = found.published.seconds
    return [compared(item.name, _UNTIL_SLOWEST, theirs, ours, _note(found))]


_ESTIMATED = Quantity("guaranteed packet rate", "Mpps")
_PACKETS = Quantity("packet rate on the card, slowest measured path", "Mpps")


def count_min(source: Source) -> Plan:
    """Return the work that recomputes Figure 8: packet rates of a sketch, by number of hashes."""
    rows = Rows(_count_min_rows, _ESTIMATED)
    found = _plan(source, Settings("packetrate"), rows, _SKETCH)
    return found._replace(
        conditions=[
            *found.conditions,
            "Published and own guarantees are at most 54.4 Mpps, the rate of the ports.",
            "Rates on the card are missing where the ports limited the measurement.",
        ]
    )


def _count_min_rows(item: Item, found: Recomputed) -> list[ComparedValue]:
    published, guarantee = found.published, found.result["guarantee"]
    ours = None if guarantee is None else guarantee["packetrate_pps"]
    ours = None if ours is None else ours / 1e6
    cores, known = published.cores, _paths(published)
    theirs = None
    if known:
        cost = max(max(one.cycles, one.dram * cores) for one in known)
        theirs = min(cores * CLOCK_HZ / cost / 1e6, _PORTS_MPPS)
    hashes = item.name.removeprefix(_SKETCH)
    measured = [one.measured for one in known if one.measured]
    rows = [compared(hashes, _ESTIMATED, theirs, ours, _note(found))]
    if measured:
        on_card = cores * CLOCK_HZ / max(measured) / 1e6
        rows.append(compared(hashes, _PACKETS, on_card, ours, _note(found)))
    return rows


_NUMBER = Quantity("satisfiable paths")
_SAME = Quantity("paths with the published cycles and packet size")
_RATE = Quantity("guaranteed and measured rate of a path, median of the paths", "Gbit/s")


def paths(source: Source) -> Plan:
    """Return the work that compares the sets of all paths that packets can take."""
    found = _plan(source, Settings("bitrate", "all"), Rows(_path_rows, _NUMBER))
    whole = [
        at
        for at, item in enumerate(found.items)
        if item.name not in _INCOMPLETE and (isinstance(item.files.report, str) or item.files.paths)
    ]
    if not whole:
        raise source.missing("*.jsonl.gz with the paths of summary.json")
    return found._replace(
        labels=[found.labels[at] for at in whole],
        items=[found.items[at] for at in whole],
        conditions=[
            *found.conditions,
            f"Without {', '.join(_INCOMPLETE)}: the published analysis of these programs ended "
            "before it had found all paths.",
        ],
    )


def _path_rows(item: Item, found: Recomputed) -> list[ComparedValue]:
    theirs = sorted(map(_plain, found.published.paths))
    ours = sorted(
        (
            round(one["cost"]["processing"]),
            round(one["cost"]["dram"], _DIGITS),
            one["min_packet_size"],
        )
        for one in found.result["paths"]
    )
    note = _note(found)
    rows = [
        compared(item.name, _NUMBER, len(theirs), len(ours), note),
        compared(item.name, _SAME, len(theirs), _common(theirs, ours), note),
    ]
    pairs = [
        (one.measured / one.size, per_byte(one.cycles, one.dram, one.size, found.published.cores))
        for one in found.published.paths
        if one.measured
    ]
    if pairs and theirs == ours:
        on_card = median(_bit_rate(measured) for measured, _ in pairs)
        guaranteed = median(_bit_rate(cost) for _, cost in pairs)
        rows.append(compared(item.name, _RATE, on_card, guaranteed, note))
    return rows


def _plain(one: PublishedPath) -> tuple[int, float, int]:
    return round(one.cycles), round(one.dram, _DIGITS), one.size


def _common(
    theirs: Sequence[tuple[int, float, int]], ours: Sequence[tuple[int, float, int]]
) -> int:
    """Return the number of elements that two sorted lists have in common."""
    left = list(ours)
    count = 0
    at = 0
    for one in theirs:
        while at < len(left) and left[at] < one:
            at += 1
        if at < len(left) and left[at] == one:
            count, at = count + 1, at + 1
    return count


# --- listings -------------------------------------------------------------------------------------

_LINES = Quantity("lines of the listing")
_EQUAL = Quantity("lines equal to the published ones")
_OBJECTS = "data-paper/programs/*.bpf.o"


class Pair(NamedTuple):
    """A published BPF object, and the listing of it for the card, which the driver compiled."""

    name: str
    object: str
    listing: str


class Lines(NamedTuple):
    """Number of lines of a published listing and of ours, and number of equal lines."""

    published: int
    ours: int
    equal: int


def listings(source: Source) -> Plan:
    """Return the work that compiles the published programs, and compares the listings."""
    known = {path.stem: str(path) for path in source.needed(_LISTINGS)}
    pairs = [
        Pair(name, str(path), known[name])
        for path in source.needed(_OBJECTS)
        if (name := path.name.removesuffix(".bpf.o")) in known
    ]
    if not pairs:
        raise source.missing("listing with the name of an object")
    pairs.sort(key=lambda pair: _natural(pair.name))
    conditions = ["Published listings are those of the Linux driver for the card."]
    names = [pair.name for pair in pairs]
    return Plan(names, pairs, compile_pair, None, _listing_rows, conditions, source.warnings())


def compile_pair(_common: None, pair: Pair, stop_requested: StopRequested) -> Lines | None:
    """Compile a published object, and compare our listing with the published one.

    Return None if a stop was requested.

    Raises:
        InputError: if a file cannot be read, or the object cannot be compiled.
    """
    if stop_requested():
        return None
    found = objects.read_object(pair.object, read_program(pair.object))
    programs = objects.programs(found)
    if not programs:
        raise InputError(codes.OBJECT_WITHOUT_PROGRAMS, pair.object, "has no program")
    subject = objects.Subject(pair.object, found, programs[0].number, None)
    [message] = compile_messages(subject, choose_target(CARD), Options(), Stopping(), verify=False)
    compiled: Compiled = json.loads(message[1])
    ours = compiled["listing"].splitlines()
    theirs = _listing_text(pair.listing).splitlines()
    equal = sum(one == other for one, other in zip(theirs, ours, strict=False))
    return Lines(len(theirs), len(ours), equal)


def _listing_text(file: str) -> str:
    try:
        return read_program(file).decode()
    except UnicodeDecodeError:
        raise InputError(codes.LISTING_NOT_TEXT, file, "is not a listing") from None


def _listing_rows(pairs: Sequence[tuple[Pair, Lines | None]]) -> list[ComparedValue]:
    found = list[ComparedValue]()
    for pair, result in pairs:
        if result is None:
            found.append(compared(pair.name, _LINES, None, None, NOT_COMPUTED))
            continue
        found.append(compared(pair.name, _LINES, result.published, result.ours))
        found.append(compared(pair.name, _EQUAL, result.published, result.equal))
    return found
