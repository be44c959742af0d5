"""Converts the counts of a run to input of other insights commands.

These are `slowpath insights placement`, which places data structures in memories, and
`slowpath insights coalescing`, which orders variables.

The variables to order are the plain members of Click elements, plain variables, and the members of
structures that the source declares. A basic block appears in the input once for each set of
variables that a run of it accessed. The weight is the number of such runs per packet.
"""

import re
from collections import Counter
from typing import NamedTuple

from slowpath.insights.source.layouts import Type, descend
from slowpath.insights.trace.counting import DIGITS, Counted
from slowpath.insights.trace.documents import CountsReport

_ABOUT = (
    "Counts are accesses per packet, over {packets:,} packets of {file}. Capacities are those "
    "published for a Netronome Agilio CX, without the memories CLS and CTM, which not all cores "
    "share. Costs are rounded figures, which are lower for nearer memories. Replace them by the "
    "costs of your card."
)
CAPACITIES = {"cls": 0, "ctm": 0, "imem": 4_000_000, "emem": 2_000_000_000}
"""Capacities in bytes of the memories that all cores share, nearest memory first."""
_COSTS = {"cls": 30, "ctm": 80, "imem": 200, "emem": 300}


def placement_problem(report: CountsReport) -> dict[str, object]:
    """Return the input of `slowpath insights placement` for the data structures in a report."""
    structures = [
        {
            "name": one["structure"],
            "about": f"{one['file']}:{one['line']}, {one['entries_written']:,} entries written",
            "size_bytes": one["size_bytes"],
            "accesses": [
                {"operation": operation, "count": count}
                for operation, count in (
                    ("read", one["reads_per_packet"]),
                    ("write", one["writes_per_packet"]),
                )
                if count
            ],
        }
        for one in report["structures"]
    ]
    traffic = report["traffic"]
    return {
        "about": _ABOUT.format(packets=traffic["packets"], file=traffic["file"]),
        "levels": [*CAPACITIES],
        "capacity_bytes": {"shared by all cores": CAPACITIES},
        "access_cost": {"read": _COSTS, "write": _COSTS},
        "cases": [{"name": report["entry"], "structures": structures}],
    }


_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_MAX_PLAIN = 16
"""Largest structure of slowpath's headers that counts as a plain variable, in bytes."""
_WIDTH = 16
_LARGEST = 1 << 20
"""Largest variable that `slowpath insights coalescing` accepts, in bytes."""


class _Record(NamedTuple):
    """A group of variables, such as a structure, whose order in memory can change."""

    name: str
    variables: dict[str, Type]  # by name


def coalescing_problem(counted: Counted, report: CountsReport) -> dict[str, object] | None:
    """Return the input of `slowpath insights coalescing`; None if no order of variables can change.

    The input has each group of variables of which several were accessed, and the basic blocks that
    access them.
    """
    finder = _Finder(counted)
    packets = report["traffic"]["packets"]
    touched = dict[str, Counter[tuple[int, frozenset[str]]]]()
    tally = counted.outcome.tally
    for block, parts, count in tally.together:
        sets = dict[str, set[str]]()
        for part in parts:
            for path in tally.parts[part].members:
                found = finder.find(tally.parts[part].structure, path)
                if found is not None:
                    sets.setdefault(found[0], set()).add(found[1])
        for name, variables in sets.items():
            touched.setdefault(name, Counter())[block, frozenset(variables)] += count
    elements = [
        _element(counted, record, touched[name], packets)
        for name, record in finder.records.items()
        if name in touched and _may_move(record, set().union(*(one for _, one in touched[name])))
    ]
    if not elements:
        return None
    about = (
        f"Weights are runs of blocks per packet, over {packets:,} packets of "
        f"{report['traffic']['file']}."
    )
    return {"about": about, "access_bytes": _WIDTH, "elements": elements}


def _element(
    counted: Counted,
    record: _Record,
    touched: Counter[tuple[int, frozenset[str]]],
    packets: int,
) -> dict[str, object]:
    blocks, known = list[dict[str, object]](), Counter[str]()
    for (block, variables), count in sorted(touched.items(), key=lambda one: (one[0][0], -one[1])):
        described = counted.block(block, packets)
        name = f"{described['function']}:{described['line']}"
        known[name] += 1
        order = [one for one in record.variables if one in variables]
        blocks.append(
            {
                "name": name if known[name] == 1 else f"{name} ({known[name]})",
                "weight": round(count / packets, DIGITS),
                "variables": order,
            }
        )
    members = [_variable(name, kind) for name, kind in record.variables.items()]
    return {"name": record.name, "variables": members, "blocks": blocks}


def _variable(name: str, kind: Type) -> dict[str, object]:
    described: dict[str, object] = {"name": name, "bytes": kind.size, "align": kind.align}
    plain = not kind.fields and kind.element is None and not kind.flat
    if plain and re.fullmatch(r"[A-Za-z_][\w ]*", kind.name) and kind.name != "pointer":
        described["type"] = kind.name
    return described


class _Finder:
    """Finds the group of variables, and the variable in it, to which an accessed member belongs."""

    def __init__(self, counted: Counted) -> None:
        self._structures = counted.structures
        self.records = dict[str, _Record]()
        self._plain = dict[int, tuple[str, str]]()
        for at, structure in enumerate(counted.structures):
            kind, name = structure.type, structure.name.rpartition("::")[2]
            if kind is None or not _NAME.fullmatch(name) or not _is_plain(kind):
                continue
            owner = structure.owner or "variables"
            record = self.records.setdefault(owner, _Record(owner, {}))
            if name not in record.variables:
                record.variables[name] = kind
                self._plain[at] = owner, name

    def find(self, structure: int, path: tuple[str, ...]) -> tuple[str, str] | None:
        """Return the names of the group of variables, and of the variable in it, with a member.

        `structure` is the number of a data structure, and `path` leads to the member. The result is
        None if the order of the variables cannot change.
        """
        if structure in self._plain:
            return self._plain[structure]
        kind = self._structures[structure].type
        for at in range(len(path) + 1):
            if kind is None:
                return None
            if kind.fields and not kind.ours:
                return self._own(structure, kind, path[:at], path[at:])
            if at < len(path):
                kind = descend(kind, (path[at],))
        return None

    def _own(
        self, structure: int, kind: Type, above: tuple[str, ...], below: tuple[str, ...]
    ) -> tuple[str, str] | None:
        """Do the work of `find` for a member of a structure type that the source declares.

        `kind` is this type. `above` leads from the data structure to it, and `below` from it to the
        member.
        """
        if not below or not _is_natural(kind):
            return None
        last = next((one for one in reversed(above) if one != "[]"), "")
        of = f" {last}" if last in ("key", "value") else ""
        name = f"{self._structures[structure].name}{of} ({kind.name or 'struct'})"
        if name not in self.records:
            variables = {one.name: one.type for one in kind.fields if _NAME.fullmatch(one.name)}
            self.records[name] = _Record(name, variables)
        return (name, below[0]) if below[0] in self.records[name].variables else None


def _may_move(record: _Record, touched: set[str]) -> bool:
    """Return true if another order of a group of variables may need fewer accesses.

    Several of its variables were accessed (`touched`), and each fits into one access.
    """
    return len(touched) > 1 and all(record.variables[one].size <= _WIDTH for one in touched)


def _is_natural(kind: Type) -> bool:
    """Return true if C chose the offsets of a structure's members, and all members have names.

    Such a structure can be written with its members in another order.
    """
    at = 0
    for one in kind.fields:
        at += -at % one.type.align
        if not _NAME.fullmatch(one.name) or one.offset != at or one.type.size > _LARGEST:
            return False
        at += one.type.size
    return kind.size == at + -at % kind.align


def _is_plain(kind: Type) -> bool:
    """Return true if a type counts as a plain variable.

    It is a number, a pointer, or a small structure of slowpath's headers.
    """
    if kind.element is not None:
        return False
    return not kind.fields or (kind.ours and kind.size <= _MAX_PLAIN)
