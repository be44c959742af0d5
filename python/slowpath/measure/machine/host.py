"""Memory, virtual machine and container of the running kernel.

The sources are those of systemd-detect-virt (`src/basic/virt.c`), except CPUID, which a Python
program cannot query.
"""

from collections.abc import Iterator
from typing import TypedDict

from slowpath.measure.machine.files import Files, parse_size
from slowpath.measure.machine.processor import cpu_lines

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
"""Prefixes of firmware strings, and the hypervisor of each."""
_CONTAINERS = (
    ("/kubepods", "kubernetes"),
    ("/docker", "docker"),
    ("/libpod", "podman"),
    ("/lxc", "lxc"),
    ("/containerd", "containerd"),
)
"""Parts of control group names, and the container runtime of each."""


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
    """Read the properties of the machine."""
    name = next(_hypervisors(files), None)
    flags = cpu_lines(files, cpu).get("flags")
    flagged = None if flags is None else "hypervisor" in flags.split()
    return {
        "memory_bytes": parse_size(files.fields("proc/meminfo").get("MemTotal")),
        "nodes": _nodes(files),
        "virtual": _told(files, name) if flagged is None else flagged,
        "hypervisor": None if flagged is False else name,
        "container": next(_containers(files), None),
    }


def _told(files: Files, name: str | None) -> bool | None:
    """Return true for a virtual machine by its firmware, if the CPU has no flag for it."""
    if name is not None:
        return True
    return False if files.exists(_DMI) or files.exists("proc/device-tree") else None


def _hypervisors(files: Files) -> Iterator[str]:
    """Yield names of the hypervisor, most reliable first."""
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
    first = files.text("proc/1/environ") or ""
    for setting in first.split("\0"):
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
