"""Tests the HTML page of `slowpath measure --html`."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from pages import Element, check_contained, check_links, of_class, section
from running_kernel import measured, needs_kernel
from slowpath.measure.page import measure_page
from support import ROOT, slowpath
from test_html import HOSTILE, parsed, texts

EXAMPLES = ROOT / "examples"
FIREWALL = EXAMPLES / "firewall.bpf.o"


@pytest.fixture(scope="module")
def document() -> Any:
    needs_kernel()
    return measured(FIREWALL)


def test_time_packet_and_conditions_come_first(document: Any) -> None:
    root = parsed(measure_page(document))
    check_links(root)
    (hero,) = of_class(root, "hero")
    assert [texts(one) for one in hero.iter("h2")] == ["Measured time", "Packet", "Conditions"]
    paths = document["results"][0]["paths"]
    slowest = max(paths, key=lambda path: path["measured_ns"])
    first = next(one for one in hero.iter("div") if "k1" in one.attrib["class"].split())
    assert f"{slowest['measured_ns']:.1f} ns per packet" in texts(first)
    assert f"{slowest['low_ns']:.1f} to {slowest['high_ns']:.1f} ns" in texts(first)
    assert f"{slowest['predicted_ns']:.1f} ns" in texts(first)
    assert f"Linux {document['environment']['kernel']['release']}" in texts(hero)


def test_the_chart_has_every_load(document: Any) -> None:
    root = parsed(measure_page(document))
    (chart,) = of_class(root, "strips")
    assert "nanoseconds per packet" in [texts(one) for one in chart.iter("text")]
    paths = sorted(document["results"][0]["paths"], key=lambda path: -path["measured_ns"])
    dots = [one.attrib["d"].count("M") for one in of_class(chart, "dots")]
    assert dots == [len(path["load_ns"]) for path in paths]
    for path in paths:
        assert len(path["load_ns"]) <= document["results"][0]["loads"]
        assert min(path["load_ns"]) <= path["measured_ns"] <= max(path["load_ns"])


def test_packets_have_fields_and_the_switch_has_every_path(document: Any) -> None:
    root = parsed(measure_page(document))
    paths = document["results"][0]["paths"]
    buttons = list(root.iter("input"))
    assert len(buttons) == len(paths)
    assert root.findall(".//article/fieldset/label/input") == buttons  # as the style assumes
    tables = of_class(root, "packet")
    assert len(tables) == len(paths)
    assert "EtherType" in texts(tables[0])


def test_the_command_writes_the_page(tmp_path: Path) -> None:
    needs_kernel()
    page = tmp_path / "page.html"
    run = slowpath("measure", FIREWALL, "--seconds", "0.1", "--no-stretches", "--html", page)
    assert run.returncode == 0, run.stderr
    check_contained(page)
    assert page.stat().st_size <= 300_000
    run = slowpath("measure", FIREWALL, "--html", tmp_path / "page.txt")
    assert run.returncode == 2
    assert "must end in .html" in run.stderr


def test_two_versions_are_compared_first() -> None:
    needs_kernel()
    compared = measured(*(EXAMPLES / f"count_min.{count}.bpf.o" for count in (4, 8)))
    root = parsed(measure_page(compared))
    check_links(root)
    hero = of_class(root, "hero")[0]
    row = compared["comparison"][0]["paths"][0]
    assert f"{row['ratio']:.3f}" in texts(hero)
    chart = of_class(root, "strips")[0]
    assert "new time / old time (ratio)" in texts(chart)


def test_a_trace_has_a_distribution() -> None:
    needs_kernel()
    trace = EXAMPLES / "insights/udp_counter.pcap"
    found = measured(FIREWALL, "--pcap", trace, "--no-stretches", "--cache", "hot")
    root = parsed(measure_page(found))
    part = section(root, "Packets of udp_counter.pcap")
    labels = [texts(one) for one in part.iter("text")]
    assert {"nanoseconds per packet", "packets (%)"} <= set(labels)
    mean = found["results"][0]["trace"]["mix"]["mean_ns"]
    assert f"{mean:.1f} ns" in texts(part)


def spaced(part: Element) -> str:
    """Return the text of a part of a page, with white space reduced to single spaces."""
    return " ".join(texts(part).split())


def test_all_warnings_are_shown_with_their_codes(document: Any) -> None:
    changed = copy.deepcopy(document)
    changed["disturbances"] = [
        {"code": "load", "severity": "warning", "what": "Busy.", "advice": "Wait."},
        {"code": "virtual", "severity": "note", "what": "Virtual.", "advice": "Mind."},
    ]
    changed["results"][0]["warnings"] = ["Too wide.", "Not quiet."]
    changed["results"][0]["warning_codes"] = ["SP0861", "SP0860"]
    changed["results"][0]["paths"][0] |= {"error": "no time", "code": "SP0505"}
    root = parsed(measure_page(changed))
    (hero,) = of_class(root, "hero")
    assert "3 warnings" in texts(hero)
    for text in ("Busy. [SP0845]", "Too wide. [SP0861]", "Not quiet. [SP0860]"):
        assert text in spaced(hero)
    warned = [spaced(one) for one in of_class(root, "warn")]
    assert {"Busy. Wait. [SP0845]", "Too wide. [SP0861]", "Not quiet. [SP0860]"} <= set(warned)
    assert "path 1 was not measured: no time [SP0505]" in warned
    notes = [spaced(one) for one in of_class(root, "soft")]
    assert "Virtual. Mind. [SP0851]" in notes
    assert {one.attrib["title"] for one in of_class(hero, "code")} == {
        f"slowpath explain {code}" for code in ("SP0845", "SP0860", "SP0861")
    }


def test_what_was_not_measured_has_a_reason(document: Any) -> None:
    failed = copy.deepcopy(document)
    (record,) = failed["results"]
    record |= {"error": "the kernel refuses it", "paths": [], "breakdown": None}
    root = parsed(measure_page(failed))
    assert "Not measured: the kernel refuses it" in texts(root)
    for missing in ("low_ns", "high_ns", "predicted_ns", "cold", "spread_ns", "packetrate_pps"):
        partly = copy.deepcopy(document)
        for path in partly["results"][0]["paths"]:
            path[missing] = None
        check_links(parsed(measure_page(partly)))


def test_texts_are_escaped(document: Any) -> None:
    def hostile(value: Any) -> Any:
        if isinstance(value, list):
            return [hostile(one) for one in value]
        if isinstance(value, dict):
            known = {"packet", "mode", "cache", "severity", "arrangement"}
            return {key: one if key in known else hostile(one) for key, one in value.items()}
        return f"{value}{HOSTILE}" if isinstance(value, str) else value

    text = measure_page(hostile(json.loads(json.dumps(document))))
    root = parsed(text)
    assert "script" not in {one.tag for one in root.iter()}
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "<script>alert(1)" in texts(root)
