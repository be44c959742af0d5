"""Tests the HTML pages of all commands in a browser: layout, accessibility, and printing."""

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from browser import axe_violations, looked_at_all, printed_pages
from compiler import needs_clang
from contention_tables import profile, write_memory
from running_kernel import needs_kernel, needs_two_cpus
from support import ROOT, commands, slowpath

EXAMPLES = ROOT / "examples"
FLEET = EXAMPLES / "fleet"
FIREWALL = EXAMPLES / "firewall.bpf.o"
LONG = EXAMPLES / "quic_lb.bpf.o"
"""The example with the largest page."""
Words = tuple[str | Path, ...]


def _insights(_folder: Path) -> Words:
    pytest.importorskip("llvmlite.binding")
    needs_clang()
    trace = EXAMPLES / "insights/udp_counter.pcap"
    return ("insights", "tests/advice/filter.c", "--entry", "process", "--pcap", trace)


def _measure(_folder: Path) -> Words:
    needs_kernel()
    return ("measure", FIREWALL, "--seconds", "0.3")


def _sweep(_folder: Path) -> Words:
    needs_clang()
    return ("sweep", EXAMPLES / "count_min.bpf.c", "-D", "HASHES=1,4,8")


def _calibrate(folder: Path) -> Words:
    needs_clang()
    bed = ("--testbed", "ebpf", "--component", "arithmetic-add", "--points", "3")
    return ("calibrate", *bed, "-o", folder / "run")


def _load(folder: Path) -> Words:
    needs_clang()
    needs_kernel()
    needs_two_cpus()
    bed = ("--testbed", "load", "--component", "forward-size", "--points", "1", "--seconds", "0.5")
    return ("calibrate", *bed, "--loss", "50", "-o", folder / "load")


def _evaluate(folder: Path) -> Words:
    message = {"function": "nf", "device": "nic", "unit throughput": "kpps"}
    memory = write_memory(folder / "memory.csv", profile(24), message)
    return ("contention", "evaluate", memory, "--recipe", "ridge-pressure")


def _diagnose(_folder: Path) -> Words:
    words = ("contention", "diagnose", FLEET / "ids.model.json", "--what-if", "regex queues x2")
    return (*words, "--traffic", "flows=16000,size=1500,mtbr=200", "--sweep", "mtbr=0..1000/5")


PAGES: dict[str, Callable[[Path], Words]] = {
    "bound": lambda _: ("bound", FIREWALL, "--paths", "8"),
    "annotate": lambda _: ("annotate", FIREWALL),
    "show": lambda _: ("show", FIREWALL),
    "diff": lambda _: ("diff", EXAMPLES / "count_min.4.bpf.o", EXAMPLES / "count_min.8.bpf.o"),
    "sweep": _sweep,
    "reproduce": lambda _: (
        "reproduce",
        "insights",
        "figure-15",
        EXAMPLES / "insights/udp_counter.json",
    ),
    "measure": _measure,
    "chain facts": lambda _: ("chain", "facts", EXAMPLES / "chain/chain.yaml"),
    "chain optimize": lambda _: (
        *("chain", "optimize", EXAMPLES / "chain/chain.yaml"),
        *("--packets", "0"),
    ),
    "insights": _insights,
    "insights graph": lambda _: (
        *("insights", "graph", "tests/click/tree/passing.click"),
        *("--click", "tests/click/tree", "--pcap", EXAMPLES / "insights/nat.pcap"),
    ),
    "contention evaluate": _evaluate,
    "contention diagnose": _diagnose,
    "calibrate": _calibrate,
    "calibrate, offered load": _load,
    # Large and unusual input.
    "bound, large": lambda _: ("bound", LONG, "--paths", "3"),
    "show, large": lambda _: ("show", LONG),
    "bound, several programs": lambda _: (
        *("bound", FIREWALL),
        *(EXAMPLES / f"count_min.{count}.bpf.o" for count in (1, 4, 8)),
    ),
    "show, several programs": lambda _: ("show", ROOT / "crates/bpf/tests/data/features.bpf.o"),
    "measure, two versions": lambda folder: (*_measure(folder), FIREWALL),
}
"""Command line that writes each page, by the name of the command and a remark."""

_LOOK = """
function look(frame, width) {
  const page = frame.contentDocument, root = page.documentElement, clipped = [];
  const scrolls = one => /auto|scroll|hidden/.test(frame.contentWindow.getComputedStyle(one)
    .overflowX);
  for (const one of page.querySelectorAll('body *')) {
    const box = one.getBoundingClientRect();
    if (!box.width || box.right <= root.clientWidth + 1) continue;
    let inside = one.parentElement;
    while (inside && !scrolls(inside)) inside = inside.parentElement;
    if (!inside) clipped.push(one.outerHTML.slice(0, 120));
  }
  const small = [...page.querySelectorAll('figure svg text')].filter(one => {
    const height = one.getBoundingClientRect().height;
    return height && height < 9;
  });
  return {width, scroll: root.scrollWidth, client: root.clientWidth, clipped: clipped.slice(0, 3),
          small: small.length, headings: page.querySelectorAll('h1').length};
}
"""


def test_every_command_with_a_page_is_tested() -> None:
    """Check that the tests of this file cover all commands that can write an HTML page."""
    declared = {
        name
        for name, command in commands()
        if any("--html" in option.names for option in command.options)
    }
    assert {name.partition(",")[0] for name in PAGES} == declared


@pytest.mark.parametrize("picture", sorted((ROOT / "docs/figures/pages").iterdir()))
def test_pictures_of_pages_are_small_and_described(picture: Path) -> None:
    assert picture.stat().st_size <= 120_000
    texts = [file.read_text() for file in (ROOT / "docs").rglob("*.md")]
    assert any(
        re.search(rf"!\[[^\]]+\]\([./]*figures/pages/{picture.name}\)", one) for one in texts
    )


@pytest.fixture(scope="module", params=PAGES)
def page(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the HTML page that a command writes."""
    name: str = request.param
    folder = tmp_path_factory.mktemp("page")
    file = folder / "shown.html"
    run = slowpath(*PAGES[name](folder), "--html", file)
    assert run.returncode == 0, run.stderr
    return file


def test_pages_are_small(page: Path) -> None:
    assert page.stat().st_size <= 2_000_000


@pytest.mark.parametrize("dark", [False, True])
def test_pages_fit_on_phones_and_desks(page: Path, tmp_path: Path, *, dark: bool) -> None:
    os.link(page, tmp_path / "page.html")
    for one in looked_at_all(["page.html"], tmp_path, _LOOK, (390, 1280), dark=dark):
        found: dict[str, Any] = one
        assert found["scroll"] <= found["client"], found
        assert found["clipped"] == [], found
        assert found["small"] == 0, found
        assert found["headings"] == 1


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [390, 1280])
def test_pages_have_no_faults_of_accessibility(
    page: Path, tmp_path: Path, width: int, *, dark: bool
) -> None:
    assert axe_violations(page, tmp_path, width, dark=dark) == []


def test_pages_fill_at_most_three_sheets(page: Path, tmp_path: Path) -> None:
    assert printed_pages(page, tmp_path) <= 3
