"""The nine functions of the paper's Table 2, and the traffic that they are asked about."""

from nic_profiles import Traffic

FUNCTIONS = (
    "ACL", "NIDS", "IPTunnel", "IPRouter", "FlowClassifier", "FlowTracker", "FlowStats",
    "FlowMonitor", "NAT",
)  # fmt: skip
"""In the order of that table."""
EVERYBODY = (*FUNCTIONS, "IPCompGateway")
"""With those that only other tables ask about."""
REGEX = ("NIDS", "FlowMonitor", "IPCompGateway")
"""Those that use the regex accelerator; the last one is of Table 7 only."""
CORES = 2
"""Of each of them (paper, 7.1)."""

DEFAULT = Traffic(16_000, 1500, 600.0)
"""The paper's (7.1)."""
TRAFFIC = (
    DEFAULT,
    Traffic(4_000, 1400, 900.0), Traffic(64_000, 1300, 1000.0), Traffic(250_000, 1500, 300.0),
    Traffic(60_000, 1024, 600.0), Traffic(120_000, 900, 1000.0), Traffic(8_000, 1100, 1100.0),
    Traffic(30_000, 800, 300.0), Traffic(200_000, 512, 800.0),
)  # fmt: skip
"""The nine profiles that are asked about. The paper does not say which its nine are; these are such
that functions disturb each other: many flows, large packets, many matches."""
