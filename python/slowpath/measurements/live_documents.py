"""The shape of what is measured of packets that really go where programs send them."""

from typing import TypedDict


class LivePath(TypedDict):
    """A path on live packets: what the program costs, and what a device receives with it."""

    program_ns: float
    """Nanoseconds of one packet beyond those of a minimal program with the same action: the mean
    over all loads but outliers."""
    program_spread_ns: float
    """Standard deviation between loads."""
    low_ns: float | None
    """Lower end of the 95 % interval of `program_ns`; null after a single load."""
    high_ns: float | None
    """Upper end of that interval."""
    run_ns: float
    """Nanoseconds of one packet with the program: the kernel makes it, and does what the program
    says."""
    baseline_ns: float
    """The same with the minimal program."""
    baseline_action: str
    """What the minimal program returns: the action of the path."""
    receiver_pps: float | None
    """Packets per second that are sent to a virtual Ethernet device of this machine and received
    there with the program in the driver, all on one core; null where that is not measured, see
    `notes`."""
    receiver_drop_pps: float | None
    """The same with a program that drops all."""
    batch: int
    """How many packets the kernel sends at a time."""
    frames: int
    """How many packets the program was timed on, receivers left out."""
    arrived: int
    """How many of them arrived at the other end of the device: all of `XDP_TX` and `XDP_REDIRECT`
    but those that found no room."""
    lost: int
    """How many packets found no room in a device, those of baselines and receivers included."""
    notes: list[str]
    """What else is to be known, in sentences."""
