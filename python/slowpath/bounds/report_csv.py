"""Results as CSV, one row for each program."""

from slowpath.core.printable import csv_line
from slowpath.core.schema.results import Bound, Result

COLUMNS = (
    "file",
    "program",
    "target",
    "metric",
    "cores",
    "bitrate_bps",
    "packetrate_pps",
    "exact",
    "stopped",
    "bottleneck",
    "naive_bitrate_bps",
    "naive_packetrate_pps",
    "naive_bottleneck",
    "processing_cycles",
    "dram_cycles",
    "min_packet_size",
    "packet",
    "paths",
    "assumptions",
    "seconds",
    "error",
    "section",
    "instructions",
    "memory_accesses",
    "naive_instructions",
    "naive_memory_accesses",
    "verdict",
    "estimated_ns",
    "estimated_low_ns",
    "estimated_high_ns",
    "conditions",
    "interleaved_bitrate_bps",
    "interleaved_packetrate_pps",
    "interleaved_instructions",
    "interleaved_memory_accesses",
)


def csv_header() -> str:
    """Return the names of the columns as a line, without line end."""
    return csv_line(COLUMNS)


def csv_row(result: Result) -> str:
    """Return the row of a program as a line, without line end; unknown values are empty."""
    guarantee, naive = result["guarantee"], result["naive"]
    path = result["paths"][0] if result["paths"] else None
    row: dict[str, object] = {
        "file": result["file"],
        "program": result["program"],
        "target": result["target"],
        "metric": result["metric"],
        "cores": result["cores"],
        "paths": len(result["paths"]),
        "assumptions": len(result["assumptions"]),
        "seconds": result["stats"]["seconds"],
        "error": result["error"],
        "section": result["section"],
        "conditions": "; ".join(result["assumptions"]) or None,
    }
    if guarantee is not None:
        row |= {
            "bitrate_bps": guarantee["bitrate_bps"],
            "packetrate_pps": guarantee["packetrate_pps"],
            "verdict": guarantee["verdict"],
            "exact": "true" if guarantee["exact"] else "false",
            "stopped": guarantee["stopped"],
            "bottleneck": guarantee["bottleneck"],
        }
        row |= _counts("", guarantee)
    if naive is not None:
        row |= {
            "naive_bitrate_bps": naive["bitrate_bps"],
            "naive_packetrate_pps": naive["packetrate_pps"],
            "naive_bottleneck": naive["bottleneck"],
        }
        row |= _counts("naive_", naive)
    interleaved = result.get("interleaved")
    if interleaved is not None:
        row |= {
            "interleaved_bitrate_bps": interleaved["bitrate_bps"],
            "interleaved_packetrate_pps": interleaved["packetrate_pps"],
        }
        row |= _counts("interleaved_", interleaved)
    estimate = result["estimate"]
    if estimate is not None:
        row |= {
            "estimated_ns": estimate["ns"],
            "estimated_low_ns": estimate["low_ns"],
            "estimated_high_ns": estimate["high_ns"],
        }
    if path is not None:
        row |= {
            "processing_cycles": path["cost"].get("processing"),
            "dram_cycles": path["cost"].get("dram"),
            "min_packet_size": path["min_packet_size"],
            "packet": path["witness"]["packet"],
        }
    return csv_line([row.get(column) for column in COLUMNS])


def _counts(prefix: str, bound: Bound) -> dict[str, object]:
    counts = bound["counts"] or {}
    return {f"{prefix}{name.replace(' ', '_')}": count for name, count in counts.items()}
