"""Tests that JSON read with line numbers has the same values as Python's parser returns."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowpath.core.errors import InputError
from slowpath.core.spanned import Spanned, read_marked_json, with_key

LEAVES = (
    st.text() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.booleans()
)
VALUES = st.recursive(
    LEAVES | st.none(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


def plain(found: Spanned) -> Any:
    if isinstance(found.value, list):
        return [plain(one) for one in found.value]
    if isinstance(found.value, dict):
        return {key: plain(one) for key, one in found.value.items()}
    return found.value


def in_words(value: Any) -> Any:
    if isinstance(value, list):
        return [in_words(one) for one in value]
    if isinstance(value, dict):
        return {key: in_words(one) for key, one in value.items()}
    return value if isinstance(value, str) else json.dumps(value)


@given(VALUES, st.sampled_from([None, 0, 1, "\t"]), st.booleans())
def test_values_are_those_of_any_reader(value: Any, indent: int | None, ascii_only: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    assert plain(read_marked_json("f.json", text)) == in_words(value)


def test_places_are_lines_and_keys() -> None:
    found = read_marked_json("f.json", '{"a": [1,\n 2, {"b":\n"x"}]}')
    assert isinstance(found.value, dict)
    third = found.value["a"].value[2]
    assert isinstance(third, Spanned)
    assert isinstance(third.value, dict)
    assert third.place == ("f.json", 2, "a[3]")
    assert third.value["b"].place == ("f.json", 3, "a[3].b")


def test_keys_can_be_replaced_by_names() -> None:
    found = read_marked_json("f.json", '{"a": [{"b": [1]}]}')
    assert isinstance(found.value, dict)
    inner = with_key(found.value["a"], "thing x")
    with pytest.raises(InputError, match=r"f\.json:1: thing x\[1\]\.b\[1\]: is wrong"):
        inner.value[0].value["b"].value[0].place.refuse("is wrong")  # type: ignore[union-attr,index,call-overload]
