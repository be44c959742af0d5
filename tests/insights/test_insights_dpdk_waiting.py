"""Packets of DPDK that are neither sent nor freed yet, and the buffers that they are in."""

from pathlib import Path
from typing import Any

import pytest

from insights_counted import EXAMPLES, counted, trace
from support import ROOT, slowpath

pytest.importorskip("llvmlite.binding")
pytestmark = pytest.mark.usefixtures("with_clang")

FOLDER = ROOT / "tests/dpdk"
NAT = EXAMPLES / "nat.pcap"
FURTHER = FOLDER / "further.c"
DELAYS = FOLDER / "delays.c"


@pytest.mark.parametrize(
    ("entry", "outputs", "killed", "where"),
    [("that_hold", {3: 20}, 0, "confs"), ("that_queue", {}, 7, "rte_ring")],
)
def test_packets_that_wait_when_the_trace_is_over(
    tmp_path: Path, entry: str, outputs: dict[int, int], killed: int, where: str
) -> None:
    sent = trace(tmp_path, [bytes(64)] * 22)
    report = counted(FURTHER, sent, "--entry", entry)
    fate = report["fate"]
    left = 22 - sum(outputs.values()) - killed
    assert {one["output"]: one["packets"] for one in fate["outputs"]} == outputs
    assert (fate["killed"], fate["kept"], fate["waiting"]) == (killed, 0, left)
    told = f"{left} packets wait in {where} when the trace is over: neither sent nor freed"
    assert any(told in note for note in report["notes"])


SLOW = """#include <rte_ethdev.h>
static struct rte_mbuf *first;
void handle(struct rte_mbuf *m)
{
	if (!first)
		first = m;  /* waits while hundreds of others come and go */
	else
		rte_eth_tx_burst(1, 0, &m, 1);
}
"""


def test_the_buffer_of_a_packet_that_waits_is_no_other_packets(tmp_path: Path) -> None:
    file = tmp_path / "slow.c"
    file.write_text(SLOW)
    report = counted(file, NAT)
    fate, came = report["fate"], report["traffic"]["packets"]
    assert came > 300
    assert (fate["outputs"][0]["packets"], fate["waiting"]) == (came - 1, 1)
    assert not any("before" in note for note in report["notes"])


def in_turns(folder: Path, period: int, count: int = 1200) -> Path:
    """Packets whose first byte, and no other, says which of a period they are, nearly."""
    return trace(folder, [bytes([at % period % 251]) + bytes(63) for at in range(count)])


def outputs_of(report: dict[str, Any]) -> dict[int, int]:
    return {one["output"]: one["packets"] for one in report["fate"]["outputs"]}


def test_hundreds_of_packets_may_wait(tmp_path: Path) -> None:
    report = counted(DELAYS, in_turns(tmp_path, 200), "--entry", "delayed")
    assert (outputs_of(report), report["fate"]["waiting"]) == ({0: 1000}, 200)
    [told] = report["notes"]
    assert told.startswith("200 packets wait in line")


def test_packets_that_find_no_room_to_wait_are_told(tmp_path: Path) -> None:
    """All are in some number, and the function has sent none of them twice."""
    words = ("--entry", "delayed", "--cflags=-DSLOWPATH_TURNS=128")
    report = counted(DELAYS, in_turns(tmp_path, 200), *words)
    gone, waiting = report["notes"]
    assert gone.startswith("73 packets were neither sent nor freed when later ones got the buffers")
    assert gone.endswith("128 wait at most (--cflags=-DSLOWPATH_TURNS=...)")
    assert waiting.startswith("127 packets wait in line")
    assert sum(outputs_of(report).values()) + 73 + 127 == 1200


def test_packets_that_are_given_back_leave_room_for_one_that_waits(tmp_path: Path) -> None:
    """It waits behind another one, whose address alone is in a variable."""
    sent = trace(tmp_path, [bytes([at == 1]) + bytes(63) for at in range(3000)])
    report = counted(DELAYS, sent, "--entry", "given_back")
    assert (outputs_of(report), report["fate"]["waiting"]) == ({1: 1}, 1)
    [told] = report["notes"]
    assert told.startswith("1 packet waits in one")


def test_copies_that_give_way_while_somebody_has_them_are_told(tmp_path: Path) -> None:
    sent = in_turns(tmp_path, 300)
    report = counted(DELAYS, sent, "--entry", "copied")
    assert (report["fate"]["kept"], report["fate"]["waiting"]) == (0, 255)
    assert report["notes"][0].startswith(
        "45 buffers were given to later packets that it made while earlier ones may still have been"
    )
    assert sum(outputs_of(report).values()) + 255 + 45 == 1200
    report = counted(DELAYS, sent, "--entry", "copied", "--cflags=-DSLOWPATH_PACKETS=400")
    assert (outputs_of(report), report["fate"]["waiting"]) == ({0: 900}, 300)
    assert len(report["notes"]) == 1


def test_copies_that_nobody_has_are_lost(tmp_path: Path) -> None:
    report = counted(DELAYS, in_turns(tmp_path, 7), "--entry", "lost")
    assert report["fate"]["kept"] == 1200
    assert report["notes"] == [
        "1,200 packets that it made were neither sent nor freed, and no structure has them"
    ]


def test_how_many_buffers_there_are_is_not_said_wrongly(tmp_path: Path) -> None:
    sent = in_turns(tmp_path, 7, 1)
    for packets_, unmade in (256, 44), (280, 20), (300, 0):
        words = ("--entry", "flooded", f"--cflags=-DSLOWPATH_PACKETS={packets_}")
        report = counted(DELAYS, sent, *words)
        assert report["fate"]["unmade"] == unmade
        told = f"{unmade} packets could not be made or cloned: there are too few buffers (--cflags"
        assert [note.startswith(told) for note in report["notes"]] == [True] * (unmade > 0)


DATAGRAMS = """#include <rte_ethdev.h>
#include <rte_ip_frag.h>
static struct rte_ip_frag_tbl *table;
static struct rte_ip_frag_death_row dead;
static uint16_t came;
RTE_INIT(start) { table = rte_ip_frag_table_create(1024, 4, 1024, 1000000000, 0); }
void join(struct rte_mbuf *m)
{
	struct rte_ipv4_hdr *ip = rte_pktmbuf_mtod(m, struct rte_ipv4_hdr *);
	m->l3_len = 20;
	ip->total_length = rte_cpu_to_be_16(60);
	ip->packet_id = came++;
	ip->fragment_offset = rte_cpu_to_be_16(RTE_IPV4_HDR_MF_FLAG);
	rte_ipv4_frag_reassemble_packet(table, &dead, m, rte_rdtsc(), ip);
	rte_ip_frag_free_death_row(&dead, 0);
}
"""


def test_datagrams_that_find_no_room(tmp_path: Path) -> None:
    source = tmp_path / "f.c"
    source.write_text(DATAGRAMS)
    sent = in_turns(tmp_path, 1, 400)
    report = counted(source, sent)
    refused = report["fate"]["refused"]
    assert refused + report["fate"]["waiting"] == 400
    said = "of datagrams what the source asks for, or -DSLOWPATH_DATAGRAMS=..."
    assert said in report["notes"][0]
    more = counted(source, sent, "--cflags=-DSLOWPATH_DATAGRAMS=8192")
    assert more["fate"]["refused"] < refused / 4
    ran = slowpath(
        "insights", "counts", source, "--traffic", sent, "--cflags=-DSLOWPATH_DATAGRAMS=2"
    )
    assert ran.returncode == 3
    assert "SLOWPATH_DATAGRAMS is less than a bucket has: take 4 or more" in ran.stderr
