"""The nine functions of the paper's Table 2, and the traffic that they are asked about."""

from slowpath.contention.simulated.runs import Traffic

FUNCTIONS = (
    "ACL", "NIDS", "IPTunnel", "IPRouter", "FlowClassifier", "FlowTracker", "FlowStats",
    "FlowMonitor", "NAT",
)  # fmt: skip
"""In the order of that table."""
REGEX = ("NIDS", "FlowMonitor")
"""Those that use the regex accelerator."""
CORES = 2
"""Of each of them (paper, 7.1)."""

DEFAULT = Traffic(16_000, 1500, 600.0)
"""The paper's (7.1)."""
TRAFFIC = (
    DEFAULT,
    Traffic(4_000, 1400, 100.0), Traffic(64_000, 1300, 1000.0),
    Traffic(5_000, 512, 600.0), Traffic(20_000, 500, 1000.0), Traffic(50_000, 540, 100.0),
    Traffic(3_000, 1024, 1000.0), Traffic(12_000, 1000, 100.0), Traffic(90_000, 960, 600.0),
)  # fmt: skip
"""The nine profiles that are asked about; the paper does not say which its nine are."""
