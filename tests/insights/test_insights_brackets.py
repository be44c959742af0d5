"""Commas and brackets in LLVM's text, those of quoted names left alone."""

from hypothesis import given
from hypothesis import strategies as st

from slowpath.insights.source.modules import bracketed_prefix, split_at_commas

NAMES = st.text(st.sampled_from("ab,()[]{}<> .\\"), max_size=8).map(lambda name: f'%"{name}"')
"""As of C++ templates: whatever is in them is no structure."""
PARTS = st.recursive(
    st.one_of(st.sampled_from(["i32 0", "ptr %p", "ptr null", "align 8"]), NAMES),
    lambda one: st.tuples(st.sampled_from(["()", "[]", "{}", "<>"]), st.lists(one)).map(
        lambda made: made[0][0] + ", ".join(made[1]) + made[0][1]
    ),
    max_leaves=8,
)


@given(st.lists(PARTS, min_size=1))
def test_parts_are_those_that_were_put_together(parts: list[str]) -> None:
    assert split_at_commas(", ".join(parts)) == parts


@given(st.lists(PARTS), st.sampled_from(["()", "[]", "{}", "<>"]), st.text("ab,(]>", max_size=5))
def test_what_a_bracket_encloses_ends_where_it_is_closed(
    parts: list[str], kind: str, rest: str
) -> None:
    inside = kind[0] + ", ".join(parts) + kind[1]
    assert bracketed_prefix(inside + rest) == inside


def test_what_is_not_closed_is_all() -> None:
    assert bracketed_prefix("(i32 0") == "(i32 0"
    assert split_at_commas("") == [""]
