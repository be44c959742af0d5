"""Tests that programs for the card, changed by the advice, save the announced instructions.

The advice is that of `slowpath insights`; the card is a SmartNIC for which slowpath compiles.
"""

import json
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from insights_counted import CONFIGURATIONS, EXAMPLES
from insights_counted import counted as counts
from support import ROOT, slowpath

pytest.importorskip("llvmlite.binding")
pytestmark = pytest.mark.usefixtures("with_clang")
FOLDER = EXAMPLES / "card"
TARGET = "agilio-cx-2x40"
FETCHED = {
    "nat": "-DFOLLOWED",
    "dns_proxy": "-DFOLLOWED",
    "udp_counter": "-DTOGETHER",
    "web_generator": "-DFOLLOWED",
}
"""For each example, the flag for clang with which one memory command fetches neighbouring members.

The state stays in its memory.
"""
ORDERED = ("nat", "web_generator")
SUMMED = ("dns_proxy", "web_generator")


def reported(*words: object) -> dict[str, Any]:
    run = slowpath(*map(str, words), "--format", "json")
    assert run.returncode == 0, run.stderr
    read: dict[str, Any] = json.loads(run.stdout)
    return read


@cache
def counted(name: str, flags: str) -> dict[str, Any]:
    """Run `insights blocks` on a test program, compiled with `flags`; return its counts."""
    file = FOLDER / f"{name}.bpf.c"
    [program] = reported("insights", "blocks", file, f"--cflags={flags}")["programs"]
    read: dict[str, Any] = program
    return read


def blocks(name: str, flags: str) -> list[dict[str, Any]]:
    return [one for each in counted(name, flags)["functions"] for one in each["blocks"]]


def state(name: str, flags: str) -> int:
    return sum(int(one["accesses"]["state"]) for one in blocks(name, flags))


@cache
def slowest(name: str, flags: str) -> dict[str, float]:
    """Return the cycles of a program's slowest path on each component of the card."""
    file = FOLDER / f"{name}.bpf.c"
    [result] = reported("bound", file, "--target", TARGET, f"--cflags={flags}")["results"]
    assert result["guarantee"]["exact"]
    found: dict[str, float] = result["paths"][0]["cost"]
    return found


@cache
def announced(name: str) -> dict[str, Any]:
    [element] = [
        one
        for one in reported("insights", "coalescing", FOLDER / "layouts.json")["results"]
        if one["element"] == name
    ]
    read: dict[str, Any] = element
    return read


def described(name: str) -> dict[str, Any]:
    """Return the basic block `read` of a test program from the file of variable layouts."""
    file = json.loads((FOLDER / "layouts.json").read_text())
    [element] = [one for one in file["elements"] if one["name"] == name]
    read: dict[str, Any] = next(one for one in element["blocks"] if one["name"] == "read")
    return read


def price() -> float:
    """Return the cycles for which one read of state keeps the card's memory busy."""
    target = tomllib.loads((ROOT / f"targets/{TARGET}.toml").read_text())
    return float(target["price"]["mem.dram.read32.wait"]["dram"]["cycles"])


@pytest.mark.parametrize("name", CONFIGURATIONS)
@pytest.mark.parametrize("flags", ["", "-DORDERED", "-DTOGETHER", "-DFOLLOWED"])
def test_the_card_runs_all_of_it(name: str, flags: str) -> None:
    assert counted(name, flags)["total"] is not None
    assert not any(one["refused"] for one in blocks(name, flags))


@pytest.mark.parametrize("name", FETCHED)
def test_reads_are_saved_as_announced(name: str) -> None:
    """Check that fetching struct members together saves as many memory reads as announced.

    The original source has one memory command per member; the changed one has one per window of
    bytes.
    """
    read = described(name)
    (window,) = (one for one in announced(name)["blocks"] if one["block"] == "read")
    saved = read["weight"] * (len(read["variables"]) - window["accesses"])
    assert saved > 0
    assert state(name, "") - state(name, FETCHED[name]) == saved
    cycles = slowest(name, "")["dram"] - slowest(name, FETCHED[name])["dram"]
    assert cycles == pytest.approx(saved * price(), rel=1e-6)


@pytest.mark.parametrize("name", FETCHED)
def test_layouts_are_those_of_the_programs(name: str) -> None:
    """Check that the file of variable layouts lists the struct members as the source does.

    The order and the sizes must agree.
    """
    text = (FOLDER / f"{name}.bpf.c").read_text()
    first = text.rindex("struct {\n\t__uint(type")
    body = text[text.rindex("struct ", 0, first - 1) : first]
    body = body[body.index("{") + 1 : body.index("}")]
    members = [line.split(";")[0].split() for line in body.strip().splitlines()]
    sizes = {"8": 1, "6": 2, "2": 4, "4": 8}
    found = [(one[1], sizes[one[0][-1]]) for one in members]
    file = json.loads((FOLDER / "layouts.json").read_text())
    [element] = [one for one in file["elements"] if one["name"] == name]
    assert found == [(one["name"], one["bytes"]) for one in element["variables"]]


@pytest.mark.parametrize("name", ORDERED)
def test_an_order_alone_changes_no_access(name: str) -> None:
    """Check that a new order of struct members saves no memory commands by itself.

    The code generator never reads two members with one command, unless the source fetches them
    together.
    """
    compared = {one["layout"]: one["accesses"] for one in announced(name)["compared"]}
    assert announced(name)["accesses"] == compared["source"] - 1
    assert state(name, "-DORDERED") == state(name, "")
    assert slowest(name, "-DORDERED")["dram"] == slowest(name, "")["dram"]


def test_rules_in_the_program_are_read_from_no_memory() -> None:
    read = described("udp_counter")
    saved = read["weight"] * len(read["variables"])
    assert state("udp_counter", "") - state("udp_counter", "-DFOLLOWED") == saved
    cycles = slowest("udp_counter", "")["dram"] - slowest("udp_counter", "-DFOLLOWED")["dram"]
    assert cycles == pytest.approx(saved * price(), rel=1e-6)


@pytest.mark.parametrize("name", SUMMED)
def test_a_corrected_sum_saves_little_where_one_command_reads_the_header(name: str) -> None:
    """Check that correcting a checksum takes about as many instructions as computing it anew.

    The counts of the largest blocks differ by at most 16, because one command reads the whole
    header.
    """
    before, after = (
        max(one["instructions"] for one in blocks(name, flags)) for flags in ("", "-DFOLLOWED")
    )
    assert abs(before - after) <= 16


def test_sums_of_headers_are_right(tmp_path: Path) -> None:
    """Check two checksum functions on the packets of a trace.

    The recomputed checksum must equal that of the packet. After a change of the header, the
    corrected checksum must equal the recomputed one.
    """
    file = tmp_path / "sums.c"
    file.write_text(
        f'#include "{FOLDER / "card.h"}"\n#include <string.h>\n'
        "int process(const unsigned char *data, unsigned length) {\n"
        "struct iphdr ip; unsigned short had; unsigned after;\n"
        "memcpy(&ip, data + 14, 20); had = ip.check; ip.check = 0;\n"
        "if (header_sum(&ip) != had) return 0;\n"
        "after = ip.saddr * 2654435761u + length;\n"
        "had = corrected(had, ip.daddr, after); ip.daddr = after;\n"
        "return had == header_sum(&ip); }\n"
    )
    fate = counts(file, EXAMPLES / "udp_counter.pcap", "--entry", "process")["fate"]
    assert fate["results"] == [{"result": 1, "packets": 500}]
