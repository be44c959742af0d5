"""The nine functions of Table 2 of the Tomur paper, and the traffic of their predictions."""

from nic_profiles import Traffic

FUNCTIONS = (
    "ACL", "NIDS", "IPTunnel", "IPRouter", "FlowClassifier", "FlowTracker", "FlowStats",
    "FlowMonitor", "NAT",
)  # fmt: skip
"""The functions, in the order of the paper's Table 2."""
EVERYBODY = (*FUNCTIONS, "IPCompGateway")
"""All functions: those of Table 2, and those that only other tables have."""
REGEX = ("NIDS", "FlowMonitor", "IPCompGateway")
"""Functions that use the regex accelerator; the last one is only in Table 7."""
CORES = 2
"""Number of cores of each function (paper, 7.1)."""

DEFAULT = Traffic(16_000, 1500, 600.0)
"""The paper's default traffic (7.1)."""
TRAFFIC = (
    DEFAULT,
    Traffic(4_000, 1400, 900.0), Traffic(64_000, 1300, 1000.0), Traffic(250_000, 1500, 300.0),
    Traffic(60_000, 1024, 600.0), Traffic(120_000, 900, 1000.0), Traffic(8_000, 1100, 1100.0),
    Traffic(30_000, 800, 300.0), Traffic(200_000, 512, 800.0),
)  # fmt: skip
"""The nine traffic profiles of queries. The paper does not state its profiles. These profiles cause
contention: many flows, large packets, many matches."""
