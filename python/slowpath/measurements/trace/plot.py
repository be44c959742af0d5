"""A picture of a trace: how many of its packets take no longer than so long."""

from collections.abc import Sequence

from slowpath.measurements.trace.documents import MeasuredTrace
from slowpath.report.picture import picture

_WIDTH, _HEIGHT = 7.0, 4.0  # inches
_MARGIN = 1.08  # of the time axis


def distribution(trace: MeasuredTrace) -> list[tuple[float, float]]:
    """Nanoseconds, and the share of the packets that take no longer; ascending.

    Packets of paths that were not timed are left out.
    """
    timed = sorted(
        (path["measured_ns"], path["packets"])
        for path in trace["paths"]
        if path["measured_ns"] is not None
    )
    count, steps, whole = 0, [], sum(packets for _, packets in timed)
    for time, packets in timed:
        count += packets
        steps.append((time, count / whole))
    return steps


def draw(file: str, traces: Sequence[tuple[str, MeasuredTrace]]) -> None:
    """Writes the picture of traces, each with the name of its program.

    It is SVG or PNG, by the end of the name; the same data give the same file.

    Raises:
        OSError: when the file cannot be written.
    """
    with picture(file, _WIDTH, _HEIGHT) as figure:
        axes = figure.add_subplot()
        longest = 0.0
        for name, trace in traces:
            steps = distribution(trace)
            times = [0.0, *(time for time, _ in steps)]
            shares = [0.0, *(share for _, share in steps)]
            (line,) = axes.step(times, shares, where="post", label=name)
            slowest = trace["slowest"]
            bound = None if slowest is None else slowest["bound_ns"]
            if bound is not None:
                label = f"slowest path, {bound:.0f} ns"
                axes.axvline(bound, color=line.get_color(), linestyle="--", label=label)
            longest = max(longest, times[-1], bound or 0.0)
            # The last step goes on to the edge.
            axes.plot([times[-1], longest * _MARGIN], [1, 1], color=line.get_color())
        axes.set_xlim(0, longest * _MARGIN)
        axes.set_ylim(0, 1.02)
        axes.set_xlabel("nanoseconds per packet, in the kernel's loop for test runs")
        axes.set_ylabel("share of packets")
        axes.legend(loc="lower right")
        axes.grid(visible=True, alpha=0.3)
