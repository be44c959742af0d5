"""Tests the HTML page of `slowpath show --html`, including its basic blocks."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from pages import Element, check_contained, check_links, of_class, section
from slowpath.show.page import called, functions, referenced_map, show_page
from support import ROOT, slowpath
from test_html import HOSTILE, parsed, texts

FIREWALL = ROOT / "examples/firewall.bpf.o"
FEATURES = ROOT / "crates/bpf/tests/data/features.bpf.o"
Made = tuple[list[dict[str, Any]], Element, Path]


def made(folder: Path, *words: str | Path, code: int = 0) -> Made:
    """Run `slowpath show --html`; return the JSON results, the parsed page, and the page's file."""
    page = folder / "page.html"
    run = slowpath("show", *words, "--html", page, "--format", "json")
    assert run.returncode == code, run.stderr
    return json.loads(run.stdout)["results"], parsed(page.read_text()), page


@pytest.fixture(scope="module")
def firewall(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return made(tmp_path_factory.mktemp("page"), FIREWALL, "--listing")


def test_the_page_is_small_and_its_links_lead_somewhere(firewall: Made) -> None:
    _, root, page = firewall
    check_links(root)
    check_contained(page)
    assert page.stat().st_size <= 300_000


def test_program_analysis_and_maps_come_first(firewall: Made) -> None:
    (shown,), root, _ = firewall
    (hero,) = of_class(root, "hero")
    assert [texts(one) for one in hero.iter("h2")] == ["Program", "Analysis", "Maps"]
    (program,) = shown["programs"]
    assert f"{program['instructions']} instructions" in texts(hero)
    assert "can be analysed" in texts(hero)
    assert {texts(one) for one in hero.iter("a")} == {one["name"] for one in program["maps"]}


def test_maps_and_helpers_lead_to_their_instructions_and_back(firewall: Made) -> None:
    (shown,), root, _ = firewall
    listing = shown["programs"][0]["listing"]
    rows = {one.attrib["id"]: one for one in root.iter("tr") if "id" in one.attrib}
    assert set(rows) == {f"p1-i{one['instruction']}" for one in listing}
    loads = {f"p1-i{one['instruction']}" for one in listing if "map[rules]" in one["text"]}
    (name,) = [one for one in root.iter("code") if one.attrib.get("id") and texts(one) == "rules"]
    (row,) = [one for one in section(root, "Maps used").iter("tr") if name in list(one.iter())]
    assert {link.attrib["href"].removeprefix("#") for link in row.iter("a")} == loads
    for target in loads:
        assert [link.attrib["href"] for link in rows[target].iter("a")] == [f"#{name.attrib['id']}"]
    calls = [one for one in listing if "bpf_map_lookup_elem" in one["text"]]
    (row,) = section(root, "Helpers").iterfind(".//tbody/tr")
    assert len(list(row.iter("a"))) == len(calls) == 3


def test_the_blocks_are_those_of_the_analysis() -> None:
    (shown,) = json.loads(slowpath("show", FIREWALL, "--listing", "--format", "json").stdout)[
        "results"
    ]
    (function,) = functions(shown["programs"][0])
    assert sum(len(block.instructions) for block in function.blocks) == len(
        shown["programs"][0]["listing"]
    )
    # Find block starts by another rule: the verifier's blocks begin at 0, at jump targets, and
    # after jumps.
    starts = {0}
    listing = shown["programs"][0]["listing"]
    for one, following in zip(listing, [*listing[1:], None], strict=True):
        jump = re.search(r"goto pc\+(\d+)", one["text"])
        if jump:
            starts.add(one["instruction"] + 1 + int(jump[1]))
        if (jump or one["text"] == "exit") and following is not None:
            starts.add(following["instruction"])
    assert [block.first for block in function.blocks] == sorted(starts)
    for block in function.blocks:
        last = block.instructions[-1]["text"]
        count = 2 if last.startswith("if ") else 0 if last == "exit" else 1
        assert len(block.next) == count, last


def test_functions_have_graphs_of_their_own(tmp_path: Path) -> None:
    (shown,), root, _ = made(tmp_path, FEATURES, "-n", "xdp_main")
    check_links(root)
    (program,) = shown["programs"]
    assert len(of_class(root, "flow")) == 1 + len(program["subprograms"])
    for one in program["subprograms"]:
        assert f"function {one['name']}" in texts(root)


def test_several_programs_have_an_overview(tmp_path: Path) -> None:
    results, root, _ = made(tmp_path, FEATURES)
    check_links(root)
    names = [one["name"] for one in results[0]["programs"]]
    (overview,) = of_class(root, "overview")
    assert [texts(one) for one in overview.iter("a")] == names
    assert len(list(root.iter("article"))) == len(names)


def test_the_report_has_no_listing_because_of_the_page(tmp_path: Path) -> None:
    results, _, page = made(tmp_path, FIREWALL)
    assert results[0]["programs"][0]["listing"] is None
    run = slowpath("show", FIREWALL, "--html", page)
    assert run.stdout == slowpath("show", FIREWALL).stdout


def test_damaged_objects_are_told(tmp_path: Path) -> None:
    broken = tmp_path / "broken.bpf.o"
    broken.write_bytes(b"\x7fELF")
    _, root, _ = made(tmp_path, broken, FIREWALL, code=3)
    check_links(root)
    assert "broken.bpf.o" in texts(root)
    assert len(of_class(root, "warn")) == 1


def hostile(value: Any) -> Any:
    """Return a copy of a JSON value with `HOSTILE` appended to most texts.

    Kinds stay unchanged. `HOSTILE` contains HTML, which pages must escape.
    """
    if isinstance(value, list):
        return [hostile(one) for one in value]
    if isinstance(value, dict):
        return {key: one if key == "kind" else hostile(one) for key, one in value.items()}
    return f"{value}{HOSTILE}" if isinstance(value, str) else value


def test_names_and_instructions_are_escaped(firewall: Made) -> None:
    text = show_page(hostile(firewall[0]), {"slowpath": HOSTILE})
    root = parsed(text)
    assert "script" not in {one.tag for one in root.iter()}
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "<script>alert(1)" in texts(root)


def test_calls_and_maps_are_read_from_instructions() -> None:
    assert called("call bpf_map_lookup_elem#1") == "bpf_map_lookup_elem"
    assert called("call pc+5 (count)") is None
    assert referenced_map("r1 = map[.rodata][0]+16") == ".rodata"
    assert referenced_map("r1 = 5") is None


@pytest.mark.parametrize("name", ["page.txt", "copy.bpf.o"])
def test_the_file_is_checked(tmp_path: Path, name: str) -> None:
    run = slowpath("show", FIREWALL, "--html", tmp_path / name)
    assert run.returncode == 2
    assert "must end in .html" in run.stderr
    assert not (tmp_path / name).exists()


def test_targets_have_no_page(tmp_path: Path) -> None:
    run = slowpath("show", "targets/linux-xdp.toml", "--html", tmp_path / "page.html")
    assert run.returncode == 2
    assert "'--html': describes objects" in run.stderr
