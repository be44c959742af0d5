"""Draws charts as SVG: points with intervals, curves with bands, and rows of measurements."""

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple

from slowpath.core.html import COLOURS, Html, element, join

_WIDE = 50.0
"""If the largest value is at least this multiple of the smallest, an axis is logarithmic."""
_GROWTH = 3.0
"""Maximum extension of a linear y-axis at each end, to cover ends of intervals.

The unit is the span of the values.
"""
_TICKS = 5  # approximate number of ticks on a linear axis
_FINE = 2.5  # maximum decades of a logarithmic axis with ticks at 1, 2 and 5; above, only at 1
_LARGE, _HUGE = 10_000, 1e15


class Scale(NamedTuple):
    """An axis of a chart, which converts values to positions between 0 and 1."""

    low: float
    high: float
    logarithmic: bool
    whole: bool = False  # true: the axis has whole numbers only, such as counts

    def share(self, value: float) -> float:
        """Return the position of a value on the axis, from 0 to 1; values outside are clamped."""
        low, high, at = self.low, self.high, min(max(value, self.low), self.high)
        if self.logarithmic:
            low, high, at = math.log(low), math.log(high), math.log(at)
        return (at - low) / (high - low)

    def ticks(self) -> list[float]:
        """Return the round values at which the axis has labels."""
        if not self.logarithmic:
            return _linear(self.low, self.high, whole=self.whole)
        decades = math.log10(self.high / self.low)
        digits = (1, 2, 5) if decades <= _FINE else (1,)
        powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        found = [digit * 10.0**power for power in powers for digit in digits]
        found = [one for one in found if not self.whole or one.is_integer()]
        inside = [one for one in found if self.low <= one * (1 + 1e-9) and one <= self.high * 1.001]
        step = math.ceil(len(inside) / (_TICKS + 3))
        return inside[::step]


def scale_of(values: Iterable[float], *, from_zero: bool = False) -> Scale:
    """Return an axis that covers these values; logarithmic if they are positive and far apart.

    With `from_zero`, a linear axis includes zero.
    """
    known = [value for value in values if math.isfinite(value)]
    low, high = min(known, default=0.0), max(known, default=0.0)
    if low > 0 and high > _WIDE * low:
        return Scale(low, high, logarithmic=True, whole=_are_whole(known))
    return linear_scale([*known, *([0.0] if from_zero else [])])


def linear_scale(values: Iterable[float]) -> Scale:
    """Return a linear axis that covers these values."""
    known = [value for value in values if math.isfinite(value)]
    low, high, whole = min(known, default=0.0), max(known, default=1.0), _are_whole(known)
    if not high - low > abs(high) * 1e-9:
        low, high = low - abs(low or 1.0) / 2, high + abs(high or 1.0) / 2
    return Scale(low, high, logarithmic=False, whole=whole)


def _are_whole(values: Sequence[float]) -> bool:
    return bool(values) and all(float(one).is_integer() for one in values)


def with_room(scale: Scale, share: float = 0.06) -> Scale:
    """Widen an axis at both ends by `share` of its length, but not at an end that is zero."""
    if scale.logarithmic:
        factor = (scale.high / scale.low) ** share
        return scale._replace(low=scale.low / factor, high=scale.high * factor)
    room = (scale.high - scale.low) * share
    low = 0.0 if scale.low == 0 else scale.low - room
    return scale._replace(low=low, high=scale.high + room if scale.high != 0 else 0.0)


def _linear(low: float, high: float, *, whole: bool) -> list[float]:
    rough = (high - low) / _TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    steps = [factor * power for factor in (1, 2, 2.5, 5, 10)]
    if whole:
        steps = [one for one in steps if one.is_integer()] or [1.0]
    step = next(one for one in steps if one >= rough * 0.999)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [number * step for number in range(first, last + 1)]


def tick_text(value: float) -> str:
    """Format a round value in few characters: `0.5`, `2,000`, `50k`, `2M`."""
    size = abs(value)
    if size >= _HUGE or 0 < size < 1e-3:  # noqa: PLR2004 - thousandths are easy to read
        return f"{value:.6g}"
    for limit, name in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (_LARGE, "k")):
        if size >= limit:
            return f"{value / (1e3 if name == 'k' else limit):g}{name}"
    return f"{value:,.6g}" if size < 1000 else f"{value:,.0f}"  # noqa: PLR2004 - digits


_WIDTH, _HEIGHT = 460.0, 290.0
_TOP, _RIGHT, _BOTTOM = 10.0, 12.0, 42.0
_LETTER = 8.6  # width of a digit at the largest font size
_NAME = 10  # maximum number of letters of a named value
_SPARK = (88.0, 24.0)  # width and height of a sparkline


class Points(NamedTuple):
    """Measured points to draw, with their confidence intervals and tooltips."""

    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float | None]  # lower ends of intervals; None: unknown
    high: Sequence[float | None]
    tooltips: Sequence[str]


class Curve(NamedTuple):
    """A curve in a chart, with a band around it that shows its uncertainty."""

    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float]  # lower edge of the band
    high: Sequence[float]
    colour: int  # number for the function `colour`


class Chart(NamedTuple):
    """The content of a chart, and the names of its axes."""

    x_name: str
    y_name: str
    points: Points
    curves: Sequence[Curve]
    changes: Sequence[float] = ()  # x positions of dashed vertical lines
    words: str = ""  # text alternative for screen readers
    reach: float = 0.0  # a linear y-axis covers at least -reach to reach
    labels: Sequence[str] = ()  # names of the x values 0, 1, ...; empty: the x-axis has numbers

    def scales(self) -> tuple[Scale, Scale]:
        """Return the x-axis and the y-axis, which cover all values of the chart.

        To show intervals, the y-axis grows at each end at most by `_GROWTH` times the span of the
        values; on a logarithmic axis, by the factor `_WIDE`.
        """
        x_values = list(chain(self.points.x, *(one.x for one in self.curves)))
        x = scale_of(x_values)
        if self.labels:
            x = linear_scale([-0.5, len(self.labels) - 0.5])
        values = [*self.points.y, *chain.from_iterable(one.y for one in self.curves)]
        y = scale_of(values, from_zero=True)
        known = [one for one in (*self.points.low, *self.points.high) if one is not None]
        known += chain.from_iterable((*one.low, *one.high) for one in self.curves)
        if y.logarithmic:
            near = [min(max(one, y.low / _WIDE), y.high * _WIDE) for one in known if one > 0]
            y = y._replace(low=min(y.low, *near), high=max(y.high, *near)) if near else y
        else:
            room = _GROWTH * (y.high - y.low)
            near = [min(max(one, y.low - room), y.high + room) for one in known]
            y = linear_scale([*values, *near, -self.reach, self.reach])
        return with_room(x, 0.02), with_room(y)


class _Plane:
    """Converts values of both axes to coordinates in the picture.

    `left` is the position of the y-axis.
    """

    def __init__(self, x: Scale, y: Scale, left: float) -> None:
        self.x, self.y, self.left = x, y, left
        self.right, self.bottom = _WIDTH - _RIGHT, _HEIGHT - _BOTTOM

    def to_x(self, value: float) -> float:
        return self.left + self.x.share(value) * (self.right - self.left)

    def to_y(self, value: float) -> float:
        return self.bottom - self.y.share(value) * (self.bottom - _TOP)

    def coordinates(self, x: Sequence[float], y: Sequence[float]) -> list[str]:
        """Convert points to SVG coordinates, each as a text such as `12.5,40.0`."""
        both = zip(x, y, strict=True)
        return [f"{self.to_x(at):.1f},{self.to_y(value):.1f}" for at, value in both]


def colour(number: int) -> str:
    """Return the CSS colour of the series with this number; colours repeat after the last one."""
    return f"var(--c{number % COLOURS})"


def draw(chart: Chart) -> Html:
    """Draw a chart as an SVG element."""
    x, y = chart.scales()
    widest = max((len(tick_text(one)) for one in y.ticks()), default=1)
    plane = _Plane(x, y, 34.0 + widest * _LETTER)
    inside = [*_axes(plane, chart), *_bands(plane, chart.curves)]
    inside += [_upright(plane, at, "change") for at in chart.changes]
    inside += [*_lines(plane, chart.curves), *_dots(plane, chart.points)]
    box = f"0 0 {_WIDTH:g} {_HEIGHT:g}"
    title = element("title", chart.words)
    return element("svg", title, *inside, viewBox=box, role="img")


def spark(curves: Sequence[Curve], points: Points) -> Html:
    """Draw a sparkline: curves, or else points, as small as a word and without axes."""
    x, y = Chart("", "", points, curves).scales()
    width, height = _SPARK

    def place(at: float, value: float) -> str:
        across, down = x.share(at), 1 - y.share(value)
        return f"{2 + across * (width - 4):.1f},{2 + down * (height - 4):.1f}"

    lines = [
        element(
            "polyline",
            points=" ".join(map(place, one.x, one.y)),
            class_="curve",
            style=f"stroke: {colour(one.colour)}",
        )
        for one in curves or [Curve(points.x, points.y, points.y, points.y, 0)]
    ]
    box = f"0 0 {width:g} {height:g}"
    return element("svg", *lines, viewBox=box, class_="spark", aria_hidden="true")


def _axes(plane: _Plane, chart: Chart) -> Iterator[Html]:
    for value in plane.y.ticks():
        height = plane.to_y(value)
        yield _line((plane.left, height), (plane.right, height), "rule")
        side = plane.left - 6
        yield element("text", tick_text(value), x=side, y=height + 4, text_anchor="end")
    free = 0.0
    for value, text in _x_ticks(plane.x, chart.labels):
        at, half = plane.to_x(value), len(text) * _LETTER / 2
        yield _line((at, plane.bottom), (at, plane.bottom + 4), "axis")
        if at - half > free and at + half < _WIDTH:
            yield element("text", text, x=at, y=plane.bottom + 17, text_anchor="middle")
            free = at + half + 4
    yield _line((plane.left, plane.bottom), (plane.right, plane.bottom), "axis")
    middle = (plane.left + plane.right) / 2
    yield element("text", chart.x_name, x=middle, y=_HEIGHT - 6, text_anchor="middle")
    turned = f"translate(14 {(_TOP + plane.bottom) / 2:.0f}) rotate(-90)"
    yield element("text", chart.y_name, transform=turned, text_anchor="middle")


def _x_ticks(x: Scale, labels: Sequence[str]) -> list[tuple[float, str]]:
    if not labels:
        return [(value, tick_text(value)) for value in x.ticks()]
    short = (f"{text[: _NAME - 1]}…" if len(text) > _NAME else text for text in labels)
    return [(float(at), text) for at, text in enumerate(short)]


def _bands(plane: _Plane, curves: Sequence[Curve]) -> Iterator[Html]:
    for one in curves:
        way = [*plane.coordinates(one.x, one.high), *reversed(plane.coordinates(one.x, one.low))]
        fill = f"fill: {colour(one.colour)}"
        yield element("polygon", points=" ".join(way), class_="band", style=fill)


def _lines(plane: _Plane, curves: Sequence[Curve]) -> Iterator[Html]:
    for one in curves:
        way, stroke = " ".join(plane.coordinates(one.x, one.y)), f"stroke: {colour(one.colour)}"
        yield element("polyline", points=way, class_="curve", style=stroke)


def _dots(plane: _Plane, points: Points) -> Iterator[Html]:
    for x, y, low, high, says in zip(*points, strict=True):
        at, height = plane.to_x(x), plane.to_y(y)
        bar = None
        if low is not None and high is not None and low < high:
            bar = _line((at, plane.to_y(low)), (at, plane.to_y(high)), "bar")
        dot = element("circle", cx=at, cy=height, r=2.6, class_="point")
        yield element("g", element("title", says), bar, dot)


def _upright(plane: _Plane, value: float, kind: str) -> Html:
    at = plane.to_x(value)
    return _line((at, _TOP), (at, plane.bottom), kind)


def _line(start: tuple[float, float], end: tuple[float, float], kind: str) -> Html:
    (x1, y1), (x2, y2) = start, end
    return join(element("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=kind))


_STRIPS_WIDTH = 460.0  # as in other charts, so that labels get the same size
_ROW, _AXIS = 26.0, 42.0
_STRIPS_TOP, _STRIPS_RIGHT = 8.0, 14.0
_LABEL_LETTER = 8.6  # width of a letter at the largest font size
_LABEL = 12
"""Maximum number of letters of a label."""
_POINTS = 200
"""Maximum number of points in a strip; more would not be distinguishable."""


class Strip(NamedTuple):
    """A row of the chart: the measurements of one subject, their mean, and a reference value."""

    label: str
    tooltip: str
    values: Sequence[float]  # observations
    mean: float
    low: float | None  # ends of the interval of the mean; None: unknown
    high: float | None
    reference: float | None = None  # such as an estimate; drawn as a diamond


def draw_strips(strips: Sequence[Strip], axis: str, words: str, line: float | None = None) -> Html:
    """Draw rows of measurements above a common axis with the name `axis`, as an SVG element.

    `words` is the text alternative for screen readers; a dashed line marks the value `line`.
    """
    scale = _scale(strips, line)
    letters = max((min(len(one.label), _LABEL) for one in strips), default=0)
    left, right = 8 + letters * _LABEL_LETTER, _STRIPS_WIDTH - _STRIPS_RIGHT
    bottom = _STRIPS_TOP + _ROW * len(strips)

    def to_x(value: float) -> float:
        return left + scale.share(value) * (right - left)

    parts = [element("title", words), *_axis(scale, axis, (left, right, bottom))]
    if line is not None:
        at = to_x(line)
        parts.append(element("line", x1=at, y1=_STRIPS_TOP, x2=at, y2=bottom, class_="change"))
    for number, one in enumerate(strips):
        middle = _STRIPS_TOP + _ROW * (number + 0.5)
        positions = [to_x(value) for value in _thinned(one.values)]
        ends = None if one.low is None or one.high is None else (to_x(one.low), to_x(one.high))
        reference = None if one.reference is None else to_x(one.reference)
        parts.append(_label(one, left, middle))
        parts.append(_strip(one, positions, (to_x(one.mean), ends, reference), middle))
    box = f"0 0 {_STRIPS_WIDTH:g} {bottom + _AXIS:g}"
    return element("svg", *parts, viewBox=box, role="img", class_="strips")


def _scale(strips: Sequence[Strip], line: float | None) -> Scale:
    known = chain.from_iterable(
        (*one.values, one.mean, one.low, one.high, one.reference) for one in strips
    )
    values = [value for value in (*known, line) if value is not None]
    scale = scale_of(values)
    return with_room(scale if scale.logarithmic else linear_scale(values), 0.04)


def _thinned(values: Sequence[float]) -> Sequence[float]:
    """Select at most `_POINTS` of the values, at even distances in sorted order."""
    if len(values) <= _POINTS:
        return values
    ordered = sorted(values)
    return [ordered[at * (len(ordered) - 1) // (_POINTS - 1)] for at in range(_POINTS)]


def _axis(scale: Scale, name: str, box: tuple[float, float, float]) -> Iterator[Html]:
    left, right, bottom = box
    free = 0.0
    for value in scale.ticks():
        text = tick_text(value)
        at, half = left + scale.share(value) * (right - left), len(text) * _LABEL_LETTER / 2
        yield element("line", x1=at, y1=_STRIPS_TOP, x2=at, y2=bottom, class_="rule")
        if at - half > free and at + half < _STRIPS_WIDTH:
            yield element("text", text, x=at, y=bottom + 17, text_anchor="middle")
            free = at + half + 4
    yield element("line", x1=left, y1=bottom, x2=right, y2=bottom, class_="axis")
    middle = (left + right) / 2
    yield element("text", name, x=middle, y=bottom + _AXIS - 6, text_anchor="middle")


def _label(strip: Strip, left: float, middle: float) -> Html:
    text = strip.label
    if len(text) > _LABEL:
        text = text[: _LABEL - 1] + "…"
    return element("text", text, x=left - 6, y=middle + 4, text_anchor="end")


def _strip(
    strip: Strip,
    positions: Sequence[float],
    marks: tuple[float, tuple[float, float] | None, float | None],
    middle: float,
) -> Html:
    mean, ends, reference = marks
    parts: list[Html] = [element("title", strip.tooltip)]
    # One path of round dots is shorter than an element for each dot.
    dots = "".join(f"M{at:.1f} {middle:.1f}h0" for at in positions)
    if dots:
        parts.append(element("path", d=dots, class_="dots"))
    if ends is not None:
        low, high = ends
        parts.append(element("line", x1=low, y1=middle, x2=high, y2=middle, class_="interval"))
    upright = element("line", x1=mean, y1=middle - 7, x2=mean, y2=middle + 7, class_="mean")
    parts.append(upright)
    if reference is not None:
        corners = ((0.0, -5.0), (5.0, 0.0), (0.0, 5.0), (-5.0, 0.0))
        points = " ".join(f"{reference + x:.1f},{middle + y:.1f}" for x, y in corners)
        parts.append(element("polygon", points=points, class_="reference"))
    return element("g", join(*parts))
