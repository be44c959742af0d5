"""Tests HTML reports: texts are escaped, and charts can show any numbers."""

import math
import random
from xml.etree import ElementTree

import pytest

from slowpath.core.html import Column, Html, download, element, facts, join, page, prose, table
from slowpath.core.html.chart import (
    Chart,
    Curve,
    Points,
    Scale,
    Strip,
    draw,
    draw_strips,
    linear_scale,
    scale_of,
    spark,
    tick_text,
    with_room,
)

HOSTILE = "\"'><script>alert(1)</script>&amp;<!--\x1b\u202e\x00"


def parsed(text: str) -> ElementTree.Element:
    """Parse an HTML page, or a part of one, which must be well-formed XML."""
    return ElementTree.fromstring(text.removeprefix("<!doctype html>\n"))  # noqa: S314 - our own


def texts(root: ElementTree.Element) -> str:
    return " ".join(root.itertext())


def test_untrusted_texts_are_escaped() -> None:
    made = element("p", HOSTILE, element("b", HOSTILE), title=HOSTILE, data_name=HOSTILE)
    root = parsed(made)
    assert [one.tag for one in root.iter()] == ["p", "b"]
    assert set(root.attrib) == {"title", "data-name"}
    assert "<script>" in texts(root)
    assert "\\x1b\\u202e\\x00" in texts(root)
    assert "\x1b" not in made
    assert "\u202e" not in made
    assert join(HOSTILE, Html("<i>")).endswith("<i>")


def test_a_page_is_self_contained() -> None:
    parts = [
        facts(("a", HOSTILE), ("b", None)),
        table([Column(HOSTILE), Column("n", number=True, wide=True)], [[HOSTILE, "1"]], stack=True),
        download("x,y\n1,ü\n", f"{HOSTILE}.csv", HOSTILE),
    ]
    root = parsed(page(HOSTILE, *parts))
    tags = {one.tag for one in root.iter()}
    assert not tags & {"script", "iframe", "link", "img", "object", "embed", "form", "base"}
    (policy,) = (one for one in root.iter("meta") if "http-equiv" in one.attrib)
    assert "default-src 'none'" in policy.attrib["content"]
    (link,) = root.iter("a")
    assert link.attrib["href"] == "data:text/csv;charset=utf-8,x%2Cy%0A1%2C%C3%BC%0A"
    assert not [name for one in root.iter() for name in one.attrib if name.startswith("on")]


def test_words_between_backticks_are_code() -> None:
    assert prose("run `a < b` now") == "run <code>a &lt; b</code> now"
    assert prose("a ` b") == "a ` b"


# --- axes ----------------------------------------------------------------------------------------


def spans() -> list[tuple[float, float]]:
    draw = random.Random(7)  # noqa: S311 - no secrets
    found = [(0.0, 1.0), (1.0, 1e6), (-5.0, 3.0), (1e-9, 2e-9), (0.0, 1e300), (99.0, 101.0)]
    for _ in range(300):
        low, size = draw.uniform(-1, 1) * 10 ** draw.uniform(-6, 9), 10 ** draw.uniform(-6, 9)
        found.append((low, low + size))
    return found


@pytest.mark.parametrize("logarithmic", [False, True])
def test_ticks_are_few_round_and_inside(logarithmic: bool) -> None:
    for low, high in spans():
        if logarithmic and not 0 < 60 * low < high:
            continue
        scale = Scale(low, high, logarithmic=logarithmic)
        ticks = scale.ticks()
        assert 1 <= len(ticks) <= 12, scale
        room = (high - low) * 2e-3
        assert all(low - room <= tick <= high + room for tick in ticks)
        shares = [scale.share(tick) for tick in ticks]
        assert shares == sorted(shares)
        if high - low > 1e-4 * max(abs(low), abs(high)):
            assert len({tick_text(tick) for tick in ticks}) == len(ticks)


def test_axes_of_whole_numbers_have_whole_ticks() -> None:
    draw = random.Random(2)  # noqa: S311 - no secrets
    for _ in range(300):
        low, most = draw.randrange(-3, 50), 10 ** draw.randrange(6)
        values = [float(low), float(low + draw.randrange(1, 5) * most)]
        ticks = with_room(scale_of(values)).ticks()
        assert ticks
        assert all(one.is_integer() for one in ticks), values
    assert 0.2 in scale_of([0.0, 0.9, 1.0]).ticks()
    assert with_room(scale_of([1.0, 2.0])).ticks() == [1.0, 2.0]
    assert with_room(scale_of([3.0])).ticks() == [2.0, 3.0, 4.0]


def test_places_are_in_order_and_ends_at_the_ends() -> None:
    for scale in (Scale(2, 2000, logarithmic=True), Scale(-3, 9, logarithmic=False)):
        assert scale.share(scale.low) == 0
        assert scale.share(scale.high) == 1
        assert scale.share(scale.low - 1) == 0
        assert scale.share(scale.high * 2) == 1
    assert Scale(1, 100, logarithmic=True).share(10) == pytest.approx(0.5)


def test_axes_cover_their_values() -> None:
    assert scale_of([1, 100]).logarithmic
    assert not scale_of([0, 100]).logarithmic
    assert not scale_of([1, 40]).logarithmic
    assert scale_of([30, 40], from_zero=True).low == 0
    assert scale_of([-4, -2], from_zero=True).high == 0
    for values in ([], [0.0], [5.0], [-2.0, -2.0], [math.nan, math.inf], [1e300, 1e300]):
        scale = with_room(scale_of(values))
        assert scale.low < scale.high
        assert all(0 <= scale.share(value) <= 1 for value in values if math.isfinite(value))
    assert not linear_scale([1, 1e6]).logarithmic


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"), (0.5, "0.5"), (2000, "2,000"), (50_000, "50k"), (2e6, "2M"), (-0.25, "-0.25"),
        (1e-5, "1e-05"), (3e9, "3G"), (1e300, "1e+300"), (0.1 + 0.2, "0.3"),
    ],
)  # fmt: skip
def test_ticks_as_texts(value: float, text: str) -> None:
    assert tick_text(value) == text


# --- charts --------------------------------------------------------------------------------------


def chart(y: list[float], half: float | None = None) -> Chart:
    x = [float(at) for at in range(1, len(y) + 1)]
    low = [None if half is None else value - half for value in y]
    high = [None if half is None else value + half for value in y]
    points = Points(x, y, low, high, [HOSTILE] * len(y))
    curve = Curve(x, y, [v - 1 for v in y], [v + 1 for v in y], 0)
    return Chart(HOSTILE, HOSTILE, points, [curve], [1.5], HOSTILE)


@pytest.mark.parametrize("y", [[6.0, 12.0, 18.0], [10.0, 11.0, 12.0], [1.0, 10.0, 1000.0]])
def test_bands_up_to_three_times_the_values_are_not_cut(y: list[float]) -> None:
    """Check that the y-axis covers the band around a curve, unless the band is far too wide."""
    x = [float(at) for at in range(len(y))]
    nothing = Points([], [], [], [], [])
    curve = Curve(x, y, [one / 2 for one in y], [one * 2.5 for one in y], 0)
    _, scale = Chart("", "", nothing, [curve]).scales()
    assert all(0 < scale.share(one) < 1 for one in (*curve.low, *curve.high))
    endless = curve._replace(high=[1e9 for _ in y])
    _, scale = Chart("", "", nothing, [endless]).scales()
    assert scale.share(max(y)) > 0.2  # the values stay readable


@pytest.mark.parametrize(
    "y", [[1.0], [0.0, 0.0], [1.0, 2.0, 4.0], [-1.0, 1e9], [1e-9, 1e9], [1e300, 2e300]]
)
@pytest.mark.parametrize("half", [None, 0.0, 0.5])
def test_all_elements_are_within_the_picture(y: list[float], half: float | None) -> None:
    root = parsed(draw(chart(y, half)))
    _, _, width, height = map(float, root.attrib["viewBox"].split())
    dots = list(root.iter("circle"))
    assert len(dots) == len(y)
    for dot in dots:
        assert 0 <= float(dot.attrib["cx"]) <= width
        assert 0 <= float(dot.attrib["cy"]) <= height
    for line in root.iter("line"):
        assert all(0 <= float(line.attrib[end]) <= width for end in ("x1", "x2"))
        assert all(0 <= float(line.attrib[end]) <= height for end in ("y1", "y2"))
    for shape in (*root.iter("polygon"), *root.iter("polyline")):
        for place in shape.attrib["points"].split():
            across, down = map(float, place.split(","))
            assert 0 <= across <= width
            assert 0 <= down <= height
    assert {one.tag for one in root.iter()} <= {
        "svg", "title", "text", "line", "polygon", "polyline", "g", "circle",
    }  # fmt: skip
    parsed(spark(chart(y).curves, chart(y).points))


def test_higher_is_higher() -> None:
    root = parsed(draw(chart([1.0, 3.0, 2.0], 0.25)))
    down = [float(dot.attrib["cy"]) for dot in root.iter("circle")]
    assert down[1] < down[2] < down[0]
    bars = [one for one in root.iter("line") if one.attrib["class"] == "bar"]
    assert len(bars) == 3
    for bar, middle in zip(bars, down, strict=True):
        assert float(bar.attrib["y2"]) < middle < float(bar.attrib["y1"])


def test_tiny_differences_are_invisible() -> None:
    nearly = chart([1e-9, -1e-9, 2e-9])._replace(curves=[], reach=1.0)
    down = [float(dot.attrib["cy"]) for dot in parsed(draw(nearly)).iter("circle")]
    assert len(set(down)) == 1


def test_named_values_are_all_on_the_axis() -> None:
    nothing = [None] * 2
    points = Points([0.0, 1.0], [1.0, 2.0], nothing, nothing, ["a", "b"])
    names = ("small", "large", "a_name_of_many_letters")
    drawn = parsed(draw(Chart("value", "ns", points, [], labels=names)))
    labels = [texts(one) for one in drawn.iter("text")]
    assert {"small", "large", "a_name_of\u2026"} <= set(labels)


def test_strips_keep_everything_within_the_picture() -> None:
    source = random.Random(5)  # noqa: S311 - no secrets
    for _ in range(50):
        values = [10 ** source.uniform(0, 3) for _ in range(source.randrange(1, 500))]
        mean = sum(values) / len(values)
        strips = [
            Strip("a label of many letters", HOSTILE, values, mean, min(values), max(values), 5.0),
            Strip("b", "", [], 1.0, None, None),
        ]
        drawn = parsed(draw_strips(strips, "nanoseconds", "times", 2.0))
        width, height = map(float, drawn.attrib["viewBox"].split()[2:])
        for line in drawn.iter("line"):
            assert 0 <= float(line.attrib["x1"]) <= float(line.attrib["x2"]) <= width
            assert 0 <= float(line.attrib["y1"]) <= height
        (dots,) = (one for one in drawn.iter("path") if one.attrib["class"] == "dots")
        assert dots.attrib["d"].count("M") == min(len(values), 200)
        assert "nanoseconds" in [texts(one) for one in drawn.iter("text")]
