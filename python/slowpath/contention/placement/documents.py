"""Shape of placements."""

from typing import TypedDict


class Placed(TypedDict):
    """An arrival, and where it went."""

    row: str
    """Its name."""
    function: str
    """Of the fleet."""
    sla: float
    """Share of its throughput alone that it is promised."""
    nic: int | None
    """The NIC, from 1 in the order in which they come into use; null: turned away."""
    throughput: float | None
    """What it does there in the end, by whoever judges, in the unit of its model; null where that
    is not known."""
    kept: float | None
    """The same as a share of its throughput alone; where models judge, with `--sure`, what it keeps
    with that probability."""
    broken: bool
    """Whether that is less than it is promised."""


class PolicyOutcome(TypedDict):
    """What a policy made of a sequence."""

    policy: str
    """Its name."""
    nics: int
    """NICs in use in the end."""
    wastage: float | None
    """NICs beyond those of the reference, as a share of these; null without a reference, or where
    arrivals were turned away."""
    violations: float | None
    """Share of placed functions whose promise is broken, of those that can be judged; null where
    none can."""
    unjudged: int
    """Functions on NICs whose mix is not in the table of measured ones."""
    turned_away: int
    """Arrivals for which there was no NIC left."""
    placed: list[Placed] | None
    """Each arrival; null for random sequences."""


class Reference(TypedDict):
    """The best plan for all arrivals, by whoever judges."""

    nics: int
    """NICs that it takes."""
    least: int
    """No plan takes fewer; equal to `nics` where it is proved to be the best."""


class SequenceOutcome(TypedDict):
    """A sequence of arrivals."""

    arrivals: int
    """How many."""
    reference: Reference | None
    """The best plan; null where there is none of measured mixes, or nobody asked for it."""
    policies: list[PolicyOutcome]
    """In the order of the command line."""


class PolicySummary(TypedDict):
    """What a policy comes to over all sequences: means."""

    policy: str
    """Its name."""
    nics: float
    """NICs in use."""
    wastage: float | None
    """As in sequences; of those that have one."""
    violations: float | None
    """As in sequences."""
    unjudged: float
    """Functions that cannot be judged."""
    turned_away: float
    """Arrivals without a NIC."""


class PlacementReport(TypedDict):
    """What `slowpath contention place --format json` writes."""

    slowpath: str
    """Version of slowpath."""
    fleet: str
    """The file of the fleet as the user named it."""
    device: str | None
    """The NICs; null where it does not say."""
    measured: str | None
    """The file of measured mixes that were taken instead of predictions; null without."""
    noise: float | None
    """By how much one of these measurements scatters (standard deviation, as a share); null where
    that is not known."""
    judged_by: str
    """The file of mixes by which promises are judged, or `models` where those judge that placed."""
    expected: int | None
    """How many arrivals policies were told of; null where nobody knew."""
    guesses: int
    """Predictions for functions in mixes that are unlike what their models were trained on."""
    summary: list[PolicySummary]
    """Over all sequences."""
    sequences: list[SequenceOutcome]
    """One with `--arrivals`; else random ones."""


class SuggestedShare(TypedDict):
    """A function of a mix."""

    function: str
    """Of the fleet."""
    kept: float
    """Share of its throughput alone that it is predicted to keep there."""


class SuggestedMix(TypedDict):
    """A mix that is worth measuring."""

    mix: str
    """Functions of a NIC, with plus signs between them."""
    nics: float
    """On how many NICs the plan has it, or a mix of fewer functions that it says something of."""
    kept: list[SuggestedShare]
    """Its functions, each once."""


class SuggestionReport(TypedDict):
    """What `slowpath contention suggest --format json` writes."""

    slowpath: str
    """Version of slowpath."""
    fleet: str
    """The file of the fleet as the user named it."""
    device: str | None
    """The NICs; null where it does not say."""
    measured: str | None
    """The file of mixes that were measured already; null without."""
    sure: float
    """With which probability promises have to be kept."""
    alone: list[str]
    """Functions that were not measured by themselves, which promises are shares of."""
    mixes: list[SuggestedMix]
    """Those first that are on most NICs."""
    arrivals: int
    """So many are planned for, in proportion as the fleet declares them."""
    nics_now: float
    """What these take with what is known, in parts of NICs."""
    nics_then: float
    """What they take when these mixes were measured, if predictions are true."""
    nics_best: float
    """What they take when all mixes were measured, if predictions are true."""
