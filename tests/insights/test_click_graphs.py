"""Tests runs of whole Click configurations, against models of the elements in Python."""

import json
from pathlib import Path
from typing import Any

import pytest

from insights_counted import trace
from slowpath.insights.click.classes import ClickTree
from support import ROOT, slowpath

pytest.importorskip("llvmlite.binding")
pytestmark = pytest.mark.usefixtures("with_clang")

TREE = ROOT / "tests/click/tree"


def ran(folder: Path, text: str, *traffic: str | Path) -> Any:
    """Run a configuration, and return its JSON document."""
    file = folder / "run.click"
    file.write_text(text)
    words = [word for one in traffic for word in ("--pcap", one)]
    done = slowpath("insights", file, "--click", TREE, *words, "--format", "json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def packets(report: Any) -> dict[str, int]:
    return {one["name"]: one["packets"] for one in report["elements"]}


def element(report: Any, name: str) -> Any:
    return next(one for one in report["elements"] if one["name"] == name)


FRAMES = [bytes([number]) * (60 + number % 7) for number in range(1, 41)]


def test_packets_take_the_paths_of_their_bytes(tmp_path: Path) -> None:
    """Check changed bytes downstream: stamps add 3 in total, and Check compares the last byte."""
    frames = [bytes(59) + bytes([number]) for number in range(20)]
    text = "FromDevice -> Stamp(1) -> Stamp(2) -> c :: Check(59, 9) -> d :: Discard"
    report = ran(tmp_path, text, trace(tmp_path, frames))
    expected = sum(frame[59] + 1 + 2 == 9 for frame in frames)
    assert expected == 1
    assert packets(report)["c"] == len(frames)
    assert packets(report)["d"] == expected
    assert report["traffic"]["complete"]


def test_whole_function_with_queue_and_pull(tmp_path: Path) -> None:
    report = ran(tmp_path, (TREE / "passing.click").read_text(), trace(tmp_path, FRAMES))
    odd = sum(len(frame) % 2 for frame in FRAMES)
    found = packets(report)
    assert found["first"] == found["odd"] == len(FRAMES)
    assert found["q"] == found["third"] == found["ToDevice@8"] == odd
    assert found["second"] == found["Discard@5"] == len(FRAMES) - odd
    assert element(report, "third")["inputs"] == ["pull"]
    assert element(report, "odd")["outputs"] == ["push", "push"]
    # Each Stamp has its own state: one read and one write of _seen, and a read of _number.
    for name in ("first", "second", "third"):
        stamps = element(report, name)
        assert stamps["state_reads_per_packet"] == 2 * found[name] / len(FRAMES)
        assert stamps["state_writes_per_packet"] == found[name] / len(FRAMES)


def test_sums_are_those_of_the_elements(tmp_path: Path) -> None:
    report = ran(tmp_path, (TREE / "passing.click").read_text(), trace(tmp_path, FRAMES))
    for key in ("instructions_per_packet", "state_reads_per_packet", "state_writes_per_packet"):
        total = sum(one[key] or 0 for one in report["elements"])
        assert report["traffic"][key] == pytest.approx(total, abs=1e-4)
    size = sum(each["size_bytes"] for one in report["elements"] for each in one["structures"])
    assert report["traffic"]["state_bytes"] == size == 3 * 8


def test_an_element_in_a_graph_counts_as_alone(tmp_path: Path) -> None:
    """Compare with slowpath insights counts, which calls the element without neighbours."""
    traffic = trace(tmp_path, FRAMES)
    report = ran(tmp_path, "FromDevice -> s :: Stamp(1) -> Discard", traffic)
    words = ("--pcap", traffic, "--config", "1", "--format", "json")
    done = slowpath("insights", "counts", TREE / "elements/stamp.cc", *words)
    alone = json.loads(done.stdout)
    stamp = element(report, "s")
    assert [one["structure"] for one in stamp["structures"]] == [
        one["structure"] for one in alone["structures"]
    ]
    for one, other in zip(stamp["structures"], alone["structures"], strict=True):
        assert (one["reads"], one["writes"]) == (other["reads"], other["writes"])
    own = sum(one["runs"] * one["instructions"] for one in alone["blocks"]) / len(FRAMES)
    # In the graph, Element::push of the headers calls simple_action and output(0).push.
    assert own < stamp["instructions_per_packet"] < own + 25


def test_tasks_pull_and_push(tmp_path: Path) -> None:
    text = "FromDevice -> q :: Queue(5) -> d :: Drain(2) -> s :: Stamp(0) -> Discard"
    report = ran(tmp_path, text, trace(tmp_path, FRAMES))
    assert packets(report)["s"] == len(FRAMES)
    assert element(report, "q")["waiting"] == 0


def test_copies_are_packets_of_their_own(tmp_path: Path) -> None:
    frames = [bytes(60) for _ in range(5)]
    text = """
    FromDevice -> c :: Copies;
    c [0] -> Stamp(7) -> a :: Check(59, 7) -> one :: Discard;
    c [1] -> b :: Check(59, 0) -> two :: Discard;
    c [2] -> last :: Last;
    last [0] -> three :: Discard;
    last [1] -> four :: Discard;
    """
    found = packets(ran(tmp_path, text, trace(tmp_path, frames)))
    assert [found[name] for name in ("one", "two", "three", "four")] == [5, 5, 0, 5]


def test_a_full_queue_drops_packets(tmp_path: Path) -> None:
    """Nothing pulls from the queue, because the element behind it does not run."""
    text = "FromDevice -> Stamp(1) -> q :: Queue(7) -> b :: Broken -> ToDevice"
    report = ran(tmp_path, text, trace(tmp_path, FRAMES))
    queue = element(report, "q")
    assert (queue["packets"], queue["waiting"], queue["dropped"]) == (40, 7, 33)


def test_each_source_has_its_traffic(tmp_path: Path) -> None:
    one = trace(tmp_path, [bytes(60)] * 3)
    other = one.rename(tmp_path / "three.pcap")
    one = trace(tmp_path, [bytes(60)] * 5)
    text = (
        "a :: FromDevice -> s :: Stamp(1) -> Discard; b :: FromDevice -> t :: Stamp(1) -> Discard"
    )
    found = packets(ran(tmp_path, text, f"a={other}", one))
    assert (found["s"], found["t"]) == (3, 5)


def test_names_of_addresses(tmp_path: Path) -> None:
    text = """
    AddressInfo(host 192.0.2.7 10.0.0.0/8 0:1:2:3:4:ff);
    f :: FromDevice -> Named(host, host:eth, host:ipnet) -> m :: Check(5, 255) -> Check(9, 7)
      -> Check(10, 10) -> Check(14, 255) -> d :: Discard;
    """
    assert packets(ran(tmp_path, text, trace(tmp_path, [bytes(60)] * 4)))["d"] == 4


def test_missing_elements_are_named_with_what_they_hide(tmp_path: Path) -> None:
    text = """
    f :: FromDevice -> c :: Copies;
    c [0] -> b :: Broken -> hidden :: Stamp(1) -> Discard;
    c [1] -> shown :: Stamp(1) -> Discard;
    c [2] -> w :: Stamp(no) -> Discard;
    c [3] -> u :: Unknown(1) -> Discard;
    """
    report = ran(tmp_path, text, trace(tmp_path, FRAMES))
    missing = {one["element"]: one for one in report["missing"]}
    assert set(missing) == {"b", "w", "u"}
    assert "nowhere.hh" in missing["b"]["reason"]
    assert missing["b"]["behind"] == ["hidden"]
    assert "rejects its configuration" in missing["w"]["reason"]
    assert "no source" in missing["u"]["reason"]
    assert {one["packets"] for one in missing.values()} == {len(FRAMES)}
    assert not report["traffic"]["complete"]
    assert element(report, "hidden")["packets"] == 0
    assert element(report, "shown")["packets"] == len(FRAMES)


def test_a_crash_names_element_line_and_packet(tmp_path: Path) -> None:
    text = "FromDevice -> s :: Stamp(1) -> x :: Faulty(5) -> Discard"
    report = ran(tmp_path, text, trace(tmp_path, FRAMES))
    (missing,) = report["missing"]
    assert missing["element"] == "x"
    assert "faulty.cc:" in missing["reason"]
    assert "packet 5" in missing["reason"]
    assert element(report, "s")["packets"] == missing["packets"] == len(FRAMES)


def test_packets_in_a_circle_are_an_error(tmp_path: Path) -> None:
    file = tmp_path / "run.click"
    file.write_text("FromDevice -> a :: Stamp(1) -> b :: Stamp(1) -> a")
    traffic = trace(tmp_path, FRAMES)
    done = slowpath("insights", file, "--click", TREE, "--pcap", traffic)
    assert done.returncode == 3
    assert "packets circle" in done.stderr


def test_without_traffic_elements_are_listed(tmp_path: Path) -> None:
    report = ran(tmp_path, "FromDevice -> Stamp(1) -> Broken -> Discard")
    assert report["traffic"] is None
    assert [one["kind"] for one in report["missing"]] == ["Broken"]
    assert element(report, "Stamp@2")["instructions_per_packet"] is None


@pytest.mark.parametrize(
    ("text", "words", "reason"),
    [
        ("Stamp(1) -> Stamp(2)", (), "input [0] of Stamp@1 is not connected"),
        ("FromDevice -> Odd -> Discard", (), "output [1] of Odd@2 is not connected"),
        ("Idle -> Discard", ("--pcap", "x.pcap"), "no element that delivers packets"),
        ("f :: FromDevice -> Discard", ("--pcap", "g=x.pcap"), "choose one of f"),
        ("f :: FromDevice -> Stamp(1) -> Discard", ("--pcap", "x.pcap"), "x.pcap"),
    ],
)
def test_wrong_uses(tmp_path: Path, text: str, words: tuple[str, ...], reason: str) -> None:
    file = tmp_path / "run.click"
    file.write_text(text)
    done = slowpath("insights", file, "--click", TREE, *words)
    assert done.returncode in (2, 3)
    assert reason in done.stderr


def test_a_folder_without_elements_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "run.click"
    file.write_text("Idle -> Discard")
    done = slowpath("insights", file, "--click", tmp_path)
    assert done.returncode == 3
    assert "EXPORT_ELEMENT" in done.stderr


def test_formats(tmp_path: Path) -> None:
    traffic = trace(tmp_path, FRAMES)
    file, page = tmp_path / "run.click", tmp_path / "page.html"
    file.write_text("FromDevice -> s :: Stamp(1) -> b :: Broken -> Discard")
    words = ("insights", "graph", file, "--click", TREE, "--pcap", traffic, "--html", page)
    done = slowpath(*words)
    assert "Elements that do not run:" in done.stdout
    assert "b (Broken)" in done.stdout
    assert "1 elements do not run (b)" in done.stderr
    lines = slowpath(*words, "--format", "csv").stdout.splitlines()
    assert len(lines) == 1 + 4
    assert "<h1>Elements of run.click</h1>" in page.read_text()


def test_classes_of_a_tree() -> None:
    tree = ClickTree(str(TREE))
    stamp, odd, last = tree.find("Stamp"), tree.find("Odd"), tree.find("Last")
    assert stamp is not None
    assert (stamp.ports, stamp.processing, stamp.flow) == ("1/1", "a", "x/x")
    assert odd is not None
    assert (odd.ports, odd.processing) == ("1/2", "h")
    assert last is not None
    assert last.flags == ("-DSLOWPATH_ELEMENT=Last",)
    assert tree.find("Nothing") is None
