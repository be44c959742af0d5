"""Models as JSON: what `slowpath fit --format json` writes, and what is read again."""

import json
from collections.abc import Sequence
from itertools import pairwise
from typing import NoReturn

from slowpath.cli.errors import InputError
from slowpath.cli.printable import json_line
from slowpath.engine import identity
from slowpath.models.documents import FittedModel, Predicted, Residuals, Segment
from slowpath.models.templates.catalogue import BY_NAME
from slowpath.models.templates.terms import FUNCTIONS, NAME
from slowpath.schema.json_schema import schema
from slowpath.schema.shapes import ShapeError, check_shape


def written(file: str | None, model: FittedModel, predictions: Sequence[Predicted] | None) -> str:
    """The document on one line."""
    document = {"slowpath": identity.version(), "file": file, "model": model}
    return json_line(document | {"predictions": predictions})


def read(file: str, text: str) -> tuple[str | None, FittedModel]:
    """The file that such a document is of, and the model in it.

    Raises:
        InputError: when it is another text, or its parts do not fit together.
    """
    try:
        document = json.loads(text, parse_constant=_refuse)
    except ValueError as problem:
        raise InputError(file, f"is not JSON: {problem}") from None
    shape = schema("fit")
    try:
        check_shape(document, shape, shape["$defs"], "document")
    except ShapeError as problem:
        raise InputError(file, f"is not a model: {problem}") from None
    model: FittedModel = document["model"]
    reason = _apart(model)
    if reason is not None:
        raise InputError(file, f"is not a model: {reason}")
    return document["file"], model


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number of JSON")


def _apart(model: FittedModel) -> str | None:
    """What does not fit together in a model."""
    if not model["segments"]:
        return "it has no segments"
    if len(model["range"]) != len(model["x"]):
        return "range and x are of different lengths"
    ends = [end for segment in model["segments"] for end in (segment["from"], segment["to"])]
    if ends != sorted(ends):
        return "its segments do not ascend"
    for number, segment in enumerate(model["segments"]):
        rank = _rank(segment, len(model["x"]))
        if rank is None:
            return f"segments[{number}] has no function that is known"
        sizes = {len(segment["parameters"]), len(segment["covariance"])}
        if sizes | {len(row) for row in segment["covariance"]} != {rank}:
            return f"segments[{number}] does not have {rank} parameters and their covariance"
    return None if _connected(model["residuals"]) else "its residuals are no shares at ascending x"


def _connected(residuals: Residuals | None) -> bool:
    if residuals is None:
        return True
    x, share = residuals["x"], residuals["share"]
    ascend = all(left < right for left, right in pairwise(x))
    return 0 < len(x) == len(share) and ascend and min(share) > -1


def _rank(segment: Segment, columns: int) -> int | None:
    """How many parameters the function of a segment has."""
    terms = segment["terms"]
    if terms is None:
        template = BY_NAME.get(segment["template"])
        return None if template is None or columns > 1 else template.rank
    known = all(len(term) == columns and set(term) <= FUNCTIONS.keys() for term in terms)
    return len(terms) if known and segment["template"] == NAME else None
