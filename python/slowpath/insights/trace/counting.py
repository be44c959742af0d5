"""Sums up an instrumented run for the report of `slowpath insights counts`.

Counts are given by function, basic block, data structure and member.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from slowpath.core import engine
from slowpath.core.engine.objects import Captured
from slowpath.core.programs.sources import provenance
from slowpath.insights.source.entry import Entry
from slowpath.insights.source.functions import Function
from slowpath.insights.source.layouts import descend
from slowpath.insights.source.metadata import Line
from slowpath.insights.source.modules import callee_of
from slowpath.insights.source.sources import is_source
from slowpath.insights.trace.documents import (
    CountedBlock,
    CountedCall,
    CountedElsewhere,
    CountedFunction,
    CountedMember,
    CountedResult,
    CountedStructure,
    CountsReport,
    Fate,
    Traffic,
)
from slowpath.insights.trace.execution import Execution, Outcome
from slowpath.insights.trace.memory import ALLOCATORS, Structure

ACTIONS = ("XDP_ABORTED", "XDP_DROP", "XDP_PASS", "XDP_TX", "XDP_REDIRECT")
"""Names of the actions that an XDP program returns, by value (include/uapi/linux/bpf.h)."""
DIGITS = 6
"""Decimal places of counts per packet."""
_HIDDEN = frozenset({"_table", "_buckets", "slots", "_slots"})
"""Names of internal members of the headers' tables, which reports leave out."""
_UNCOUNTED = frozenset(
    [
        *("memchr", "bcopy", "bzero", "strlen", "strnlen", "strcmp", "strncmp", "strcasecmp"),
        *("strncasecmp", "strcpy", "strncpy", "strcat", "strncat", "strchr", "strrchr"),
        *("snprintf", "vsnprintf"),
        *("qsort", "bsearch"),
    ]
)
_SILENT = frozenset({"bpf_trace_printk", "bpf_trace_vprintk", "bpf_perf_event_output"})
"""Kernel helpers that have no effect in a run."""
_FIND_DATAGRAM = "rte_ip_frag_find"
"""Name of the function that looks up the datagram of an IP fragment."""
_KINDS = ("packet", "metadata", "local", "constant", "other")


class Counted:
    """The counts of an instrumented run, and the report made from them."""

    def __init__(
        self,
        execution: Execution,
        outcome: Outcome,
        functions: Mapping[str, Function],
        entry: Entry,
    ) -> None:
        self.execution, self.outcome, self.entry = execution, outcome, entry
        self._functions = functions
        sizes = outcome.allocated
        self.structures = [
            one._replace(size=sizes.get(at, one.size))
            for at, one in enumerate(execution.memory.structures)
        ]

    def report(
        self, file: str, traffic: str, packets: Sequence[Captured], *, more: bool
    ) -> CountsReport:
        """Return the report of the run as a JSON document.

        `file` is the source and `traffic` the trace. `packets` are the packets that the function
        processed. `more` is true if the trace has further packets.
        """
        of_trace: Traffic = {
            "file": traffic,
            "packets": len(packets),
            "truncated": sum(one.length > len(one.bytes) for one in packets),
            "timeless": sum(one.nanoseconds is None for one in packets),
            "more": more,
        }
        structures = self._counted_structures(len(packets))
        elsewhere = self._elsewhere()
        fate = self._fate()
        return {
            **engine.head("insights counts", "counts"),
            **provenance(compiled=is_source(file)),
            "file": file,
            "entry": self.entry.function.shown,
            "traffic": of_trace,
            "functions": self._counted_functions(),
            "blocks": [self.block(at, len(packets)) for at in self._ran()],
            "calls": self._counted_calls(len(packets)),
            "structures": structures,
            "elsewhere": elsewhere,
            "fate": fate,
            "notes": self._notes(of_trace, fate, elsewhere),
        }

    def block(self, number: int, packets: int) -> CountedBlock:
        """Return the counts of the basic block with this number as a JSON entry.

        `packets` is the number of packets that ran.
        """
        place = self.execution.instrumented.blocks[number]
        function = self._functions[place.function]
        file, line = _place(self.execution.line(number))
        runs = self.outcome.tally.runs[number]
        return {
            "function": function.shown,
            "symbol": function.name,
            "number": place.number,
            "file": file,
            "line": line,
            "support": function.supports,
            "instructions": len(function.blocks[place.number].instructions),
            "runs": runs,
            "per_packet": round(runs / packets, DIGITS),
        }

    def _ran(self) -> list[int]:
        """Return the numbers of the basic blocks that ran."""
        return [at for at, runs in enumerate(self.outcome.tally.runs) if runs]

    def _counted_functions(self) -> list[CountedFunction]:
        found = list[CountedFunction]()
        for at in self._ran():
            place = self.execution.instrumented.blocks[at]
            if place.number:
                continue
            function = self._functions[place.function]
            file, line = _place(function.line)
            found.append(
                {
                    "function": function.shown,
                    "symbol": function.name,
                    "file": file,
                    "line": line,
                    "support": function.supports,
                    "calls": self.outcome.tally.runs[at],
                }
            )
        return found

    def _counted_calls(self, packets: int) -> list[CountedCall]:
        """Return the counts of calls, for functions that the source calls in several lines.

        There is an entry for each calling line. `packets` is the number of packets that ran.
        """
        instrumented, tally = self.execution.instrumented, self.outcome.tally
        inside = Counter[int]()
        for call, block, count in tally.calls:
            place = instrumented.blocks[block]
            size = len(self._functions[place.function].blocks[place.number].instructions)
            inside[call] += size * count
        found = dict[tuple[str, str, str, int], CountedCall]()
        for at, one in enumerate(instrumented.calls):
            runs = tally.runs[one.block]
            if not runs:
                continue
            caller = self._functions[instrumented.blocks[one.block].function]
            file, line = _place(self.execution.own_line(one.place))
            row = found.setdefault(
                (one.function, caller.name, file, line),
                {
                    "function": self._functions[one.function].shown,
                    "symbol": one.function,
                    "caller": caller.shown,
                    "caller_symbol": caller.name,
                    "file": file,
                    "line": line,
                    "calls": 0,
                    "instructions": 0,
                    "per_packet": 0.0,
                },
            )
            row["calls"] += runs
            row["instructions"] += inside[at]
            row["per_packet"] = round(row["instructions"] / packets, DIGITS)
        lines = Counter(symbol for symbol, *_ in found)
        return [one for one in found.values() if lines[one["symbol"]] > 1]

    def _counted_structures(self, packets: int) -> list[CountedStructure]:
        tally, sites = self.outcome.tally, self.execution.instrumented.sites
        totals = Counter[tuple[int, str]]()
        members = Counter[tuple[int, tuple[str, ...], str]]()
        for site, part, count in tally.touches:
            touched, kind = tally.parts[part], sites[site].kind
            totals[touched.structure, kind] += count
            for path in touched.members:
                members[touched.structure, path, kind] += count
        found = list[CountedStructure]()
        for at, structure in enumerate(self.structures):
            reads, writes = totals[at, "read"], totals[at, "write"]
            if not reads + writes:
                continue
            file, line = _place(structure.line)
            paths = dict.fromkeys(path for number, path, _ in members if number == at)
            found.append(
                {
                    "structure": structure.name,
                    "file": file,
                    "line": line,
                    "size_bytes": structure.size,
                    "reads": reads,
                    "writes": writes,
                    "reads_per_packet": round(reads / packets, DIGITS),
                    "writes_per_packet": round(writes / packets, DIGITS),
                    "entries": tally.entries[at][0],
                    "entries_written": tally.entries[at][1],
                    "members": [
                        _member(
                            structure, path, members[at, path, "read"], members[at, path, "write"]
                        )
                        for path in sorted(paths, key=lambda path: _order(structure, path))
                    ],
                }
            )
        return found

    def _elsewhere(self) -> list[CountedElsewhere]:
        sites = self.execution.instrumented.sites
        found = Counter[tuple[str, str]]()
        for site, kind, count in self.outcome.tally.elsewhere:
            found[kind, sites[site].kind] += count
        return [
            {"what": kind, "reads": found[kind, "read"], "writes": found[kind, "write"]}
            for kind in _KINDS
            if found[kind, "read"] + found[kind, "write"]
        ]

    def _fate(self) -> Fate:
        counts = self.outcome.counts
        return {
            "outputs": [
                {"output": port, "packets": count} for port, count in self.outcome.outputs.items()
            ],
            "results": [
                self._result(result, count) for result, count in self.outcome.results.items()
            ],
            "killed": counts["killed"],
            "made": counts["made"],
            "unmade": counts["unmade"],
            "kept": self.outcome.kept,
            "waiting": self.outcome.waiting,
            "refused": counts["refused"],
            "evicted": counts["evicted"],
        }

    def _result(self, result: int, packets: int) -> CountedResult:
        """Return the JSON entry of a return value that the function had for `packets` packets.

        For XDP, the entry has the name of the action.
        """
        found: CountedResult = {"result": result, "packets": packets}
        if self.entry.xdp:
            found["action"] = ACTIONS[result] if 0 <= result < len(ACTIONS) else "unknown"
        return found

    def _notes(
        self, traffic: Traffic, fate: Fate, elsewhere: Sequence[CountedElsewhere]
    ) -> list[str]:
        found = list[str]()
        if traffic["more"]:
            found.append(
                f"the trace has more packets than the {traffic['packets']:,} that "
                "ran; run more with --packets"
            )
        if traffic["truncated"]:
            what = f"{traffic['truncated']:,} packets were captured only in part"
            found.append(f"{what}; zeros replace the missing bytes")
        if traffic["timeless"]:
            found.append(
                "the trace has no times, so a packet is assumed to arrive every microsecond"
            )
        if fate["refused"] + fate["evicted"]:
            refused = f"{fate['refused']:,} entr{'y' if fate['refused'] == 1 else 'ies'}"
            lost = f"{refused} found no free slot, and {fate['evicted']:,} were evicted from tables"
            remedy = "--cflags=-DSLOWPATH_BUCKETS=..."
            if self.entry.xdp:
                remedy = "max_entries"
            elif self.entry.dpdk:
                remedy += "; for prefixes -DSLOWPATH_RULES=..."
                if self._calls(_FIND_DATAGRAM.__eq__):
                    remedy += "; for datagrams the size in the source, or -DSLOWPATH_DATAGRAMS=..."
            found.append(f"{lost}, because the tables are too small (enlarge them with {remedy})")
        found += self._left(fate)
        external = self._calls(lambda name: name not in self._functions)
        found += self._engines(traffic["packets"])
        silent = sorted(self._calls(_SILENT.__contains__)) if self.entry.xdp else []
        if silent:
            found.append(
                f"the output of {', '.join(silent)} is discarded, but the calls are counted"
            )
        count = sum(count for name, count in external.items() if name in ALLOCATORS)
        if count:
            found.append(f"the function allocates memory {count:,} times, which a card cannot do")
        uncounted = sorted(set(external) & _UNCOUNTED)
        if uncounted:
            found.append(f"memory accesses of {', '.join(uncounted)} are not counted")
        other = next((one for one in elsewhere if one["what"] == "other"), None)
        if other is not None:
            count = other["reads"] + other["writes"]
            found.append(
                f"{count:,} accesses are to memory without a name, which is allocated or unknown"
            )
        return found

    def _left(self, fate: Fate) -> list[str]:
        """Return notes for the user on packets that the function neither sent nor killed.

        There are also notes on packets that could not be created for lack of a buffer.
        """
        found = list[str]()
        if fate["unmade"]:
            found.append(
                f"{fate['unmade']:,} packets could not be created or cloned, because the "
                "buffers are too few; enlarge their number with "
                "--cflags=-DSLOWPATH_PACKETS=..."
            )
        if fate["kept"] and self.entry.dpdk:
            found.append(
                f"{fate['kept']:,} packets that the function created were neither sent nor "
                "freed, and no structure refers to them"
            )
        elif fate["kept"]:
            found.append(
                f"the function kept {fate['kept']:,} packets, but the next packet replaces "
                "each of them, so queues differ from a real run"
            )
        return found

    def _engines(self, packets: int) -> list[str]:
        """Return notes for the user on calls that a hardware engine of the SmartNIC would execute.

        `packets` is the number of packets that ran.
        """
        return [
            (
                f"an engine of the card executes {self._functions[name].shown}, "
                f"{count / packets:g} times for each packet; the counts do not include the work of "
                "the engine"
            )
            for name, count in sorted(self._calls(self._is_engine).items())
        ]

    def _is_engine(self, name: str) -> bool:
        return name in self._functions and self._functions[name].engine

    def _calls(self, predicate: Callable[[str], bool]) -> Counter[str]:
        """Count the calls in the run, by symbol of the called function.

        Only functions whose symbol satisfies `predicate` count.
        """
        found = Counter[str]()
        for at in self._ran():
            place = self.execution.instrumented.blocks[at]
            for one in self._functions[place.function].blocks[place.number].instructions:
                name = callee_of(one.text) if one.opcode == "call" else None
                if name is not None and predicate(name):
                    found[name] += self.outcome.tally.runs[at]
        return found


def _place(line: Line | None) -> tuple[str, int]:
    return ("", 0) if line is None else (line.file, line.line)


def _member(structure: Structure, path: tuple[str, ...], reads: int, writes: int) -> CountedMember:
    kind = None if structure.type is None else descend(structure.type, path)
    return {
        "member": shown(path),
        "type": "" if kind is None else kind.name,
        "size_bytes": 0 if kind is None else kind.size,
        "reads": reads,
        "writes": writes,
    }


def shown(path: Sequence[str]) -> str:
    """Format the path of a structure member, such as `table[].value`.

    Internal members of tables that slowpath's headers define are left out.
    """
    text = ""
    for name in path:
        if name == "[]":
            text += "" if text.endswith("[]") else "[]"
        elif name not in _HIDDEN:
            text += f".{name}" if text else name
    return text


def _order(structure: Structure, path: tuple[str, ...]) -> list[int]:
    """Return a sort key that puts a structure's members into the order of the source.

    It consists of the index of the member at each level of nesting. `path` leads to the member.
    """
    kind, found = structure.type, list[int]()
    for name in path:
        if kind is None:
            break
        if name != "[]":
            names = [one.name for one in kind.fields]
            found.append(names.index(name) if name in names else -1)
        kind = descend(kind, (name,))
    return found
