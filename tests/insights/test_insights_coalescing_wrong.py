"""Tests errors in files of variables: one line names the file, line, element and variable."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from insights_files import refusal, write
from slowpath.insights.layout.problem import read_elements
from support import slowpath

Found = dict[str, Any]


def small() -> Found:
    blocks = [{"weight": 1, "variables": ["a", "b"]}, {"weight": 0.5, "variables": ["c"]}]
    element = {"name": "small", "field_bytes": 4, "variables": ["a", "b", "c"], "blocks": blocks}
    return {"elements": [element]}


def element(found: Found) -> Found:
    one: Found = found["elements"][0]
    return one


def with_variable(**keys: object) -> Callable[[Found], object]:
    return lambda found: element(found)["variables"].append(keys)


WRONG: dict[str, tuple[Callable[[Found], object], str]] = {
    "no elements": (
        lambda found: found.update(elements=[]),
        "elements: the list is empty; add at least one entry",
    ),
    "two of a name": (
        lambda found: found["elements"].append(small()["elements"][0]),
        "elements[2].name: the name 'small' is already defined; rename one",
    ),
    "no variable": (
        lambda found: element(found).update(variables=[], blocks=[]),
        "element small.variables: the list is empty; add at least one entry",
    ),
    "two variables": (
        lambda found: element(found)["variables"].append("a"),
        "in.json:10: element small.variables[4]: the variable 'a' is already defined; rename one",
    ),
    "no size": (
        lambda found: element(found).pop("field_bytes"),
        "element small.variables[1]: the variable has no size; write {name, bytes}, or "
        "field_bytes for all variables",
    ),
    "negative size": (
        with_variable(name="d", bytes=-4),
        "element small.variables[4].bytes: '-4' is not a number from 1",
    ),
    "alignment": (
        with_variable(name="d", bytes=12, align=3),
        "element small.variables[4].align: 3 is not a power of two",
    ),
    "no name in C": (
        with_variable(name="d[2]", bytes=4),
        "element small.variables[4].name: 'd[2]' is not the name of a variable in C",
    ),
    "no type in C": (
        with_variable(name="d", bytes=4, type="int; int"),
        "element small.variables[4].type: 'int; int' is not the name of a type in C",
    ),
    "unknown variable": (
        lambda found: element(found)["blocks"][0]["variables"].append("d"),
        "element small.blocks[1].variables[3]: 'd' is not a variable of this element",
    ),
    "negative weight": (
        lambda found: element(found)["blocks"][1].update(weight=-1),
        "element small.blocks[2].weight: '-1' is not a number from 0",
    ),
    "two blocks": (
        lambda found: [one.update(name="one") for one in element(found)["blocks"]],
        "element small.blocks[2]: the block 'one' is already defined; rename one",
    ),
    "order with too few": (
        lambda found: element(found).update(published_field_order=["a", "b"]),
        "element small.published_field_order: the order lacks c, but must list every variable",
    ),
    "order with one twice": (
        lambda found: element(found).update(published_field_order=["a", "b", "a"]),
        "element small.published_field_order[3]: the variable 'a' is in the order twice",
    ),
    "too many clusters": (
        lambda found: element(found).update(clusters=4),
        "element small.clusters: '4' is not a number from 1 to 3",
    ),
    "width": (
        lambda found: found.update(access_bytes=12),
        "access_bytes: 12 is not a power of two",
    ),
    "unknown key": (
        lambda found: element(found).update(fields=[]),
        "element small.fields: is unknown; choose one of name, variables, blocks",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_files_are_named_with_element_and_variable(tmp_path: Path, name: str) -> None:
    change, expected = WRONG[name]
    found = small()
    change(found)
    file = write(tmp_path, found)
    reason = refusal(read_elements, file)
    assert reason.startswith(str(file))
    assert expected in reason
    assert "\n" not in reason


def test_files_that_are_no_json_are_refused(tmp_path: Path) -> None:
    (tmp_path / "in.json").write_text('{"elements": [\n{"name": }]}')
    run = slowpath("insights", "coalescing", tmp_path / "in.json")
    assert (run.returncode, run.stdout) == (3, "")
    assert "in.json:2: is not JSON: Expecting value, in column 10" in run.stderr
