"""Error metrics, one file each; a new one is a file and a line here."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from slowpath.models.metrics.metric import Metric
    from slowpath.models.templates.batch import Floats

METRICS = {
    "smape": "slowpath.models.metrics.smape",
    "mape": "slowpath.models.metrics.mape",
    "rmse": "slowpath.models.metrics.rmse",
}
"""By name, the module that has it as `METRIC`."""


def metric_named(name: str) -> "Metric":
    """A metric, imported now."""
    found: Metric = import_module(METRICS[name]).METRIC
    return found


def error(name: str, measured: "Floats", fitted: "Floats") -> float:
    """The error of fitted values by a metric."""
    one = metric_named(name)
    return one.whole(float(one.each(measured, fitted).mean()))
