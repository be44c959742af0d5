"""Finds source lines whose cost differs between the old and the new slowest path.

Lines are matched by function and text; repeated lines are matched in order. The entry function
matches even if its name changed. Without source lines, instructions are compared in the same way. A
line that exists only in the old or the new program has zero cost in the other, so that the changes
of all lines add up to that of the path.
"""

import re
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import PurePosixPath
from typing import NamedTuple

from slowpath.core.schema.derived import main_component
from slowpath.core.schema.results import Profile, Result
from slowpath.diff.pairs import Pair


class Place(NamedTuple):
    """A line, or an instruction, on the slowest path of one program, and its cost."""

    file: str | None  # None: an instruction
    line: int
    runs: int
    cost: float

    def __str__(self) -> str:
        if self.file is None:
            return f".{self.line}"
        return f"{PurePosixPath(self.file).name}:{self.line}"


class LineChange(NamedTuple):
    """A line whose cost differs between the old and the new slowest path."""

    function: str | None  # on the new side, if the line exists there
    text: str
    old: Place | None
    new: Place | None

    @property
    def diff(self) -> float:
        """Increase of the line's cost from the old to the new program; negative for a decrease."""
        costs = [0 if place is None else place.cost for place in (self.new, self.old)]
        return round(costs[0] - costs[1], 9)


class Changes(NamedTuple):
    """All lines whose cost differs between the old and the new slowest path."""

    component: str  # component that the costs refer to
    lines: list[LineChange]

    def dearer(self, limit: int) -> list[LineChange]:
        """Return the `limit` lines with the largest increase of cost, the largest first."""
        rising = [line for line in self.lines if line.diff > 0]
        return sorted(rising, key=lambda line: -line.diff)[:limit]

    def cheaper(self, limit: int) -> list[LineChange]:
        """Return the `limit` lines with the largest decrease of cost, the largest first."""
        falling = [line for line in self.lines if line.diff < 0]
        return sorted(falling, key=lambda line: line.diff)[:limit]


_Key = tuple[str | None, str]


class _Item(NamedTuple):
    function: str | None
    text: str
    place: Place


def changed_lines(pair: Pair) -> Changes | None:
    """Return the lines whose cost differs between the two programs; None if one has no profile."""
    old, new = pair
    if old is None or new is None or old["profile"] is None or new["profile"] is None:
        return None
    component = main_component(new if pair.same_machine else {**new, "estimate": None})
    if component is None or component not in old["profile"]["cost"]:
        return None
    sourced = bool(old["profile"]["lines"] and new["profile"]["lines"])
    before = _by_key(old, old["profile"], component, sourced=sourced)
    after = _by_key(new, new["profile"], component, sourced=sourced)
    changes = []
    for key in dict.fromkeys((*before, *after)):
        for a, b in zip_longest(before.get(key, []), after.get(key, [])):
            present = b or a
            change = LineChange(present.function, present.text, a and a.place, b and b.place)
            if change.diff:
                changes.append(change)
    return Changes(component, changes)


def _by_key(
    result: Result, profile: Profile, component: str, *, sourced: bool
) -> dict[_Key, list[_Item]]:
    keyed = dict[_Key, list[_Item]]()
    for item in _items(profile, component, sourced=sourced):
        own = item.function == result["program"]
        key = (None if own else item.function, _comparable(item))
        keyed.setdefault(key, []).append(item)
    for items in keyed.values():
        items.sort(key=lambda item: (item.place.file or "", item.place.line))
    return keyed


def _comparable(item: _Item) -> str:
    """Return a line's text without indentation and jump targets, so that moved lines match."""
    if item.place.file is None:
        return re.sub(r"\.\d+\b|\bpc[+-]\d+|[+-]0x[0-9a-f]+ ?<", ".", item.text.strip())
    return item.text.strip() or f"{PurePosixPath(item.place.file).name}:{item.place.line}"


def _items(profile: Profile, component: str, *, sourced: bool) -> Iterator[_Item]:
    """Yield the source lines of a profile, and the instructions that have no source line.

    If not `sourced`, yield all instructions and no lines.
    """
    if sourced:
        for line in profile["lines"]:
            cost = line["cost"].get(component, 0)
            place = Place(line["file"], line["line"], line["runs"], cost)
            yield _Item(line["function"], line["text"], place)
    for insn in profile["instructions"]:
        if not sourced or insn["line"] is None:
            cost = insn["cost"].get(component, 0)
            place = Place(None, insn["instruction"], insn["runs"], cost)
            yield _Item(insn["function"], insn["text"], place)
