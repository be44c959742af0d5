"""Builds valid input files of `slowpath insights`, which tests then make invalid."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from slowpath.core.errors import InputError


def small() -> dict[str, Any]:
    """Return input of `insights placement`: two data structures; `a` is copied to `b`."""
    return {
        "levels": ["near", "far"],
        "capacity_bytes": {"one": {"near": 64, "far": 4096}},
        "access_cost": {"read": {"near": 1, "far": 3}},
        "copy_cost_from_to": {"near": {"near": 1, "far": 4}, "far": {"near": 4, "far": 6}},
        "cases": [
            {
                "name": "small",
                "structures": [
                    {
                        "name": "a",
                        "size_bytes": 32,
                        "accesses": [
                            {"operation": "read", "count": 2},
                            {"operation": "memcpy", "to": "b", "count": 1},
                        ],
                    },
                    {"name": "b", "size_bytes": 40, "accesses": []},
                ],
            }
        ],
    }


def refusal(use: Callable[[str], object], file: Path) -> str:
    """Return the error message of the function `use` for a file that it must reject."""
    with pytest.raises(InputError) as caught:
        use(str(file))
    return str(caught.value)


def write(folder: Path, found: object) -> Path:
    file = folder / "in.json"
    file.write_text(json.dumps(found, indent=1))
    return file
