"""Tests the facts about a machine that are read from files below `/proc` and `/sys`.

The files describe made-up machines.
"""

import json
import threading
import zlib
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowpath.measure import environment
from slowpath.measure.counters import (
    between,
    parse_interrupts,
    parse_load,
    parse_ticks,
    read_counters,
)
from slowpath.measure.environment import debugging_options, host, kernel_facts, relevant_parameters
from slowpath.measure.machine import (
    Files,
    chosen,
    frequency_now,
    parse_cpus,
    parse_number,
    parse_size,
    processor,
    show_cpus,
)

CPU = "sys/devices/system/cpu"
TREE = {
    "proc/sys/kernel/osrelease": "6.8.0-45-generic\n",
    "proc/sys/kernel/version": "#45-Ubuntu SMP PREEMPT_DYNAMIC\n",
    "proc/cmdline": "root=UUID=1 password=secret mitigations=auto isolcpus=3 quiet -- nosmt\n",
    "proc/sys/net/core/bpf_jit_enable": "1\n",
    "proc/sys/net/core/bpf_jit_harden": "0\n",
    "proc/sys/kernel/bpf_stats_enabled": "0\n",
    "proc/self/status": "Name:\tpython\nCapEff:\t0000004000000000\n",
    "boot/config-6.8.0-45-generic": "CONFIG_KASAN=y\n# CONFIG_KCSAN is not set\n",
    "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
    "sys/kernel/security/lockdown": "none [integrity] confidentiality\n",
    "sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc\n",
    f"{CPU}/vulnerabilities/spectre_v2": "Mitigation: Retpolines; STIBP: disabled\n",
    f"{CPU}/vulnerabilities/meltdown": "Not affected\n",
    f"{CPU}/online": "0-3\n",
    f"{CPU}/possible": "0-7\n",
    f"{CPU}/isolated": "3\n",
    f"{CPU}/nohz_full": "\n",
    f"{CPU}/cpu3/topology/thread_siblings_list": "1,3\n",
    f"{CPU}/cpu3/cpufreq/scaling_driver": "intel_pstate\n",
    f"{CPU}/cpu3/cpufreq/scaling_governor": "powersave\n",
    f"{CPU}/cpu3/cpufreq/scaling_cur_freq": "2400000\n",
    f"{CPU}/cpu3/cpufreq/scaling_min_freq": "800000\n",
    f"{CPU}/cpu3/cpufreq/scaling_max_freq": "3900000\n",
    f"{CPU}/intel_pstate/no_turbo": "0\n",
    f"{CPU}/cpuidle/current_driver": "intel_idle\n",
    f"{CPU}/cpu3/cpuidle/state0/name": "POLL\n",
    f"{CPU}/cpu3/cpuidle/state0/latency": "0\n",
    f"{CPU}/cpu3/cpuidle/state1/name": "C1\n",
    f"{CPU}/cpu3/cpuidle/state1/latency": "2\n",
    f"{CPU}/cpu3/cpuidle/state10/name": "C10\n",
    f"{CPU}/cpu3/cpuidle/state10/latency": "890\n",
    f"{CPU}/cpu3/cpuidle/state10/disable": "1\n",
    f"{CPU}/cpu3/cache/index0/level": "1\n",
    f"{CPU}/cpu3/cache/index0/type": "Data\n",
    f"{CPU}/cpu3/cache/index0/size": "48K\n",
    f"{CPU}/cpu3/cache/index0/coherency_line_size": "64\n",
    f"{CPU}/cpu3/cache/index0/shared_cpu_list": "1,3\n",
    f"{CPU}/cpu3/thermal_throttle/core_throttle_count": "4\n",
    f"{CPU}/cpu3/thermal_throttle/package_throttle_count": "5\n",
    "sys/devices/system/node/node0/cpulist": "0-3\n",
    "sys/devices/system/node/node0/meminfo": "Node 0 MemTotal:  2048 kB\nNode 0 MemFree: 1 kB\n",
    "proc/meminfo": "MemTotal:    2048 kB\nMemFree:     12 kB\n",
    "proc/cpuinfo": "processor\t: 0\nmodel name\t: A\n\n"
    "processor\t: 3\nmodel name\t: Xeon\nflags\t: fpu tsc\n",
    "proc/loadavg": "0.50 0.40 0.30 1/90 123\n",
    "proc/self/cgroup": "0::/user.slice\n",
    "sys/fs/cgroup/user.slice/cpu.stat": "usage_usec 1\nnr_throttled 7\n",
}
"""Files of a made-up server with facts about the machine and its CPU 3."""


def machine(root: Path, tree: Mapping[str, str]) -> Files:
    """Write the files of a made-up machine to a folder that stands for the root folder `/`.

    `tree` has the content of each file by its path.
    """
    for name, text in tree.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return Files(root)


def test_the_kernel_is_recorded(tmp_path: Path) -> None:
    facts = kernel_facts(machine(tmp_path, TREE))
    assert facts["release"] == "6.8.0-45-generic"
    assert facts["parameters"] == ["mitigations=auto", "isolcpus=3"]
    assert facts["bpf"] == {
        "jit_enable": 1,
        "jit_harden": 0,
        "jit_kallsyms": None,
        "stats_enabled": 0,
        "unprivileged_disabled": None,
        "perfmon": True,
    }
    assert [each["name"] for each in facts["mitigations"]] == ["meltdown", "spectre_v2"]
    assert (facts["clock_source"], facts["huge_pages"]) == ("tsc", "madvise")
    assert (facts["lockdown"], facts["debugging"]) == ("integrity", ["KASAN"])


def test_the_configuration_of_the_running_kernel_comes_first(tmp_path: Path) -> None:
    files = machine(tmp_path, TREE)
    packer = zlib.compressobj(wbits=zlib.MAX_WBITS | 16)
    packed = packer.compress(b"CONFIG_PROVE_LOCKING=y\n") + packer.flush()
    (tmp_path / "proc/config.gz").write_bytes(packed)
    assert kernel_facts(files)["debugging"] == ["PROVE_LOCKING"]
    (tmp_path / "proc/config.gz").write_bytes(b"no gzip")
    assert kernel_facts(files)["debugging"] == ["KASAN"]
    (tmp_path / "proc/config.gz").unlink()
    (tmp_path / "boot/config-6.8.0-45-generic").unlink()
    assert kernel_facts(files)["debugging"] is None
    (tmp_path / "proc/lockdep").write_text("")
    assert kernel_facts(files)["debugging"] == ["PROVE_LOCKING"]


def test_the_processor_is_recorded(tmp_path: Path) -> None:
    files = machine(tmp_path, TREE)
    facts = processor(files, 3)
    assert (facts["cpu"], facts["model"]) == (3, "Xeon")
    assert (facts["online"], facts["isolated"], facts["tickless"]) == ([0, 1, 2, 3], [3], [])
    assert facts["siblings"] == [1]
    assert facts["frequency"] == {
        "driver": "intel_pstate",
        "governor": "powersave",
        "least_hz": 800_000_000,
        "most_hz": 3_900_000_000,
        "boost": True,
    }
    assert frequency_now(files, 3) == 2_400_000_000
    assert [state["name"] for state in facts["idle_states"]] == ["POLL", "C1", "C10"]
    assert facts["idle_exit_us"] == 2  # C10 is disabled
    assert facts["caches"] == [
        {"level": 1, "kind": "Data", "bytes": 49152, "line_bytes": 64, "cpus": [1, 3]}
    ]


@pytest.mark.parametrize(
    ("tree", "virtual", "hypervisor"),
    [
        ({"proc/cpuinfo": "processor : 3\nflags : fpu"}, False, None),
        ({"proc/cpuinfo": "processor : 3\nflags : fpu hypervisor"}, True, None),
        (
            {
                "proc/cpuinfo": "processor : 3\nflags : hypervisor",
                "sys/devices/system/clocksource/clocksource0/available_clocksource": "kvm-clock",
            },
            True,
            "kvm",
        ),
        ({"sys/class/dmi/id/sys_vendor": "QEMU\n"}, True, "qemu"),
        ({"sys/hypervisor/type": "xen\n"}, True, "xen"),
        ({"proc/device-tree/hypervisor/compatible": "linux,kvm\0"}, True, "kvm"),
        # Firmware of a rented physical machine, on a CPU architecture without the hypervisor flag.
        (
            {
                "sys/class/dmi/id/sys_vendor": "Amazon EC2",
                "sys/class/dmi/id/product_name": "c7g.metal",
            },
            False,
            None,
        ),
        (
            {
                "proc/cpuinfo": "processor : 3\nflags : fpu",
                "sys/class/dmi/id/sys_vendor": "VMware, Inc.",
            },
            False,
            None,
        ),
        ({}, None, None),
    ],
)
def test_virtual_machines_are_told_from_others(
    tmp_path: Path, tree: Mapping[str, str], virtual: bool | None, hypervisor: str | None
) -> None:
    facts = host(machine(tmp_path, tree), 3)
    assert (facts["virtual"], facts["hypervisor"]) == (virtual, hypervisor)


@pytest.mark.parametrize(
    ("tree", "container"),
    [
        ({".dockerenv": ""}, "docker"),
        ({"run/.containerenv": "", ".dockerenv": ""}, "podman"),
        ({"run/systemd/container": "systemd-nspawn\n"}, "systemd-nspawn"),
        ({"proc/1/environ": "HOME=/\0container=lxc\0"}, "lxc"),
        ({"proc/self/cgroup": "0::/kubepods/pod1\n"}, "kubernetes"),
        ({"proc/self/cgroup": "0::/user.slice\n"}, None),
    ],
)
def test_containers_are_recognised(
    tmp_path: Path, tree: Mapping[str, str], container: str | None
) -> None:
    assert host(machine(tmp_path, tree), 3)["container"] == container


def test_memory_is_recorded(tmp_path: Path) -> None:
    facts = host(machine(tmp_path, TREE), 3)
    assert facts["memory_bytes"] == 2 << 20
    assert facts["nodes"] == [{"node": 0, "cpus": [0, 1, 2, 3], "bytes": 2 << 20}]


STAT = "cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 0 0 0 {idle} 0 0 0 0 0 0\ncpu1 {user} 0 0 100 0 0 0 0 0 0\n"
STAT += "cpu3 {user} 0 10 100 0 1 2 {steal} 0 0\nintr 1 2 3\n"
INTERRUPTS = """           CPU0       CPU3
 36:          7    {device}  PCI-MSIX-0000:00:02.0   1-edge      virtio1-req.0
LOC:          1    {timer}   Local timer interrupts
ERR:          0
"""


def _moment(idle: int, user: int, steal: int, device: int, timer: int) -> dict[str, str]:
    thread = threading.get_native_id()
    return {
        "proc/stat": STAT.format(idle=idle, user=user, steal=steal),
        "proc/interrupts": INTERRUPTS.format(device=device, timer=timer),
        f"proc/self/task/{thread}/schedstat": f"1000 {device * 1000} 3\n",
        f"proc/self/task/{thread}/status": "voluntary_ctxt_switches:\t5\n"
        f"nonvoluntary_ctxt_switches:\t{timer}\n",
    }


def test_a_run_is_the_difference_of_two_moments(tmp_path: Path) -> None:
    files = machine(tmp_path, TREE | _moment(0, 0, 0, 10, 20))
    watch = environment.begin(3, files=files)
    later = {
        f"{CPU}/cpu3/cpufreq/scaling_cur_freq": "2300000\n",
        f"{CPU}/cpu3/thermal_throttle/core_throttle_count": "6\n",
        "sys/fs/cgroup/user.slice/cpu.stat": "nr_throttled 8\n",
        "proc/loadavg": "1.50 0.40 0.30 1/90 123\n",
    }
    machine(tmp_path, later | _moment(50, 90, 10, 13, 25))
    record = watch.end()
    run = record["run"]
    assert run["seconds"] >= 0
    assert (run["load_start"], run["load_end"]) == ([0.5, 0.4, 0.3], [1.5, 0.4, 0.3])
    assert (run["frequency_start_hz"], run["frequency_end_hz"]) == (2_400_000_000, 2_300_000_000)
    assert run["time"] == {
        "user": 0.9,
        "system": 0.0,
        "interrupts": 0.0,
        "deferred": 0.0,
        "stolen": 0.1,
        "idle": 0.0,
    }
    assert run["siblings"] == [{"cpu": 1, "busy": 1.0}]
    assert run["others_busy"] == 0.0
    assert run["interrupts"] == 8
    assert run["interrupted_by"] == [
        {"name": "LOC Local timer interrupts", "count": 5},
        {"name": "36 virtio1-req.0", "count": 3},
    ]
    assert (run["voluntary_switches"], run["involuntary_switches"]) == (0, 5)
    assert (run["waited_ns"], run["throttled"], run["quota_stops"]) == (3000, 2, 1)
    assert json.loads(json.dumps(record)) == record


def test_events_in_a_pause_are_not_part_of_the_run(tmp_path: Path) -> None:
    """Check that a run's record excludes load, throttling and time during a pause.

    In the pause, an analysis uses all CPUs and heats them.
    """
    files = machine(tmp_path, TREE | _moment(0, 0, 0, 10, 20))
    watch = environment.begin(3, files=files)
    watch.pause()
    analysed = {
        f"{CPU}/cpu3/cpufreq/scaling_cur_freq": "2300000\n",
        f"{CPU}/cpu3/thermal_throttle/core_throttle_count": "6\n",
        "sys/fs/cgroup/user.slice/cpu.stat": "nr_throttled 8\n",
        "proc/loadavg": "1.50 0.40 0.30 1/90 123\n",
    }
    machine(tmp_path, analysed | _moment(5000, 5000, 500, 5010, 5020))
    with watch.resumed():
        machine(tmp_path, _moment(5050, 5090, 510, 5013, 5025))
    machine(tmp_path, _moment(9000, 9000, 900, 9010, 9020))
    run = watch.end()["run"]
    assert run["load_start"] == [0.5, 0.4, 0.3]
    assert (run["frequency_start_hz"], run["frequency_end_hz"]) == (2_300_000_000, 2_300_000_000)
    assert run["time"] is not None
    assert (run["time"]["user"], run["time"]["stolen"]) == (0.9, 0.1)
    assert run["siblings"] == [{"cpu": 1, "busy": 1.0}]
    assert run["others_busy"] == 0.0
    assert (run["interrupts"], run["involuntary_switches"]) == (8, 5)
    assert (run["waited_ns"], run["throttled"], run["quota_stops"]) == (3000, 0, 0)
    with watch.resumed():
        machine(tmp_path, _moment(9050, 9090, 910, 9013, 9025))
    again = watch.end()["run"]
    assert (again["interrupts"], again["waited_ns"]) == (16, 6000)
    assert again["time"] == run["time"]


def test_a_machine_that_tells_nothing_is_no_error(tmp_path: Path) -> None:
    """Check the record of a machine without the files that describe Linux, such as macOS.

    Its values are unknown; this is not an error.
    """
    record = environment.begin(0, files=Files(tmp_path / "none")).end()
    assert record["run"]["time"] is None
    assert record["kernel"]["release"] is None
    assert record["processor"]["caches"] == []
    assert record["host"]["virtual"] is None
    json.dumps(record)


def test_this_machine_is_recorded() -> None:
    record = environment.begin(0).end()
    assert record["processor"]["cpu"] == 0
    assert record["run"]["seconds"] >= 0
    assert record["slowpath"]
    json.dumps(record)


@given(st.text(), st.binary(), st.integers(0, 3))
def test_any_content_of_files_is_read(text: str, data: bytes, cpu: int) -> None:
    parse_ticks(text)
    parse_interrupts(text, cpu)
    parse_interrupts(f"  CPU0 CPU1\n{text}", cpu)
    parse_load(text)
    parse_number(text)
    parse_cpus(text)
    parse_size(text)
    chosen(text)
    relevant_parameters(text)
    debugging_options(text)

    class Filled(Files):
        """Fake files that all have the same content, and fake folders with the same file names."""

        def data(self, file: str) -> bytes | None:  # noqa: ARG002 - any file
            return data

        def names(self, folder: str) -> list[str]:  # noqa: ARG002 - any folder
            return ["index0", "state0", "node0", text]

    files = Filled()
    kernel_facts(files)
    host(files, cpu)
    facts = processor(files, cpu)
    counters = read_counters(files, cpu, 1)
    json.dumps(between(counters, counters, cpu, facts["siblings"]))


@given(st.sets(st.integers(0, 300)))
def test_lists_of_cpus_are_read_as_they_are_written(cpus: set[int]) -> None:
    assert parse_cpus(show_cpus(list(cpus))) == sorted(cpus)


@pytest.mark.parametrize("text", ["x", "3-1", "1,,2", "-1", "9999999999", "0-9999999", "٣"])
def test_malformed_lists_of_cpus_are_none(text: str) -> None:
    assert parse_cpus(text) is None


@pytest.mark.parametrize(
    ("text", "size"),
    [("32K", 32768), ("24 kB", 24576), ("1M", 1 << 20), ("64", 64), ("", None), ("x", None)],
)
def test_sizes_are_read(text: str, size: int | None) -> None:
    assert parse_size(text) == size
