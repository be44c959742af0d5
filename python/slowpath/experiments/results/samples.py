"""Samples of an experiment as CSV, and what they come to at each point."""

from collections.abc import Iterable, Sequence

from slowpath.experiments.results.documents import Point, Sample
from slowpath.measurements.timing.statistics import estimate

_HEAD = "value,number,component,baseline"


def samples_csv(samples: Iterable[Sample]) -> str:
    """All samples, with every digit that makes a difference."""
    rows = (f"{one.value},{one.number},{one.component!r},{one.baseline!r}" for one in samples)
    return "\n".join((_HEAD, *rows, ""))


def read_samples(text: str) -> list[Sample]:
    """The samples of such a file.

    Raises:
        ValueError: when it is none; the text says in which line.
    """
    head, *rows = text.splitlines() or [""]
    if head != _HEAD:
        raise ValueError(f"line 1: the columns are not {_HEAD}")
    samples = []
    for number, row in enumerate(rows, 2):
        try:
            value, load, component, baseline = row.split(",")
            samples.append(Sample(int(value), int(load), float(component), float(baseline)))
        except ValueError:
            raise ValueError(f"line {number}: is no sample") from None
    return samples


def points_from(samples: Sequence[Sample], *, exact: bool) -> list[Point]:
    """What the samples come to, by ascending value."""
    by_value = dict[int, list[Sample]]()
    for sample in samples:
        by_value.setdefault(sample.value, []).append(sample)
    return [_point(value, by_value[value], exact=exact) for value in sorted(by_value)]


def _point(value: int, samples: Sequence[Sample], *, exact: bool) -> Point:
    cost = estimate([one.component - one.baseline for one in samples])
    low, high = (cost.value, cost.value) if exact else cost.interval.known
    return {
        "value": value,
        "cost": cost.value,
        "low": low,
        "high": high,
        "program": estimate([one.component for one in samples]).value,
        "baseline": estimate([one.baseline for one in samples]).value,
        "observations": len(samples),
    }


def points_csv(points: Iterable[Point], parameter: str) -> str:
    """The points as a table: `slowpath fit` takes it."""
    head = f"{parameter},cost,low,high,program,baseline,observations"
    return "\n".join((head, *map(_row, points), ""))


def _row(point: Point) -> str:
    measured = (point["cost"], point["low"], point["high"], point["program"], point["baseline"])
    cells = ["" if one is None else repr(one) for one in measured]
    return ",".join([str(point["value"]), *cells, str(point["observations"])])
