"""What `slowpath chain facts` and `optimize` find out, as JSON has it."""

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
