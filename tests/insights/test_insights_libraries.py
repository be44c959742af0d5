"""Tests advice about library functions, which must name the source lines that call them."""

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from insights_counted import EXAMPLES, counted, frames_of, trace
from slowpath.core.schema.validation import schema
from slowpath.insights.advice.report import advice_text
from support import GOLDEN, ROOT, check_golden, remembered
from test_accelerators import examined

pytest.importorskip("llvmlite.binding")
pytestmark = pytest.mark.usefixtures("with_clang")

NAT = "examples/insights/nat.pcap"
DPDK, CLICK = "tests/advice/library.c", "tests/advice/library.cc"
Given = dict[str, Any]


def reported(*words: str | Path) -> Given:
    read: Given = json.loads(remembered("insights", *words, "--format", "json"))
    Draft202012Validator(schema("advice")).validate(read)
    return read


def engines(*words: str | Path) -> list[Given]:
    """Return the advice on accelerators that `slowpath insights FILE` gives."""
    return [one for one in reported(*words)["advice"] if one["kind"] == "accelerator"]


def of_line(found: list[Given], words: str) -> Given:
    """Return the only advice about a source line that contains `words`."""
    [one] = [one for one in found if words in text_of(one)]
    return one


def text_of(one: Given) -> str:
    """Return the text of the source line that a piece of advice is about."""
    return str((ROOT / one["file"]).read_text().splitlines()[one["line"] - 1])


def executed(report: Given, *names: str) -> float:
    """Return the LLVM instructions per packet that some functions execute, from a report."""
    blocks = [one for one in report["blocks"] if one["function"] in names]
    return float(sum(one["instructions"] * one["per_packet"] for one in blocks))


@pytest.mark.parametrize("file", [DPDK, CLICK])
def test_the_report_is_as_expected(file: str) -> None:
    lines = advice_text(reported(file, "--pcap", NAT))  # type: ignore[arg-type]
    name = f"library_{Path(file).suffix.removeprefix('.')}"
    check_golden(GOLDEN / f"insights/{name}.txt", "".join(f"{line.text}\n" for line in lines))


def test_a_library_is_advised_on_in_the_lines_that_call_it() -> None:
    found = engines(DPDK, "--pcap", NAT)
    counts = counted(ROOT / DPDK, ROOT / NAT)
    assert {one["file"] for one in found} == {DPDK}
    hashed = of_line(found, "rte_jhash(")
    assert (hashed["what"], hashed["certainty"]) == ("rte_jhash", "proved")
    assert "forward calls rte_jhash here, which computes Jenkins lookup3" in hashed["reason"]
    assert "seed initial" in hashed["reason"]
    assert hashed["before"] == pytest.approx(executed(counts, "rte_jhash"))
    assert hashed["after"] == 0
    assert hashed["saved_cycles"] > 0
    summed = of_line(found, "rte_ipv4_cksum(")
    assert summed["title"] == "Use the checksum engine for rte_raw_cksum in rte_ipv4_cksum"
    assert summed["before"] == pytest.approx(executed(counts, "rte_raw_cksum"))
    assert "which calls rte_raw_cksum, which computes internet checksum" in summed["reason"]
    assert len(found) == 3


def test_what_no_packet_came_to_is_last_and_says_so() -> None:
    found = reported(DPDK, "--pcap", NAT)["advice"]
    last = found[-1]
    assert "rte_hash_crc(" in text_of(last)
    assert (last["before"], last["saved_cycles"], last["effect"]) == (0, 0, 0)
    assert "polynomial 0x1edc6f41" in last["reason"]
    assert last["reason"].endswith("; no packet of the trace reached this code")
    assert not [one for one in found[:-1] if "no packet" in one["reason"]]


def test_with_packets_that_come_there_it_is_not_last(tmp_path: Path) -> None:
    """Check the advice on a call that only non-IPv4 packets reach, if the trace has some."""
    frames = frames_of(EXAMPLES / "nat.pcap")[:40]
    for one in range(0, len(frames), 2):
        changed = bytearray(frames[one])
        changed[12:14] = b"\x86\xdd"
        frames[one] = bytes(changed)
    file = trace(tmp_path, frames)
    dropped = of_line(engines(DPDK, "--pcap", file), "rte_hash_crc(")
    counts = counted(ROOT / DPDK, file)
    assert dropped["before"] == pytest.approx(executed(counts, "rte_hash_crc"))
    assert dropped["before"] > 0
    assert "no packet" not in dropped["reason"]


def test_functions_that_packets_never_come_to_are_not_suspected() -> None:
    """Check that no advice is given about `main`, nor about functions that only `main` calls.

    This holds with and without a trace, and if an option names the entry function.
    """
    found, named = engines(DPDK, "--pcap", NAT), engines(DPDK, "--entry", "work")
    for these in (found, named):
        assert {one["what"] for one in these} == {"rte_jhash", "rte_ipv4_cksum", "rte_hash_crc"}
    assert {one["before"] for one in named} == {None}
    assert [one["line"] for one in named] == sorted(one["line"] for one in found)
    report = examined(ROOT / DPDK)
    assert "hashed" in {one["function"] for one in report["proved"]}


def test_functions_of_click_are_advised_on_in_the_lines_that_call_them() -> None:
    found = engines(CLICK, "--pcap", NAT)
    counts = counted(ROOT / CLICK, ROOT / NAT)
    summed, routed = of_line(found, "click_in_cksum("), of_line(found, "_routes.lookup(")
    assert summed["before"] == pytest.approx(executed(counts, "click_in_cksum"))
    assert routed["title"] == "Use the lookup engine for IPTable::lookup"
    assert routed["before"] == pytest.approx(executed(counts, "IPTable::lookup"))
    corrected = of_line(found, "click_update_in_cksum(")
    assert "internet checksum, corrected (RFC 1624)" in corrected["reason"]
    assert corrected["certainty"] == "proved"
    assert 5 < corrected["before"] < 30
    assert corrected["saved_cycles"] > 0
    frame = of_line(found, "update_crc(")
    assert "polynomial 0x04c11db7" in frame["reason"]
    assert frame["before"] == 0
    assert len(found) == 4


def test_a_router_is_told_of_its_routes_and_not_of_its_table_of_flows() -> None:
    """Check that a router gets advice about its route lookup, but not about its hash table.

    Hash tables belong to the DPDK framework, so their lookups take no instructions.
    """
    found = engines("tests/dpdk/router.c", "--pcap", NAT)
    counts = counted(ROOT / "tests/dpdk/router.c", ROOT / NAT)
    [one] = found
    assert "if (rte_lpm_lookup(routes," in text_of(one)
    assert one["title"] == "Use the lookup engine for rte_lpm_lookup"
    assert "longest prefix match (IPv4)" in one["reason"]
    assert one["before"] == pytest.approx(executed(counts, "rte_lpm_lookup"))
    assert one["effect"] > 0


SUMS_OF_CLICK = """
#include <click/crc32.h>
#include <click/packet.hh>
extern "C" {
uint16_t plain_sum(const unsigned char *data, int length) { return click_in_cksum(data, length); }
uint16_t pseudo_sum(const click_ip *ip, const unsigned char *data, int length) {
    return click_in_cksum_pseudohdr(click_in_cksum(data, length), ip, length);
}
uint32_t ethernet_sum(const char *data, int length) { return update_crc(~0u, data, length); }
}
"""


def test_a_function_that_is_proved_is_told_instead_of_what_it_calls(tmp_path: Path) -> None:
    file = tmp_path / "sums.cc"
    file.write_text(SUMS_OF_CLICK)
    proved = {one["function"]: one for one in examined(file)["proved"]}
    assert proved["plain_sum"]["calls"] == []
    summed = proved["click_in_cksum"]
    lines = SUMS_OF_CLICK.splitlines()
    [place] = summed["calls"]
    assert place["caller"] == "pseudo_sum"
    assert "click_in_cksum(data, length)" in lines[place["line"] - 1]
    assert proved["update_crc"]["part_of"] == "ethernet_sum"


FOLLOWED = ("rte_ipv4_cksum(ip)", "nic_engine_checksum(ip, 20)")


def test_following_the_advice_changes_the_prediction_as_announced(tmp_path: Path) -> None:
    source = (ROOT / DPDK).read_text()
    announced = of_line(engines(DPDK, "--pcap", NAT), "rte_ipv4_cksum(")
    file = tmp_path / "followed.c"
    file.write_text(
        source.replace(*FOLLOWED).replace("#include", "#include <nic/engine.h>\n#include", 1)
    )
    before, after = reported(DPDK, "--pcap", NAT), reported(file, "--pcap", NAT)
    saved = before["traffic"]["instructions"] - after["traffic"]["instructions"]
    assert saved == pytest.approx(announced["saved_cycles"], rel=0.1)
    left = {one["what"] for one in after["advice"] if one["kind"] == "accelerator"}
    assert left == {"rte_jhash", "rte_hash_crc"}


WORDS = """
#include <rte_jhash.h>
#include <rte_mbuf.h>
static uint32_t seen[64];
int process(struct rte_mbuf *m)
{
	const uint32_t *words = rte_pktmbuf_mtod(m, const uint32_t *);
	uint32_t hash = rte_jhash_3words(words[0], words[1], words[2], 7);
	seen[hash % 64]++;
	return hash & 1;
}
"""


def test_what_became_a_part_of_its_caller_is_advised_on_there(tmp_path: Path) -> None:
    file = tmp_path / "words.c"
    file.write_text(WORDS)
    found = engines(file, "--pcap", NAT)
    one = of_line(found, "rte_jhash_3words(")
    assert "Jenkins lookup3" in one["reason"]
    assert "seed initial" in one["reason"]
    assert one["before"] > 20
    assert one["saved_cycles"] > 0
    assert len(found) == 1


SUMS = """
#include <rte_ip.h>
#include <rte_mbuf.h>
static uint32_t good;
__attribute__((noinline)) static uint16_t sum(const void *data, size_t length)
{
	return (uint16_t)~rte_raw_cksum(data, length);
}
int process(struct rte_mbuf *m)
{
	struct rte_ipv4_hdr *ip = rte_pktmbuf_mtod_offset(m, struct rte_ipv4_hdr *, 14);
	good += sum(ip, 20) == 0;
	ip->hdr_checksum = 0;
	ip->hdr_checksum = (uint16_t)~rte_raw_cksum(ip, 20);
	return good & 1;
}
"""


def test_a_function_that_is_proved_has_its_own_calls_of_what_others_call_too(
    tmp_path: Path,
) -> None:
    file = tmp_path / "sums.c"
    file.write_text(SUMS)
    found = engines(file, "--pcap", NAT)
    counts = counted(file, ROOT / NAT)
    half = executed(counts, "rte_raw_cksum") / 2
    direct = of_line(found, "hdr_checksum = (uint16_t)~")
    assert direct["before"] == pytest.approx(half)
    around = of_line(found, "uint16_t sum(")
    assert around["before"] == pytest.approx(half + executed(counts, "sum"))
    assert around["certainty"] == "proved"
    assert around["saved_cycles"] > direct["saved_cycles"]
    assert len([one for one in found if one["before"] is not None]) == 2


BOTH = """
#include <rte_ip.h>
#include <rte_mbuf.h>
int process(struct rte_mbuf *m)
{
	struct rte_ipv4_hdr *ip = rte_pktmbuf_mtod_offset(m, struct rte_ipv4_hdr *, 14);
	return (rte_ipv4_cksum(ip) ^ rte_ipv4_udptcp_cksum(ip, ip + 1)) & 1;
}
"""


def test_several_functions_in_one_line_are_all_named(tmp_path: Path) -> None:
    file = tmp_path / "both.c"
    file.write_text(BOTH)
    one = of_line(engines(file, "--pcap", NAT), "rte_ipv4_cksum(")
    assert "rte_ipv4_cksum" in one["what"].split(" and ")
    assert "rte_ipv4_udptcp_cksum" in one["what"].split(" and ")
    assert one["before"] == pytest.approx(executed(counted(file, ROOT / NAT), "rte_raw_cksum"))
