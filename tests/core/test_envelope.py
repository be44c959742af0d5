"""Tests the first keys of every JSON document: version, command and schema."""

import json
from pathlib import Path

import pytest

from slowpath.core.schema import VERSION
from slowpath.core.schema.validation import check_shape, schema, schema_names
from successful_calls import FRESH, SLOW, every_command
from support import slowpath

UNPUBLISHED = {"colocation", "cores"}
"""Documents with a schema that `slowpath schema` does not print."""
WITH_JSON = [
    words
    for words in every_command()
    if words[-1] == "json" and " ".join(words[:2]) not in SLOW and words[0] not in SLOW
]


@pytest.mark.parametrize("words", WITH_JSON, ids=" ".join)
def test_every_document_begins_with_the_head(words: tuple[str, ...], tmp_path: Path) -> None:
    run = slowpath(*(str(tmp_path / word) if word == FRESH else word for word in words))
    assert run.returncode == 0, run.stderr
    document = json.loads(run.stdout)
    assert list(document)[:3] == ["slowpath", "command", "schema"]
    assert " ".join(words).startswith(document["command"])
    name, _, version = document["schema"].partition("/")
    assert version == str(VERSION)
    assert (name in schema_names()) != (name in UNPUBLISHED)
    if name not in UNPUBLISHED:
        shape = schema(name)
        check_shape(document, shape, shape["$defs"], "document")
