"""Tests the HTML pages of `slowpath chain facts` and `slowpath chain optimize`."""

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from browser import axe_violations, looked_at
from slowpath.chain.documents import ChainProgram, ChainReport
from slowpath.chain.page import WrittenFiles, chain_page
from slowpath.chain.page_graphs import Reasons
from slowpath.chain.report_types import Block, Dropped, Graph, Graphs, Pair, SourceLine
from support import ROOT, slowpath
from test_chain_rewriting import CHAIN, chain, program
from test_html import HOSTILE, parsed, texts

EXAMPLES = ROOT / "examples/chain"
Element = ElementTree.Element
Made = tuple[dict[str, Any], Element, Path]


def made(folder: Path, *words: str | Path) -> tuple[dict[str, Any], Element]:
    """Run a `chain` command with `--html`; return its JSON report and the parsed page."""
    page = folder / "page.html"
    run = slowpath("chain", *words, "--html", page, "--format", "json")
    assert (run.returncode, run.stderr) == (0, "")
    return json.loads(run.stdout), parsed(page.read_text())


@pytest.fixture(scope="module")
def optimized(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """Rewrite the example chain with guards; return the report, the page and the page's file."""
    folder = tmp_path_factory.mktemp("page")
    return *made(folder, "optimize", CHAIN, "--packets", "0"), folder / "page.html"


def section(root: Element, name: str) -> Element:
    """Return the section of an HTML page that has this heading."""
    (one,) = (one for one in root.iter("section") if "".join(one.find("h2").itertext()) == name)  # type: ignore[union-attr]
    return one


def blocks(root: Element, side: str) -> list[Element]:
    """Return the basic blocks on the page, in order; `side` selects before or after rewriting."""
    found = [one for one in root.iter() if re.search(f"-{side}-[0-9]+$", one.attrib.get("id", ""))]
    numbers = [int(one.attrib["id"].rpartition("-")[2]) for one in found]
    assert numbers == list(range(len(found)))
    return found


def kind(block: Element) -> str:
    return block.attrib["class"].removeprefix("block ")


def size(block: Element) -> int:
    """Return the number of instructions that the heading of a basic block on the page states."""
    count = re.search(r"([0-9,]+) instructions?", texts(block))
    assert count is not None
    return int(count[1].replace(",", ""))


def listed(block: Element) -> dict[int, str]:
    """Return the instructions in a basic block of the page, by slot number."""
    lines = [line for pre in block.iter("pre") for line in texts(pre).splitlines()]
    return {int(line.split()[0]): line for line in lines if line.strip()}


def test_every_block_of_both_programs_is_there(optimized: Made) -> None:
    report, root, _ = optimized
    balancer = program(report, "load_balancer")
    part = section(root, "load_balancer")
    before, after = blocks(part, "before"), blocks(part, "after")
    assert sum(map(size, before)) == balancer["instructions_before"]
    assert sum(map(size, after)) == balancer["instructions_after"]
    slots = {slot: text for block in before for slot, text in listed(block).items()}
    dropped = {one["slot"]: one["instruction"] for one in balancer["dropped"]}
    assert all(text in slots[slot] for slot, text in dropped.items())
    # An instruction of two 8-byte slots has one line.
    wide = [slot for slot in range(balancer["instructions_before"]) if slot not in slots]
    assert all(re.search(r"r\d+ = (0x|map)", slots[slot - 1]) for slot in wide)
    # Every link on the page has an existing target.
    ids = {one.attrib["id"] for one in root.iter() if "id" in one.attrib}
    links = {one.attrib["href"] for one in root.iter("a")}
    assert links
    assert links <= {f"#{one}" for one in ids}


def test_a_guard_leads_to_the_original_which_is_one_block(optimized: Made) -> None:
    report, root, _ = optimized
    balancer = program(report, "load_balancer")
    after = blocks(section(root, "load_balancer"), "after")
    (original,) = [block for block in after if kind(block) == "original"]
    assert "original program, 1,045 instructions" in texts(original)
    rest = [block for block in after if block is not original]
    assert sum(map(size, rest)) == balancer["guard"]["instructions"]
    leading = [block for block in rest for a in block.iter("a") if a.text == f"#{len(after) - 1}"]
    guards = [block for block in rest if kind(block) == "guard"]
    assert leading == guards
    assert len(guards) == balancer["guard"]["comparisons"] + 1


def test_what_was_decided_is_marked_with_its_reason(optimized: Made) -> None:
    report, root, _ = optimized
    balancer = program(report, "load_balancer")
    before = blocks(section(root, "load_balancer"), "before")
    by_slot = {slot: block for block in before for slot in listed(block)}
    decided = [one for one in balancer["dropped"] if one["change"].endswith(" taken")]
    assert decided
    for one in decided:
        end = by_slot[one["slot"]].find("span[@class='end']")
        assert end is not None
        assert one["change"] in texts(end)
        assert all(str(offset) in texts(end) for offset in one["bytes"][:1])
    (types,) = [block for block in before if "bytes 12-13 = 86dd" in texts(block)]
    assert "never taken" in texts(types)
    # All instructions of unreachable blocks are struck out.
    unreached = [block for block in before if kind(block) == "unreached"]
    assert len(unreached) > 100
    for block in unreached:
        assert all(pre.find("s") is not None for pre in block.iter("pre"))
    table = section(root, "load_balancer").findall(".//table")[-1]
    assert len(list(table.iter("tr"))) == 1 + len(balancer["dropped"])


def test_a_decided_check_that_stays_is_not_struck_out(tmp_path: Path) -> None:
    words = ("--trust", "--packets", "0")
    _, root = made(tmp_path, "optimize", CHAIN, *words)
    first, second, *_ = blocks(section(root, "load_balancer"), "before")
    ends = [one.find("span[@class='end']") for one in (first, second)]
    struck = [end is not None and end.find(".//s") is not None for end in ends]
    still = [end is not None and "but kept for the verifier" in texts(end) for end in ends]
    # The kernel's verifier needs the check of the length, although all packets pass it.
    assert (struck, still) == ([False, True], [True, False])


def test_the_picture_shows_how_much_is_left(optimized: Made) -> None:
    _, root, _ = optimized
    before, after = section(root, "load_balancer").findall(".//svg")
    drawn = [{rect.attrib["class"] for rect in svg.iter("rect")} for svg in (before, after)]
    assert drawn[0] == {"kept", "changed", "gone", "unreached"}
    assert drawn[1] == {"kept", "changed", "guard", "original"}
    assert len(list(after.iter("rect"))) < len(list(before.iter("rect"))) / 8


def test_facts_have_a_page_of_what_they_decide(tmp_path: Path) -> None:
    report, root = made(tmp_path, "facts", CHAIN)
    balancer = program(report, "load_balancer")
    part = section(root, "load_balancer")
    assert sum(map(size, blocks(part, "before"))) == balancer["instructions_before"]
    assert blocks(part, "after") == []
    assert "bytes 12-13 = 86dd" in texts(part)
    assert "firewall.bpf.c" in texts(part)


def test_programs_as_one_have_graphs_too(tmp_path: Path) -> None:
    names = ("blocklist", "firewall", "counter")
    words = ("--fuse", "--packets", "0")
    report, root = made(tmp_path, "optimize", chain(tmp_path, *names), *words)
    part = section(root, "Fused program")
    fused = report["fused"]
    assert sum(map(size, blocks(part, "before"))) == fused["instructions_fused"]
    assert sum(map(size, blocks(part, "after"))) == fused["instructions_after"]


def test_it_needs_nothing_and_runs_nothing(optimized: Made) -> None:
    _, root, page = optimized
    assert not {one.tag for one in root.iter()} & {"script", "link", "img", "iframe", "object"}
    assert not re.search(r"https?:|url\(|@import|javascript:", page.read_text())
    assert not [one for one in root.iter() if "src" in one.attrib]


def test_the_report_is_the_same_with_a_page(optimized: Made) -> None:
    report, _, _ = optimized
    run = slowpath("chain", "optimize", CHAIN, "--packets", "0", "--format", "json")
    plain = json.loads(run.stdout)
    for one, other in zip(report["programs"], plain["programs"], strict=True):
        assert one.keys() == other.keys()
        assert one["dropped"] == other["dropped"]


def hostile() -> tuple[ChainReport, Graphs]:
    """Return a report and graphs with HTML or control characters in every text."""
    line: SourceLine = {"program": HOSTILE, "file": HOSTILE, "line": 7, "text": HOSTILE}
    dropped: Dropped = {
        "slot": 0, "instruction": HOSTILE, "line": line, "change": "never taken", "bytes": [12],
        "length": True, "room": True, "maps": [HOSTILE],
    }  # fmt: skip
    block: Block = {
        "first": 0,
        "slots": 1,
        "part": "changed",
        "instructions": [
            {"slot": 0, "text": HOSTILE, "line": 0, "fate": "changed", "origin": None}
        ],
        "next": [
            {"to": 0, "way": "taken", "never": True}, {"to": 0, "way": "otherwise", "never": False},
        ],
    }  # fmt: skip
    graph: Graph = {"blocks": [block], "slots": 1}
    pair: Pair = {"lines": [line], "before": graph, "after": graph, "dropped": [dropped]}
    one: ChainProgram = {
        "name": HOSTILE, "program": HOSTILE, "reached": True, "never": [HOSTILE],
        "facts": [{"kind": "length", "min": 1, "max": 2, "established": [line], "assumed": False}],
        "facts_with": [HOSTILE], "assumptions": [HOSTILE], "queries": 0,
        "instructions_before": 2, "instructions_after": 1,
        "guard": None, "proved": True,
        "proof": {"paths": 1, "pairs": 1, "queries": 1, "seconds": 0.0, "assumptions": [HOSTILE]},
        "dropped": [dropped], "loops": [{"slot": 0, "line": line, "least": 1, "most": 2}],
        "results": [{"slot": 0, "helper": HOSTILE, "line": line, "returns": 0}],
        "remarks": [HOSTILE], "seconds": 0.0, "guarantees": [{
            "target": HOSTILE, "unit": HOSTILE, "guaranteed": True, "before": 2.0, "after": 1.0,
            "exact": False, "bottlenecks": [HOSTILE, HOSTILE], "reasons": [HOSTILE],
            "about": [HOSTILE], "assumptions": [HOSTILE],
        }],
        "frozen": [{"map": HOSTILE, "entries": 1, "used": True, "why_not": HOSTILE}],
        "rehearsal": {
            "paths": 1, "packets": 1, "arbitrary": 0, "refused": True, "differs": True,
            "agrees": False,
            "difference": HOSTILE, "packet": HOSTILE,
            "original_ns": None, "rewritten_ns": None, "frame_ns": None, "restored": False,
            "rate_ratio": None, "rate_ratio_quartiles": [], "program_ratio": None, "raised": None,
            "why_not": HOSTILE, "notes": [HOSTILE],
            "devices": [{
                "mode": "native", "frames": 1, "shortest": 14, "longest": 1514, "why_not": HOSTILE,
            }],
        },
        "measured_rate_ratio": None,
    }  # fmt: skip
    report: ChainReport = {
        "slowpath": HOSTILE, "command": "", "schema": "",
        "seconds": 0.0, "engine_seconds": 0.0, "stopped": HOSTILE, "programs": [one], "fused": None,
        "not_fused": HOSTILE,
    }  # fmt: skip
    return report, {"programs": [pair], "fused": None}


def test_texts_of_objects_stay_texts() -> None:
    text = chain_page(HOSTILE, *hostile(), WrittenFiles([HOSTILE], HOSTILE))
    assert "<script" not in text
    root = parsed(text)
    assert texts(root).count("<script>alert(1)") >= 20
    assert not [name for one in root.iter() for name in one.attrib if name.startswith("on")]
    assert not set(text) & {"\x1b", "\u202e", "\x00"}


def fact(kind: str, **fields: Any) -> Any:
    return {"kind": kind, "established": [], "assumed": False} | fields


def test_reasons_are_the_facts_that_something_rests_on() -> None:
    reasons = Reasons(
        [
            fact("length", min=60, max=100),
            fact("bytes", offset=12, value="86dd60"),
            fact("bits", offset=20, mask="f0", value="60"),
            fact("bytes", offset=30, value="4500", assumed=True),
            fact("values", offset=50, bytes=2, values=["0050", "01bb"]),
            fact("equal", offset=60, other=70, bytes=4, assumed=True),
        ]
    )
    plain: Dropped = {
        "slot": 0, "instruction": "", "line": None, "change": "", "bytes": [], "length": False,
        "room": False, "maps": [],
    }  # fmt: skip
    assert reasons.of(plain) == "-"
    assert reasons.of({**plain, "bytes": [12, 13], "length": True}) == (
        "bytes 12-13 = 86dd; 60 to 100 bytes"
    )
    assert reasons.of({**plain, "bytes": [13, 20, 40]}) == (
        "byte 13 = dd; byte 20 & f0 = 60; byte 40"
    )
    # A fact about a field occurs once, and assumed facts are marked as such.
    assert reasons.of({**plain, "bytes": [14, 30, 31, 50, 51]}) == (
        "byte 14 = 60; bytes 30-31 = 4500 (assumed); bytes 50-51 in {0050, 01bb}"
    )
    assert reasons.of({**plain, "bytes": [71], "maps": ["rules"]}) == (
        "bytes 60-63 = bytes 70-73 (assumed); given content of map rules"
    )


def test_what_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    words = ("chain", "optimize", CHAIN, "--packets", "0", "--html")
    run = slowpath(*words, "page.txt", cwd=tmp_path)
    assert (run.returncode, run.stdout) == (2, "")
    assert "'--html': the file name must end in .html" in run.stderr
    run = slowpath(*words, "no/such/a.html", cwd=tmp_path)
    assert run.returncode == 3
    assert "no/such/a.html: cannot be written: there is no folder no/such; create it" in run.stderr


@pytest.fixture(scope="module")
def configured(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """Rewrite an example for known map content; return the report, the page and its file."""
    folder = tmp_path_factory.mktemp("configured")
    words = ["--fact", "byte 23 in {06, 11}", "--fact", "byte 14 = 45"]
    words += ["--target", "ebpf,linux-xdp,agilio-cx-2x40", "--packets", "0"]
    program, maps = EXAMPLES / "rules.bpf.o", EXAMPLES / "rules.toml"
    return *made(folder, "optimize", program, "--maps", maps, *words), folder / "page.html"


def test_the_page_says_what_is_relied_on_and_what_is_guaranteed(configured: Made) -> None:
    report, root, _ = configured
    (one,) = report["programs"]
    part = section(root, "rules")
    text = texts(part)
    assert "Known content of maps" in text
    assert "alid while map .data.slowpath is zero" in text
    assert "Both values assume: the assumed facts about packets; " in text
    rows = [[texts(cell) for cell in row.iter("td")] for row in part.iter("tr")]
    assert ["rules", "3", "relies on it"] in rows
    assert ["byte 14 = 45, if the packet has these bytes", "assumed"] in rows
    counts = one["guarantees"][0]
    before, after = (f"{counts[when]:.0f}" for when in ("before", "after"))
    assert ["ebpf", "instructions", before, after, "at most, exact"] in rows
    assert len([row for row in rows if len(row) == 5 and row[0] == "linux-xdp"]) == 3
    # The card does not support tries.
    assert ["agilio-cx-2x40", "bit/s", "unknown", "unknown", "unknown"] in rows
    assert "map blocked is of type lpm_trie" in text
    # The reason for a replaced look-up is the given map content.
    assert "given content of map rules" in text


LOOK = """
function look(frame, width) {
  const page = frame.contentDocument, root = page.documentElement, out = [];
  const box = one => one.getBoundingClientRect();
  for (const column of page.querySelectorAll('.column')) {
    const rows = [...column.children].map(box);
    for (let at = 1; at < rows.length; at++)
      if (rows[at].top < rows[at - 1].bottom - 1) out.push('rows overlap');
  }
  for (const row of page.querySelectorAll('.row')) {
    const whole = box(row), block = box(row.querySelector('.block'));
    for (const arrow of row.querySelectorAll('.gutter i')) {
      const one = box(arrow);
      if (one.top < whole.top - 1 || one.bottom > whole.bottom + 1 || one.left < whole.left - 1 ||
          one.right > block.left + 1) out.push('arrow outside');
    }
  }
  for (const beside of page.querySelectorAll('.beside')) {
    const [small, large] = [...beside.children].map(box);
    if (small.right > large.left || large.right > box(beside).right + 1) out.push('panes overlap');
  }
  const style = frame.contentWindow.getComputedStyle(page.body);
  return {width, scroll: root.scrollWidth, client: root.clientWidth, wrong: out,
          blocks: page.querySelectorAll('.block').length,
          text: style.color, paper: style.backgroundColor};
}
"""


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("fixture", ["optimized", "configured"])
def test_pages_fit_on_phones_and_desks(
    fixture: str, dark: bool, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    _, root, page = request.getfixturevalue(fixture)
    count = len(blocks(root, "before")) + len(blocks(root, "after"))
    for one in looked_at(page, tmp_path, LOOK, dark=dark):
        assert one["wrong"] == [], one
        assert one["scroll"] <= one["client"], one
        assert one["blocks"] == count
        paper = sum(map(int, re.findall(r"\d+", one["paper"])[:3]))
        ink = sum(map(int, re.findall(r"\d+", one["text"])[:3]))
        assert (paper < ink) is dark


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [390, 1280])
def test_the_page_has_no_faults_of_accessibility(
    optimized: Made, tmp_path: Path, width: int, *, dark: bool
) -> None:
    _, _, page = optimized
    assert axe_violations(page, tmp_path, width, dark=dark) == []
