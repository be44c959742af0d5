"""Types of the JSON documents that `slowpath chain` writes."""

from typing import Literal, NotRequired, TypedDict

from slowpath.chain.report_types import (
    AsIs,
    CallResult,
    Counterexample,
    Dropped,
    Frozen,
    GreatestCost,
    Guard,
    LoopRounds,
    PlannedPath,
    Proof,
    SourceLine,
)
from slowpath.core.schema import Document


class Fact(TypedDict):
    """A property of every packet that arrives at a program."""

    kind: Literal["length", "headroom", "metadata", "bytes", "bits", "values", "equal"]
    """Kind of the property."""
    offset: NotRequired[int]
    """Offset of the first byte from the start of the packet."""
    other: NotRequired[int]
    """For `equal`: offset of the other bytes, which are equal to those at `offset`."""
    bytes: NotRequired[int]
    """For `values` and `equal`: number of bytes."""
    value: NotRequired[str]
    """For `bytes` and `bits`: the value, in hexadecimal."""
    mask: NotRequired[str]
    """For `bits`: mask of the known bits, in hexadecimal."""
    values: NotRequired[list[str]]
    """For `values`: the possible values, in hexadecimal and network byte order."""
    min: NotRequired[int]
    """Minimum in bytes. For `length`: packet length without frame check sequence. For `headroom`
    and `metadata`: bytes in front of the packet."""
    max: NotRequired[int]
    """Maximum in bytes, of the same quantity as `min`."""
    established: list[SourceLine]
    """Source lines of earlier programs that establish the fact."""
    assumed: bool
    """True if no program establishes the fact and `--fact` states it for packets that arrive at
    the first program."""
    if_there: NotRequired[bool]
    """True if packets can be too short to have these bytes; the fact then holds for packets that
    have them."""


class OnDevice(TypedDict):
    """Comparison of a rewritten program with the original on virtual Ethernet (veth)."""

    mode: Literal["native", "generic"]
    """XDP mode: `native` (in the driver) or `generic` (in the kernel's generic code)."""
    frames: int
    """Number of frames that the programs in front let through and for which both programs did the
    same."""
    shortest: int | None
    """Length of the shortest frame that both programs ran on, in bytes; null if there is none."""
    longest: int | None
    """Length of the longest such frame, in bytes; null if there is none."""
    why_not: str | None
    """Reason why the comparison did not run or did not finish; null if it did."""


class Rehearsal(TypedDict):
    """Comparison of a rewritten program with the original in the running kernel."""

    paths: int
    """Number of pairs of paths (one of each program, as the proof pairs them) for which both
    programs ran a packet with map content. These packets run before all others; of many pairs, only
    some are tried."""
    packets: int
    """Number of packets that the programs in front let through and that both programs ran on."""
    arbitrary: int
    """Number of arbitrary packets that both programs ran on; only for a program with a guard."""
    refused: bool
    """True if the kernel's verifier rejects the rewritten program (`why_not`) but not the original.
    The rewritten program is then not written."""
    differs: bool
    """True if the programs behaved differently for a packet (`difference`). The rewritten program
    is then not written."""
    agrees: bool
    """True if both programs did the same for all packets."""
    difference: str | None
    """The difference between both programs, or the reason why it cannot be determined."""
    packet: str | None
    """Packet that shows the difference, in hexadecimal."""
    original_ns: float | None
    """Time of one run of the original in nanoseconds, including the kernel's loop of repeated test
    runs (`BPF_PROG_TEST_RUN`); null if not measured."""
    rewritten_ns: float | None
    """Time of one run of the rewritten program, measured in the same way."""
    frame_ns: float | None
    """Time of one run of an empty program, measured in the same way."""
    restored: bool
    """True if the packet was restored between runs; the times exclude the restoring."""
    rate_ratio: float | None
    """Number of runs of the rewritten program in the time of one run of the original, test-run loop
    included. Median of many turns; null if not measured."""
    rate_ratio_quartiles: list[float]
    """Lower and upper quartile of `rate_ratio` over these turns; empty if not measured."""
    program_ratio: float | None
    """The same ratio after subtracting the time of an empty program; null if too little time of
    either program is left."""
    raised: bool | None
    """True if both programs did the same with a raised generation and other map content; null
    without a generation."""
    why_not: str | None
    """Reason why the comparison did not run or ended early."""
    devices: list[OnDevice]
    """The same comparison on virtual Ethernet in a private network namespace, in each XDP mode. A
    `difference` found on a device names the mode."""
    notes: list[str]
    """Further remarks, one sentence each."""


def must_not_load(rehearsal: Rehearsal | None) -> bool:
    """Return true if a rewritten program must not be loaded, according to its test in the kernel.

    This is so if the kernel rejects it or runs it differently. None stands for a program without a
    test.
    """
    if rehearsal is None:
        return False
    return rehearsal["refused"] or rehearsal["differs"]


class Guarantee(TypedDict):
    """Guaranteed or estimated performance of a program on a target, before and after rewriting.

    It counts only the work of this program, for packets that reach it in this chain.
    """

    target: str
    """Name of the target."""
    unit: str
    """Unit of `before` and `after`. A component that the target counts, such as `instructions`:
    maximum per packet. `ns`: estimated time of the slowest path in this program. `bit/s` or
    `packets/s`: minimum rate."""
    guaranteed: bool
    """True if the values are guaranteed, false if they are estimates."""
    before: float | None
    """Value of the original program; null if not known."""
    after: float | None
    """Value of the rewritten program; null if not known."""
    exact: bool
    """True if known packets reach both values; always false for estimates."""
    bottlenecks: list[str | None]
    """Component or limit of the target that determines the rate, before and after; null if the
    value is not a rate."""
    reasons: list[str]
    """Reasons why a value is not known or not exact, one sentence each."""
    about: list[str]
    """Restrictions on packets and map content, a few words each; empty if the values hold for any:
    `packets as assumed`, `maps blocked, rules as given`, `generation zero`."""
    assumptions: list[str]
    """Conditions for both values, one sentence each."""


class ChainProgram(TypedDict):
    """A program of a chain: facts about the packets that reach it, and its rewritten form."""

    name: str
    """Name of the program in the chain."""
    program: str
    """Name of the program in its object."""
    reached: bool
    """True if a packet can reach the program."""
    never: list[str]
    """Reasons why no packet reaches the program, one sentence for each program before it; else
    empty."""
    facts: list[Fact]
    """Facts about every packet that arrives."""
    facts_with: list[str]
    """Maps of earlier programs, as `PROGRAM:MAP`, whose given content was used to find the facts. A
    program with a guard checks what it relies on and is correct for any content of these maps;
    other programs and the facts may depend on the given content. Empty if the facts hold for any
    content."""
    assumptions: list[str]
    """Conditions for facts and rewriting, one sentence each."""
    queries: int
    """Number of solver queries for the facts."""
    instructions_before: int
    """Number of instructions of the original, in 8-byte slots."""
    instructions_after: int
    """Number of instructions of the rewritten program, including the original behind a guard; equal
    to `instructions_before` if it was not rewritten."""
    frozen: list[Frozen]
    """Maps whose content was given."""
    guard: Guard | None
    """Checks at the entry of the rewritten program; null if it has none."""
    proved: bool | None
    """True if the rewritten program is proved equivalent to the original; null if it was not
    rewritten."""
    proof: Proof | None
    """Effort of the proof; null if there is none."""
    dropped: list[Dropped]
    """Changes to instructions, and the facts that allow each."""
    loops: list[LoopRounds]
    """Loops with a known number of rounds."""
    results: list[CallResult]
    """Helper calls with a known result."""
    remarks: list[str]
    """Further remarks, one sentence each, such as why the program was not rewritten."""
    seconds: float
    """Wall-clock time of rewriting and proof, in seconds."""
    rehearsal: Rehearsal | None
    """Comparison with the original in the running kernel; null without a rewritten program or if
    not requested."""
    measured_rate_ratio: float | None
    """`rate_ratio` of the rehearsal; null if there is none."""
    guarantees: list[Guarantee]
    """Guarantees before and after rewriting; empty without a rewritten program or if not requested
    (`--target`)."""


class Fused(TypedDict):
    """All programs of a chain, fused into a single program without tail calls."""

    instructions_before: int
    """Number of instructions of all original programs, in 8-byte slots."""
    instructions_rewritten: int
    """Number of instructions of the programs before fusing, rewritten where possible."""
    instructions_fused: int
    """Number of instructions of the fused program."""
    instructions_after: int
    """Number of instructions after removing redundant ones from the fused program."""
    proved: bool | None
    """True if the program without redundant instructions is proved equivalent to the fused one;
    null if none were removed."""
    proof: Proof | None
    """Effort of that proof; null if no instructions were removed."""
    assumptions: list[str]
    """Conditions for the fused program, including those of its parts, one sentence each."""
    remarks: list[str]
    """Further remarks, one sentence each."""
    not_written: str | None
    """Reason why the object is not written: not proved, rejected by the kernel, or different there;
    null if it can be written."""
    rehearsal: Rehearsal | None
    """Comparison in the running kernel with the original programs, which call each other by tail
    calls; null if not requested or not proved."""
    seconds: float
    """Wall-clock time of fusing and proof, in seconds."""


class ChainReport(Document):
    """JSON document of `slowpath chain facts` and `slowpath chain optimize`."""

    compiler: NotRequired[str]
    """Version of clang, as clang prints it; absent if nothing was compiled."""
    seconds: float
    """Wall-clock time of the whole command, in seconds."""
    engine_seconds: float
    """Part of `seconds` for facts, rewriting and proofs, without reading, tests in the kernel and
    guarantees."""
    stopped: str | None
    """Reason why the command ended early, if it did."""
    programs: list[ChainProgram]
    """Programs, in the order of the chain description."""
    fused: Fused | None
    """All programs fused into one; null if not requested or not possible."""
    not_fused: str | None
    """Reason why fusing was not possible, if it was requested."""


class HotSpot(TypedDict):
    """A program variant that saves work for some of the packets that arrive at a network node."""

    node: str
    """Name of the node."""
    program: str
    """Name of the program in the topology."""
    variant: str
    """Name of the variant: `all`, or its ingresses."""
    ingresses: list[str]
    """Ingresses whose packets the variant handles: nodes, `outside`, or names from the
    description."""
    share: float
    """Share of all traffic that the variant handles, from 0 to 1."""
    instructions_before: int
    """Number of instructions of the original, in 8-byte slots."""
    instructions_after: int
    """Number of instructions of the variant, including the original behind a guard."""
    guard: Guard | None
    """Checks at the entry of the variant; null if it has none."""
    cost_before: GreatestCost | None
    """Maximum cost of the original for the packets of the variant; null if not known."""
    cost_after: GreatestCost | None
    """Maximum cost of the variant for these packets, guard included; null if not known."""
    gain: float | None
    """Sum over the ingresses of share times the instructions saved for the slowest packet; null if
    not known."""
    facts: list[Fact]
    """Facts about every packet of the variant. On each path, the source lines are those of the
    program that first establishes the fact."""
    rests_on: list[str]
    """Nodes whose programs establish the facts that the variant uses."""
    irrelevant: list[str]
    """Other nodes in front of this one, whose facts the variant does not use."""
    assumptions: list[str]
    """Conditions for this hot spot, one sentence each."""
    remarks: list[str]
    """Further remarks, one sentence each."""
    file: str | None
    """Object file of the variant; null if it was not written."""


class PlanReport(Document):
    """JSON document of `slowpath chain plan`."""

    compiler: NotRequired[str]
    """Version of clang, as clang prints it; absent if nothing was compiled."""
    seconds: float
    """Wall-clock time of the whole command, in seconds."""
    stopped: str | None
    """Reason why the command ended early, if it did."""
    queries: int
    """Number of solver queries, without those of cached results."""
    kept: int
    """Number of results from the cache."""
    computed: int
    """Number of newly computed results."""
    changed: list[str]
    """Programs whose objects changed since this topology was last planned."""
    paths: list[PlannedPath]
    """Paths, in the order of the description."""
    hot_spots: list[HotSpot]
    """Variants of programs, by decreasing gain."""
    as_is: list[AsIs]
    """Programs that stay unchanged for some of their traffic, by decreasing share of traffic."""
    not_looked_at: list[str]
    """Nodes that were skipped for lack of time."""
    unused: list[str]
    """Nodes on no path."""
    notes: list[str]
    """Further remarks, one sentence each."""


class VerifyReport(Document):
    """JSON document of `slowpath chain verify`."""

    first: str
    """Path of the first file."""
    second: str
    """Path of the second file."""
    outcome: Literal["equal", "differ", "undecided"]
    """`equal`: both programs do the same for all packets that satisfy the facts and all map
    content, under the `assumptions`. `differ`: they behave differently for the `counterexample`, as
    a run in the concrete interpreter confirmed. `undecided`: neither was shown."""
    facts: list[str]
    """Assumed facts about packets (`--fact`). With a `place`, they hold for packets that arrive
    at the first program of the chain."""
    place: str | None
    """Program of a chain that both programs replace (`--chain`), for packets that pass the programs
    in front; null if both are compared for any packet."""
    assumptions: list[str]
    """Conditions for the outcome, one sentence each."""
    undecided: list[str]
    """Reasons why the outcome is not decided, one sentence each."""
    shared: list[str]
    """Maps that both programs share: they have the same name and definition."""
    counterexample: Counterexample | None
    """Input for which the programs differ; null unless they do."""
    proof: Proof
    """Effort of the proof."""
    stopped: str | None
    """Reason why the command ended early, if it did."""
