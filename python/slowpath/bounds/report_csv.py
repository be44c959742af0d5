"""Prints results as CSV, with one row for each program."""

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
    "warm_ns",
    "warm_low_ns",
    "warm_high_ns",
    "cold_ns",
    "cold_low_ns",
    "cold_high_ns",
    "cold_entries",
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
    keys = ("file", "program", "target", "metric", "cores", "error", "section")
    row: dict[str, object] = {key: result[key] for key in keys}  # type: ignore[literal-required]
    row |= {
        "paths": len(result["paths"]),
        "assumptions": len(result["assumptions"]),
        "seconds": result["stats"]["seconds"],
        "conditions": "; ".join(result["assumptions"]) or None,
    }
    guarantee, estimate = result["guarantee"], result["estimate"]
    if guarantee is not None:
        row |= {"verdict": guarantee["verdict"], "stopped": guarantee["stopped"]}
        row |= {"exact": guarantee["exact"], **_bound("", guarantee)}
    if result["naive"] is not None:
        row |= _bound("naive_", result["naive"])
    interleaved = result.get("interleaved")
    if interleaved is not None:
        row |= _bound("interleaved_", interleaved)
    if estimate is not None:
        for caches in ("warm", "cold"):
            time = estimate[caches]
            row |= {f"{caches}_{key}": time[key] for key in ("ns", "low_ns", "high_ns")}
        row["cold_entries"] = estimate["cold"]["entries"]
    if result["paths"]:
        path = result["paths"][0]
        row |= {
            "processing_cycles": path["cost"].get("processing"),
            "dram_cycles": path["cost"].get("dram"),
            "min_packet_size": path["min_packet_size"],
            "packet": path["witness"]["packet"],
        }
    return csv_line([row.get(column) for column in COLUMNS])


def _bound(prefix: str, bound: Bound) -> dict[str, object]:
    """Return the CSV values of a guarantee; the names of their columns begin with `prefix`."""
    counts = {name.replace(" ", "_"): count for name, count in (bound["counts"] or {}).items()}
    rates = {
        "bitrate_bps": bound["bitrate_bps"],
        "packetrate_pps": bound["packetrate_pps"],
        "bottleneck": bound["bottleneck"],
    }
    return {f"{prefix}{name}": value for name, value in (rates | counts).items()}
