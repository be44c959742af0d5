"""Tests orders of variables that need few memory accesses.

They are compared with all permutations, with layouts of the C compiler, and with published orders.
"""

import csv
import io
import itertools
import json
import math
import subprocess
from fractions import Fraction
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from compiler import needs_clang
from oracles import compared, folder
from slowpath.core.schema.validation import schema
from slowpath.insights.layout.problem import (
    Block,
    Described,
    Element,
    Order,
    Variable,
    accesses,
    natural_alignment,
    offsets,
    read_elements,
    size_of,
    weighted,
)
from slowpath.insights.layout.run import advise, by_clusters, layout
from slowpath.insights.layout.search import access_vectors, clustered, clusters
from support import GOLDEN, check_golden, slowpath

EXAMPLE = Path("examples/insights/connection.json")
WIDTHS = (4, 8, 16, 32, 64)


# --- comparison with all orders -------------------------------------------------------------------


@st.composite
def elements(
    draw: st.DrawFn, most: int = 6, sizes: tuple[int, ...] = (1, 2, 3, 4, 6, 8)
) -> Element:
    names = [f"v{at}" for at in range(draw(st.integers(1, most)))]
    variables = []
    for name in names:
        size = draw(st.sampled_from(sizes))
        align = draw(st.sampled_from((natural_alignment(size), 1, 16)))
        variables.append(Variable(name, size, align))
    touches = st.lists(st.sampled_from(names), max_size=4)
    weights = st.sampled_from((0.0, 0.1, 0.25, 0.5, 1.0, 5.0))
    blocks = [
        Block(f"b{at}", draw(weights), draw(touches)) for at in range(draw(st.integers(0, 5)))
    ]
    return Element("element", variables, blocks)


def counted(element: Element, order: Order, width: int) -> Fraction:
    """Return the memory accesses per packet of an order of variables, by the definition.

    A block needs one access for each window of `width` bytes that its variables touch.
    """
    windows = dict[str, set[int]]()
    end = 0
    for at in order:
        one = element.variables[at]
        while end % one.align:
            end += 1
        windows[one.name] = {byte // width for byte in range(end, end + one.size)}
        end += one.size
    return sum(
        (
            Fraction(str(block.weight))
            * len(set().union(*(windows[name] for name in block.touches)))
            for block in element.blocks
        ),
        Fraction(0),
    )


@settings(max_examples=150)
@given(elements(), st.sampled_from((1, 2, 8, 16)))
def test_the_order_is_the_best_of_all(element: Element, width: int) -> None:
    orders = [*itertools.permutations(range(len(element.variables)))]
    best = min(counted(element, one, width) for one in orders)
    found = layout(element, width)
    assert found.proven
    assert sorted(found.order) == [*range(len(element.variables))]
    assert found.accesses == found.bound == counted(element, found.order, width) == best
    smallest = min(_end(element, one) for one in orders if counted(element, one, width) == best)
    assert _end(element, found.order) == smallest


def _end(element: Element, order: Order) -> int:
    variables = [element.variables[at] for at in order]
    return offsets(variables)[-1] + variables[-1].size


@settings(max_examples=100)
@given(elements(most=9), st.sampled_from(WIDTHS), st.randoms(use_true_random=False))
def test_costs_of_orders_are_counted_right(element: Element, width: int, dice: object) -> None:
    order = [*range(len(element.variables))]
    dice.shuffle(order)  # type: ignore[attr-defined]
    merged = weighted(element, width)
    assert Fraction(accesses(merged, order), merged.unit) == counted(element, order, width)


@settings(max_examples=25)
@given(elements(most=10, sizes=(4,)), st.sampled_from((8, 16)))
def test_ten_variables_are_put_into_the_best_packs(element: Element, width: int) -> None:
    """Compare orders of ten 4-byte variables with all ways to divide them into memory windows."""
    words = [Variable(one.name, 4, 4) for one in element.variables]
    element = element._replace(variables=words)
    masks = [
        sum((name in block.touches) << at for at, block in enumerate(element.blocks))
        for name in (one.name for one in words)
    ]

    def pack(members: tuple[int, ...]) -> Fraction:
        touched = 0
        for at in members:
            touched |= masks[at]
        runs = [
            Fraction(str(block.weight))
            for at, block in enumerate(element.blocks)
            if touched >> at & 1
        ]
        return sum(runs, Fraction(0))

    room = width // 4

    @cache
    def best(left: frozenset[int], short: int) -> Fraction:
        if not left:
            return Fraction(0)
        first, *rest = sorted(left)
        sizes = {min(room, len(left))} | ({short} if short else set())
        return min(
            pack((first, *others)) + best(left - {first, *others}, 0 if size == short else short)
            for size in sizes
            if size <= len(left)
            for others in itertools.combinations(rest, size - 1)
        )

    found = layout(element, width)
    assert found.proven
    assert found.accesses == best(frozenset(range(len(words))), len(words) % room)


@settings(max_examples=60)
@given(elements(), st.sampled_from((8, 16)), st.integers(0, 30))
def test_a_search_that_is_stopped_has_a_bound_all_the_same(
    element: Element, width: int, most: int
) -> None:
    known = [[*reversed(range(len(element.variables)))]]
    found = layout(element, width, known, most)
    best = layout(element, width)
    assert found.bound <= best.accesses <= found.accesses
    assert found.accesses <= min(
        counted(element, one, width) for one in (*known, range(len(element.variables)))
    )
    if found.proven:
        assert found.accesses == best.accesses


def words(names: str, *blocks: tuple[float, str]) -> Element:
    """Return an element with a 4-byte variable for each letter in `names`.

    `blocks` are pairs: the number of runs, and the letters of the variables that a block accesses.
    """
    variables = [Variable(name, 4, 4) for name in names]
    each = [Block(f"block {at}", runs, [*letters]) for at, (runs, letters) in enumerate(blocks)]
    return Element("words", variables, each)


def test_many_variables_are_ordered_in_steps_not_in_seconds() -> None:
    """Check that the best order of 40 variables is found within 2000 search steps.

    Each of ten blocks accesses four variables, which must share a window of memory.
    """
    names = [f"v{at}" for at in range(40)]
    variables = [Variable(name, 4, 4) for name in names]
    blocks = [Block(f"b{at}", 1.0 + at, names[at::10]) for at in range(10)]
    found = layout(Element("mixed", variables, blocks), 16, max_steps=2000)
    assert found.accesses == sum(1 + at for at in range(10))
    assert found.proven


def test_a_variable_larger_than_an_access_takes_several() -> None:
    element = Element(
        "large",
        [Variable("small", 4, 4), Variable("large", 40, 4)],
        [Block("b", 2.0, ["large"]), Block("c", 1.0, ["small", "large"])],
    )
    found = layout(element, 16)
    assert found.accesses == 2 * 3 + 3


def test_equal_costs_are_equal_whatever_the_weights() -> None:
    """Check that weights of blocks are added exactly: three times 0.1 equals 0.3.

    Floating-point addition would yield another number.
    """
    element = words("abcd", (0.1, "ab"), (0.1, "ab"), (0.1, "ab"), (0.3, "cd"))
    merged = weighted(element, 8)
    assert accesses(merged, [0, 1, 2, 3]) == accesses(merged, [2, 3, 0, 1])
    assert sorted(merged.weights) == [3, 3]


# --- clusters -------------------------------------------------------------------------------------


def test_vectors_are_shares_of_accesses() -> None:
    element = words("abc", (1.0, "aab"), (2.0, "a"))
    assert access_vectors(element) == [(0.5, 0.5), (1.0, 0.0), (0.0, 0.0)]
    assert access_vectors(element, shares=False) == [(1.0, 2.0), (1.0, 0.0), (0.0, 0.0)]


def test_clusters_that_are_apart_are_found() -> None:
    points = [
        (x + dx, y + dy) for x, y in ((0, 0), (9, 0), (0, 9)) for dx in (0, 1) for dy in (0, 1)
    ]
    found = clusters(points, 3)
    assert [len({*found[at : at + 4]}) for at in (0, 4, 8)] == [1, 1, 1]
    assert len({*found}) == 3


@settings(max_examples=50)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=7),
    st.integers(1, 7),
)
def test_clusters_are_as_good_as_any_partition(points: list[tuple[float, ...]], k: int) -> None:
    """Check that no partition of points has a smaller sum of squared distances to cluster means."""
    found = clusters(points, k)
    assert len({*found}) <= k
    labels = itertools.product(range(min(k, len(points))), repeat=len(points))
    if len(points) <= 5:
        best = min(_inertia(points, each) for each in labels)
        assert _inertia(points, found) == pytest.approx(best, abs=1e-9)


def _inertia(points: list[tuple[float, ...]], labels: tuple[int, ...] | list[int]) -> float:
    total = 0.0
    for label in {*labels}:
        members = [one for one, other in zip(points, labels, strict=True) if other == label]
        mean = [math.fsum(part) / len(members) for part in zip(*members, strict=True)]
        total += sum((a - b) ** 2 for one in members for a, b in zip(one, mean, strict=True))
    return total


def test_the_published_order_has_each_cluster_where_its_first_variable_is() -> None:
    assert clustered([2, 0, 2, 1, 0]) == [0, 2, 1, 4, 3]


# --- structs in C ---------------------------------------------------------------------------------


def compiles(text: str, tmp_path: Path) -> None:
    (tmp_path / "s.c").write_text(text)
    command = [*needs_clang(), "-fsyntax-only", "-Werror", "-Wall", str(tmp_path / "s.c")]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


@settings(max_examples=15)
@given(elements(most=8))
def test_members_are_where_the_compiler_puts_them(
    tmp_path_factory: pytest.TempPathFactory, element: Element
) -> None:
    found = advise(Described(element, None, None), 16)
    places = "\n".join(
        f"_Static_assert(__builtin_offsetof(struct element, {one['variable']}) == {one['offset']}, "
        '"");'
        for one in found["members"]
    )
    text = f"#include <stdint.h>\n{found['struct']}{places}\n"
    compiles(text, tmp_path_factory.mktemp("struct"))
    compared("clang", len(found["members"]), "places of members")


def test_printed_structs_compile(tmp_path: Path) -> None:
    run = slowpath("insights", "coalescing", EXAMPLE, "--format", "c")
    assert (run.returncode, run.stderr) == (0, "")
    compiles(run.stdout, tmp_path)


def test_types_of_variables_are_kept() -> None:
    element = Element("typed", [Variable("a", 8, 8, "struct other *")], [])
    assert "struct other * a;" in advise(Described(element, None, None), 8)["struct"]


# --- published results ----------------------------------------------------------------------------


def published() -> Path:
    what = "published inputs and results for functions that are not ported yet"
    return folder("insights", "SLOWPATH_INSIGHTS", what) / "state-placement/coalescing.json"


@pytest.mark.parametrize("width", WIDTHS)
def test_layouts_are_no_worse_than_the_published_ones(width: int) -> None:
    """Check that orders of variables are optimal, and not worse than published ones."""
    found = read_elements(str(published())).elements
    for one in found:
        assert one.published is not None
        known = [one.published, by_clusters(one.element, width, one.clusters)]
        best = layout(one.element, width)
        assert best.proven
        assert best.accesses <= min(counted(one.element, each, width) for each in known)
        assert best.accesses == counted(one.element, best.order, width)
    compared("insights", len(found), "layouts")


# --- the command ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "words"), [("txt", ()), ("csv", ("--format", "csv"))])
def test_texts_are_as_expected(name: str, words: tuple[str, ...]) -> None:
    run = slowpath("insights", "coalescing", EXAMPLE, *words)
    assert (run.returncode, run.stderr) == (0, "")
    check_golden(GOLDEN / f"insights/coalescing.{name}", run.stdout)


@pytest.mark.parametrize("width", WIDTHS)
def test_json_has_its_shape_and_adds_up(width: int) -> None:
    run = slowpath("insights", "coalescing", EXAMPLE, "--format", "json", f"--width={width}")
    document = json.loads(run.stdout)
    Draft202012Validator(schema("coalescing")).validate(document)
    (element,) = document["results"]
    of_blocks = [one["weight"] * one["accesses"] for one in element["blocks"]]
    assert element["accesses"] == pytest.approx(sum(of_blocks))
    before = [one["weight"] * one["before"] for one in element["blocks"]]
    assert element["compared"][0]["accesses"] == pytest.approx(sum(before))
    fetched = [len(one["blocks"]) for one in element["packs"]]
    assert sum(fetched) == sum(one["accesses"] for one in element["blocks"])
    assert document["width"] == width
    assert all(one["fetch_bytes"] <= width for one in element["packs"])
    assert all(element["accesses"] <= one["accesses"] for one in element["compared"])


def test_csv_has_a_line_for_each_variable() -> None:
    run = slowpath("insights", "coalescing", EXAMPLE, "--format", "csv")
    rows = [*csv.DictReader(io.StringIO(run.stdout))]
    assert len(rows) == 12
    ends = [int(one["offset"]) + int(one["size_bytes"]) for one in rows]
    assert all(int(one["offset"]) >= end for one, end in zip(rows[1:], ends, strict=False))


def test_sizes_of_structs_are_those_of_c() -> None:
    variables = [Variable("a", 1, 1), Variable("b", 8, 8), Variable("c", 2, 2)]
    assert offsets(variables) == [0, 8, 16]
    assert size_of(variables) == 24


def test_widths_are_powers_of_two() -> None:
    run = slowpath("insights", "coalescing", EXAMPLE, "--width", "12")
    assert run.returncode == 2
    assert "12 is not a power of two up to 4096" in run.stderr
