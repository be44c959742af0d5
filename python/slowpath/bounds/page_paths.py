"""Selects the paths that the HTML page of a program shows, with their costs by source line.

The page shows each path with the same elements; the reader chooses the path
(`slowpath.core.html.explorer`).
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from slowpath.core.html.explorer import PATHS, path_classes
from slowpath.core.schema.derived import is_found, main_component
from slowpath.core.schema.results import Detail, PathBranch, PathDetail, PathResult, Profile, Result

_CELLS = 12_000
"""Approximate maximum number of rows times paths, to limit the size of pages."""

Place = tuple[str, int]
"""A source location: file and line."""


class LineCost(NamedTuple):
    """Cost of a source line, or of an instruction, on a path."""

    runs: int
    cost: Mapping[str, float]  # by component
    share: float  # of the path's cost on the main component, from 0 to 1


class Way(NamedTuple):
    """A path that the page shows."""

    number: int  # from 1
    profile: Profile
    path: PathResult | None  # None: possibly no packet takes the path
    detail: PathDetail | None
    component: str  # component that shares refer to

    @property
    def classes(self) -> str:
        """CSS classes of elements that belong to this path."""
        return path_classes(self.number)

    @property
    def branches(self) -> Sequence[PathBranch]:
        """Branches of the path that depend on inputs."""
        return [] if self.detail is None else self.detail["branches"]

    def lines(self) -> dict[Place, LineCost]:
        """Return the costs of source lines; copies in several functions are joined."""
        runs, costs = dict[Place, int](), dict[Place, dict[str, float]]()
        for line in self.profile["lines"]:
            place = (line["file"], line["line"])
            runs[place] = runs.get(place, 0) + line["runs"]
            total = costs.setdefault(place, {})
            for name, cost in line["cost"].items():
                total[name] = total.get(name, 0) + cost
        return {place: self._cost(runs[place], cost) for place, cost in costs.items()}

    def instructions(self) -> dict[int, LineCost]:
        """Return the costs of the instructions that the path executes."""
        entries = self.profile["instructions"]
        return {one["instruction"]: self._cost(one["runs"], one["cost"]) for one in entries}

    def _cost(self, runs: int, cost: Mapping[str, float]) -> LineCost:
        total = self.profile["cost"].get(self.component, 0)
        return LineCost(runs, cost, cost.get(self.component, 0) / total if total else 0.0)


def ways_of(result: Result, detail: Detail) -> list[Way]:
    """Return the paths to show, slowest first; none without a guarantee.

    While the guarantee is only a bound, the first one is the path that sets the bound, and perhaps
    no packet takes it.
    """
    guarantee, component = result["guarantee"], main_component(result)
    if guarantee is None or component is None or result["profile"] is None:
        return []
    rows = len({_place(one) for one in detail["code"]})
    most = max(1, min(PATHS, _CELLS // max(rows, 1)))
    ways = list[Way]()
    if not is_found(guarantee):
        ways.append(Way(1, result["profile"], None, None, component))
    for path, one in zip(result["paths"], detail["paths"], strict=False):
        profile = one["profile"]
        if len(ways) < most and profile is not None:
            ways.append(Way(len(ways) + 1, profile, path, one, component))
    return ways or [Way(1, result["profile"], None, None, component)]


def _place(code: Mapping[str, object]) -> object:
    source = code["source"]
    if isinstance(source, dict):
        return source["file"], source["line"]
    return code["instruction"]
