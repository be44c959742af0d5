"""A picture of a sweep: what is guaranteed, and measured, by the first definition.

A panel for each unit, a line for each target, program and choice of the other values.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from slowpath.commands.sweep.definitions import Definition
from slowpath.commands.sweep.documents import SweptProgram
from slowpath.commands.sweep.report import ESTIMATE, guaranteed
from slowpath.report.picture import picture, plain
from slowpath.schema.rates import as_metric
from slowpath.schema.wording import metric_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_WIDTH, _HEIGHT = 7.0, 3.2  # inches, of each panel
_UNITS = {"packetrate": ("guaranteed Mpps", 1e6), "bitrate": ("guaranteed Gbit/s", 1e9)}
_MANY = 12
"""More values than these, that are no numbers, are written aslant."""


class _Line(NamedTuple):
    label: str
    values: dict[str, tuple[float, float, float]]  # by value of the definition: also from, and to


def draw(file: str, definitions: Sequence[Definition], programs: Sequence[SweptProgram]) -> None:
    """Writes the picture; it is SVG or PNG, by the end of the name. The same data, the same file.

    Raises:
        OSError: when the file cannot be written.
    """
    panels = _panels(definitions, programs)
    with picture(file, _WIDTH, _HEIGHT * max(len(panels), 1)) as figure:
        axes = figure.subplots(max(len(panels), 1), sharex=True, squeeze=False)[:, 0]
        for one, (unit, lines) in zip(axes, panels.items(), strict=False):
            _panel(one, definitions[0], lines)
            one.set_ylabel(unit)
        axes[-1].set_xlabel(definitions[0].name)


def _panels(
    definitions: Sequence[Definition], programs: Sequence[SweptProgram]
) -> dict[str, dict[str, _Line]]:
    """By unit, lines by their labels."""
    panels: dict[str, dict[str, _Line]] = {}
    several = len({one["program"] for one in programs if one["program"] is not None}) > 1
    first, others = definitions[0].name, [one.name for one in definitions[1:]]
    for program in programs:
        rest = [f"{name}={program['values'][name]}" for name in others]
        rest += [program["program"] or ""] if several else []
        for unit, label, value in _values(program):
            name = plain(", ".join([label, *rest]))
            line = panels.setdefault(unit, {}).setdefault(name, _Line(name, {}))
            line.values[program["values"][first]] = value
    return panels


def _values(program: SweptProgram) -> Iterator[tuple[str, str, tuple[float, float, float]]]:
    """Unit, label, and value with its interval, of all that is known."""
    for result in program["results"]:
        value, rate = guaranteed(result), as_metric(result["metric"])
        if value is None:
            continue
        unit, scale = (metric_words(result["metric"]), 1) if rate is None else _UNITS[rate]
        yield unit, result["target"], (value / scale,) * 3
        middle, low, high = (result[name] for name in ESTIMATE)  # type: ignore[literal-required]
        if middle is not None:
            yield "ns", f"estimated by {result['target']}", (middle, low, high)
    measured = program["measured"]
    if measured is not None and measured["ns"] is not None:
        value, low, high = measured["ns"], measured["low_ns"], measured["high_ns"]
        ends = (value if low is None else low, value if high is None else high)
        yield "ns", "measured in this kernel", (value, *ends)


def _panel(axes: "Axes", definition: Definition, lines: dict[str, _Line]) -> None:
    places = definition.numbers or [float(at) for at in range(len(definition.values))]
    where = dict(zip(definition.values, places, strict=True))
    for line in lines.values():
        known = sorted((where[value], *ends) for value, ends in line.values.items())
        x, y, low, high = zip(*known, strict=True)
        (drawn,) = axes.plot(x, y, ".-", markersize=5, linewidth=1, label=line.label)
        if low != high:
            axes.fill_between(x, low, high, color=drawn.get_color(), alpha=0.2)
    if definition.numbers is None:
        axes.set_xticks(places, [plain(value) for value in definition.values])
        if len(places) > _MANY:
            axes.tick_params(axis="x", labelrotation=60)
    elif all(place.is_integer() for place in places):
        from matplotlib.ticker import MaxNLocator

        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_ylim(bottom=0)
    axes.legend()
    axes.grid(visible=True, alpha=0.3)
