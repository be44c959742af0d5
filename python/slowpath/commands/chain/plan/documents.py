"""What `slowpath chain plan` finds out, as JSON has it."""

from typing import NotRequired, TypedDict

from slowpath.commands.chain.documents import Fact, Guard


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
