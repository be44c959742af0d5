"""Provides arguments with which each command succeeds, for tests of all commands and formats."""

from collections.abc import Iterator

from slowpath.core.command import Command
from support import CAMPAIGN, commands

LISTING = "examples/two_protocols.asm"
CHAIN = "crates/slowpath/tests/objects/chain.yaml"
OBJECT = "examples/count_min.1.bpf.o"
CERTIFICATE = "tests/check/count_min.cert"
MEMORY = "examples/contention.csv"
LEAST = "tests/contention/contention_least.yaml"
COUNTED = "tests/counts/histogram.c"
GRAPH = "tests/click/tree/passing.click"
TRAFFIC = "examples/insights/nat.pcap"
SLOW = ("calibrate", "contention profile")
"""Commands that run in one format only by default; in `make campaign`, they run in all formats."""
ENDLESS = ("watch", "lsp")
"""Commands that run until Ctrl-C or until the editor ends them; other tests run these commands."""
FRESH = "fresh"
"""Name of a folder that does not exist yet."""


def formats(command: Command) -> list[str]:
    """Return the formats of a command, the values of `--format`; none without this option."""
    return [
        form for o in command.options if "--format" in o.names for form in o.settings["choices"]
    ]


def every_command() -> Iterator[tuple[str, ...]]:
    """Yield arguments for a successful run of each command in each format.

    Commands in `SLOW` are run in one format by default.
    """
    words = {
        "bound": [LISTING],
        "annotate": [LISTING],
        "diff": [LISTING, LISTING],
        "sweep": ["examples/count_min.bpf.c", "-D", "HASHES=1,2"],
        "fit": ["tests/fit/line.csv", "--x", "bytes", "--y", "ns"],
        "calibrate": ["--testbed", "ebpf", "--component", "calls", "--points", "5", "-o", FRESH],
        "measure": [OBJECT, "--seconds", "0.1", "--cache", "hot", "--no-stretches"],
        "chain bound": [CHAIN],
        "chain facts": [CHAIN],
        "chain optimize": [CHAIN, "--packets", "0"],
        "chain plan": ["examples/chain/topology.yaml", "--no-cache-dir"],
        "chain verify": [OBJECT, OBJECT],
        "contention profile": [LEAST, "-o", FRESH],
        "contention train": [MEMORY, "--recipe", "ridge-pressure"],
        "contention predict": [
            "--memory-table",
            MEMORY,
            "--query",
            MEMORY,
            "--recipe",
            "ridge-pressure",
        ],
        "contention evaluate": [MEMORY, "--recipe", "constant"],
        "insights": ["tests/advice/filter.c"],
        "insights blocks": ["examples/chain/counter.bpf.c"],
        "insights accelerators": ["tests/accelerators/sums.c", "--entry", "adler_plain"],
        "contention diagnose": ["examples/fleet/nat.model.json", "--traffic", "flows=9,size=64"],
        "contention place": [
            "examples/fleet/fleet.yaml",
            *("--arrivals", "examples/fleet/arrivals.csv"),
        ],
        "contention suggest": ["examples/fleet/fleet.yaml", "--mixes", "2"],
        "reproduce": [
            *("insights", "figure-15", "examples/insights/udp_counter.json"),
            *("--only", "udp-counter, IMEM 2*"),
        ],
        "insights cores": ["--query", "examples/insights/functions.csv"],
        "insights colocation": ["--query", "examples/insights/group.jsonl"],
        "insights placement": ["examples/insights/udp_counter.json"],
        "insights coalescing": ["examples/insights/connection.json"],
        "insights counts": [COUNTED, "--pcap", TRAFFIC, "--packets", "20"],
        "check": [OBJECT, CERTIFICATE],
        "insights graph": [GRAPH, "--click", "tests/click/tree"],
        "compile": [OBJECT],
        "demo": [],
        "completion": ["bash"],
        "man": [],
        "schema": ["bound"],
        "help": ["bound"],
        "show": [OBJECT],
        "targets list": [],
        "targets show": ["ebpf"],
        "targets check": ["targets/ebpf.toml"],
        "targets models": ["linux-xdp"],
        "config show": [],
        "explain": ["SP0201", "no-price"],
        "config check": ["tests/config/settings.toml"],
        "config cache": [],
    }
    for name, command in commands():
        if name in ENDLESS:
            continue
        called = (*name.split(), *words[name])
        forms = formats(command)
        if name in SLOW and CAMPAIGN == 1:
            forms = forms[:1]
        yield from ((*called, "--format", form) for form in forms) if forms else [called]
