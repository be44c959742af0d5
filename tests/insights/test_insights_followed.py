"""Tests that following advice has the announced effect, on examples before and after the change."""

from pathlib import Path
from typing import Any

import pytest

from insights_counted import (
    CONFIGURATIONS,
    EXAMPLES,
    as_it_is,
    counted,
    example,
    reported,
    setting,
)
from slowpath.insights.advice.report import advice_text
from support import CAMPAIGN, ROOT, slowpath

pytest.importorskip("llvmlite.binding")
pytestmark = pytest.mark.usefixtures("with_clang")
FILTER = ROOT / "tests/advice/filter.c"
TRACE = EXAMPLES / "udp_counter.pcap"
KINDS = ("accelerator", "coalescing", "placement")
"""Kinds of advice that the examples in the folder `followed` apply."""
SOME = tuple(CONFIGURATIONS) if CAMPAIGN > 1 else ("nat",)
SUMMING = ("dns_proxy", "web_generator") if CAMPAIGN > 1 else ("dns_proxy",)
"""Examples that compute a checksum with a function of Click."""


def filtered() -> dict[str, Any]:
    """Return the report of `slowpath insights` on the filter example without changes."""
    return reported(FILTER, "--entry", "process", "--pcap", TRACE)


def placed(name: str) -> dict[str, Any]:
    """Return the report on an example that follows only the advice on memory placement."""
    placement = EXAMPLES / f"followed/{name}.json"
    return reported(EXAMPLES / f"{name}.cc", *setting(name), "--placement", placement)


def followed(name: str) -> dict[str, Any]:
    """Return the report on an example that follows all advice."""
    folder = EXAMPLES / "followed"
    return reported(folder / f"{name}.cc", *setting(name), "--placement", folder / f"{name}.json")


def advice(report: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [one for one in report["advice"] if one["kind"] == kind]


def orders(report: dict[str, Any]) -> dict[str, float]:
    return {one["what"]: one["accesses"] for one in report["present"]["orders"]}


def saved(before: dict[str, Any], after: dict[str, Any]) -> float:
    """Return the number of LLVM instructions that a change saves.

    Check that instructions of the card are saved, too.
    """
    assert after["traffic"]["instructions"] < before["traffic"]["instructions"]
    of = (one["card"]["work"]["instructions"] for one in (before, after))
    return float(next(of) - next(of))


def cost(report: dict[str, Any], names: str) -> float:
    """Return the cycles of accesses to some structures at their present placement.

    `names` are names of structures, separated by commas.
    """
    each = {one["structure"]: one["cycles"] for one in report["present"]["structures"]}
    return float(sum(each[name] for name in names.split(", ")))


@pytest.mark.parametrize("name", SOME)
def test_orders_take_the_accesses_that_were_announced(name: str) -> None:
    announced = advice(as_it_is(name), "coalescing")
    assert announced
    for one in announced:
        assert orders(as_it_is(name))[one["what"]] == one["before"]
        assert orders(followed(name))[one["what"]] == one["after"] < one["before"]
    assert not advice(followed(name), "coalescing")


@pytest.mark.parametrize("name", SOME)
def test_structures_cost_where_they_are_put_what_was_announced(name: str) -> None:
    announced = advice(as_it_is(name), "placement")
    assert announced
    for one in announced:
        assert cost(as_it_is(name), one["what"]) == pytest.approx(one["before"], rel=1e-12)
        assert cost(placed(name), one["what"]) == pytest.approx(one["after"], rel=1e-12)
        assert one["after"] < one["before"]
    saved = as_it_is(name)["traffic"]["cycles"] - placed(name)["traffic"]["cycles"]
    assert saved == pytest.approx(sum(one["saved_cycles"] for one in announced))
    assert not advice(placed(name), "placement")
    for kind in ("accelerator", "coalescing"):  # placement changes only the effect of such advice
        before, after = (
            {one["what"]: (one["before"], one["after"]) for one in advice(report, kind)}
            for report in (as_it_is(name), placed(name))
        )
        assert before == after


@pytest.mark.parametrize("name", SOME)
def test_nothing_is_left_to_say_when_all_of_it_is_followed(name: str) -> None:
    """Check that a source that follows all advice gets no more advice, except unproved suspicions.

    Cycles must fall as announced, within 1 %, as the order of members changes LLVM's code.
    """
    report = followed(name)
    left_over = [one for kind in KINDS for one in advice(report, kind)]
    assert {one["certainty"] for one in left_over} <= {"learnt"}
    engines = sum(one["saved_cycles"] or 0 for one in advice(as_it_is(name), "accelerator"))
    left = placed(name)["traffic"]["cycles"] - engines
    assert report["traffic"]["cycles"] == pytest.approx(left, rel=0.01)


@pytest.mark.parametrize("name", (*SOME, *SUMMING) if CAMPAIGN == 1 else CONFIGURATIONS)
def test_variants_do_the_same(name: str) -> None:
    """Check that examples that follow advice treat packets as before.

    They must also access the same data structures.
    """
    before = example(name).report
    _, traffic, *config = setting(name)
    after = counted(EXAMPLES / f"followed/{name}.cc", Path(traffic), *config)
    assert after["fate"] == before["fate"]
    touched = [
        {one["structure"]: (one["reads"], one["entries"], one["entries_written"]) for one in each}
        for each in (before["structures"], after["structures"])
    ]
    assert touched[0] == touched[1]


def _check_saved(engine: dict[str, Any], before: dict[str, Any], after: dict[str, Any]) -> None:
    """Check that an accelerator saves exactly the instructions of the function that it replaces.

    Runs per packet are rounded to six decimal places, so the comparison is approximate to this
    extent.
    """
    old, new = (
        sum(one["instructions"] * one["per_packet"] for one in report["blocks"])
        for report in (before, after)
    )
    replaced = sum(
        one["instructions"] * one["per_packet"]
        for one in before["blocks"]
        if one["function"] == engine["what"]
    )
    assert old - new == pytest.approx(replaced, abs=1e-6)
    if engine["unit"] == "LLVM instructions":
        assert engine["before"] == pytest.approx(replaced, abs=1e-6)


def test_an_engine_takes_no_instruction(tmp_path: Path) -> None:
    """Check that a NAT whose checksums an accelerator corrects saves exactly what was announced.

    The source has no other change.
    """
    source = (EXAMPLES / "nat.cc").read_text()
    start, end = source.index("void NAT::rewrite"), source.index("CLICK_ENDDECLS")
    changed = source[:start] + source[end:]
    for old, new in (("ip->ip_src", "_public"), ("ip->ip_dst", "found->inside")):
        call = f"nic_engine_correct_checksum(&ip->ip_sum, {old}.s_addr, {new}.addr());"
        changed = changed.replace(f"rewrite(&ip->ip_sum, {old}, {new});", call)
    file = tmp_path / "nat.cc"
    file.write_text(f"#include <nic/engine.h>\n{changed}")
    (engine,) = advice(as_it_is("nat"), "accelerator")
    assert (engine["what"], engine["after"]) == ("NAT::rewrite", 0)
    _, traffic, *config = setting("nat")
    after = counted(file, Path(traffic), *config)
    _check_saved(engine, example("nat").report, after)
    if CAMPAIGN > 1:  # a full report takes several seconds
        assert not advice(reported(file, *setting("nat")), "accelerator")
    assert after["notes"] == [
        "an engine of the card executes nic_engine_correct_checksum, 1 times for each "
        "packet; the counts do "
        "not include the work of the engine"
    ]


@pytest.mark.parametrize("name", SUMMING)
def test_a_sum_of_the_library_by_the_engine(name: str, tmp_path: Path) -> None:
    """Check that replacing Click's checksum function by an accelerator saves what was announced.

    The source has no other change.
    """
    source = (EXAMPLES / f"{name}.cc").read_text()
    (engine,) = (one for one in advice(as_it_is(name), "accelerator") if one["before"])
    line = source.splitlines()[engine["line"] - 1]
    assert "ip->ip_sum = click_in_cksum(" in line
    assert (engine["what"], engine["certainty"]) == ("click_in_cksum", "proved")
    changed = line.replace("click_in_cksum((unsigned char *) ", "nic_engine_checksum(")
    file = tmp_path / f"{name}.cc"
    file.write_text(f"#include <nic/engine.h>\n{source.replace(line, changed)}")
    _, traffic, *config = setting(name)
    before, after = example(name).report, counted(file, Path(traffic), *config)
    _check_saved(engine, before, after)
    assert after["fate"] == before["fate"]


def test_an_engine_in_c_gives_the_right_sums(tmp_path: Path) -> None:
    source = FILTER.read_text()
    start, end = source.index("static uint16_t checksum"), source.index("int process")
    changed = source[:start] + source[end:].replace("checksum(", "nic_engine_checksum(")
    file = tmp_path / "engine.c"
    file.write_text(f"#include <nic/engine.h>\n{changed}")
    words = ("--entry", "process", "--pcap", TRACE)
    before, after = filtered(), reported(file, *words)
    (engine,) = advice(before, "accelerator")
    assert not advice(after, "accelerator")
    reports = [counted(one, TRACE, "--entry", "process") for one in (FILTER, file)]
    _check_saved(engine, *reports)
    assert reports[0]["fate"] == reports[1]["fate"]


@pytest.mark.parametrize("broken", [False, True])
def test_corrected_sums_are_those_of_what_is_corrected(tmp_path: Path, *, broken: bool) -> None:
    """Check that a checksum corrected for a change equals the checksum of the changed data.

    If the program is `broken`, the check must notice it.
    """
    file = tmp_path / "corrected.c"
    after = "after + 1" if broken else "after"
    file.write_text(
        "#include <nic/engine.h>\n"
        "int process(const uint8_t *data, uint32_t length) {\n"
        "uint8_t copy[20]; uint32_t before, after; uint16_t sum;\n"
        "memcpy(copy, data + 14, 20); memcpy(&before, copy + 12, 4);\n"
        "sum = nic_engine_checksum(copy, 20); memcpy(&after, data + 30, 4);\n"
        "after ^= length * 7919;\n"
        f"memcpy(copy + 12, &after, 4); nic_engine_correct_checksum(&sum, before, {after});\n"
        "return sum == nic_engine_checksum(copy, 20); }\n"
    )
    results = counted(file, TRACE, "--entry", "process")["fate"]["results"]
    assert [one["result"] for one in results] == [int(not broken)]


WRONG = {
    "structure": (
        '{"entries": "imem",\n "entreis": "imem"}',
        "2: entreis: the name is not a structure",
    ),
    "level": ('{"entries": "dram"}', "1: entries: 'dram' is not one of cls, ctm, imem, emem"),
    "room": (
        '{"table": "cls"}',
        "1: table: with this structure, 1,024 bytes are in cls, which holds 0",
    ),
    "list": ('["entries"]', "1: is not a table of names"),
    "json": ("{", "is not JSON"),
}


@pytest.mark.parametrize(("content", "reason"), WRONG.values(), ids=WRONG)
def test_wrong_placements_are_named(content: str, reason: str, tmp_path: Path) -> None:
    file = tmp_path / "placement.json"
    file.write_text(content)
    words = (FILTER, "--entry", "process", "--pcap", TRACE, "--placement", file)
    run = slowpath("insights", *words)
    assert run.returncode == 3
    assert reason in run.stderr
    assert not run.stdout


def test_a_placement_is_what_before_is_of(tmp_path: Path) -> None:
    words = ("--entry", "process", "--pcap", TRACE)
    unplaced = filtered()
    file = tmp_path / "placement.json"
    file.write_text('{"entries": "imem"}')
    report = reported(FILTER, *words, "--placement", file)
    advised = {one["what"]: one for one in advice(unplaced, "placement")}
    assert not any("entries" in one["what"] for one in advice(report, "placement"))
    assert report["traffic"]["cycles"] == pytest.approx(
        unplaced["traffic"]["cycles"] - advised["entries"]["saved_cycles"]
    )
    assert any("except the structures in --placement" in one for one in report["assumptions"])
    [packed], [cheaper] = (advice(one, "coalescing") for one in (unplaced, report))
    assert (packed["before"], packed["after"]) == (cheaper["before"], cheaper["after"])
    assert cheaper["saved_cycles"] < packed["saved_cycles"]


def test_what_makes_room_for_others_is_said(tmp_path: Path) -> None:
    """Check the advice to move a structure to far memory, to make room for another one.

    Near memory has room for one of the two, and contains the wrong one.
    """
    source, file = tmp_path / "nf.c", tmp_path / "placement.json"
    source.write_text(
        "#include <stdint.h>\n"
        "static uint8_t hot[3000000], cold[3000000];\n"
        "int process(const uint8_t *data, uint32_t length) {\n"
        "hot[data[1]]++; hot[data[2] + 256]++; return cold[data[3]]++; }\n"
    )
    file.write_text('{"cold": "imem"}')
    words = (source, "--entry", "process", "--pcap", TRACE, "--placement", file)
    first, second = advice(reported(*words), "placement")
    assert (first["title"], second["title"]) == ("Put hot into imem", "Put cold into emem")
    assert (first["before"], first["after"]) == (1200, 800)
    assert (second["before"], second["after"]) == (400, 600)
    assert "makes room for other structures" in second["reason"]
    assert second["effect"] < 0
    text = "\n".join(line.text for line in advice_text(reported(*words)))  # type: ignore[arg-type]
    assert "costs about" in text
    file.write_text('{"hot": "imem"}')
    assert not advice(reported(*words), "placement")


def test_what_no_packet_touches_keeps_its_room(tmp_path: Path) -> None:
    source, file = tmp_path / "nf.c", tmp_path / "placement.json"
    source.write_text(
        "#include <stdint.h>\n"
        "static uint8_t hot[3000000]; uint8_t rare[3000000];\n"
        "int process(const uint8_t *data, uint32_t length) {\n"
        "if (length < 20) rare[data[1]]++; return hot[data[2]]++; }\n"
    )
    file.write_text('{"rare": "imem"}')
    words = (source, "--entry", "process", "--pcap", TRACE)
    (one,) = advice(reported(*words), "placement")
    assert one["title"] == "Put hot into imem"
    assert not advice(reported(*words, "--placement", file), "placement")


@pytest.mark.parametrize(
    "option", [("--packets", "5"), ("--strip", "14"), ("--placement", "x.json")]
)
def test_options_of_a_run_ask_for_a_trace(option: tuple[str, str]) -> None:
    run = slowpath("insights", FILTER, *option)
    assert run.returncode == 2
    assert f"'{option[0]}'" in run.stderr
    assert "--pcap" in run.stderr
