"""Words for inputs of predictions outside the measured range: names, values and range."""

from collections.abc import Iterable, Mapping, Sequence

from slowpath.contention.columns import MTBR
from slowpath.contention.memory.intervals import TOGETHER
from slowpath.contention.model import FunctionModel
from slowpath.core.terminal import first_few

Values = Mapping[str, Sequence[float]]
"""Values of inputs, by the names of their columns."""
_FEW = 3
"""Number of inputs that a warning describes."""


def described(names: Iterable[str], values: Values, model: FunctionModel) -> str:
    """Describe inputs outside the measured range of a model: their values, and this range.

    An example is `wss_mb 12 (measured: 0 to 6)`. Only the first inputs are described.
    """
    return first_few([_described(name, values, model) for name in names], _FEW)


def _described(name: str, values: Values, model: FunctionModel) -> str:
    if name == TOGETHER:
        return "the combination of all values"
    found = values.get(name, ())
    shown = f" {_span(found)}" if len(found) else ""
    limits = _limits(name, model)
    return f"{name}{shown}" if limits is None else f"{name}{shown} (measured: {_span(limits)})"


def _limits(name: str, model: FunctionModel) -> tuple[float, float] | None:
    """Return the least and the greatest measured value of a column; None if it is unknown."""
    if name == MTBR.name and model.request_time is not None:
        return model.request_time.lowest, model.request_time.highest
    if name not in model.range.least:
        return None
    return model.range.least[name], model.range.most[name]


def _span(values: Sequence[float]) -> str:
    """Format the least and the greatest value; one number if both are equal."""
    least, most = (f"{one:.4g}" for one in (min(values), max(values)))
    return least if least == most else f"{least} to {most}"
