"""Types of the JSON document of the test bed `load`, about programs that packets are sent to."""

from typing import Literal, TypedDict

from slowpath.calibrate.load.search import Limit
from slowpath.core.schema import Document

Attachment = Literal["native", "generic", "dpdk-swx"]
"""Place where a program runs: in the device driver (`native`), in the kernel's generic code, or in
DPDK's interpreter of pipelines.
"""


class PacketFates(TypedDict):
    """Numbers of packets by their fate. `sent` is the sum of all fates of sent packets."""

    due: int
    """Packets that were due at the offered rate: `sent` and `late`."""
    late: int
    """Packets that were not sent because the sender could not keep the pace."""
    sent: int
    """Packets that the sender gave to its device."""
    received: int
    """Packets that came back with their mark."""
    queue: int
    """Packets for which the queue in front of the program had no room."""
    program: int
    """Packets that the program dropped, aborted or passed on."""
    return_queue: int
    """Packets that the program sent back, for which the receiver's queue had no room."""
    unmarked: int
    """Packets that came back without a valid mark."""
    unexplained: int
    """Sent packets that no counter shows, which can be negative."""


class Latency(TypedDict):
    """Quantiles of the time from sending a packet to its return, in microseconds.

    Each is the median over the trials of a rate.
    """

    least: float
    """Shortest latency."""
    p50: float
    """Median."""
    p90: float
    """90 % of the packets take at most this long."""
    p99: float
    """99 % of the packets take at most this long."""
    p999: float
    """99.9 % of the packets take at most this long."""
    most: float
    """Longest latency."""


class OfferedRate(TypedDict):
    """Result of offering packets at one rate."""

    share: float | None
    """Requested rate as a share of the highest rate without loss; null at full speed."""
    requested_pps: float | None
    """Requested rate in packets a second; null at full speed."""
    offered_pps: float
    """Rate of sent packets, in packets a second."""
    received_pps: float
    """Rate of received packets, in packets a second."""
    loss: float
    """Share of sent packets that did not return, from 0 to 1."""
    trials: int
    """Number of trials at this rate."""
    packets: PacketFates
    """Sums over all trials."""
    latency: Latency | None
    """Latency of received packets; null if none was received."""


class LoadedProgram(TypedDict):
    """A program under offered load."""

    experiment: str
    """Name of the specification."""
    parameter: str
    """Parameter of the component that the experiment varies."""
    value: int
    """Value of the parameter."""
    bytes: int
    """Length of a packet in bytes, with its mark of 16 bytes."""
    highest_pps: float | None
    """Highest rate without loss, in packets a second; null if it was not found."""
    limit: Limit | None
    """Limit of the highest rate: `program`, with its queues, or `sender`. With `sender`, the
    program may do more. Null if the rate was not found."""
    trials: int
    """Number of trials of the search."""
    full: OfferedRate | None
    """Result of sending as fast as possible; null if it was not measured."""
    rates: list[OfferedRate]
    """Results by ascending offered rate."""
    reason: str | None
    """Reason for missing results; null if all are there."""


class LoadDocument(Document):
    """Output of `slowpath calibrate --testbed load --format json`."""

    directory: str
    """Directory of the generated programs, as the user named it."""
    date: str
    """Start of the measurement, in UTC (ISO 8601)."""
    attachment: Attachment
    """Place where programs run."""
    sender_cpu: int
    """CPU that sends packets and records their return."""
    program_cpu: int
    """CPU of the program."""
    cpus: int
    """Number of CPUs that slowpath may use."""
    tolerance: float
    """Share of packets that may be lost at a rate that counts as without loss."""
    notes: list[str]
    """Notes on the meaning of the figures, one sentence each."""
    programs: list[LoadedProgram]
    """Measured programs, in the order of the experiments."""
