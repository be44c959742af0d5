"""Reads results that `slowpath bound --format json` wrote."""

import json
from typing import Any

from slowpath.inputs import InputError
from slowpath.results import Result
from slowpath.shapes import ShapeError, check_shape


def looks_saved(data: bytes) -> bool:
    """Whether this is JSON and no program."""
    return data.lstrip()[:1] in (b"{", b"[")


def read_saved(file: str, data: bytes) -> list[Result]:
    """The results in `data`, the content of `file`.

    Raises:
        InputError: when it is no output of `bound`.
    """
    try:
        document: Any = json.loads(data)
    except (ValueError, RecursionError) as problem:
        raise InputError(file, f"is no JSON: {problem}") from None
    results = document.get("results") if isinstance(document, dict) else None
    if not isinstance(results, list) or not results:
        raise InputError(file, "is no output of slowpath bound --format json: it has no results")
    try:
        check_shape(results, list[Result], "results")
    except ShapeError as problem:
        raise InputError(file, f"is no output of slowpath bound --format json: {problem}") from None
    return results
