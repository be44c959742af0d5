"""Generates networks in layers, whose nodes run variants of the example programs."""

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parents[2] / "examples/chain"

# Kinds of programs. For each: its source, the file with the constant that distinguishes variants,
# the constant, and a function that returns its replacement.
KINDS: dict[str, tuple[str, str, str, Callable[[int], str]]] = {
    "firewall": ("firewall.bpf.c", "firewall.bpf.c", "POLICY 0x10203", lambda n: f"POLICY {n + 1}"),
    "counter": (
        "counter.bpf.c",
        "counter.bpf.c",
        "PROTOCOLS 256",
        lambda n: f"PROTOCOLS {256 + n}",
    ),
    "blocklist": (
        "blocklist.bpf.c",
        "blocklist.bpf.c",
        "__uint(max_entries, 1024)",
        lambda n: f"__uint(max_entries, {1024 + n})",
    ),
    "port_filter": (
        "port_filter.bpf.c",
        "port_filter.bpf.c",
        "PORTS 65536",
        lambda n: f"PORTS {65536 - 64 * n}",
    ),
    "balancer": (
        "load_balancer.bpf.c",
        "load_balancer.h",
        "MAX_SERVICES 256",
        lambda n: f"MAX_SERVICES {256 + n}",
    ),
}
# Layers of a network, and the kinds of programs on each, alternating; none on layers that only
# forward.
LAYERS: list[tuple[str, list[str]]] = [
    ("edge", ["firewall", "port_filter"]),
    ("tor", []),
    ("filter", ["blocklist", "counter"]),
    ("guard", ["firewall"]),
    ("meter", ["counter", "port_filter"]),
    ("spine", []),
    ("server", ["balancer"]),
]
# For each layer, the distance between the nodes of consecutive paths. Most layer sizes have no
# common factor with it, so paths meet in many different ways.
STRIDES = [1, 7, 11, 13, 17, 19, 23]
FLAGS = ["-O2", "-g", "-target", "bpf", "-mcpu=v3", "-fno-unroll-loops"]


@dataclass
class Programs:
    """Object files of variants of the examples; each variant is compiled only once."""

    folder: Path
    clang: str
    made: dict[tuple[str, int], Path] = field(default_factory=dict)

    def variant(self, kind: str, number: int) -> Path:
        """Return the object of a variant of the example `kind`; compile it if necessary.

        `number` selects the variant.
        """
        if (kind, number) not in self.made:
            self.made[kind, number] = self._compile(kind, number)
        return self.made[kind, number]

    def _compile(self, kind: str, number: int) -> Path:
        source, changed, old, new = KINDS[kind]
        folder = self.folder / f"{kind}.{number}"
        folder.mkdir(parents=True, exist_ok=True)
        # Headers that chains share with other examples are in the parent folder.
        for header in EXAMPLES.parent.glob("*.h"):
            shutil.copy(header, self.folder)
        for name in {source, changed, *(file.name for file in EXAMPLES.glob("*.h"))}:
            text = (EXAMPLES / name).read_text()
            if name == changed:
                if text.count(old) != 1:
                    raise SystemExit(f"{name}: {old} is there {text.count(old)} times")
                text = text.replace(old, new(number))
            (folder / name).write_text(text)
        target = folder / f"{kind}.bpf.o"
        multiarch = ["-idirafter", "/usr/include/x86_64-linux-gnu"]
        command = [self.clang, *FLAGS, *multiarch, "-c", source, "-o", target.name]
        subprocess.run(command, cwd=folder, check=True)
        return target


@dataclass(frozen=True)
class Network:
    """The size of a network to generate."""

    nodes: int
    paths: int
    programs: int  # different ones, which nodes share


def layers(nodes: int) -> list[list[str]]:
    """Divide the nodes into layers. Each layer has at least one node."""
    each = max(1, nodes // len(LAYERS))
    return [[f"{name}-{number}" for number in range(each)] for name, _ in LAYERS]


def placed(network: Network) -> Iterator[tuple[str, tuple[str, int] | None]]:
    """Yield each node of a network with its program: example name and variant number.

    The second value is None for a node that runs no program.
    """
    running = sum(1 for _, kinds in LAYERS if kinds)
    numbered = enumerate(zip(LAYERS, layers(network.nodes), strict=True))
    for layer, ((_, kinds), names) in numbered:
        for number, name in enumerate(names):
            if not kinds:
                yield name, None
                continue
            variants = max(1, network.programs // running // len(kinds))
            # Variants are not shared between layers.
            variant = 100 * layer + number // len(kinds) % variants
            yield name, (kinds[number % len(kinds)], variant)


def write(network: Network, programs: Programs, file: Path) -> list[str]:
    """Write the description of a network to a file, and return the names of its programs."""
    nodes = list(placed(network))
    wanted = sorted({program for _, program in nodes if program})
    described = {
        "schema": 1,
        "programs": [
            {"name": f"{kind}.{number}", "object": str(programs.variant(kind, number))}
            for kind, number in wanted
        ],
        "nodes": [
            {"name": name} | ({"program": f"{program[0]}.{program[1]}"} if program else {})
            for name, program in nodes
        ],
        "paths": [_path(network, number) for number in range(network.paths)],
    }
    file.write_text(json.dumps(described))
    return [f"{kind}.{number}" for kind, number in wanted]


def _path(network: Network, number: int) -> dict[str, object]:
    hops = list[dict[str, object]]()
    for (_, kinds), names, stride in zip(LAYERS, layers(network.nodes), STRIDES, strict=True):
        name = names[number * stride % len(names)]
        behind = {"on": ["XDP_PASS"]} if kinds else {"changes": ["ttl", "ethernet_addresses"]}
        hops.append({"node": name} | behind)
    hops[-1].pop("on")
    return {"name": f"path-{number}", "share": 1 + number % 10, "hops": hops}
