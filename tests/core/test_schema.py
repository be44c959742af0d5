"""The shape of documents is stated once, in the engine; the JSON Schemas derive from its types."""

import json
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

import pytest
from jsonschema import Draft202012Validator, ValidationError

from document_schemas import DOCUMENTS, SCALARS, document_schema
from schema_tables import MARKS, fill_in, tables_needed
from slowpath.core.schema.compiled import Compiled, Verification
from slowpath.core.schema.results import Detail, Instruction, Result
from slowpath.core.schema.shown import BpfObject
from slowpath.core.schema.validation import (
    ShapeError,
    check_shape,
    schema,
    schema_names,
    schema_text,
)
from support import GOLDEN, ROOT, check_golden, save_results, slowpath

WRAPPING = {"slowpath", "compiler", "target", "verification"}
"""Keys that `compile` adds to what it compiled."""

LATER: dict[str, object] = {"Instruction": Instruction}
"""Types that modules name without importing them."""

Shape = Any
"""A type in terms that schemas and Python have in common; equal if and only if the types are."""


def union(choices: list[Shape]) -> Shape:
    """One of several shapes; of itself if it is only one."""
    flat = [one for choice in choices for one in choice.get("union", [choice])]
    unique = {json.dumps(one, sort_keys=True): one for one in flat}
    return {"union": [unique[key] for key in sorted(unique)]} if len(unique) > 1 else flat[0]


def choices_of(part: dict[str, Any]) -> list[dict[str, Any]]:
    """The schemas of which one has to hold, where there are several."""
    if "default" in part:  # of what older versions did not write
        return [{key: one for key, one in part.items() if key != "default"}, {"type": "null"}]
    if isinstance(part.get("type"), list):
        return [{**part, "type": one} for one in part["type"]]
    found: list[dict[str, Any]] = part.get("anyOf", part.get("oneOf", []))
    return found


def shape_of_schema(part: dict[str, Any], definitions: dict[str, Any]) -> Shape:
    def inner(part: dict[str, Any]) -> Shape:
        choices = choices_of(part)
        if choices:
            return union([inner(choice) for choice in choices])
        if "$ref" in part:
            return inner(definitions[part["$ref"].rpartition("/")[2]])
        shape: Shape = {"is": part.get("const", part["type"])}
        if "properties" in part:
            keys = part["properties"].items()
            shape["keys"] = {key: [inner(one), key in part["required"]] for key, one in keys}
        elif part["type"] == "object":
            shape["values"] = inner(part["additionalProperties"])
        elif part["type"] == "array":
            inside = part.get("prefixItems")
            shape["items"] = [inner(one) for one in inside] if inside else inner(part["items"])
        return shape

    return inner(part)


def shape_of_type(kind: Any) -> Shape:
    origin, arguments = get_origin(kind), get_args(kind)
    if is_typeddict(kind):
        hints, required = get_type_hints(kind, localns=LATER), kind.__required_keys__
        keys = {key: [shape_of_type(one), key in required] for key, one in hints.items()}
        return {"is": "object", "keys": keys}
    if origin in (Union, UnionType):
        return union([shape_of_type(one) for one in arguments])
    if origin is Literal:
        return union([{"is": word} for word in arguments])
    if origin is dict:
        return {"is": "object", "values": shape_of_type(arguments[1])}
    if origin in (list, tuple):
        inside = [shape_of_type(one) for one in arguments]
        return {"is": "array", "items": inside if origin is tuple else inside[0]}
    return {"is": SCALARS[kind]}


@pytest.mark.parametrize(
    ("name", "definition", "kind"),
    [
        ("bound", "Result", Result),
        ("show", "BpfObject", BpfObject),
        ("compile", "Verification", Verification),
    ],
)
def test_types_of_python_are_those_of_the_engine(name: str, definition: str, kind: type) -> None:
    definitions = schema(name)["$defs"]
    assert shape_of_type(kind) == shape_of_schema(definitions[definition], definitions)


def test_what_only_reports_show_has_the_type_of_the_engine() -> None:
    document = json.loads((GOLDEN / "schema/detail.json").read_text())
    assert shape_of_type(Detail) == shape_of_schema(document, document["$defs"])


def test_what_is_compiled_has_the_type_of_the_engine() -> None:
    document = schema("compile")
    shape = shape_of_schema(document, document["$defs"])
    assert shape["keys"].keys() > WRAPPING
    kept = {key: one for key, one in shape["keys"].items() if key not in WRAPPING}
    assert shape_of_type(Compiled) == {**shape, "keys": kept}


def described(part: object, place: str = "") -> list[str]:
    """Places of properties and definitions that nothing is said about."""
    if not isinstance(part, dict):
        return []
    silent = []
    for group in ("properties", "$defs"):
        for key, inner in part.get(group, {}).items():
            there = f"{place}.{key}"
            silent += described(inner, there)
            if "description" not in inner and not (group == "$defs" and "properties" not in inner):
                silent.append(there)
    return silent


@pytest.mark.parametrize("name", DOCUMENTS)
def test_schemas_of_what_python_shapes_are_current(name: str) -> None:
    text = json.dumps(document_schema(name), indent=2) + "\n"
    check_golden(ROOT / f"python/slowpath/core/schema/documents/{name}.json", text)


def test_tables_of_the_page_are_current() -> None:
    page = ROOT / "docs/json.md"
    check_golden(page, fill_in(page.read_text()))


def test_every_key_is_in_a_table() -> None:
    shown = {(name, key) for _, name, key, _ in MARKS.findall((ROOT / "docs/json.md").read_text())}
    needed = set[tuple[str, str]]().union(*(tables_needed(name) for name in schema_names()))
    assert {name for name, key in needed if not key} <= {name for name, _ in shown}
    assert {key for _, key in needed} == {key for _, key in shown}


@pytest.mark.parametrize("name", schema_names())
def test_everything_is_described(name: str) -> None:
    assert described(schema(name)) == []


# --- documents fit their schemas, says a validator that others wrote ------------------------------

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
    """A schema that allows no keys but those that it names."""
    if isinstance(part, list):
        return [closed(one) for one in part]
    if not isinstance(part, dict):
        return part
    inner = {key: closed(one) for key, one in part.items()}
    return {"additionalProperties": False} | inner if "properties" in inner else inner


def check(name: str, text: str) -> None:
    """Holds a document against its schema: with a validator, and as saved results are checked."""
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
        (["diff", PLAIN, OPTIMISED], 0),
        (["diff", PLAIN, OPTIMISED, "--target", "ebpf"], 0),
        (["compile", PLAIN], 0),
        (["compile", OPTIMISED, "--verify", "--deadline", "5"], None),
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


def test_what_does_not_fit_is_refused() -> None:
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


@pytest.mark.parametrize("name", ["targets", "../results", "bound.json", "", "x" * 5000])
def test_other_names_have_no_schema(name: str) -> None:
    run = slowpath("schema", name)
    assert (run.returncode, run.stdout) == (2, "")
    assert ", ".join(schema_names()) in run.stderr
    assert "Traceback" not in run.stderr
