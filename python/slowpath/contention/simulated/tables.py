"""Rows from the simulated NIC as profile tables (docs/contention.md), always called simulated."""

import csv
import io
from collections.abc import Mapping, Sequence

DEVICE = "simulated-bluefield-2"
SOURCE = "simulated"
UNIT = "packets/s"
_CACHE_MB = "6.291456"


def written(
    rows: Sequence[Mapping[str, float]], function: str, remarks: Mapping[str, str] | None = None
) -> str:
    """A table as CSV, with what all rows have in common above the columns.

    Throughput is in packets per second, times for each packet in seconds.
    """
    said = {
        "device": DEVICE,
        "source": SOURCE,
        "function": function,
        "unit throughput": UNIT,
        "cache mb": _CACHE_MB,
        **(remarks or {}),
    }
    text = io.StringIO()
    text.writelines(f"# {key}: {value}\n" for key, value in said.items())
    names = list(rows[0]) if rows else []
    lines = csv.DictWriter(text, names, lineterminator="\n")
    lines.writeheader()
    lines.writerows(rows)
    return text.getvalue()
