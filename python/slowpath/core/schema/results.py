"""Types of results, as the engine writes them in JSON.

The schema `documents/bound.json` is derived from the engine's types; a test compares it with the
types here. Keys that older versions did not write are None after `saved` has read them.
"""

from typing import Literal, NotRequired, TypedDict, final


class Line(TypedDict):
    """A source line."""

    file: str
    line: int
    text: str  # empty: not in the object


class Instruction(TypedDict):
    """An instruction of a listing."""

    instruction: int
    text: str
    source: Line | None


class Refusal(TypedDict):
    """A reason why a device cannot run a program."""

    instruction: int | None  # None: the program as a whole
    place: str  # section, instruction and source line; empty for the program as a whole
    reason: str
    hint: str  # advice; empty: only another target helps
    times: int  # number of instructions with this reason


Verdict = Literal["exact", "conditional", "bound"]
"""Verdict of a guarantee. `exact`: a packet reaches the guarantee. `conditional`: a packet reaches
it if the assumptions hold. `bound`: the guarantee holds under the assumptions, but the search
stopped before it found such a packet."""


class Bound(TypedDict):
    """A bound on a program: the guarantee, or the naive bound.

    It has rates, or on counting targets `counts`; the other keys are None.
    """

    bitrate_bps: float | None
    packetrate_pps: float | None
    counts: dict[str, int] | None
    verdict: Verdict | None  # None: from an older version, before `saved` fills it in
    exact: bool  # true if the verdict is `exact`
    stopped: str | None
    bottleneck: str | None
    components: dict[str, float | None] | None  # packets/s; None: sets no limit


@final
class Memory(TypedDict):
    """Content that a witness needs in a map without keys."""

    offset: int
    bytes: str


@final
class MapElement(TypedDict):
    """An element that a witness needs in a map of a BPF object."""

    map: NotRequired[str]  # the inner map with the element, for maps of maps
    key: str
    value: str | dict[str, str] | None  # None: there must be no element with this key


@final
class HeldMap(TypedDict):
    """An inner map of a map of maps."""

    key: str
    map: str


@final
class QueueElement(TypedDict):
    """An element of a queue or stack."""

    value: str | dict[str, str]


@final
class Fill(TypedDict):
    """Fill level and size of an inner map of a map of maps."""

    others: NotRequired[int]  # number of elements with other keys
    max_entries: NotRequired[int]
    map: str


@final
class Others(TypedDict):
    """Number of elements with other keys in a map."""

    others: int


MapContent = Memory | MapElement | HeldMap | QueueElement | Fill | Others
"""Content that a witness needs in a map."""


class Unknown(TypedDict):
    """A value that an instruction has to yield and that no input determines, such as a time."""

    instruction: int
    text: str
    file: str | None  # None: unknown source line
    line: int | None
    call: str | None  # None, as `result` and `meaning`: from an older version
    result: str | None
    value: int
    meaning: str | None


@final
class Named(TypedDict):
    """An initial value that a path needs, such as a field of the context."""

    name: str
    value: int


@final
class Surroundings(TypedDict):
    """Initial bytes that a path needs, around the packet or on the stack."""

    memory: str
    offset: int  # of the first byte; negative: before the start of `memory`
    bytes: str


class Witness(TypedDict):
    """A packet that takes a path, and the map content and values that the path needs."""

    packet: str
    length: int
    maps: dict[str, list[MapContent]]
    unknowns: list[Unknown]
    environment: list[Named | Surroundings] | None  # None: from an older version


class PathLine(TypedDict):
    """A source line of a path, with the number of its instructions that the path executes."""

    file: str
    line: int
    text: str  # empty: not in the object
    instructions: int


USUAL_ENDS = (0.92, 1.14)
"""Usual ends of the 90 % interval of a whole program's time, as factors of its estimate. They hold
for calibrations that explain their check programs, as measured in `bench/estimates.py`."""


class PathEstimate(TypedDict):
    """Estimated time of a path on one core with warm caches, in the kernel's loop of test runs."""

    ns: float
    low_ns: float  # 90 of 100 measurements are between `low_ns` and `high_ns`
    high_ns: float
    program_ns: float  # time of the program without the loop
    packetrate_pps: float


class Estimate(PathEstimate):
    """Estimated time of the slowest path."""

    machine: str
    date: str
    doubt: str | None  # reason against the calibration, if it is not good enough
    entries: int  # entries in each map that has room for them
    candidates: int  # number of paths that were estimated
    stopped: str | None  # reason why the search for paths ended early


class PathResult(TypedDict):
    """A satisfiable path."""

    cost: dict[str, float]
    min_packet_size: int
    bitrate_bps: float | None
    packetrate_pps: float | None
    bottleneck: str | None
    estimate: PathEstimate | None  # None: target without estimates, or from an older version
    edges: list[tuple[int, int]]
    source: list[tuple[str, int]]
    lines: list[PathLine]
    witness: Witness
    relies_on: NotRequired[list[str]]  # conditions; those of the slowest path are assumptions


class ProfileProgram(TypedDict):
    """Cost of a program of a chain on a path."""

    program: str
    instructions: int
    cost: dict[str, float]


class ProfileLine(TypedDict):
    """Cost of a source line on a path, separate for each function that contains the line."""

    file: str
    line: int
    text: str  # empty: not in the object
    function: str | None
    runs: int
    instructions: int
    cost: dict[str, float]


class ProfileInstruction(TypedDict):
    """Total cost of an instruction on a path, over all its runs."""

    instruction: int
    text: str
    function: str | None
    line: int | None  # index into the lines of the profile; None: unknown
    runs: int
    cost: dict[str, float]


class Profile(TypedDict):
    """Cost of a path, by program, source line and instruction."""

    cost: dict[str, float]
    overhead: dict[str, float]
    programs: list[ProfileProgram] | None  # of a chain; None: from an older version
    lines: list[ProfileLine]
    instructions: list[ProfileInstruction]


class Stats(TypedDict):
    """Statistics of the search."""

    seconds: float
    candidates: int
    sat: int
    unsat: int
    nogoods: int
    solver_checks: int
    solver_seconds: float


class Result(TypedDict):
    """The result of one program: a guarantee, or an error."""

    file: str
    section: str | None  # of an object; None: a listing, or a chain
    program: str
    kind: str | None  # of an object's program: `xdp`, or `unknown`, which is analysed as XDP
    target: str
    metric: str
    cores: int | None  # None: a target without cores
    guarantee: Bound | None
    interleaved: NotRequired[Bound]  # guarantee while other CPUs write to maps, if it is worse
    naive: Bound | None
    estimate: Estimate | None  # None: target without estimates, or from an older version
    paths: list[PathResult]
    profile: Profile | None  # of the path that determines the guarantee
    assumptions: list[str]  # conditions of the guarantee
    cuts: list[str] | None  # assumptions that cut longer loops short; None: from an older version
    notes: list[str] | None  # remarks that are not conditions; None: from an older version
    stats: Stats
    refusals: list[Refusal] | None  # None: from an older version
    error: str | None


class Stretch(TypedDict):
    """Instructions of one source line that run one after the other."""

    line: int | None  # index into the lines of the path; None: unknown
    first: int
    last: int
    instructions: int


class PathDetail(TypedDict):
    """Details of a path that only the text report shows."""

    ranges: list[tuple[int, int]]  # first and last instruction of stretches without a jump
    exit: int  # number of the program's exit
    listing: list[tuple[int, str]]  # instructions as executed: number and text
    stretches: list[Stretch]  # the path as source lines


class Failure(TypedDict):
    """Details of an error; None: unknown."""

    kind: Literal["input", "refused", "option", "option-file", "unavailable", "stopped", "defect"]
    what: str  # message; without its place if `option` and `line` state it
    option: str | None  # option with an invalid file, such as `--maps`
    line: int | None  # line in the option's file, or in a listing
    section: str | None
    instruction: int | None
    stopped: str | None  # reason for a missing bound: `deadline`, `interrupted`, `memory limit`


class Detail(TypedDict):
    """Details of a program that only the text report shows."""

    paths: list[PathDetail]
    code: list[Instruction]  # of the whole program
    failure: Failure | None  # details of the result's error
    unmatched: list[str]  # limits of --unroll for source lines without code in the program


NO_FAILURE: Failure = {
    "kind": "input",
    "what": "",
    "option": None,
    "line": None,
    "section": None,
    "instruction": None,
    "stopped": None,
}
"""Default details of an error: a problem of the program or its file."""
DESCRIBED_PATHS = 100
"""Number of paths that reports describe; of further paths they show number and range."""
NO_DETAIL: Detail = {
    "paths": [],
    "code": [],
    "failure": None,
    "unmatched": [],
}
"""Empty details of a program."""


def failed_result(file: str, target: str, metric: str, error: str) -> Result:
    """Return the result of a file that could not be analysed."""
    return {
        "file": file,
        "section": None,
        "program": "",
        "kind": None,
        "target": target,
        "metric": metric,
        "cores": 0,
        "guarantee": None,
        "naive": None,
        "estimate": None,
        "paths": [],
        "profile": None,
        "assumptions": [],
        "cuts": [],
        "notes": [],
        "stats": {
            "seconds": 0.0,
            "candidates": 0,
            "sat": 0,
            "unsat": 0,
            "nogoods": 0,
            "solver_checks": 0,
            "solver_seconds": 0.0,
        },
        "refusals": [],
        "error": error,
    }
