"""Records the machine and the conditions of a measurement, for the document with its result.

    watch = environment.begin(cpu)
    ...  # the run, on the calling thread
    watch.pause()
    ...  # work outside the run, such as an analysis
    with watch.resumed():
        ...  # more of the run
    record = watch.end()

Values that cannot be read are null: containers hide files, and some kernels and all other systems
lack them. The module `disturbances` derives warnings from this record.

Virtual machines and containers are detected like systemd-detect-virt does (`src/basic/virt.c`),
but without CPUID, which a Python program cannot query.
"""

import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypedDict

from slowpath.core import engine
from slowpath.measure.bench import CpuSpeed
from slowpath.measure.counters import Counters, RunFacts, between, read_counters, without_pause
from slowpath.measure.machine import Files, Processor, chosen, cpu_lines, parse_size, processor

_NODES = "sys/devices/system/node"
_DMI = "sys/class/dmi/id"
_VENDORS = (
    ("KVM", "kvm"),
    ("OpenStack", "kvm"),
    ("KubeVirt", "kvm"),
    ("Amazon EC2", "amazon"),
    ("QEMU", "qemu"),
    ("VMware", "vmware"),
    ("VMW", "vmware"),
    ("innotek GmbH", "virtualbox"),
    ("VirtualBox", "virtualbox"),
    ("Xen", "xen"),
    ("Bochs", "bochs"),
    ("Parallels", "parallels"),
    ("BHYVE", "bhyve"),
    ("Hyper-V", "hyper-v"),
    ("Virtual Machine", "hyper-v"),
    ("Apple Virtualization", "apple"),
    ("Google Compute Engine", "google"),
)
"""Prefixes of firmware strings, each with the name of the hypervisor that it identifies."""
_CONTAINERS = (
    ("/kubepods", "kubernetes"),
    ("/docker", "docker"),
    ("/libpod", "podman"),
    ("/lxc", "lxc"),
    ("/containerd", "containerd"),
)
"""Parts of control group names, each with the name of the container runtime that it identifies."""


class MemoryNode(TypedDict):
    """A NUMA node: a part of the memory and the CPUs near it."""

    node: int
    """Number of the node."""
    cpus: list[int] | None
    """CPUs of the node; null if not known."""
    bytes: int | None
    """Size in bytes; null if not known."""


class Host(TypedDict):
    """The machine that the kernel runs on."""

    memory_bytes: int | None
    """Memory of the kernel in bytes; null if not known."""
    nodes: list[MemoryNode]
    """NUMA nodes."""
    virtual: bool | None
    """True for a virtual machine; null if not known."""
    hypervisor: str | None
    """Name of the hypervisor, such as `kvm`; null if not known or if there is none."""
    container: str | None
    """Container runtime, such as `docker`; null if none was detected."""


def host(files: Files, cpu: int) -> Host:
    """Read memory, virtualisation and container of the machine. `cpu` is any CPU that is online."""
    name = next(_hypervisors(files), None)
    flags = cpu_lines(files, cpu).get("flags")
    flagged = None if flags is None else "hypervisor" in flags.split()
    return {
        "memory_bytes": parse_size(files.fields("proc/meminfo").get("MemTotal")),
        "nodes": _nodes(files),
        "virtual": _virtual_by_firmware(files, name) if flagged is None else flagged,
        "hypervisor": None if flagged is False else name,
        "container": next(_containers(files), None),
    }


def _virtual_by_firmware(files: Files, hypervisor: str | None) -> bool | None:
    """Return true if the machine is virtual according to its firmware; None if it cannot be read.

    `hypervisor` is the name of the hypervisor that the firmware states; None if it states none.
    """
    if hypervisor is not None:
        return True
    return False if files.exists(_DMI) or files.exists("proc/device-tree") else None


def _hypervisors(files: Files) -> Iterator[str]:
    """Yield the names of the hypervisor that different files state.

    The most reliable file comes first.
    """
    product = files.text(f"{_DMI}/product_name") or ""
    if product.endswith(".metal"):
        return  # a bare-metal machine of a cloud provider
    for file in ("sys_vendor", "product_name", "product_version", "board_vendor", "bios_vendor"):
        text = files.text(f"{_DMI}/{file}") or ""
        yield from (name for word, name in _VENDORS if text.startswith(word))
    xen = files.text("sys/hypervisor/type")
    if xen:
        yield xen
    if files.exists("proc/xen"):
        yield "xen"
    tree = files.text("proc/device-tree/hypervisor/compatible")
    if tree:
        yield tree.rstrip("\0").rpartition(",")[2]
    clocks = files.text("sys/devices/system/clocksource/clocksource0/available_clocksource") or ""
    for clock, name in (("kvm-clock", "kvm"), ("hyperv_clocksource", "hyper-v"), ("xen", "xen")):
        if any(word.startswith(clock) for word in clocks.split()):
            yield name


def _containers(files: Files) -> Iterator[str]:
    if files.exists("run/.containerenv"):
        yield "podman"
    if files.exists(".dockerenv"):
        yield "docker"
    manager = files.text("run/systemd/container") or files.text("run/host/container-manager")
    if manager:
        yield manager
    environment = files.text("proc/1/environ") or ""
    for setting in environment.split("\0"):
        name, _, value = setting.partition("=")
        if name == "container" and value:
            yield value
    groups = files.text("proc/self/cgroup") or ""
    yield from (name for part, name in _CONTAINERS if part in groups)


def _nodes(files: Files) -> list[MemoryNode]:
    found = list[MemoryNode]()
    for name in files.names(_NODES):
        number = name.removeprefix("node")
        if number == name or not number.isdecimal():
            continue
        memory = files.fields(f"{_NODES}/{name}/meminfo").get(f"Node {number} MemTotal")
        cpus = files.cpus(f"{_NODES}/{name}/cpulist")
        found.append({"node": int(number), "cpus": cpus, "bytes": parse_size(memory)})
    return found


_PARAMETERS = re.compile(
    r"(?:mitigations|nospectre_v[12]|spectre_v2(?:_user)?|spec_\w+|spec_store_bypass_disable|"
    r"retbleed|nopti|pti|srbds|mds|tsx\w*|l1tf|isolcpus|nohz|nohz_full|rcu_nocbs|irqaffinity|"
    r"nosmt|maxcpus|idle|processor\.max_cstate|intel_idle\.max_cstate|intel_pstate|amd_pstate|"
    r"cpufreq\.\w+|clocksource|tsc|preempt|threadirqs|lockdown|transparent_hugepage|hugepagesz|"
    r"hugepages|numa_balancing|skew_tick|nowatchdog|debug_pagealloc|slub_debug|kasan(?:\.\w+)?)"
    r"(?:=.*)?"
)
"""Kernel parameters that affect times. Other parameters are not recorded, because they may be
confidential.
"""
_DEBUGGING = (
    "KASAN",
    "KCSAN",
    "KMSAN",
    "UBSAN_TRAP",
    "PROVE_LOCKING",
    "LOCK_STAT",
    "DEBUG_LOCK_ALLOC",
    "DEBUG_KMEMLEAK",
    "DEBUG_PAGEALLOC_ENABLE_DEFAULT",
    "DEBUG_OBJECTS",
    "DEBUG_PREEMPT",
    "DEBUG_VM",
    "DEBUG_NET",
    "SLUB_DEBUG_ON",
    "KCOV",
)
"""Kernel build options that slow down packet processing."""
_PERFMON, _SYS_ADMIN = 38, 21
"""Numbers of two Linux capabilities in `uapi/linux/capability.h`."""
_HEXADECIMAL = 16
_GZIP = zlib.MAX_WBITS | 16


class BpfSettings(TypedDict):
    """Settings for BPF programs (`Documentation/admin-guide/sysctl`); unknown values are null."""

    jit_enable: int | None
    """net.core.bpf_jit_enable: 0 interpreted, 1 compiled."""
    jit_harden: int | None
    """net.core.bpf_jit_harden: 0 off, 1 for processes without CAP_BPF, 2 for all."""
    jit_kallsyms: int | None
    """net.core.bpf_jit_kallsyms: nonzero if symbols of programs are exported."""
    stats_enabled: int | None
    """kernel.bpf_stats_enabled: nonzero if the kernel also times each run."""
    unprivileged_disabled: int | None
    """kernel.unprivileged_bpf_disabled: nonzero if unprivileged processes may not use BPF."""
    perfmon: bool | None
    """True if this process has CAP_PERFMON, directly or through CAP_SYS_ADMIN. Without it, the
    verifier adds instructions against speculation to programs."""


class Mitigation(TypedDict):
    """The kernel's mitigation of a CPU vulnerability."""

    name: str
    """Name of the file in /sys/devices/system/cpu/vulnerabilities."""
    text: str
    """Text of the file, which says how the kernel mitigates the vulnerability."""


class KernelFacts(TypedDict):
    """The running kernel; unknown values are null."""

    release: str | None
    """Output of `uname -r`."""
    version: str | None
    """Output of `uname -v`."""
    architecture: str
    """Output of `uname -m`."""
    parameters: list[str] | None
    """Parameters on the kernel's command line that are known to change times."""
    mitigations: list[Mitigation]
    """Mitigations of all vulnerabilities that the kernel lists."""
    bpf: BpfSettings
    """Settings for BPF programs."""
    clock_source: str | None
    """Clock source of the kernel, such as `tsc`."""
    huge_pages: str | None
    """Transparent huge pages: `always`, `madvise` or `never`."""
    lockdown: str | None
    """Lockdown mode: `none`, `integrity` or `confidentiality`."""
    debugging: list[str] | None
    """Build options that check the kernel for errors and slow it down."""


def kernel_facts(files: Files) -> KernelFacts:
    """Read the version, the parameters and the settings of the running kernel."""
    import platform

    release = files.text("proc/sys/kernel/osrelease")
    parameters = files.text("proc/cmdline")
    return {
        "release": release,
        "version": files.text("proc/sys/kernel/version"),
        "architecture": platform.machine(),
        "parameters": None if parameters is None else relevant_parameters(parameters),
        "mitigations": _mitigations(files),
        "bpf": _bpf(files),
        "clock_source": files.text(
            "sys/devices/system/clocksource/clocksource0/current_clocksource"
        ),
        "huge_pages": chosen(files.text("sys/kernel/mm/transparent_hugepage/enabled")),
        "lockdown": chosen(files.text("sys/kernel/security/lockdown")),
        "debugging": _debugging(files, release),
    }


def relevant_parameters(line: str) -> list[str]:
    """Return the parameters of a kernel command line that affect times.

    Words after `--` are not parameters of the kernel, so they are ignored.
    """
    kernel = re.split(r"(?:^|\s)--(?:\s|$)", line, maxsplit=1)[0]
    return [word for word in kernel.split() if _PARAMETERS.fullmatch(word)]


def debugging_options(config: str) -> list[str]:
    """Return the enabled options of a kernel configuration that check the kernel for errors."""
    on = set(re.findall(r"^CONFIG_(\w+)=y$", config, re.MULTILINE))
    return [option for option in _DEBUGGING if option in on]


def _mitigations(files: Files) -> list[Mitigation]:
    folder = "sys/devices/system/cpu/vulnerabilities"
    found = ((name, files.text(f"{folder}/{name}")) for name in files.names(folder))
    return [{"name": name, "text": text} for name, text in found if text is not None]


def _bpf(files: Files) -> BpfSettings:
    return {
        "jit_enable": files.number("proc/sys/net/core/bpf_jit_enable"),
        "jit_harden": files.number("proc/sys/net/core/bpf_jit_harden"),
        "jit_kallsyms": files.number("proc/sys/net/core/bpf_jit_kallsyms"),
        "stats_enabled": files.number("proc/sys/kernel/bpf_stats_enabled"),
        "unprivileged_disabled": files.number("proc/sys/kernel/unprivileged_bpf_disabled"),
        "perfmon": _perfmon(files.fields("proc/self/status").get("CapEff", "")),
    }


def _perfmon(mask: str) -> bool | None:
    if re.fullmatch(r"[0-9a-fA-F]{1,16}", mask) is None:
        return None
    bits = int(mask, _HEXADECIMAL)
    return bool((bits >> _PERFMON | bits >> _SYS_ADMIN) & 1)


def _debugging(files: Files, release: str | None) -> list[str] | None:
    packed = files.data("proc/config.gz")
    config = None if packed is None else _unpacked(packed)
    if config is None and release is not None and "/" not in release:
        config = files.text(f"boot/config-{release}")
    if config is not None:
        return debugging_options(config)
    # Without a configuration, look for files that kernels with these options have.
    signs = {"PROVE_LOCKING": "proc/lockdep", "DEBUG_KMEMLEAK": "sys/kernel/debug/kmemleak"}
    found = [option for option, sign in signs.items() if files.exists(sign)]
    return found or None


def _unpacked(data: bytes) -> str | None:
    try:
        return zlib.decompressobj(_GZIP).decompress(data, 1 << 24).decode(errors="replace")
    except zlib.error:
        return None


class Pace(TypedDict):
    """Speed of the CPU: medians of times of many additions that were timed during the run."""

    clock_hz: int
    """Clock frequency: dependent additions per second, which take one cycle each."""
    instructions_per_cycle: float
    """Independent additions per cycle, at most 5. The value is below the capacity of the core if
    another CPU shares it."""


class Environment(TypedDict):
    """Machine on which a measurement ran, and conditions during the run."""

    slowpath: str
    """Version of slowpath."""
    kernel: KernelFacts
    """The kernel at the end of the run."""
    processor: Processor
    """The CPU that the run was pinned to."""
    host: Host
    """The machine that the kernel runs on."""
    run: RunFacts
    """Events during the run."""
    pace: Pace | None
    """Speed of the CPU; null if it was not timed, or if the kernel does not compile programs."""


class Watch:
    """Recorder of the environment of a run, such as CPU, kernel and interrupts.

    `begin` starts it.
    """

    def __init__(self, files: Files, cpu: int, thread: int, before: Counters) -> None:
        self._files = files
        self._cpu = cpu
        self._thread = thread
        self._before = before
        self._paused: Counters | None = None  # counters at the start of a pause
        self._begun = False  # true once a part of the run has begun

    def pause(self) -> None:
        """Exclude the time from now on from the record, until `resumed` or `end` is called."""
        if self._paused is None:
            self._paused = self._read()

    @contextmanager
    def resumed(self) -> Iterator[None]:
        """Return a context manager; the record includes the time within it."""
        if self._paused is not None:
            now = self._read()
            self._before = without_pause(self._before, self._paused, now)
            if not self._begun:
                self._before = self._before._replace(frequency_hz=now.frequency_hz)
            self._paused = None
        self._begun = True
        try:
            yield
        finally:
            self.pause()

    def _read(self) -> Counters:
        return read_counters(self._files, self._cpu, self._thread)

    def end(self, speed: CpuSpeed | None = None) -> Environment:
        """Return the record of the run so far.

        `speed` is the measured speed of the CPU; None if it was not measured.
        """
        # Read the counters first: the other reads are not part of the run.
        after = self._read() if self._paused is None else self._paused
        cpu, kernel = processor(self._files, self._cpu), kernel_facts(self._files)
        return {
            "slowpath": engine.version(),
            "kernel": kernel,
            "processor": cpu,
            "host": host(self._files, self._cpu),
            "run": between(self._before, after, self._cpu, cpu["siblings"]),
            "pace": None if kernel["bpf"]["jit_enable"] == 0 else _pace(speed),
        }


def _pace(speed: CpuSpeed | None) -> Pace | None:
    if speed is None:
        return None
    return {
        "clock_hz": speed.clock_hz,
        "instructions_per_cycle": round(speed.instructions_per_cycle, 2),
    }


def begin(cpu: int, *, thread: int | None = None, files: Files | None = None) -> Watch:
    """Start to record the environment of a run on a CPU.

    The CPU should already be busy, because its frequency rises under load.

    Args:
        cpu: Number of the CPU that the run is pinned to.
        thread: System-wide number of the thread that measures; default: the calling thread.
        files: Files with facts about the machine; default: those of this machine.
    """
    import threading

    files = Files() if files is None else files
    thread = threading.get_native_id() if thread is None else thread
    return Watch(files, cpu, thread, read_counters(files, cpu, thread))
