"""Compares published values with recomputed ones, and summarises the deviations.

The work for a figure is a `Plan`: independent items, which a pool of processes works on, and a
function that turns their results into rows of the comparison. If the work is stopped, some items
have no result.
"""

from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase
from statistics import median
from typing import Any, NamedTuple

from slowpath.core import codes
from slowpath.core.errors import Coded, OptionError
from slowpath.core.jobs.pool import StopRequested
from slowpath.reproduce.documents import ComparedValue, Deviations

NOT_COMPUTED = "not computed"
"""Note in the row of an item that has no result, because the work was stopped."""


class Plan(NamedTuple):
    """The work that recomputes a published figure: items, and a function that compares results."""

    labels: Sequence[str]  # names of the items, for `--only`
    items: Sequence[Any]
    work: Callable[[Any, Any, StopRequested], Any]  # see `Pool.each`; a module-level function
    common: Any  # first argument of `work`
    rows: Callable[[Sequence[tuple[Any, Any | None]]], list[ComparedValue]]
    """Function that returns the rows of the comparison, for pairs of an item and its result (None
    if not computed).
    """
    conditions: Sequence[str]  # circumstances that the reader of a deviation has to know
    warnings: Sequence[Coded] = ()
    repeat: Callable[[int], "Plan"] | None = None
    """Function that returns the plan with a given number of repetitions of its cross-validation;
    None if the plan has no cross-validation.
    """

    def repeated(self, repetitions: int) -> "Plan":
        """Return the plan with this number of repetitions of its cross-validation.

        Raises:
            OptionError: if repetitions are requested, but the plan has no cross-validation.
        """
        if repetitions == 1:
            return self
        if self.repeat is None:
            raise OptionError(
                codes.OPTION_WITHOUT_EFFECT, "--repetitions", "this figure has no cross-validation"
            )
        return self.repeat(repetitions)

    def only(self, patterns: Sequence[str]) -> "Plan":
        """Return the plan with only the items whose label matches one of these globs."""
        kept = [
            at
            for at, label in enumerate(self.labels)
            if any(fnmatchcase(label, one) for one in patterns)
        ]
        return self._replace(
            labels=[self.labels[at] for at in kept], items=[self.items[at] for at in kept]
        )


class Quantity(NamedTuple):
    """A compared quantity, such as a packet rate; the unit is empty for a plain number."""

    name: str
    unit: str = ""


def compared(
    item: str,
    quantity: Quantity,
    published: float | None,
    ours: float | None,
    note: str | None = None,
) -> ComparedValue:
    """Return a row of the comparison, with the deviation of our value from the published one.

    `item` is the subject of the values. A value that is not known is None. `note` is shown in the
    row.
    """
    both = published is not None and ours is not None
    deviation = ours - published if published is not None and ours is not None else None
    percent = 100 * deviation / abs(published) if deviation is not None and published else None
    if both and published == 0 == ours:
        percent = 0.0
    return {
        "item": item,
        "quantity": quantity.name,
        "unit": quantity.unit,
        "published": published,
        "ours": ours,
        "deviation": deviation,
        "deviation_percent": percent,
        "note": note,
    }


def quantities(rows: Sequence[ComparedValue]) -> Iterator[tuple[Quantity, list[ComparedValue]]]:
    """Yield each quantity with all its rows, in the order in which quantities first occur."""
    found = dict[Quantity, list[ComparedValue]]()
    for row in rows:
        found.setdefault(Quantity(row["quantity"], row["unit"]), []).append(row)
    yield from found.items()


def summary(rows: Sequence[ComparedValue], within: float) -> list[Deviations]:
    """Summarise the deviations of each quantity.

    The summary counts the deviations of at most `within` percent.
    """
    return [_deviations(*one, within) for one in quantities(rows)]


def _deviations(quantity: Quantity, rows: Sequence[ComparedValue], within: float) -> Deviations:
    known = [
        (abs(one["deviation_percent"]), one["item"])
        for one in rows
        if one["deviation_percent"] is not None
    ]
    largest = max(known, default=None, key=lambda one: one[0])
    return {
        "quantity": quantity.name,
        "unit": quantity.unit,
        "compared": len(known),
        "median_percent": median(size for size, _ in known) if known else None,
        "largest_percent": None if largest is None else largest[0],
        "largest_item": None if largest is None else largest[1],
        "within_percent": within,
        "within": sum(size <= within for size, _ in known),
    }
