"""Generates the tables of `docs/reference/json.md`: keys of JSON documents, types, descriptions."""

import re
from typing import Any

from slowpath.core.schema.validation import schema

MARKS = re.compile(r"(<!-- keys: (\w+)(?:\.(\w+))? -->\n).*?(<!-- end -->)", re.DOTALL)
"""Pattern of a table in the page, between its marks.

The groups contain the names of the document and of the definition.
"""

Schema = dict[str, Any]


def fill_in(page: str) -> str:
    """Replace the tables in the text of `docs/reference/json.md` by generated ones."""
    return MARKS.sub(lambda mark: f"{mark[1]}{_table(mark[2], mark[3])}{mark[4]}", page)


def tables_needed(name: str) -> set[tuple[str, str]]:
    """Return the tables that a document needs: one for itself, and one per definition with keys."""
    definitions = schema(name)["$defs"].items()
    return {(name, "")} | {(name, key) for key, one in definitions if "properties" in one}


def _table(name: str, definition: str | None) -> str:
    document = schema(name)
    part = document if definition is None else document["$defs"][definition]
    name_of = "" if definition is None else f"**{definition}**: "
    rows = [f"\n{name_of}{part['description']}\n", "| key | type | meaning |", "|---|---|---|"]
    for key, inner in part["properties"].items():
        absent = "" if key in part["required"] else ", or absent"
        words = _words(inner, document["$defs"]) + absent
        rows.append(f"| `{key}` | {words} | {inner['description']} |")
    return "\n".join([*rows, "", ""])


def _words(part: Schema, definitions: dict[str, Schema]) -> str:
    """Describe the type of a JSON Schema in words.

    Definitions with keys are named; others are described in place.
    """
    if "$ref" in part:
        name = part["$ref"].rpartition("/")[2]
        known = definitions[name]
        return name if "properties" in known else _words(known, definitions)
    if "const" in part:
        return f"`{part['const']}`"
    choices = part.get("anyOf", part.get("oneOf"))
    if choices is None and isinstance(part["type"], list):
        choices = [{**part, "type": one} for one in part["type"]]
    if choices is not None:
        *first, last = (_words(choice, definitions) for choice in choices)
        return " or ".join(filter(None, (", ".join(first), last)))
    if part["type"] == "object":
        return f"object of {_words(part['additionalProperties'], definitions)}"
    if part["type"] != "array":
        return str(part["type"])
    return _array_words(part, definitions)


def _array_words(part: Schema, definitions: dict[str, Schema]) -> str:
    if "prefixItems" in part:
        return f"[{', '.join(_words(one, definitions) for one in part['prefixItems'])}]"
    inside = _words(part["items"], definitions)
    return f"array of {f'({inside})' if ' or ' in inside else inside}"
