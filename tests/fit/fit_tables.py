"""Tables of measurements, for tests that fit models to them."""

from support import ROOT


def thinned() -> str:
    """Return a third of the lines of `examples/memory_latency.csv`, with the column names."""
    names, *lines = (ROOT / "examples/memory_latency.csv").read_text().splitlines(keepends=True)
    return "".join([names, *lines[::3]])
