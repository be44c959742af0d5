"""Types of the JSON document that `slowpath check` writes."""

from typing import TypedDict

from slowpath.core.schema import Document


class Proved(TypedDict):
    """A guarantee that a certificate proves."""

    program: str
    """Name of the program."""
    component: str
    """Component of the target that limits the program, such as `instructions`."""
    bound: float
    """Work per packet on this component that no packet exceeds, with the fixed cost per packet. A
    bound on a bit rate is for packets of `length` bytes."""
    reached: float | None
    """Work on this component of a packet that the certificate contains; null if it has none."""
    length: int
    """Packet length in bytes to which `bound` applies, if the metric is a bit rate."""
    exact: bool
    """True if the packet of the certificate reaches the bound."""
    assumptions: list[str]
    """Conditions of the guarantee and of the packet, one sentence each."""
    trusted: list[str]
    """Parts of slowpath that the check trusts, one phrase each."""
    nogoods: int
    """Number of verified nogoods: sets of branches that no packet takes together."""
    steps: int
    """Number of verified steps in the proofs of the nogoods."""


class CheckedCertificate(TypedDict):
    """A certificate, and the result of its check."""

    file: str
    """Name of the program's file, as the user stated it."""
    certificate: str
    """Name of the certificate's file."""
    made_by: str
    """Version of slowpath that made the certificate."""
    target: str
    """Name of the target."""
    own_target: bool
    """True if the certificate describes the target itself; false for a built-in target."""
    options: list[str]
    """Options of the analysis that the guarantee assumes, such as `--mtu 64`. Content of files is
    given by its size."""
    metric: str | None
    """Metric of the guarantee; null for the first metric of the target."""
    accepted: bool
    """True if the certificate proves its claims."""
    reason: str | None
    """Reason why the certificate is refused; null if it is accepted."""
    proved: Proved | None
    """The proved guarantee; null if the certificate is refused."""


class CheckDocument(Document):
    """Output of `slowpath check --format json`."""

    results: list[CheckedCertificate]
    """The checked certificate, as the only element."""
