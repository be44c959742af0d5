"""Tests the HTML page of `slowpath bound --html`."""

import copy
import json
import re
import shutil
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from browser import axe_violations
from pages import check_contained, check_links, of_class, section
from slowpath import bound
from slowpath.bounds.page import Explored, bound_page
from slowpath.bounds.page_paths import ranges
from slowpath.core.engine import analyses, objects, targets
from slowpath.core.html.explorer import PATHS
from slowpath.core.jobs import Stopping
from slowpath.core.programs.packet_fields import header_fields
from support import ROOT, slowpath
from test_html import HOSTILE, parsed, texts

EXAMPLES = ROOT / "examples"
FIREWALL = EXAMPLES / "firewall.bpf.o"
Element = ElementTree.Element
Made = tuple[dict[str, Any], Element, Path]


def made(folder: Path, *words: str | Path, code: int = 0) -> Made:
    """Run `slowpath bound --html`; return its first JSON result, the parsed page and the file."""
    page = folder / "page.html"
    run = slowpath("bound", *words, "--html", page, "--format", "json")
    assert run.returncode == code, run.stderr
    return json.loads(run.stdout)["results"][0], parsed(page.read_text()), page


@pytest.fixture(scope="module")
def firewall(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return made(tmp_path_factory.mktemp("page"), FIREWALL, "--paths", "3")


def test_the_page_is_small_and_its_links_lead_somewhere(firewall: Made) -> None:
    _, root, page = firewall
    check_links(root)
    check_contained(page)
    assert page.stat().st_size <= 300_000


def test_bound_line_and_packet_come_first(firewall: Made) -> None:
    result, root, _ = firewall
    (hero,) = of_class(root, "hero")
    headings = [texts(one) for one in hero.iter("h2")]
    assert headings == ["Bound", "Most expensive line", "Packet"]
    count = result["guarantee"]["counts"]["instructions"]
    assert f"at most {count} instructions per packet" in texts(hero)
    assert f"{result['paths'][0]['witness']['length']} bytes" in texts(hero)


def test_shares_of_each_path_add_up(firewall: Made) -> None:
    _, root, _ = firewall
    (table,) = of_class(root, "heat")
    for number in (1, 2, 3):
        shares = [
            texts(one)
            for one in of_class(table, "hot")
            if f"k{number}" in one.attrib["class"].split()
        ]
        assert sum(float(one.removesuffix(" %")) for one in shares) == pytest.approx(100, abs=3)


def test_a_switch_has_each_path_once_and_the_first_is_chosen(firewall: Made) -> None:
    result, root, _ = firewall
    buttons = list(root.iter("input"))
    assert [one.attrib["class"] for one in buttons] == ["s1", "s2", "s3"]
    assert ["checked" in one.attrib for one in buttons] == [True, False, False]
    assert len(result["paths"]) == 3
    style = "".join(texts(one) for one in root.iter("style"))
    for number in (1, 2, 3):
        chosen = f"article:has(> fieldset > label > .s{number}:checked)"
        assert f"{chosen} .k:not(.k{number})" in style
    steps = root.findall(".//article/fieldset/label/input")
    assert steps == buttons


def test_bytes_lead_to_the_branches_that_read_them(firewall: Made) -> None:
    _, root, _ = firewall
    rows = {one.attrib["id"]: one for one in root.iter("tr") if "id" in one.attrib}
    lines = (EXAMPLES / "firewall.bpf.c").read_text().split("\n")
    (types,) = [at for at, line in enumerate(lines, 1) if "bpf_htons(ETH_P_IP))" in line]
    field = rows["p1-k1-b12"]
    targets = {link.attrib["href"] for link in field.iter("a")}
    (row,) = [
        one
        for name, one in rows.items()
        if re.fullmatch(rf"p1-f\d+-{types}", name) and "ETH_P_IP)" in texts(one)
    ]
    assert f"#{row.attrib['id']}" in targets
    # The line links back.
    back = [link.attrib["href"] for link in row.iter("a")]
    assert "#p1-k1-b12" in back


def test_the_path_is_lit_in_the_graph(firewall: Made) -> None:
    _, root, _ = firewall
    boxes = of_class(root, "box")
    lit = of_class(root, "l1")
    assert boxes
    assert 0 < len(lit) < len(boxes)
    assert len(of_class(root, "lit")) == 3


def test_other_settings_are_results_of_analyses(firewall: Made) -> None:
    _, root, _ = firewall
    part = section(root, "What if")
    run = slowpath("bound", FIREWALL, "--entries", "1000", "--format", "json")
    cold = json.loads(run.stdout)["results"][0]["estimate"]["cold"]["ns"]
    (row,) = [
        [texts(cell) for cell in one.iter("td")]
        for one in part.iter("tr")
        if texts(one).startswith("1,000 ")
    ]
    assert float(row[-1]) == pytest.approx(cold, rel=0.01)


def test_a_listing_shows_instructions_and_cores(tmp_path: Path) -> None:
    result, root, page = made(tmp_path, EXAMPLES / "counter_loop.asm")
    check_links(root)
    check_contained(page)
    assert "Most expensive instruction" in texts(root)
    part = section(root, "What if")
    assert "Number of cores" in texts(part)
    run = slowpath("bound", EXAMPLES / "counter_loop.asm", "--cores", "1", "--format", "json")
    one = json.loads(run.stdout)["results"][0]["guarantee"]["bitrate_bps"]
    assert one < result["guarantee"]["bitrate_bps"]


def test_several_programs_get_an_overview_and_failures_are_told(tmp_path: Path) -> None:
    broken = tmp_path / "broken.bpf.o"
    broken.write_bytes(b"\x7fELF")
    _, root, _ = made(tmp_path, FIREWALL, broken, code=3)
    check_links(root)
    assert len(list(root.iter("article"))) == 2
    assert "Not analysed" in texts(root)


def explored() -> Explored:
    """Analyse the example `firewall` with all details that the HTML page needs."""
    found = objects.read_object("firewall", FIREWALL.read_bytes())
    subject = objects.Subject(str(FIREWALL), found, 0, None)
    options = analyses.Options(code=True, path_details=PATHS, paths=2)
    target = targets.builtin_target("linux-xdp")
    *_, last = analyses.messages(subject, target, options, Stopping())
    outcome = analyses.outcome(analyses.Answer(last[1], last[2], complete=True))
    return Explored(outcome.result, outcome.detail, [])


def hostile(value: Any) -> Any:
    """Return a copy of a JSON value with `HOSTILE` appended to each free text, such as a name.

    `HOSTILE` contains HTML, which pages must escape.
    """
    if isinstance(value, list):
        return [hostile(one) for one in value]
    if isinstance(value, dict):
        free = {"text", "program", "section", "function", "file", "target", "machine"}
        return {
            key: f"{one}{HOSTILE}" if key in free and isinstance(one, str) else hostile(one)
            for key, one in value.items()
        }
    return value


def test_names_and_lines_are_escaped() -> None:
    one = explored()
    result, detail = hostile(one.result), hostile(one.detail)
    for path in result["paths"]:
        path["witness"]["maps"] = {
            f"{name}{HOSTILE}": e for name, e in path["witness"]["maps"].items()
        }
    result["assumptions"] = [HOSTILE]
    result["notes"] = [HOSTILE]
    text = bound_page([Explored(result, detail, [])], {"slowpath": HOSTILE})
    root = parsed(text)
    assert "script" not in {tag.tag for tag in root.iter()}
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "<script>alert(1)" in texts(root)
    check_links(root)


def test_a_stopped_search_names_the_path_of_its_bound() -> None:
    one = copy.deepcopy(explored())
    guarantee = one.result["guarantee"]
    assert guarantee is not None
    guarantee |= {"verdict": "bound", "exact": False, "stopped": "deadline"}
    root = parsed(bound_page([one], {"slowpath": "1"}))
    check_links(root)
    assert "perhaps no packet takes it" in texts(root)
    assert "not exact; stopped: deadline" in texts(root)
    one.result["paths"].clear()
    one.detail["paths"].clear()
    check_links(parsed(bound_page([one], {"slowpath": "1"})))
    # A killed analysis has no profile.
    one.result["profile"] = None
    assert "deadline" in texts(parsed(bound_page([one], {"slowpath": "1"})))


def test_the_api_does_not_need_the_page() -> None:
    assert bound(FIREWALL)


def test_the_extension_and_the_file_are_checked(tmp_path: Path) -> None:
    run = slowpath("bound", FIREWALL, "--html", tmp_path / "page.txt")
    assert run.returncode == 2
    assert "must end in .html" in run.stderr
    copied = tmp_path / "program.html"
    shutil.copy(FIREWALL, copied)
    run = slowpath("bound", copied, "--html", copied)
    assert run.returncode == 2
    assert copied.read_bytes() == FIREWALL.read_bytes()


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [390, 1280])
def test_the_page_has_no_faults_of_accessibility(
    firewall: Made, tmp_path: Path, width: int, *, dark: bool
) -> None:
    _, _, page = firewall
    assert axe_violations(page, tmp_path, width, dark=dark) == []


def test_fields_cover_each_byte_of_a_packet_once() -> None:
    packet: list[int | None] = (
        [None] * 12 + [0x08, 0x00, 0x45] + [0] * 8 + [6] + [0] * 10 + [7] * 60
    )
    found = header_fields(packet)
    assert [one.header.name for one in found] == ["Ethernet", "IPv4", "TCP"]
    bytes_ = [byte for one in found for field in one.fields for byte in field.span]
    assert bytes_ == list(range(len(packet)))
    names = {field.name: field for one in found for field in one.fields}
    assert names["protocol"].text == "6"
    assert names["EtherType"].text == "0x0800"
    assert names["source port"].text == str(0x0707)
    assert header_fields([1] * 5)[0].fields[0].name == "content"


def test_ranges_join_neighbours() -> None:
    assert ranges([1, 2, 3, 7, 9, 10]) == [(1, 3), (7, 7), (9, 10)]
    assert ranges([]) == []


def test_annotate_writes_the_same_parts(tmp_path: Path, firewall: Made) -> None:
    page = tmp_path / "page.html"
    run = slowpath("annotate", FIREWALL, "--html", page)
    assert run.returncode == 0, run.stderr
    root = parsed(page.read_text())
    check_links(root)
    check_contained(page)
    lines = [texts(one) for one in of_class(root, "hot")]
    first = [
        texts(one) for one in of_class(firewall[1], "hot") if "k1" in one.attrib["class"].split()
    ]
    assert lines == first
