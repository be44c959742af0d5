"""Types of the JSON documents that `slowpath contention place` and `suggest` write."""

from typing import TypedDict

from slowpath.core.schema import Warned


class Placed(TypedDict):
    """A function that arrived at the fleet, and the NIC that it was placed on."""

    row: str
    """Name of the arrival."""
    function: str
    """Name of the function in the fleet."""
    sla: float
    """Promised share of its solo throughput."""
    nic: int | None
    """The NIC, numbered from 1 in the order of first use; null if the arrival was turned away."""
    throughput: float | None
    """Final throughput on this NIC according to the judge (`judged_by`), in the unit of its model;
    null if unknown."""
    kept: float | None
    """This throughput as a share of the solo throughput; null if unknown. If models judge with
    `--confidence`, the share kept with that probability."""
    broken: bool
    """True if the kept share is less than promised."""


class PolicyOutcome(TypedDict):
    """Result of a placement policy for a sequence of arriving functions."""

    policy: str
    """Name of the policy."""
    nics: int
    """Number of NICs in use at the end."""
    wastage: float | None
    """NICs beyond those of the reference, as a share of the latter; null without a reference, or if
    arrivals were turned away."""
    violations: float | None
    """Share of functions with broken promises among the placed functions that can be judged; null
    without such functions."""
    unjudged: int
    """Number of functions on NICs whose mix is not in the table of measured mixes."""
    turned_away: int
    """Number of arrivals that found no NIC."""
    placed: list[Placed] | None
    """All arrivals; null for random sequences."""


class Reference(TypedDict):
    """The best plan for all arrivals, found with knowledge of the whole sequence."""

    nics: int
    """Number of NICs in the plan."""
    least: int
    """Lower bound for any plan; equal to `nics` if the plan is proved optimal."""


class SequenceOutcome(TypedDict):
    """Results of all placement policies for a sequence of arriving functions."""

    arrivals: int
    """Number of arrivals."""
    reference: Reference | None
    """The best plan; null if it was not requested, or the measured mixes allow for none."""
    policies: list[PolicyOutcome]
    """Results of policies, in the order of the command line."""


class PolicySummary(TypedDict):
    """Means of a placement policy's results over all sequences of arrivals."""

    policy: str
    """Name of the policy."""
    nics: float
    """NICs in use."""
    wastage: float | None
    """Wastage, over the sequences where it is known."""
    violations: float | None
    """Violations, over the sequences where they are known."""
    unjudged: float
    """Functions on NICs whose mix is not in the table of measured mixes."""
    turned_away: float
    """Arrivals that found no NIC."""


class PlacementReport(Warned):
    """Output of `slowpath contention place --format json`."""

    fleet: str
    """File of the fleet, as the user named it."""
    device: str | None
    """Device of the NICs; null if the fleet does not name it."""
    measured: str | None
    """File of measured mixes that replace predictions; null without."""
    noise: float | None
    """Standard deviation of one of these measurements, as a share; null if unknown."""
    judged_by: str
    """File of mixes by which promises are judged, or `models` if the models used for placement also
    judge."""
    expected: int | None
    """Number of arrivals announced to policies; null if unknown to them."""
    guesses: int
    """Number of predictions outside the training range of their models."""
    summary: list[PolicySummary]
    """Means over all sequences."""
    sequences: list[SequenceOutcome]
    """One sequence with `--arrivals`, or else random sequences."""


class SuggestedShare(TypedDict):
    """Share of its solo throughput that a function is predicted to keep in a mix."""

    function: str
    """Name of the function in the fleet."""
    kept: float
    """Predicted share of its solo throughput."""


class SuggestedMix(TypedDict):
    """A mix of functions on one NIC that is worth measuring."""

    mix: str
    """Functions of a NIC, separated by plus signs."""
    nics: float
    """Number of NICs in the plan with this mix, or with a smaller mix about which it gives
    information."""
    kept: list[SuggestedShare]
    """Functions of the mix, each once."""


class SuggestionReport(Warned):
    """Output of `slowpath contention suggest --format json`."""

    fleet: str
    """File of the fleet, as the user named it."""
    device: str | None
    """Device of the NICs; null if the fleet does not name it."""
    measured: str | None
    """File of mixes that are already measured; null without."""
    sure: float
    """Probability with which promises have to be kept."""
    alone: list[str]
    """Functions without a measured solo throughput, to which promises refer."""
    mixes: list[SuggestedMix]
    """Suggested mixes, those on most NICs first."""
    arrivals: int
    """Number of arrivals in the plan, in the proportions that the fleet declares."""
    nics_now: float
    """NICs that these arrivals take with current knowledge, fractional."""
    nics_then: float
    """NICs that they take once these mixes are measured, if predictions are true."""
    nics_best: float
    """NICs that they take once all mixes are measured, if predictions are true."""
