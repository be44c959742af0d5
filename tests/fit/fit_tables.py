"""Tables of measurements for tests of fits."""

from support import ROOT


def thinned() -> str:
    """Return every third measurement of `examples/memory_latency.csv`, below the column names."""
    names, *lines = (ROOT / "examples/memory_latency.csv").read_text().splitlines(keepends=True)
    return "".join([names, *lines[::3]])
