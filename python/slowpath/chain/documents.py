"""Shape of the documents of `slowpath chain`."""

from typing import Literal, NotRequired, TypedDict


class SourceLine(TypedDict):
    """A line of a program's source."""

    program: str
    """The program's name in the chain, or in the topology."""
    file: str
    """The file."""
    line: int
    """From 1."""
    text: str
    """The line's text; empty if it is not known."""


class Fact(TypedDict):
    """What holds of every packet that arrives at a program."""

    kind: Literal["length", "headroom", "metadata", "bytes", "bits", "values", "equal"]
    """What it is about."""
    offset: NotRequired[int]
    """Where the bytes begin, from the packet's first one."""
    other: NotRequired[int]
    """Of `equal`: where the bytes begin that they are equal to."""
    bytes: NotRequired[int]
    """Of `values` and `equal`: how many bytes."""
    value: NotRequired[str]
    """Of `bytes` and `bits`: what they are, in hexadecimal."""
    mask: NotRequired[str]
    """Of `bits`: which, in hexadecimal."""
    values: NotRequired[list[str]]
    """Of `values`: in hexadecimal, network byte order."""
    min: NotRequired[int]
    """Of `length`, without frame check sequence, and of `headroom` and `metadata` in front of the
    packet: the least, in bytes."""
    max: NotRequired[int]
    """The greatest."""
    established: list[SourceLine]
    """The lines of earlier programs that establish it."""
    assumed: bool
    """Whether none does, and it is taken for granted of packets that arrive at the first program
    (`--assume`)."""
    if_there: NotRequired[bool]
    """Whether packets can be too short to have these bytes: it holds of those that have them."""


class Frozen(TypedDict):
    """A map whose content was given."""

    map: str
    """Its name in the program's object."""
    entries: int
    """How many entries were given."""
    used: bool
    """Whether the rewritten program relies on it."""
    why_not: str | None
    """Why it is not frozen; null if it is."""


class Guard(TypedDict):
    """What a program checks itself before it relies on it."""

    length: int
    """The least length of packets, in bytes."""
    comparisons: int
    """How many comparisons of bytes there are."""
    bytes: int
    """How many bytes they compare."""
    generation: str | None
    """The map whose content has to be zero; null if nothing of maps is relied on."""
    instructions: int
    """How many instructions there are without the original, in 8-byte slots."""


class Proof(TypedDict):
    """How much work a proof was."""

    paths: int
    """Paths of the original that were proved."""
    pairs: int
    """Pairs of paths that were compared."""
    queries: int
    """Questions to the solver."""
    seconds: float
    """Wall-clock time."""
    assumptions: list[str]
    """What it relies on, one sentence each."""


class Dropped(TypedDict):
    """What became of an instruction, and why."""

    slot: int
    """Its number in the original program, in 8-byte slots."""
    instruction: str
    """The instruction."""
    line: SourceLine | None
    """Its source line, if known."""
    change: str
    """`always taken`, `never taken`, `decided by the way there`, `always 0x..`, `operand always
    0x..`, `no effect`, or `found by N comparisons` (a look-up whose map is frozen)."""
    bytes: list[int]
    """Offsets of the bytes of the packet that are the reason, ascending."""
    length: bool
    """Whether the packet's length is part of the reason."""
    room: bool
    """Whether what lies around the packet is part of the reason: the room in front of it, and
    metadata."""
    maps: list[str]
    """The maps whose content is part of the reason."""


class LoopRounds(TypedDict):
    """How many rounds a loop has, for packets that arrive, whenever control gets to it."""

    slot: int
    """The number of its first instruction in the original program, in 8-byte slots."""
    line: SourceLine | None
    """The source line of that, if known."""
    least: int
    """How often control gets to that instruction at least: that there is nothing left to do counts,
    where that is found out there."""
    most: int
    """How often at most."""


class CallResult(TypedDict):
    """What a call of a helper returns, for all packets that arrive, whenever control gets to it."""

    slot: int
    """The number of the call in the original program, in 8-byte slots."""
    helper: str
    """The name of the helper."""
    line: SourceLine | None
    """The source line, if known."""
    returns: int | None
    """What it returns; null if that is the address of an entry of a map."""


class OnDevice(TypedDict):
    """Frames that a rewritten program and the original got on virtual Ethernet (veth)."""

    mode: Literal["native", "generic"]
    """The mode of XDP: in the driver (`native`), or in the kernel's generic code."""
    frames: int
    """Frames that the programs in front let through, and with which both did the same."""
    shortest: int | None
    """The length of the shortest of all frames that both ran, in bytes; null if there is none."""
    longest: int | None
    """The length of the longest, in bytes; null if there is none."""
    why_not: str | None
    """Why both were not compared there, or not to the end; null if they were."""


class Rehearsal(TypedDict):
    """What the running kernel says of a rewritten program beside the original."""

    paths: int
    """Pairs of paths of both programs, as the proof goes through them, for each of which a packet
    with map content went through both, ahead of all others; of many pairs, some."""
    packets: int
    """Packets that the programs in front let through, and that went through both."""
    arbitrary: int
    """Arbitrary packets that went through both, of a program with a guard."""
    refused: bool
    """Whether the kernel's verifier refuses the rewritten program (`why_not`), and not the
    original: it is not written then."""
    differs: bool
    """Whether both did something else with a packet (`difference`): it is not written then."""
    agrees: bool
    """Whether both did the same with all of them."""
    difference: str | None
    """What they did differently, or why that cannot be told."""
    packet: str | None
    """The packet with which they did, in hexadecimal."""
    original_ns: float | None
    """What a run of the original takes in the kernel's loop of repeated test runs
    (`BPF_PROG_TEST_RUN`), which is included; null if not measured."""
    rewritten_ns: float | None
    """The same of the rewritten program."""
    frame_ns: float | None
    """The same of an empty program."""
    restored: bool
    """Whether the packet was put back between runs: the time for that is not included."""
    rate_ratio: float | None
    """How many runs of the rewritten program there are in the time of one of the original,
    everything included, the median of many turns; null if not measured."""
    rate_ratio_quartiles: list[float]
    """The quartiles of these turns, the lower one first; empty if not measured."""
    program_ratio: float | None
    """The same ratio of the programs alone, without what an empty program takes; null where too
    little is left of one to tell."""
    raised: bool | None
    """Whether both did the same when the generation was raised, with other content of maps; null
    where there is none."""
    why_not: str | None
    """Why it was not tried, or ended early."""
    devices: list[OnDevice]
    """The same on virtual Ethernet, in a network namespace of its own, in each mode of XDP. A
    `difference` that shows there names the mode."""
    notes: list[str]
    """What else there is to say, one sentence each."""


def withheld(rehearsal: Rehearsal | None) -> bool:
    """Whether the kernel says of a rewritten program what it may not: nobody is to load it."""
    if rehearsal is None:
        return False
    return rehearsal["refused"] or rehearsal["differs"]


class Guarantee(TypedDict):
    """What a program of a chain takes on a target, as it was and rewritten.

    It is about packets that get to it in this chain, and its own work only.
    """

    target: str
    """Name of the target."""
    unit: str
    """What it is: a component that the target counts, such as `instructions`, of which a packet
    takes so many at most; `ns`, the time that the slowest path is estimated to take in the program;
    `bit/s` or `packets/s`, which the program is not slower than."""
    guaranteed: bool
    """Whether it is guaranteed, and not estimated."""
    before: float | None
    """Of the program as it was; null if it is not known."""
    after: float | None
    """Of the rewritten program; null if it is not known."""
    exact: bool
    """Whether packets are known that take as much, before and after; never of estimates."""
    bottlenecks: list[str | None]
    """The component or limit of the target that sets the rate, before and after; null where there
    is no rate."""
    reasons: list[str]
    """Why one of them is not known, or not exact, one sentence each."""
    about: list[str]
    """What both are about, if not about any packets and any content of maps, in a few words each:
    `packets as assumed`, `maps blocked, rules as given`, `generation zero`."""
    assumptions: list[str]
    """Conditions that they depend on, one sentence each."""


class ChainProgram(TypedDict):
    """A program of a chain: what arrives there, and what it was rewritten to."""

    name: str
    """Its name in the chain."""
    program: str
    """Its name in its object."""
    reached: bool
    """Whether any packet gets to it."""
    never: list[str]
    """If none does, why: one sentence for each program before it."""
    facts: list[Fact]
    """What holds of every packet that arrives."""
    facts_with: list[str]
    """The maps of programs in front that facts are found with the given content of, each as
    `PROGRAM:MAP`. A program with a guard checks what it relies on, whatever they hold; others, and
    the facts themselves, may rest on it. Empty where facts are the same for any content."""
    assumptions: list[str]
    """Conditions that this depends on, one sentence each."""
    queries: int
    """Questions to the solver, for the facts."""
    instructions_before: int
    """How many instructions it has, in 8-byte slots."""
    instructions_after: int
    """How many it has when rewritten, the original behind a guard included; as before if it is
    not."""
    frozen: list[Frozen]
    """The maps whose content was given."""
    guard: Guard | None
    """What it checks itself before it relies on it; null if it does not."""
    proved: bool | None
    """Whether it is proved that the rewritten program does the same; null if there is none."""
    proof: Proof | None
    """How much work the proof was; null if there is none."""
    dropped: list[Dropped]
    """What became of instructions, and for which facts."""
    loops: list[LoopRounds]
    """The loops of which it is known how many rounds they have."""
    results: list[CallResult]
    """The calls of helpers of which it is known what they return."""
    remarks: list[str]
    """What else there is to say, one sentence each: why it stays as it was."""
    seconds: float
    """Wall-clock time for rewriting and proof."""
    rehearsal: Rehearsal | None
    """What the running kernel says of the rewritten program; null where there is none, or where it
    was not asked."""
    measured_rate_ratio: float | None
    """The `rate_ratio` of the rehearsal; null where there is none."""
    guarantees: list[Guarantee]
    """What it is guaranteed to take, before and after; empty where there is no rewritten program,
    or where that was not asked for (`--target`)."""


class Fused(TypedDict):
    """The programs of a chain as one."""

    instructions_before: int
    """How many instructions the programs have as they were written, in 8-byte slots."""
    instructions_rewritten: int
    """How many those have that were fused: rewritten, as far as they were."""
    instructions_fused: int
    """How many the fused program has."""
    instructions_after: int
    """How many it has when what is there twice is left out."""
    proved: bool | None
    """Whether it is proved that it does then what it did as it was fused; null if nothing was left
    out."""
    proof: Proof | None
    """How much work that was; null if nothing was left out."""
    assumptions: list[str]
    """Conditions that it depends on, those of all its programs among them, one sentence each."""
    remarks: list[str]
    """What else there is to say, one sentence each."""
    not_written: str | None
    """Why its object is not written: it is not proved, the kernel refuses it, or it differs there;
    null where nothing is in the way."""
    rehearsal: Rehearsal | None
    """What the running kernel says of it beside the programs as they were, each of which calls the
    next by a tail call; null where that was not asked for, or it is not proved."""
    seconds: float
    """Wall-clock time for all of it."""


class ChainReport(TypedDict):
    """What `slowpath chain facts` and `slowpath chain optimize` write with `--format json`."""

    slowpath: str
    """Version of slowpath."""
    compiler: NotRequired[str]
    """Version of clang, as it prints it; absent where nothing was compiled."""
    seconds: float
    """Wall-clock time of all."""
    stopped: str | None
    """Why it ended early, if it did."""
    programs: list[ChainProgram]
    """In the order of the chain's description."""
    fused: Fused | None
    """The programs as one; null where that is not asked for, or not possible."""
    not_fused: str | None
    """Why the programs are not one, if that is asked for."""


class PlannedPath(TypedDict):
    """A path through the network."""

    name: str
    """Its name, or its number, from 1."""
    share: float
    """The part of all traffic that it has, up to 1."""
    nodes: list[str]
    """The nodes on it."""
    never: str | None
    """If some of them are never reached, which is the first of them and why, in a sentence."""


class GreatestCost(TypedDict):
    """How many instructions a program executes at most."""

    instructions: int
    """No packet takes more."""
    exact: bool
    """Whether some packet takes as many."""


class HotSpot(TypedDict):
    """A variant of a program for some of the packets that arrive at a node."""

    node: str
    """The node."""
    program: str
    """The program, by its name in the topology."""
    variant: str
    """What it is called: `all`, or its ingresses."""
    ingresses: list[str]
    """Where the packets come in that it is for: nodes, `outside`, or what the description says."""
    share: float
    """The part of all traffic that it is for, up to 1."""
    instructions_before: int
    """How many instructions the original has, in 8-byte slots."""
    instructions_after: int
    """How many it has, the original behind a guard included."""
    guard: Guard | None
    """What it checks itself before it relies on it; null if it does not."""
    cost_before: GreatestCost | None
    """What the original executes on the packets that the variant is for; null if not known."""
    cost_after: GreatestCost | None
    """What the variant executes on these packets, guard included; null if not known."""
    gain: float | None
    """The sum over its ingresses of their share times the instructions that their slowest packet is
    spared; null if not known."""
    facts: list[Fact]
    """What holds of every packet that it is for, and the lines that establish it: those of the
    program behind which it was first known, on each path."""
    rests_on: list[str]
    """The nodes whose programs establish what it relies on."""
    irrelevant: list[str]
    """The other nodes in front of it: nothing that they establish is used."""
    assumptions: list[str]
    """Conditions that all of it depends on, one sentence each."""
    remarks: list[str]
    """What else there is to say, one sentence each."""
    file: str | None
    """The object with it; null if it was not written."""


class AsIs(TypedDict):
    """A program that stays as it was, for some of its packets."""

    node: str
    """The node."""
    program: str
    """The program, by its name in the topology."""
    ingresses: list[str]
    """Where these packets come in."""
    share: float
    """The part of all traffic that they are, up to 1."""
    why: list[str]
    """Why, one sentence each."""


class PlanReport(TypedDict):
    """What `slowpath chain plan` writes with `--format json`."""

    slowpath: str
    """Version of slowpath."""
    compiler: NotRequired[str]
    """Version of clang, as it prints it; absent where nothing was compiled."""
    seconds: float
    """Wall-clock time of all."""
    stopped: str | None
    """Why it ended early, if it did."""
    queries: int
    """Questions to the solver, but for those of results that were kept from before."""
    kept: int
    """Results that were kept from an earlier plan."""
    computed: int
    """Results that were computed."""
    changed: list[str]
    """The programs whose objects are others than when this topology was planned last."""
    paths: list[PlannedPath]
    """In the order of the description."""
    hot_spots: list[HotSpot]
    """Variants of programs, those that gain most first."""
    as_is: list[AsIs]
    """Programs that stay as they were, for some of their traffic; most traffic first."""
    not_looked_at: list[str]
    """The nodes for which there was no time."""
    unused: list[str]
    """The nodes on no path."""
    notes: list[str]
    """What else there is to say, one sentence each."""


class FinalState(TypedDict):
    """The state that a run of a program leaves."""

    result: int
    """The return value."""
    start: int
    """How far the packet's start was moved, in bytes."""
    packet: str
    """The packet, two hexadecimal digits a byte."""
    metadata: str
    """The metadata in front of it, two hexadecimal digits a byte."""
    context: dict[str, int]
    """Other fields of the context that the program can write: bytes by offset."""
    calls: list[int]
    """Calls of helpers: their numbers and what they were given."""
    maps: list[str]
    """Elements of maps, in words."""


class Counterexample(TypedDict):
    """A packet and map content with which two programs differ."""

    what: str
    """What differs."""
    packet: str
    """The packet, two hexadecimal digits a byte."""
    room: dict[str, int]
    """Bytes around the packet that are not 0, by offset from its first byte."""
    maps: dict[str, dict[str, int]]
    """Bytes of maps that are not 0, by the name of their memory and offset."""
    drawn: list[int]
    """What calls of the first program are given from outside, in order."""
    original: FinalState
    """What the first program leaves."""
    specialised: FinalState
    """What the second program leaves."""


class VerifyReport(TypedDict):
    """What `slowpath chain verify` writes with `--format json`."""

    slowpath: str
    """Version of slowpath."""
    first: str
    """The first file."""
    second: str
    """The second file."""
    outcome: Literal["equal", "differ", "undecided"]
    """`equal`: both programs do the same with all packets of which the facts hold and all content
    of maps, under the `assumptions`. `differ`: they do not with the `counterexample`, which was
    run in the concrete interpreter. `undecided`: neither is known."""
    facts: list[str]
    """The facts assumed of packets (`--assume`): with a `place`, of those that arrive at the first
    program of the chain."""
    place: str | None
    """The program of a chain in whose place both are (`--chain`), for packets that get there
    through the programs in front; null if they may be anywhere."""
    assumptions: list[str]
    """Conditions for the outcome, one sentence each."""
    undecided: list[str]
    """Why it is not decided, one sentence each."""
    shared: list[str]
    """Maps that are one map in both programs: of one name, and defined alike."""
    counterexample: Counterexample | None
    """What they differ on; null unless they do."""
    proof: Proof
    """How much work the proof was."""
    stopped: str | None
    """Why it ended early, if it did."""
