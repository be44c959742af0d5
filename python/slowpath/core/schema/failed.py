"""Builds the results of programs that could not be analysed."""

from slowpath.core import codes
from slowpath.core.errors import Coded
from slowpath.core.schema.results import Detail, Failure, Result

NO_FAILURE: Failure = {
    "code": codes.INTERNAL_ERROR,
    "kind": "input",
    "what": "",
    "option": None,
    "line": None,
    "section": None,
    "instruction": None,
    "stopped": None,
}
"""Default values of a failure: an error in the program or its file."""
NO_DETAIL: Detail = {
    "paths": [],
    "code": [],
    "blocks": [],
    "failure": None,
    "unmatched": [],
}
"""Detail of a result without paths and code."""


def failed_result(file: str, target: str, metric: str, error: Coded) -> Result:
    """Return the result of a file that could not be analysed."""
    return {
        "file": file,
        "section": None,
        "program": "",
        "kind": None,
        "target": target,
        "metric": metric,
        "cores": 0,
        "guarantee": None,
        "naive": None,
        "estimate": None,
        "paths": [],
        "profile": None,
        "assumptions": [],
        "cuts": [],
        "notes": [],
        "stats": {
            "seconds": 0.0,
            "candidates": 0,
            "sat": 0,
            "unsat": 0,
            "nogoods": 0,
            "solver_checks": 0,
            "solver_seconds": 0.0,
        },
        "refusals": [],
        "error": str(error),
        "code": error.code,
    }
