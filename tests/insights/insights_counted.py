"""What tests of `slowpath insights counts` share: sources, traces, and the command as JSON."""

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from slowpath.core.programs.packet import write_pcap
from support import ROOT, remembered

FOLDER = ROOT / "tests/counts"
EXAMPLES = ROOT / "examples/insights"
CONFIGURATIONS = {
    "nat": "192.0.2.1, 10.0.0.0, 255.255.255.0",
    "dns_proxy": "10.0.2.1",
    "udp_counter": "10.0.0.0, 255.255.0.0, LOW 5000",
    "web_generator": "10.0.0.2, 198.51.100.80",
}


def counted(source: Path, traffic: Path, *options: str | Path) -> dict[str, Any]:
    """The report."""
    words = ("insights", "counts", source, "--traffic", traffic, "--format", "json", *options)
    read: dict[str, Any] = json.loads(remembered(*words))
    return read


class Example(NamedTuple):
    """What was counted of an example over its trace."""

    report: dict[str, Any]
    placement: Path
    coalescing: Path


_KEPT = TemporaryDirectory()


@cache
def example(name: str) -> Example:
    """Counts one of CONFIGURATIONS; whoever asks again gets the same."""
    files = [Path(_KEPT.name, f"{name}.{kind}.json") for kind in ("placement", "coalescing")]
    _, traffic, *config = setting(name)
    outputs = ("--placement-out", files[0], "--coalescing-out", files[1])
    report = counted(EXAMPLES / f"{name}.cc", Path(traffic), *config, *outputs)
    return Example(report, *files)


def setting(name: str) -> tuple[str | Path, ...]:
    """How an example runs."""
    return "--traffic", EXAMPLES / f"{name}.pcap", "--config", CONFIGURATIONS[name]


def reported(*words: str | Path) -> dict[str, Any]:
    """The report of all advice."""
    read: dict[str, Any] = json.loads(remembered("insights", *words, "--format", "json"))
    return read


def as_it_is(name: str) -> dict[str, Any]:
    """The report on an example."""
    return reported(EXAMPLES / f"{name}.cc", *setting(name))


def trace(folder: Path, packets: Sequence[bytes]) -> Path:
    """A capture of these frames."""
    file = folder / "trace.pcap"
    write_pcap(str(file), packets)
    return file


def structures(report: dict[str, Any]) -> dict[str, tuple[int, int]]:
    """Reads and writes by structure."""
    return {one["structure"]: (one["reads"], one["writes"]) for one in report["structures"]}


def calls(report: dict[str, Any]) -> dict[str, int]:
    """Calls by function."""
    return {one["function"]: one["calls"] for one in report["functions"]}
