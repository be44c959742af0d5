"""Tests advice on functions that are called by pointers, do not run, or are not worth advice."""

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from insights_counted import as_it_is
from slowpath.core.schema.validation import schema
from slowpath.insights.accelerators.report import accelerators_text
from slowpath.insights.advice.report import advice_text
from support import ROOT, remembered, slowpath
from test_accelerators import examined

pytest.importorskip("llvmlite.binding")
pytestmark = pytest.mark.usefixtures("with_clang")
POINTERS, WORTH, FIB = "tests/advice/pointers.c", "tests/advice/worth.c", "tests/dpdk/lookups.c"
TRACED = ("--entry", "process", "--pcap", "examples/insights/nat.pcap", "--packets", "20")
Document = dict[str, Any]


def reported(*words: str | Path) -> Document:
    read: Document = json.loads(remembered("insights", *words, "--format", "json"))
    Draft202012Validator(schema("advice")).validate(read)
    return read


def text_of(report: Document) -> str:
    """Return a report as the text that the command prints."""
    return "".join(f"{line.text}\n" for line in advice_text(report))  # type: ignore[arg-type]


def engines(report: Document) -> dict[str, Document]:
    """Return the advice on accelerators in a report, by name of the replaced function."""
    return {one["what"]: one for one in report["advice"] if one["kind"] == "accelerator"}


def gaps(report: Document, words: str) -> list[Document]:
    """Return the entries of a report on missing information whose text begins with `words`."""
    return [one for one in report["unsaid"] if one["what"].startswith(words)]


def line_of(file: str | Path, words: str) -> int:
    """Return the number of the only line in a file that contains `words`."""
    [found] = [
        number
        for number, line in enumerate((ROOT / file).read_text().splitlines(), 1)
        if words in line
    ]
    return found


def test_what_only_pointers_lead_to_is_advised_on() -> None:
    """Check that functions that are called only by pointers get advice.

    Their addresses are in constants, or are stored in variables, members and array elements.
    """
    found = engines(reported(POINTERS, "--entry", "process"))
    assert {what: one["line"] for what, one in found.items()} == {
        name: line_of(POINTERS, f" {name}(const")
        for name in ("sdbm", "castagnoli", "internet", "koopman", "arc")
    }
    assert {one["certainty"] for one in found.values()} == {"proved"}


def test_on_a_trace_it_has_the_effect_of_what_ran() -> None:
    found = engines(reported(POINTERS, *TRACED))
    assert found["sdbm"]["before"] > found["castagnoli"]["before"] == 0
    assert found["internet"]["before"] > 0
    assert found["castagnoli"]["reason"].endswith("; no packet of the trace reached this code")
    text = text_of(reported(POINTERS, *TRACED))
    assert "Use the CRC engine for castagnoli (saves nothing on this trace)\n" in text
    assert "0 -> 0" not in text


def test_calls_that_nobody_can_follow_are_said_in_one_line(tmp_path: Path) -> None:
    [gap] = gaps(reported(POINTERS, "--entry", "process"), "accelerators for calls through")
    assert gap["what"].endswith(f"{POINTERS}:{line_of(POINTERS, 'watch(odd')}")
    assert "--pcap" in gap["remedy"]
    # With a function of this type in the variable, the function is examined, and the gap is gone.
    known = tmp_path / "known.c"
    known.write_text(
        (ROOT / POINTERS)
        .read_text()
        .replace(
            "void (*watch)",
            "static void watched(uint64_t number, const uint8_t *data, int good)"
            " { odd += number ^ data[0] ^ good; }\nvoid (*watch)",
        )
        .replace("int good);\n\nvoid", "int good) = watched;\n\nvoid")
    )
    assert not gaps(reported(known, "--entry", "process"), "accelerators for calls through")


def test_methods_of_click_are_no_calls_that_nobody_can_follow() -> None:
    assert not gaps(as_it_is("nat"), "accelerators for calls through")


def test_a_look_up_of_several_addresses_is_said_not_to_be_examined() -> None:
    report = reported(FIB, "--entry", "turn")
    [one] = report["unexamined"]
    assert one["function"] == "rte_fib_lookup_bulk"
    assert (
        one["reason"]
        == "the function looks up several keys at once, which slowpath does not examine"
    )
    lines = (ROOT / FIB).read_text().splitlines()
    assert one["calls"]
    assert all("rte_fib_lookup_bulk(" in lines[each["line"] - 1] for each in one["calls"])
    [gap] = gaps(report, "accelerators for one function")
    assert f"rte_fib_lookup_bulk ({FIB}:{one['line']}): the function looks up several" in gap["why"]


REASONS = {
    "any": "the function was not run: the function takes any number of arguments",
    "by_value": "the function takes 9 arguments; slowpath tries at most 8",
    "byte_by_instruction": "the function was not run: the function has inline assembly in line ",
}


def test_what_cannot_be_run_is_listed_with_the_reason() -> None:
    report = examined(ROOT / WORTH)
    Draft202012Validator(schema("accelerators")).validate(report)
    found = {one["function"]: one for one in report["unexamined"]}
    assert found.keys() == REASONS.keys()
    for name, one in found.items():
        assert one["reason"].startswith(REASONS[name])
        assert one["line"] == line_of(WORTH, f"static uint32_t {name}(")
        assert one["calls"] == []
    assembly = found["byte_by_instruction"]["reason"]
    assert assembly.endswith(f" in line {line_of(WORTH, '__asm__')}")
    lines = [line.text for line in accelerators_text(report)]  # type: ignore[arg-type]
    [line] = [
        one for one in lines if one.startswith("Functions that could not be examined fully: ")
    ]
    assert "3 functions (JSON lists all)" in line
    assert all(f"{name}: {reason}" in line for name, reason in REASONS.items())


def test_the_report_lists_it_too_where_packets_come_to_it() -> None:
    untraced = reported(WORTH)
    assert {one["function"] for one in untraced["unexamined"]} == REASONS.keys()
    [gap] = gaps(untraced, "accelerators for 3 functions")
    assert all(f"{name} ({WORTH}:" in gap["why"] for name in REASONS)
    traced = reported(WORTH, *TRACED)
    assert traced["unexamined"] == []
    assert not gaps(traced, "whether")


def test_recursion_is_said_without_a_trace() -> None:
    """Check that reports name recursive functions if there is no trace.

    With a trace, recursion does not matter.
    """
    found = [one["what"] for one in reported(WORTH)["unsaid"] if "recursive" in one["why"]]
    assert found == [
        f"cost of {name} ({WORTH}:{line_of(WORTH, f'uint32_t {name}(uint32_t number) {{')})"
        for name in ("even", "odd")
    ]
    text = " ".join(text_of(reported(WORTH)).split())
    assert (
        f"{found[0]}; {found[1]}: the function is recursive, which the card does not support"
        in text
    )
    assert not [one for one in reported(WORTH, *TRACED)["unsaid"] if "recursive" in one["why"]]


def test_short_functions_are_not_suspected() -> None:
    """Check that short functions are not suspected to do an accelerator's work.

    Neither are functions whose work is mostly that of proved ones, which an accelerator can
    replace. A trace shows how much it is.
    """
    suspected = {one["function"] for one in examined(ROOT / WORTH)["alike"]}
    assert suspected == {"short_code", "parities", "parities_and_sum"}
    plain, traced = engines(reported(WORTH)), engines(reported(WORTH, *TRACED))
    assert plain.keys() == {"crc32", "parities", "parities_and_sum"}
    assert traced.keys() == {"crc32", "parities"}
    assert traced["parities"]["certainty"] == "learnt"
    assert "it takes " in traced["parities"]["reason"]
    assert "short_code" not in text_of(reported(WORTH))


def test_a_suspicion_on_a_loop_stays() -> None:
    titles = [one["title"] for one in as_it_is("dns_proxy")["advice"]]
    assert "Check whether DNSProxy::question is a hash" in titles


TABLE = """
#include <stdint.h>
static uint32_t table[256], ready, seen[64];
static void fill(void) {
    for (uint32_t at = 0; at < 256; at++) {
        uint32_t crc = at;
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
        table[at] = crc;
    }
    ready = 1;
}
static uint32_t crc32(const uint8_t *data, uint32_t length) {
    uint32_t crc = 0xffffffff;
    while (length--)
        crc = table[(crc ^ *data++) & 0xff] ^ crc >> 8;
    return ~crc;
}
int process(const uint8_t *data, uint32_t length) {
    if (!ready)
        fill();
    seen[length < 34 ? 0 : crc32(data + 26, 8) % 64]++;
    return length & 1;
}
"""


def test_a_table_is_said_of_what_fills_it_and_not_of_who_calls_that(tmp_path: Path) -> None:
    file = tmp_path / "table.c"
    file.write_text(TABLE)
    proved = {one["function"] for one in examined(file)["proved"]}
    assert {"fill", "process", "crc32"} <= proved
    found = engines(reported(file, *TRACED))
    assert found.keys() == {"fill", "crc32"}
    assert found["fill"]["title"] == "Remove fill: a CRC engine needs no table"
    assert found["fill"]["reason"].startswith("the function fills a CRC-32 (IEEE 802.3) table (")
    assert "256 random inputs of 1 byte: all" in found["fill"]["sure"]


def test_tables_in_a_row_are_said_to_be_none_of_dpdks() -> None:
    words = ("tests/dpdk/router.c", "--pcap", "examples/insights/nat.pcap")
    [gap] = gaps(reported(*words), "accesses to rte_lpm in DPDK's own layout")
    assert "DIR-24-8" in gap["why"]
    assert not gaps(as_it_is("nat"), "accesses to")


@pytest.mark.parametrize("options", [(), TRACED[2:]])
def test_a_file_without_functions_is_none(tmp_path: Path, options: tuple[str, ...]) -> None:
    file = tmp_path / "nothing.c"
    file.write_text("int x;\n")
    run = slowpath("insights", file, *options)
    assert run.returncode == 3
    assert run.stderr == f"error: {file}: does not define a function\n"


def test_a_look_up_of_ipv6_is_not_said_to_be_of_ipv4() -> None:
    file = "tests/dpdk/routes6.c"
    [found] = json.loads(remembered("insights", "accelerators", file, "--format", "json"))["proved"]
    assert found["function"] == "rte_lpm6_lookup"
    assert found["algorithm"] == "longest prefix match (IPv6, by the first 32 bits)"
