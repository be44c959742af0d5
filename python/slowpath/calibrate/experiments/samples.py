"""Reads and writes measured samples as CSV, and computes mean costs with their deviations."""

import math
from collections.abc import Iterable, Sequence
from statistics import fmean

from slowpath.calibrate.experiments.documents import Point, Sample
from slowpath.measure.statistics import Interval, estimate, half_width, without_outliers

_BLOCKS = 5
"""Number of batches if all observations are in one time block. With fewer batches, the spread
between them is uncertain; with more, batches are shorter than lasting disturbances."""
_HEAD = "value,block,number,component,baseline"


def samples_csv(samples: Iterable[Sample]) -> str:
    """Format samples as CSV, with all digits of their numbers."""
    rows = (
        f"{one.value},{one.block},{one.number},{one.component!r},{one.baseline!r}"
        for one in samples
    )
    return "\n".join((_HEAD, *rows, ""))


def read_samples(text: str) -> list[Sample]:
    """Read samples from CSV.

    Raises:
        ValueError: when a line is invalid, with its number.
    """
    head, *rows = text.splitlines() or [""]
    if head != _HEAD:
        raise ValueError(f"line 1: the columns must be {_HEAD}")
    samples = []
    for number, row in enumerate(rows, 2):
        try:
            value, block, load, component, baseline = row.split(",")
            times = float(component), float(baseline)
            samples.append(Sample(int(value), int(load), *times, int(block)))
        except ValueError:
            raise ValueError(
                f"line {number}: the line is not a sample with the columns of line 1"
            ) from None
    return samples


def summarise(samples: Sequence[Sample], *, exact: bool) -> list[Point]:
    """Return the mean cost at each value of the swept parameter, by ascending value."""
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
        "observations": cost.size - cost.outliers,
    }


def standard_error(point: Point) -> float | None:
    """Return the standard error of a point's cost, derived from the interval of the cost.

    Returns None after a single sample, and 0 for computed costs.
    """
    if point["low"] is None or point["high"] is None:
        return None
    half = Interval(point["low"], point["high"]).half_width
    return half / half_width(point["observations"]) if half > 0 else 0.0


def joint_deviations(samples: Sequence[Sample]) -> list[list[float]]:
    """Return the deviations of mean costs: a row for each point, a column for each block.

    They describe how the means of several points deviate together: the product of two rows is the
    covariance of two means. A disturbance of the machine affects all points of an observation and
    later observations, so the deviations are those of whole blocks of observations (batch means,
    see Law, Simulation Modeling and Analysis, ch. 9). If all samples are from one block,
    consecutive observations form a few batches instead. Outliers of a point do not count in its
    row.
    """
    block_of, blocks = _blocks(samples)
    by_value = dict[int, list[tuple[int, float]]]()
    for one in samples:
        cost = one.component - one.baseline
        by_value.setdefault(one.value, []).append((block_of[one.block, one.number], cost))
    correction = math.sqrt(blocks / max(blocks - 1, 1))
    rows = []
    for value in sorted(by_value):
        kept = without_outliers([cost for _, cost in by_value[value]])
        least, most, mean = min(kept), max(kept), fmean(kept)
        row = [0.0] * blocks
        for number, cost in by_value[value]:
            if least <= cost <= most:
                row[number] += (cost - mean) / len(kept) * correction
        rows.append(row)
    return rows


def _blocks(samples: Sequence[Sample]) -> tuple[dict[tuple[int, int], int], int]:
    """Return the block of each observation, numbered from zero, and the number of blocks.

    An observation is given by its block and its number in the samples.
    """
    observations = sorted({(one.block, one.number) for one in samples})
    if len({block for block, _ in observations}) > 1:
        block_of = {one: one[0] for one in observations}
    else:
        size = len(observations)
        block_of = {one: at * _BLOCKS // size for at, one in enumerate(observations)}
    # With fewer observations than batches, some batches are empty; renumber the others.
    number = {block: at for at, block in enumerate(sorted(set(block_of.values())))}
    return {one: number[block] for one, block in block_of.items()}, len(number)


def points_csv(points: Iterable[Point], parameter: str) -> str:
    """Format points as a CSV table for `slowpath fit`."""
    head = f"{parameter},cost,low,high,program,baseline,observations"
    return "\n".join((head, *map(_row, points), ""))


def _row(point: Point) -> str:
    measured = (point["cost"], point["low"], point["high"], point["program"], point["baseline"])
    cells = ["" if one is None else repr(one) for one in measured]
    return ",".join([str(point["value"]), *cells, str(point["observations"])])
