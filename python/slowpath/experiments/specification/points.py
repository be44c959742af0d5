"""The values of a sweep, and all parameters of a component at one of them."""

from slowpath.experiments.specification.components import COMPONENTS, SIZE, Number
from slowpath.experiments.specification.documents import Experiment, Sweep

Settings = dict[str, int | str]
"""A value for each parameter of a component, and for `size`."""


def values_of(sweep: Sweep, step: int = 1) -> list[int]:
    """What the parameter is at each point, in order; each value once, each a multiple of a step."""
    first, last, points = sweep["first"], sweep["last"], sweep["points"]
    if points == 1 or first == last:
        return [first]
    shares = [at / (points - 1) for at in range(points)]
    if sweep["scale"] == "log" and first > 0:
        exact = [first * (last / first) ** share for share in shares]
    else:
        exact = [first + (last - first) * share for share in shares]
    rounded = {round(value / step) * step for value in exact[1:-1]}
    return sorted({first, last, *(value for value in rounded if first < value < last)})


def points_of(experiment: Experiment) -> list[int]:
    """The values of an experiment's parameter."""
    sweep = experiment["component"]["sweep"]
    swept = COMPONENTS[experiment["component"]["kind"]].parameters.get(sweep["parameter"])
    return values_of(sweep, swept.step if isinstance(swept, Number) else 1)


def settings_at(experiment: Experiment, value: int) -> Settings:
    """All parameters where the swept one has this value."""
    part = experiment["component"]
    settings: Settings = {SIZE: experiment["traffic"]["size"]}
    for name, parameter in COMPONENTS[part["kind"]].parameters.items():
        settings[name] = parameter.usual if isinstance(parameter, Number) else parameter.words[0]
    return settings | part["fixed"] | {part["sweep"]["parameter"]: value}


def number_of(settings: Settings, name: str) -> int:
    """A parameter that is a number; 0 where the component has none of that name."""
    return int(settings.get(name, 0))
