"""Experiments with another range than their specification says, or another number of points."""

from slowpath.cli.errors import InputError
from slowpath.experiments.specification.components import COMPONENTS, Number
from slowpath.experiments.specification.documents import Experiment, Sweep


def with_range(
    experiment: Experiment, first: int | None, last: int | None, points: int | None
) -> Experiment:
    """The experiment with another range, or another number of points.

    Raises:
        InputError: when the range is beyond what the parameter can be.
    """
    part = experiment["component"]
    sweep = part["sweep"]
    swept = COMPONENTS[part["kind"]].parameters.get(sweep["parameter"])
    new: Sweep = {
        **sweep,
        "first": sweep["first"] if first is None else first,
        "last": sweep["last"] if last is None else last,
        "points": sweep["points"] if points is None else points,
    }
    if isinstance(swept, Number):
        for value in (new["first"], new["last"]):
            if not swept.least <= value <= swept.most or value % swept.step:
                multiple = f", a multiple of {swept.step}" if swept.step > 1 else ""
                raise InputError(
                    experiment["name"],
                    f"{sweep['parameter']} cannot be {value:,}; it is between {swept.least:,} and "
                    f"{swept.most:,}{multiple}",
                )
    if new["last"] < new["first"]:
        raise InputError(experiment["name"], f"the range {new['first']}:{new['last']} is empty")
    return {**experiment, "component": {**part, "sweep": new}}
