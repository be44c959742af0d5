"""The shape of results, as the engine delivers them in JSON and `docs/json.md` describes them."""

from typing import TypedDict, final

from slowpath.rates import Metric


class Bound(TypedDict):
    """A bound on the rate of a program: the guarantee, or the naive bound."""

    bitrate_bps: float
    packetrate_pps: float
    exact: bool
    stopped: str | None
    bottleneck: str
    components: dict[str, float | None]  # packets/s; None: sets no limit


@final
class Memory(TypedDict):
    """Content that a witness needs in memory without keys."""

    offset: int
    bytes: str


@final
class Entry(TypedDict):
    """Content that a witness needs in a map with keys."""

    key: str
    value: str


class Witness(TypedDict):
    """A packet that takes a path, and the map content it needs."""

    packet: str
    length: int
    maps: dict[str, list[Memory | Entry]]


class PathResult(TypedDict):
    """A satisfiable path."""

    cost: dict[str, float]
    min_packet_size: int
    bitrate_bps: float
    packetrate_pps: float
    bottleneck: str
    edges: list[tuple[int, int]]
    source: list[tuple[str, int]]
    witness: Witness


class Stats(TypedDict):
    """What the search did."""

    seconds: float
    candidates: int
    sat: int
    unsat: int
    nogoods: int
    solver_seconds: float


class Result(TypedDict):
    """The result of one program: a guarantee, or an error."""

    file: str
    program: str
    target: str
    metric: Metric
    cores: int
    guarantee: Bound | None
    naive: Bound | None
    paths: list[PathResult]
    assumptions: list[str]
    stats: Stats
    error: str | None


class PathDetail(TypedDict):
    """What only the human report says about a path."""

    ranges: list[tuple[int, int]]  # first and last instruction of stretches without a jump
    exit: int  # number of the way out of the program
    listing: list[tuple[int, str]]  # instructions as executed: number and text


class Detail(TypedDict):
    """What only the human report says about a program."""

    paths: list[PathDetail]
    stopped: str | None  # why there is no bound at all, when that is for lack of time


def metric_rate(bound: Bound | PathResult, metric: Metric) -> float:
    """The rate of a bound or path that the metric is about."""
    return bound["bitrate_bps"] if metric == "bitrate" else bound["packetrate_pps"]


def failed_result(file: str, target: str, metric: Metric, error: str) -> Result:
    """The result of a file that could not be analysed."""
    return {
        "file": file,
        "program": "",
        "target": target,
        "metric": metric,
        "cores": 0,
        "guarantee": None,
        "naive": None,
        "paths": [],
        "assumptions": [],
        "stats": {
            "seconds": 0.0,
            "candidates": 0,
            "sat": 0,
            "unsat": 0,
            "nogoods": 0,
            "solver_seconds": 0.0,
        },
        "error": error,
    }
