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
    usage: bool  # whether the error is one of the options, whatever the program


def metric_rate(bound: Bound | PathResult, metric: Metric) -> float:
    """The rate of a bound or path that the metric is about."""
    return bound["bitrate_bps"] if metric == "bitrate" else bound["packetrate_pps"]


def own_rate(result: Result) -> float | None:
    """The guarantee without the fixed limits of the device, None when no packet size is known.

    What is left are the components that the program loads: those that its paths have a cost on.
    """
    guarantee, metric = result["guarantee"], result["metric"]
    if guarantee is None or not guarantee["exact"] or not result["paths"]:
        return None
    slowest = result["paths"][0]
    rates = (guarantee["components"].get(name) for name in slowest["cost"])
    packets = min((rate for rate in rates if rate is not None), default=None)
    if packets is None or metric == "packetrate":
        return packets
    return packets * 8 * slowest["min_packet_size"]


def is_capped(result: Result) -> bool:
    """Whether a fixed limit of the device and not the program sets the guarantee."""
    guarantee = result["guarantee"]
    if guarantee is None or not result["paths"]:
        return False
    return guarantee["bottleneck"] not in result["paths"][0]["cost"]


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
