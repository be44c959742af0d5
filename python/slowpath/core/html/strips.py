"""Draws repeated measurements as SVG: a horizontal strip of points for each subject."""

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import NamedTuple

from slowpath.core.html.chart import Scale, linear_scale, scale_of, tick_text, with_room
from slowpath.core.html.elements import Html, element, join

_WIDTH = 460.0  # as in other charts, so that labels get the same size
_ROW, _AXIS = 26.0, 42.0
_TOP, _RIGHT = 8.0, 14.0
_LETTER = 8.6  # width of a letter at the largest font size
_LABEL = 12
"""Maximum number of letters of a label."""
_POINTS = 200
"""Maximum number of points in a strip; more would not be distinguishable."""


class Strip(NamedTuple):
    """A row of the chart: the observations of one subject, their mean, and a reference value."""

    label: str
    tooltip: str
    values: Sequence[float]  # observations
    mean: float
    low: float | None  # ends of the interval of the mean; None: unknown
    high: float | None
    reference: float | None = None  # such as an estimate; drawn as a diamond


def draw_strips(strips: Sequence[Strip], axis: str, words: str, line: float | None = None) -> Html:
    """Draw strips above a common axis with this name, as an SVG element.

    `words` is the text alternative for screen readers; `line` is a value with a dashed line.
    """
    scale = _scale(strips, line)
    letters = max((min(len(one.label), _LABEL) for one in strips), default=0)
    left, right = 8 + letters * _LETTER, _WIDTH - _RIGHT
    bottom = _TOP + _ROW * len(strips)

    def to_x(value: float) -> float:
        return left + scale.share(value) * (right - left)

    parts = [element("title", words), *_axis(scale, axis, (left, right, bottom))]
    if line is not None:
        at = to_x(line)
        parts.append(element("line", x1=at, y1=_TOP, x2=at, y2=bottom, class_="change"))
    for number, one in enumerate(strips):
        middle = _TOP + _ROW * (number + 0.5)
        positions = [to_x(value) for value in _thinned(one.values)]
        ends = None if one.low is None or one.high is None else (to_x(one.low), to_x(one.high))
        reference = None if one.reference is None else to_x(one.reference)
        parts.append(_label(one, left, middle))
        parts.append(_strip(one, positions, (to_x(one.mean), ends, reference), middle))
    box = f"0 0 {_WIDTH:g} {bottom + _AXIS:g}"
    return element("svg", *parts, viewBox=box, role="img", class_="strips")


def _scale(strips: Sequence[Strip], line: float | None) -> Scale:
    known = chain.from_iterable(
        (*one.values, one.mean, one.low, one.high, one.reference) for one in strips
    )
    values = [value for value in (*known, line) if value is not None]
    scale = scale_of(values)
    return with_room(scale if scale.logarithmic else linear_scale(values), 0.04)


def _thinned(values: Sequence[float]) -> Sequence[float]:
    """Return at most `_POINTS` of the values, evenly chosen by rank."""
    if len(values) <= _POINTS:
        return values
    ordered = sorted(values)
    return [ordered[at * (len(ordered) - 1) // (_POINTS - 1)] for at in range(_POINTS)]


def _axis(scale: Scale, name: str, box: tuple[float, float, float]) -> Iterator[Html]:
    left, right, bottom = box
    free = 0.0
    for value in scale.ticks():
        text = tick_text(value)
        at, half = left + scale.share(value) * (right - left), len(text) * _LETTER / 2
        yield element("line", x1=at, y1=_TOP, x2=at, y2=bottom, class_="rule")
        if at - half > free and at + half < _WIDTH:
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
