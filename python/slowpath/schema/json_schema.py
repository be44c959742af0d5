"""The JSON Schemas of documents, as files beside this one: what writes them keeps them up to date.

Those of `bound`, `show` and `compile` are derived from the engine's types, see `make bless`.
That of `experiment` is of what users write, in YAML.
"""

import json
import os
from typing import Any

_FOLDER = os.path.join(os.path.dirname(__file__), "documents")


def schema_names() -> list[str]:
    """The commands whose JSON has a schema."""
    return sorted(file.removesuffix(".json") for file in os.listdir(_FOLDER))


def schema_text(name: str) -> str:
    """The schema of what a command writes with `--format json`, as JSON.

    Raises:
        FileNotFoundError: when there is none of that name.
    """
    with open(os.path.join(_FOLDER, f"{name}.json"), encoding="utf-8") as stream:
        return stream.read()


def schema(name: str) -> dict[str, Any]:
    """The same, read."""
    read: dict[str, Any] = json.loads(schema_text(name))
    return read
