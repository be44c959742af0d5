"""Checks that XDP programs have equal results, packets and maps in `insights` and in the kernel."""

from collections import defaultdict
from itertools import islice
from pathlib import Path

from insights_xdp import MapState, ran
from oracles import compared
from running_kernel import needs_kernel
from slowpath.core.engine import MapsFile
from slowpath.core.engine.objects import read_object, run_maps
from slowpath.core.programs.clang import compile_c
from slowpath.core.programs.sources import Clang
from slowpath.insights.trace.xdp_map_contents import made_up
from slowpath.insights.trace.xdp_maps import ARRAY, BLOOM, HASH, LPM, LRU, QUEUE, STACK
from xdp_kernel import Answer, Loaded

Entries = list[dict[str, str | int]]
TIMED = {"flows": 16}
"""Maps whose values end with times, and the number of bytes before the times."""
EVICTING = {"few": 3, "some": 10}
"""Full maps with their largest number of entries; the kernel evicts other entries than slowpath."""
_INNER = ".inner"


def compare(
    source: Path,
    packets: list[bytes],
    folder: Path,
    maps: Path | None = None,
    entry: str | None = None,
) -> list[Answer]:
    """Run packets in user space and in the kernel, check that both agree, and return the results.

    `maps` is a file of `--maps`, and `entry` the name of the program.
    """
    needs_kernel()
    maps_file = None if maps is None else MapsFile(str(maps), maps.read_text())
    here = ran(source, packets, maps_file, entry)
    made = folder / "program.o"
    made.write_bytes(compile_c(str(source), Clang()))
    kernel = Loaded(made, here.program)
    try:
        if maps_file is not None:
            for name, kept in here.maps.items():
                if "#" in name:  # an inner map that the object does not define
                    sizes = (kept.key, kept.value, kept.max_entries)
                    kernel.make(name, kept.kind, sizes, kept.flags, kept.extra)
            read = read_object(str(made), made.read_bytes())
            for name, entries in _by_map(run_maps(str(made), read, maps_file)).items():
                kernel.fill(name, _written_out(entries, here.maps[name]))
        for number, (one, found) in enumerate(zip(packets, here.answers, strict=True)):
            assert found == kernel.run(one), f"packet {number}: {one.hex()}"
        for name, kept in here.maps.items():
            if kept.kind in (HASH, LRU, ARRAY, LPM):
                size = TIMED.get(name, kept.value)
                expected = kernel.entries(name, kept.key, kept.value)
                if name in EVICTING:
                    assert max(len(kept.entries), len(expected)) <= EVICTING[name], name
                    continue
                assert _cut(kept.entries, size) == _cut(expected, size), name
    finally:
        kernel.close()
    compared("kernel", len(packets), "packets of XDP programs")
    return here.answers


def _by_map(found: dict[str, Entries]) -> dict[str, Entries]:
    """Return the entries of a file for `--maps` by map name, with inner maps last."""
    own = {name: each for name, each in found.items() if not name.endswith(_INNER)}
    inner = defaultdict[str, Entries](list)
    for name, each in found.items():
        for one in each if name.endswith(_INNER) else []:
            inner[str(one["map"])].append({key: one[key] for key in one if key != "map"})
    return {**own, **inner}


def _written_out(entries: Entries, kept: MapState) -> Entries:
    """Return map entries with `others`, a number of further entries, replaced by such entries.

    They are the synthetic ones of `docs/reference/maps.md`; `kept` is the map.
    """
    count = sum(int(one.get("others", 0)) for one in entries)
    value = "5a" * kept.value
    made: Entries = [{"value": value}] * count
    if kept.kind in (QUEUE, STACK):
        return [*entries, *made]
    part, size = ("value", kept.value) if kept.kind == BLOOM else ("key", kept.key)
    known = {one.get(part) for one in entries}
    keys = (made_up(number, size).hex() for number in range(count + len(known)))
    new = islice((key for key in keys if key not in known), count)
    made = [{"value": key} if kept.kind == BLOOM else {"key": key, "value": value} for key in new]
    return [*entries, *made]


def _cut(entries: dict[bytes, bytes], size: int) -> dict[bytes, bytes]:
    return {key: value[:size] for key, value in entries.items()}
