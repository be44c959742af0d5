"""Test beds, which measure or compute the costs of experiments, and their program generators."""

from collections.abc import Mapping

TESTBEDS: Mapping[str, str] = {
    "linux-xdp": "slowpath.calibrate.testbeds.linux_xdp:BED",
    "dpdk": "slowpath.calibrate.testbeds.dpdk:DPDK",
    "dpdk-swx": "slowpath.calibrate.testbeds.dpdk:SWX",
    "ebpf": "slowpath.calibrate.testbeds.counted:EBPF",
    "agilio-cx-2x40": "slowpath.calibrate.testbeds.counted:AGILIO",
    "p4": "slowpath.calibrate.testbeds.p4:BED",
}
"""Test beds by name, as `module:CONSTANT`; a run imports only the test bed that it needs."""
QUICK = "slowpath.calibrate.testbeds.linux_xdp:QUICK"
"""The test bed of a quick calibration, as `module:CONSTANT`."""
LOAD = "load"
"""Name of the test bed for offered load, which measures rates and latencies instead of costs."""
LOADED: Mapping[str, str] = {
    "native": TESTBEDS["linux-xdp"],
    "generic": TESTBEDS["linux-xdp"],
    "dpdk-swx": "slowpath.calibrate.testbeds.dpdk:LOADED_SWX",
}
"""For each value of `--attach` (where programs run), the test bed that provides the programs."""
