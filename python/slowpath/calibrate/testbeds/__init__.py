"""Test beds, which measure or compute costs of experiments, and generators of their programs."""

from collections.abc import Mapping

TESTBEDS: Mapping[str, str] = {
    "linux-xdp": "slowpath.calibrate.testbeds.linux_xdp:BED",
    "dpdk": "slowpath.calibrate.testbeds.dpdk:DPDK",
    "dpdk-swx": "slowpath.calibrate.testbeds.dpdk:SWX",
    "ebpf": "slowpath.calibrate.testbeds.counted:EBPF",
    "agilio-cx-2x40": "slowpath.calibrate.testbeds.counted:AGILIO",
    "p4": "slowpath.calibrate.testbeds.p4:BED",
}
"""Test beds by name, as `module:CONSTANT`, so that a run imports only the test bed that it needs.
"""
QUICK = "slowpath.calibrate.testbeds.linux_xdp:QUICK"
"""Test bed of a quick calibration, as `module:CONSTANT`."""
LOAD = "load"
"""Name of the test bed that sends packets at given rates, and measures losses and latencies instead
of costs.
"""
LOADED: Mapping[str, str] = {
    "native": TESTBEDS["linux-xdp"],
    "generic": TESTBEDS["linux-xdp"],
    "dpdk-swx": "slowpath.calibrate.testbeds.dpdk:LOADED_SWX",
}
"""Test bed that generates the programs for each value of `--attach` (the place where programs run),
as `module:CONSTANT`.
"""
