"""XDP programs in insights and in the running kernel: results, packets and maps are the same."""

from collections import defaultdict
from itertools import islice
from pathlib import Path

from insights_xdp import Kept, ran
from oracles import compared
from running_kernel import needs_kernel
from slowpath.core.engine.errors import MapsFile
from slowpath.core.engine.objects import read_object, run_maps
from slowpath.core.programs.clang import compile_c
from slowpath.core.programs.sources import Clang
from slowpath.insights.trace.xdp_map_contents import made_up
from slowpath.insights.trace.xdp_maps import ARRAY, BLOOM, HASH, LPM, LRU, QUEUE, STACK
from xdp_kernel import Answer, Loaded

Given = list[dict[str, str | int]]
TIMED = {"flows": 16}
"""By map, the first bytes of values that do not depend on the clock."""
EVICTING = {"few": 3, "some": 10}
"""Maps that are full, with their most entries: which ones they lose is not that of the kernel."""
_INNER = ".inner"


def compare(
    source: Path,
    packets: list[bytes],
    folder: Path,
    maps: Path | None = None,
    entry: str | None = None,
) -> list[Answer]:
    """Runs packets here and in the kernel."""
    needs_kernel()
    told = None if maps is None else MapsFile(str(maps), maps.read_text())
    here = ran(source, packets, told, entry)
    made = folder / "program.o"
    made.write_bytes(compile_c(str(source), Clang()))
    kernel = Loaded(made, here.program)
    try:
        if told is not None:
            for name, kept in here.maps.items():
                if "#" in name:  # the object has it not
                    sizes = (kept.key, kept.value, kept.most)
                    kernel.make(name, kept.kind, sizes, kept.flags, kept.extra)
            read = read_object(str(made), made.read_bytes())
            for name, entries in _by_map(run_maps(str(made), read, told)).items():
                kernel.fill(name, _written_out(entries, here.maps[name]))
        for number, (one, found) in enumerate(zip(packets, here.answers, strict=True)):
            assert found == kernel.run(one), f"packet {number}: {one.hex()}"
        for name, kept in here.maps.items():
            if kept.kind in (HASH, LRU, ARRAY, LPM):
                size = TIMED.get(name, kept.value)
                wanted = kernel.entries(name, kept.key, kept.value)
                if name in EVICTING:
                    assert max(len(kept.entries), len(wanted)) <= EVICTING[name], name
                    continue
                assert _cut(kept.entries, size) == _cut(wanted, size), name
    finally:
        kernel.close()
    compared("kernel", len(packets), "packets of XDP programs")
    return here.answers


def _by_map(found: dict[str, Given]) -> dict[str, Given]:
    """Entries of `--maps`, those of maps in maps of maps by their own names; these are behind."""
    own = {name: each for name, each in found.items() if not name.endswith(_INNER)}
    inner = defaultdict[str, Given](list)
    for name, each in found.items():
        for one in each if name.endswith(_INNER) else []:
            inner[str(one["map"])].append({key: one[key] for key in one if key != "map"})
    return {**own, **inner}


def _written_out(entries: Given, kept: Kept) -> Given:
    """Entries with those that are only counted as `docs/maps.md` and `measure` make them up."""
    count = sum(int(one.get("others", 0)) for one in entries)
    value = "5a" * kept.value
    made: Given = [{"value": value}] * count
    if kept.kind in (QUEUE, STACK):
        return [*entries, *made]
    what, size = ("value", kept.value) if kept.kind == BLOOM else ("key", kept.key)
    known = {one.get(what) for one in entries}
    keys = (_key(number, size) for number in range(count + len(known)))
    further = islice((key for key in keys if key not in known), count)
    made = [
        {"value": key} if kept.kind == BLOOM else {"key": key, "value": value} for key in further
    ]
    return [*entries, *made]


def _key(number: int, size: int) -> str:
    """One that is made up; `measure` makes up the same (`test_insights_xdp.py`)."""
    return made_up(number, size).hex()


def _cut(entries: dict[bytes, bytes], size: int) -> dict[bytes, bytes]:
    return {key: value[:size] for key, value in entries.items()}
