"""Helpers for tests of `slowpath insights counts`: they write sources and traces, and run it.

The command runs a function on a packet trace, and counts its instructions and memory accesses.
"""

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, TypeVar

from slowpath.core.engine.objects import captured
from slowpath.core.programs.packet import write_pcap
from support import CAMPAIGN, ROOT, remembered, slowpath

_Case = TypeVar("_Case")
FOLDER = ROOT / "tests/counts"
EXAMPLES = ROOT / "examples/insights"
CONFIGURATIONS = {
    "nat": "192.0.2.1, 10.0.0.0, 255.255.255.0",
    "dns_proxy": "10.0.2.1",
    "udp_counter": "10.0.0.0, 255.255.0.0, LOW 5000",
    "web_generator": "10.0.0.2, 198.51.100.80",
}


def fewer_unless_campaign(cases: Sequence[_Case], count: int) -> Sequence[_Case]:
    """Return only the first `count` test cases, but all of them in a campaign (`make campaign`)."""
    return cases if CAMPAIGN > 1 else cases[:count]


def counted(source: Path, traffic: Path, *options: str | Path) -> dict[str, Any]:
    """Run `slowpath insights counts` on a source and a trace, and return the report."""
    words = ("insights", "counts", source, "--pcap", traffic, "--format", "json", *options)
    read: dict[str, Any] = json.loads(remembered(*words))
    return read


class Example(NamedTuple):
    """The report on an example, and the files that `insights counts` wrote."""

    report: dict[str, Any]
    placement: Path
    coalescing: Path


_KEPT = TemporaryDirectory()


@cache
def example(name: str) -> Example:
    """Run `insights counts` on an example of CONFIGURATIONS; return the report and written files.

    Each process runs it only once.
    """
    files = [Path(_KEPT.name, f"{name}.{kind}.json") for kind in ("placement", "coalescing")]
    _, traffic, *config = setting(name)
    outputs = ("--placement-out", files[0], "--coalescing-out", files[1])
    report = counted(EXAMPLES / f"{name}.cc", Path(traffic), *config, *outputs)
    return Example(report, *files)


def setting(name: str) -> tuple[str | Path, ...]:
    """Return the command-line options for counting an example: its trace and configuration."""
    return "--pcap", EXAMPLES / f"{name}.pcap", "--config", CONFIGURATIONS[name]


def error_of(*words: str | Path, code: int = 3) -> str:
    """Run a command that must fail with this exit code, and return its errors.

    It must not write any output.
    """
    run = slowpath(*words, timeout=300)
    assert (run.returncode, run.stdout) == (code, ""), run.stderr
    return run.stderr


def reported(*words: str | Path) -> dict[str, Any]:
    """Return the JSON report of `slowpath insights FILE`."""
    read: dict[str, Any] = json.loads(remembered("insights", *words, "--format", "json"))
    return read


def as_it_is(name: str) -> dict[str, Any]:
    """Return the report of `slowpath insights FILE` on an example without changes."""
    return reported(EXAMPLES / f"{name}.cc", *setting(name))


def trace(folder: Path, packets: Sequence[bytes]) -> Path:
    """Write a capture file with these frames, and return it."""
    file = folder / "trace.pcap"
    write_pcap(str(file), packets)
    return file


def structures(report: dict[str, Any]) -> dict[str, tuple[int, int]]:
    """Return the numbers of reads and writes of each data structure in a report."""
    return {one["structure"]: (one["reads"], one["writes"]) for one in report["structures"]}


def calls(report: dict[str, Any]) -> dict[str, int]:
    """Return the number of calls of each function in a report."""
    return {one["function"]: one["calls"] for one in report["functions"]}


def sent(report: dict[str, Any]) -> dict[int, int]:
    """Return the number of packets sent to each output, from a report."""
    return {one["output"]: one["packets"] for one in report["fate"]["outputs"]}


def results(report: dict[str, Any]) -> dict[int, int]:
    """Return the number of packets by return value of the function, from a report."""
    return {one["result"]: one["packets"] for one in report["fate"]["results"]}


def frames_of(file: Path) -> list[bytes]:
    """Return the frames in a capture file."""
    return [frame for frame, _, _ in captured(str(file))]


def element(folder: Path, name: str, body: str) -> Path:
    """Write the source of a Click element class with the members `body`, and return the file."""
    source = folder / f"{name.lower()}.cc"
    source.write_text(
        f"#include <click/element.hh>\nclass {name} : public Element {{ public:\n"
        f'const char *class_name() const {{ return "{name}"; }}\n{body} }};\n'
        f"EXPORT_ELEMENT({name})\n"
    )
    return source
