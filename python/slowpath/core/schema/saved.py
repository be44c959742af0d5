"""Reading of results that `slowpath bound --format json` wrote."""

import json
from typing import Any

from slowpath.core.errors import InputError
from slowpath.core.schema.results import Result, Verdict
from slowpath.core.schema.validation import ShapeError, check_shape, schema


def looks_saved(data: bytes) -> bool:
    """Return true if the data looks like JSON instead of a program."""
    return data.lstrip()[:1] in (b"{", b"[")


def read_saved(file: str, data: bytes) -> list[Result]:
    """Read the results in `data`, the content of `file`.

    Raises:
        InputError: if the data is not output of `slowpath bound`.
    """
    try:
        document: Any = json.loads(data)
    except (ValueError, RecursionError) as problem:
        raise InputError(file, f"is no JSON: {problem}") from None
    results = document.get("results") if isinstance(document, dict) else None
    if not isinstance(results, list) or not results:
        raise InputError(file, "is no output of slowpath bound --format json: it has no results")
    try:
        bound = schema("bound")
        check_shape(results, bound["properties"]["results"], bound["$defs"], "results")
    except ShapeError as problem:
        raise InputError(file, f"is no output of slowpath bound --format json: {problem}") from None
    for result in results:
        _fill_in(result)
    return results


def _fill_in(result: Result) -> None:
    """Add missing verdicts; older versions called a guarantee exact despite its assumptions."""
    if result["guarantee"] is not None and result["guarantee"]["verdict"] is None:
        found = result["guarantee"]["exact"]
        verdict: Verdict = (
            "bound" if not found else "conditional" if result["assumptions"] else "exact"
        )
        result["guarantee"]["verdict"] = verdict
        result["guarantee"]["exact"] = verdict == "exact"
    if result["naive"] is not None and result["naive"]["verdict"] is None:
        result["naive"]["verdict"] = "bound"
