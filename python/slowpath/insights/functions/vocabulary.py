"""The elements of a chain, and the columns that describe one.

The chains are those of Qiu et al., SOSP '21, § 4.2: Click-like elements with blocks of plain
computation and calls of the CRC unit between them. A flag `has_X` says whether X is in the chain;
a parameter counts only where its element is there.
"""

from collections.abc import Mapping

ELEMENTS: Mapping[str, tuple[str, ...]] = {
    "avgcounter": (),
    "ipfilter1": ("ipfilter1_rules",),
    "ipfilter2": ("ipfilter2_rules",),
    "iprewriter": ("iprewriter_slots",),
    "ftpportmapper": ("ftpportmapper_control_slots", "ftpportmapper_data_slots"),
    "udpipencap": (),
    "counter": (),
    "webgen": ("webgen_slots",),
    "tcpdemux": ("tcpflow_slots",),
    "tcpconn": ("tcpflow_slots",),
}
"""Elements with the parameters that they read, in the order of the chain."""

COMPUTE: Mapping[str, str] = {
    "compute1": "compute1_iterations",
    "compute2": "compute2_iterations",
    "compute3": "compute1_iterations",
    "compute4": "compute4_iterations",
    "compute5": "compute5_iterations",
}
"""Blocks of plain computation with their loop counts: the third one reads that of the first, as
the published generator has it."""

CRC: Mapping[str, str] = {
    "accel1": "accel1_iterations",
    "accel2": "accel2_iterations",
    "accel3": "accel1_iterations",
}
"""The same of calls of the CRC unit."""

ABSENT: Mapping[str, str] = {
    **{f"compute{at}": f"compute{at}_iterations" for at in range(6, 11)},
    **{f"accel{at}": f"accel{at}_iterations" for at in range(4, 11)},
}
"""Blocks that have columns and are in no published chain."""

IDLE = tuple(f"imem{at}" for at in range(5))
"""Blocks that are in published chains, and do nothing there: their loop counts are 0."""

UNREAD = ("compute3_iterations", "accel3_iterations")
"""Parameters that nothing reads."""

MOST = 100_000
"""The largest number that a parameter may be."""

USUAL: Mapping[str, tuple[int, int]] = {
    **dict.fromkeys(("ipfilter1_rules", "ipfilter2_rules"), (10, 35)),
    **{name: (1, 5) for needed in ELEMENTS.values() for name in needed if name.endswith("_slots")},
    **dict.fromkeys((*COMPUTE.values(), *CRC.values()), (1, 30)),
}
"""Within which limits each parameter was measured."""


def flag(element: str) -> str:
    """The column that says whether an element is in the chain."""
    return f"has_{element}"


NEEDED = tuple(
    dict.fromkeys(
        (
            *map(flag, (*ELEMENTS, *COMPUTE, *CRC)),
            *(name for needed in ELEMENTS.values() for name in needed),
            *COMPUTE.values(),
            *CRC.values(),
        )
    )
)
"""The columns that a table has to have."""

OPTIONAL = (
    *map(flag, (*ABSENT, *IDLE)),
    *ABSENT.values(),
    *(f"{name}_iterations" for name in IDLE),
    *UNREAD,
)
"""The columns that it may have; without them, 0."""
