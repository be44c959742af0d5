"""What is said about cold caches in tables and CSV."""

from collections.abc import Iterator, Sequence

from slowpath.measurements.documents import ColdPath, MeasuredPath

COLD = "cold ns"
"""The column."""
CSV = (
    "cold_ns", "cold_spread_ns", "cold_low_ns", "cold_high_ns", "flows", "entry_bytes",
    "cache_bytes", "cold_reason",
)  # fmt: skip
"""Columns of CSV."""


def is_shown(paths: Sequence[MeasuredPath], *, always: bool) -> bool:
    """Whether there is a column: where a path differs from what it takes on hot caches."""
    known = [path["cold"] for path in paths if path["cold"] is not None]
    return always or any(cold["differs"] for cold in known)


def cell(path: MeasuredPath, *, always: bool) -> str:
    """What stands in the column."""
    cold = path["cold"]
    if cold is None:
        return "-"
    if not (always or cold["differs"]):
        return "as hot"
    return f"{cold['measured_ns']:.1f} ± {cold['spread_ns']:.1f}"


def notes(paths: Sequence[MeasuredPath]) -> Iterator[str]:
    """What cold caches were: how many flows, how large, and what limits them; each once."""
    said = dict[str, list[str]]()
    for path in paths:
        if path["cold"] is not None:
            said.setdefault(_what(path["cold"]), []).append(str(path["rank"]))
        elif path["cold_reason"] is not None:
            said.setdefault(f"no cold data: {path['cold_reason']}", []).append(str(path["rank"]))
    for what, ranks in said.items():
        yield f"  path {', '.join(ranks)}: {what}"


def _what(cold: ColdPath) -> str:
    places = ", ".join(f"{at}+{length}" for at, length in cold["varied"])
    limited = "" if cold["limited"] is None else f"; not really cold: {cold['limited']}"
    return (
        f"{cold['flows']:,} flows with {_size(cold['entry_bytes'])} of map entries, last-level "
        f"cache {_size(cold['cache_bytes'])}; packets differ in bytes {places}{limited}"
    )


def _size(count: int) -> str:
    if count >= 1 << 20:
        return f"{count / (1 << 20):.1f} MiB"
    return f"{count / (1 << 10):.1f} KiB"


def csv_values(path: MeasuredPath) -> list[object]:
    """What stands in the columns of CSV."""
    cold = path["cold"]
    if cold is None:
        return [*[None] * (len(CSV) - 1), path["cold_reason"]]
    return [
        cold["measured_ns"], cold["spread_ns"], cold["low_ns"], cold["high_ns"], cold["flows"],
        cold["entry_bytes"], cold["cache_bytes"], None,
    ]  # fmt: skip
