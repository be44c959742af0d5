"""The counts of a run as a problem for `slowpath insights placement`."""

from slowpath.insights.porting.documents import CountsReport

_ABOUT = (
    "Counts are accesses for each packet of {packets:,} packets of {file}. Capacities are those of "
    "a Netronome Agilio CX as published, without CLS and CTM, which not all cores share; costs are "
    "round figures of ours, nearer memories cheaper: put your card's there."
)
CAPACITIES = {"cls": 0, "ctm": 0, "imem": 4_000_000, "emem": 2_000_000_000}
"""Bytes of the memories that all cores share, from the nearest on."""
_COSTS = {"cls": 30, "ctm": 80, "imem": 200, "emem": 300}


def placement_problem(report: CountsReport) -> dict[str, object]:
    """The structures of a run, each with its size and its accesses for each packet."""
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
