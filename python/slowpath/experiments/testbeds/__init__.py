"""Test beds: where experiments are measured or computed, one module each."""

from collections.abc import Mapping

TESTBEDS: Mapping[str, str] = {
    "linux-xdp": "slowpath.experiments.testbeds.linux_xdp:BED",
    "dpdk": "slowpath.experiments.testbeds.dpdk:BED",
    "dpdk-swx": "slowpath.experiments.testbeds.dpdk_swx:BED",
    "ebpf": "slowpath.experiments.testbeds.counted:EBPF",
    "agilio-cx-2x40": "slowpath.experiments.testbeds.counted:AGILIO",
    "p4": "slowpath.experiments.testbeds.p4:BED",
}
"""By name, where each is: `module:CONSTANT`; a run imports the one that it needs."""
