"""Shape of results, as the engine writes them in JSON.

That of `documents/bound.json` is the engine's own; a test holds these types against it. What older
versions did not write is None after `saved` has read it.
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
    """Something that a device cannot run."""

    instruction: int | None  # None: the program as a whole
    place: str  # section, instruction and source line; empty for the program as a whole
    reason: str
    hint: str  # empty: nothing helps but another target
    times: int  # instructions that are refused for this reason


Verdict = Literal["exact", "conditional", "bound"]
"""What is known of a guarantee: a packet comes up to it; so it does if the assumptions hold; it
holds if they do, and the search stopped before a packet was found."""


class Bound(TypedDict):
    """A bound on a program: the guarantee, or the naive bound.

    Either rates or, on targets that count, `counts`; the others are None.
    """

    bitrate_bps: float | None
    packetrate_pps: float | None
    counts: dict[str, int] | None
    verdict: Verdict | None  # None: of an older version, before `saved` fills it in
    exact: bool  # whether the verdict is that
    stopped: str | None
    bottleneck: str | None
    components: dict[str, float | None] | None  # packets/s; None: sets no limit


@final
class Memory(TypedDict):
    """Content that a witness needs in memory without keys."""

    offset: int
    bytes: str


@final
class MapElement(TypedDict):
    """An element that a witness needs in a map of a BPF object."""

    map: NotRequired[str]  # that it is in, of those that a map of maps holds
    key: str
    value: str | dict[str, str] | None  # None: there must be no element with this key


@final
class HeldMap(TypedDict):
    """A map that a map of maps holds."""

    key: str
    map: str


@final
class QueueElement(TypedDict):
    """An element of a queue or stack."""

    value: str | dict[str, str]


@final
class Fill(TypedDict):
    """How full a map out of a map of maps is, and how large."""

    others: NotRequired[int]  # elements with other keys
    max_entries: NotRequired[int]
    map: str


@final
class Others(TypedDict):
    """How many elements with other keys a map has."""

    others: int


MapContent = Memory | MapElement | HeldMap | QueueElement | Fill | Others
"""Content that a witness needs in a map."""


class Unknown(TypedDict):
    """A value that an instruction has to yield, which nothing determines."""

    instruction: int
    text: str
    file: str | None  # None: the source line is not known
    line: int | None
    call: str | None  # None, with `result` and `meaning`: of an older version
    result: str | None
    value: int
    meaning: str | None


@final
class Named(TypedDict):
    """A value that a path needs at the start, such as a field of the context."""

    name: str
    value: int


@final
class Surroundings(TypedDict):
    """Bytes that a path needs at the start, around the packet or on the stack."""

    memory: str
    offset: int  # of the first byte; negative in front of what `memory` names
    bytes: str


class Witness(TypedDict):
    """A packet that takes a path, and what else it needs."""

    packet: str
    length: int
    maps: dict[str, list[MapContent]]
    unknowns: list[Unknown]
    environment: list[Named | Surroundings] | None  # None: of an older version


class PathLine(TypedDict):
    """A source line of a path, and how many instructions of it the path executes."""

    file: str
    line: int
    text: str  # empty: not in the object
    instructions: int


USUAL_ENDS = (0.92, 1.14)
"""Between these parts of its estimate a whole program takes 90 of 100 times, where a calibration
explains its check programs: those of `bench/estimates.py` did."""


class PathEstimate(TypedDict):
    """What a path is estimated to take on one core, hot, in the kernel's loop for test runs."""

    ns: float
    low_ns: float  # 90 of 100 measurements are between these
    high_ns: float
    program_ns: float  # what the program adds to the loop
    packetrate_pps: float


class Estimate(PathEstimate):
    """What the slowest path is estimated to take."""

    machine: str
    date: str
    doubt: str | None  # why its calibration is not good enough
    entries: int  # of each map that has room for so many
    candidates: int  # paths that were estimated
    stopped: str | None  # why no more were looked for


class PathResult(TypedDict):
    """A satisfiable path."""

    cost: dict[str, float]
    min_packet_size: int
    bitrate_bps: float | None
    packetrate_pps: float | None
    bottleneck: str | None
    estimate: PathEstimate | None  # None: the target does not estimate, or of an older version
    edges: list[tuple[int, int]]
    source: list[tuple[str, int]]
    lines: list[PathLine]
    witness: Witness
    relies_on: NotRequired[list[str]]  # besides; those of the slowest path are assumptions


class ProfileProgram(TypedDict):
    """What a program of a chain costs on a path."""

    program: str
    instructions: int
    cost: dict[str, float]


class ProfileLine(TypedDict):
    """What a source line costs on a path; lines of different functions are told apart."""

    file: str
    line: int
    text: str  # empty: not in the object
    function: str | None
    runs: int
    instructions: int
    cost: dict[str, float]


class ProfileInstruction(TypedDict):
    """What an instruction costs on a path, all of its runs together."""

    instruction: int
    text: str
    function: str | None
    line: int | None  # index into the lines of the profile; None: not known
    runs: int
    cost: dict[str, float]


class Profile(TypedDict):
    """Where the cost of a path goes."""

    cost: dict[str, float]
    overhead: dict[str, float]
    programs: list[ProfileProgram] | None  # of a chain; None: of an older version
    lines: list[ProfileLine]
    instructions: list[ProfileInstruction]


class Stats(TypedDict):
    """What the search did."""

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
    kind: str | None  # of an object's program: `xdp`, or `unknown` and taken for it
    target: str
    metric: str
    cores: int | None  # None: the target has none
    guarantee: Bound | None
    interleaved: NotRequired[Bound]  # while other CPUs write to maps, if that is worse
    naive: Bound | None
    estimate: Estimate | None  # None: the target does not estimate, or of an older version
    paths: list[PathResult]
    profile: Profile | None  # of the path behind the guarantee
    assumptions: list[str]  # what the guarantee depends on
    cuts: list[str] | None  # those that cut loops which run more often; None: of an older version
    notes: list[str] | None  # no conditions; None: of an older version
    stats: Stats
    refusals: list[Refusal] | None  # None: written by an older version
    error: str | None


class Stretch(TypedDict):
    """Instructions of one source line that are executed one after the other."""

    line: int | None  # index into the lines of the path; None: not known
    first: int
    last: int
    instructions: int


class PathDetail(TypedDict):
    """What only the human report says about a path."""

    ranges: list[tuple[int, int]]  # first and last instruction of stretches without a jump
    exit: int  # number of the way out of the program
    listing: list[tuple[int, str]]  # instructions as executed: number and text
    stretches: list[Stretch]  # the path as source lines


class Failure(TypedDict):
    """What is known of an error; None where something is not."""

    kind: Literal["input", "refused", "option", "option-file", "unavailable", "stopped", "defect"]
    what: str  # what is wrong, without the place where that is `option` and `line`
    option: str | None  # the one that names a file which cannot be used, such as `--maps`
    line: int | None  # in that file, or in a listing
    section: str | None
    instruction: int | None
    stopped: str | None  # why there is no bound: `deadline`, `interrupted`, `memory limit`, ...


class Detail(TypedDict):
    """What only the human report says about a program."""

    paths: list[PathDetail]
    code: list[Instruction]  # of the whole program
    failure: Failure | None  # what is known of the error of the result
    unmatched: list[str]  # limits of --unroll about lines that the program has no code of


NO_FAILURE: Failure = {
    "kind": "input",
    "what": "",
    "option": None,
    "line": None,
    "section": None,
    "instruction": None,
    "stopped": None,
}
"""Nothing is known of an error but that the program, or its file, is to blame."""
DESCRIBED_PATHS = 100
"""So many paths are described to people; more of them are a number and a range."""
NO_DETAIL: Detail = {
    "paths": [],
    "code": [],
    "failure": None,
    "unmatched": [],
}
"""Nothing is to be said about a program but its result."""


def failed_result(file: str, target: str, metric: str, error: str) -> Result:
    """The result of a file that could not be analysed."""
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
