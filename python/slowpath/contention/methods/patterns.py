"""Which execution pattern a model takes: as it is told, detected, declared or assumed.

It is detected from mixes with competitors for memory and for the accelerator at once (paper, 4.2).
Each pattern says what they come to, by models of the single resources, as a share of the
throughput alone that was measured beside the mix; `detection.py` compares how far off both are.
"""

import numpy as np
from numpy.typing import NDArray

from slowpath.contention.composition import Pattern
from slowpath.contention.detection import Detected, Reason, better_of
from slowpath.contention.model import FunctionModel
from slowpath.contention.prediction import predict
from slowpath.contention.tables.columns import TRAFFIC_NAMES
from slowpath.contention.tables.profiles import Mixes

Floats = NDArray[np.float64]

USUAL: Pattern = "pipeline"
"""What is assumed where nothing tells."""
_CONFIDENCE = 0.9
"""Of intervals, at which nobody looks here."""


def detected(model: FunctionModel, mixes: Mixes) -> Detected | None:
    """The pattern that mixes with competitors for both resources have.

    None where there is no such mix, or the model does not know both resources, or the match ratio
    of its memory rows, without which it cannot tell what run-to-completion would do.
    """
    contention = [values for name, values in mixes.columns.items() if name not in TRAFFIC_NAMES]
    both = mixes.where(np.any(contention, axis=0) & (mixes.queued > 0))
    if model.request_time is None or model.memory.origin.mtbr is None or not both.rows:
        return None
    pipeline = model._replace(pattern="pipeline")
    completion = model._replace(pattern="run-to-completion")
    return better_of(_off(pipeline, both), _off(completion, both))


def _off(model: FunctionModel, mixes: Mixes) -> Floats:
    """How far a model is off in mixes."""
    query = mixes.query
    nobody = query.without_clients()._replace(columns=model.without_competitors(mixes.columns))
    beside, alone = (predict(model, one, _CONFIDENCE).throughput for one in (query, nobody))
    return np.asarray(np.abs(beside / alone * mixes.alone / mixes.throughput - 1))


def decided(
    given: Pattern | None, declared: Pattern | None, found: Detected | None
) -> tuple[Pattern, Reason]:
    """The pattern that is taken, and why: what is given, detected surely, declared, or usual."""
    if given is not None:
        return given, Reason("given", declared, found)
    if found is not None and found.pattern is not None:
        return found.pattern, Reason("detected", declared, found)
    if declared is not None:
        return declared, Reason("declared", declared, found)
    return USUAL, Reason("assumed", declared, found)
