"""Tests the JSON documents, their schemas, and the Python types generated from the schemas."""

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator, ValidationError

from document_schemas import DOCUMENTS, document_schema
from document_types import GENERATED, modules
from schema_tables import MARKS, fill_in, tables_needed
from slowpath.core.schema import VERSION, Document
from slowpath.core.schema.validation import (
    NO_DOCUMENTS,
    ShapeError,
    check_shape,
    schema,
    schema_names,
    schema_text,
)
from support import GOLDEN, ROOT, check_golden, save_results, slowpath

PAGE = ROOT / "docs/reference/json.md"


@pytest.mark.parametrize("path", GENERATED)
def test_types_of_python_are_those_of_the_engine(path: str) -> None:
    check_golden(ROOT / "python/slowpath" / path, modules()[path])


def undescribed(part: object, place: str = "") -> list[str]:
    """Return the paths of all properties and definitions without a description in a JSON Schema."""
    if not isinstance(part, dict):
        return []
    missing = []
    for group in ("properties", "$defs"):
        for key, inner in part.get(group, {}).items():
            missing += undescribed(inner, f"{place}.{key}")
            if "description" not in inner and not (group == "$defs" and "properties" not in inner):
                missing.append(f"{place}.{key}")
    return missing


@pytest.mark.parametrize("name", DOCUMENTS)
def test_schemas_of_python_documents_are_current(name: str) -> None:
    text = json.dumps(document_schema(name), indent=2) + "\n"
    check_golden(ROOT / f"python/slowpath/core/schema/documents/{name}.json", text)


def test_tables_of_the_page_are_current() -> None:
    check_golden(PAGE, fill_in(PAGE.read_text()))


def test_every_key_is_in_a_table() -> None:
    shown = {(name, key) for _, name, key, _ in MARKS.findall(PAGE.read_text())}
    needed = set[tuple[str, str]]().union(*(tables_needed(name) for name in schema_names()))
    assert {name for name, key in needed if not key} <= {name for name, _ in shown}
    assert {key for _, key in needed} == {key for _, key in shown}


@pytest.mark.parametrize("name", schema_names())
def test_everything_is_described(name: str) -> None:
    assert undescribed(schema(name)) == []


# --- documents are valid for an independent validator ---------------------------------------------

OBJECTS = ("examples/count_min.8.bpf.o", "examples/tunnel.bpf.o")
FEATURES = "crates/kernel/tests/objects/features.bpf.o"
PLAIN, OPTIMISED = "examples/alaw2ulaw.bpf.o", "examples/alaw2ulaw_opt.bpf.o"
CARD = ("--target", "agilio-cx-2x40")
EXPECTED = [
    *(("bound", path) for path in sorted(GOLDEN.glob("examples/*.json"))),
    *(("annotate", path) for path in sorted(GOLDEN.glob("annotate/*.json"))),
    *(("diff", path) for path in sorted(GOLDEN.glob("diff/*.json"))),
]


def closed(part: Any) -> Any:
    """Return a stricter JSON Schema, which forbids keys that it does not name."""
    if isinstance(part, list):
        return [closed(one) for one in part]
    if not isinstance(part, dict):
        return part
    inner = {key: closed(one) for key, one in part.items()}
    return {"additionalProperties": False} | inner if "properties" in inner else inner


def check(name: str, text: str) -> None:
    """Check a document against its JSON Schema, with an independent validator and our own."""
    shape, document = schema(name), json.loads(text)
    Draft202012Validator(closed(shape)).validate(document)
    check_shape(document, shape, shape["$defs"], "")


@pytest.mark.parametrize("name", schema_names())
def test_schemas_are_schemas(name: str) -> None:
    Draft202012Validator.check_schema(schema(name))


@pytest.mark.parametrize(("name", "path"), EXPECTED, ids=lambda it: Path(it).name)
def test_expected_documents_fit(name: str, path: Path) -> None:
    check(name, path.read_text())


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["bound", *OBJECTS, "nowhere.asm", *CARD, "--paths", "all"], 3),
        (["bound", *OBJECTS, "nowhere.o", "--paths", "3"], 3),
        (["bound", *OBJECTS, "--target", "ebpf", "--paths", "2"], 0),
        (["bound", FEATURES, "--target", "ebpf", "--deadline", "2"], None),
        (["bound", FEATURES, *CARD], 3),
        (["annotate", *OBJECTS, "nowhere.asm", *CARD], 3),
        (["annotate", *OBJECTS], 0),
        (["annotate", OPTIMISED, "--target", "ebpf"], 0),
        (["diff", PLAIN, OPTIMISED, *CARD, "--fail-on", "bitrate_diff > 0"], 1),
        (["diff", OBJECTS[0], "examples/count_min.4.bpf.o"], 0),
        (["diff", PLAIN, OPTIMISED, "--target", "ebpf"], 0),
        (["compile", PLAIN], 0),
        (["compile", OPTIMISED, "--verify", "--deadline", "1"], None),
        (["show", *OBJECTS, FEATURES, "nowhere.o", "--listing"], 3),
    ],
    ids=lambda it: " ".join(it) if isinstance(it, list) else "",
)
def test_fresh_documents_fit(words: list[str], code: int | None) -> None:
    run = slowpath(*words, "--format", "json")
    assert code is None or run.returncode == code, run.stderr
    check(words[0], run.stdout)


def test_programs_of_several_sides_fit(tmp_path: Path) -> None:
    check("diff", slowpath("diff", *save_results(tmp_path), "--format", "json").stdout)


def test_invalid_documents_are_rejected() -> None:
    text = (GOLDEN / "examples/size_classes.json").read_text()
    for old, new in (('"verdict": "', '"verdict": "un'), ('"cores": ', '"cores": -'), ("sat", "s")):
        assert old in text
        with pytest.raises((ValidationError, ShapeError)):
            check("bound", text.replace(old, new))


# --- the command ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", schema_names())
def test_the_command_prints_the_file(name: str) -> None:
    run = slowpath("schema", name)
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout == schema_text(name)


def test_the_key_of_a_document_names_its_schema() -> None:
    run = slowpath("schema", "bound/1")
    assert (run.returncode, run.stdout) == (0, schema_text("bound"))


@pytest.mark.parametrize("name", schema_names())
def test_schemas_begin_with_the_head(name: str) -> None:
    if name in NO_DOCUMENTS:
        return
    shape = schema(name)
    assert list(shape["properties"])[:3] == shape["required"][:3] == [*Document.__annotations__]
    assert shape["properties"]["schema"]["const"] == f"{name}/{VERSION}"
    old = {"slowpath": "0.0.9"}  # the other keys of the head have a default
    head = {"properties": {key: shape["properties"][key] for key in Document.__annotations__}}
    check_shape(old, {"type": "object", **head, "required": shape["required"][:3]}, {}, "")
    assert old == {"slowpath": "0.0.9", "command": None, "schema": None}


@pytest.mark.parametrize("name", ["bound/2", "targets", "../results", "bound.json", "", "x" * 5000])
def test_other_names_have_no_schema(name: str) -> None:
    run = slowpath("schema", name)
    assert (run.returncode, run.stdout) == (2, "")
    known = ", ".join(schema_names())
    assert known in run.stderr or "; did you mean 'bound'?" in run.stderr
    assert "Traceback" not in run.stderr
