"""Tests DPDK packets that wait in memory to be sent or freed, and so occupy buffers."""

from pathlib import Path

import pytest

from insights_counted import EXAMPLES, counted, error_of, sent, trace
from support import ROOT

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
def test_waiting_packets_at_the_end_of_the_trace(
    tmp_path: Path, entry: str, outputs: dict[int, int], killed: int, where: str
) -> None:
    report = counted(FURTHER, trace(tmp_path, [bytes(64)] * 22), "--entry", entry)
    fate = report["fate"]
    left = 22 - sum(outputs.values()) - killed
    assert sent(report) == outputs
    assert (fate["killed"], fate["kept"], fate["waiting"]) == (killed, 0, left)
    note = f"{left} packets wait in {where} at the end of the trace, neither sent nor freed"
    assert any(note in one for one in report["notes"])


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


def test_buffers_of_waiting_packets_are_not_reused(tmp_path: Path) -> None:
    file = tmp_path / "slow.c"
    file.write_text(SLOW)
    report = counted(file, NAT)
    fate, came = report["fate"], report["traffic"]["packets"]
    assert came > 300
    assert (fate["outputs"][0]["packets"], fate["waiting"]) == (came - 1, 1)
    assert not any("before" in note for note in report["notes"])


def in_turns(folder: Path, period: int, count: int = 1200) -> Path:
    """Write a trace of `count` packets that repeat after `period`, and return the file.

    Only their first bytes differ (modulo 251).
    """
    return trace(folder, [bytes([at % period % 251]) + bytes(63) for at in range(count)])


def test_hundreds_of_packets_may_wait(tmp_path: Path) -> None:
    report = counted(DELAYS, in_turns(tmp_path, 200), "--entry", "delayed")
    assert (sent(report), report["fate"]["waiting"]) == ({0: 1000}, 200)
    [note] = report["notes"]
    assert note.startswith("200 packets wait in line")


def test_notes_count_overwritten_packets(tmp_path: Path) -> None:
    """Check that the report counts each packet once: as sent, overwritten, or waiting."""
    words = ("--entry", "delayed", "--cflags=-DSLOWPATH_TURNS=128")
    report = counted(DELAYS, in_turns(tmp_path, 200), *words)
    gone, waiting = report["notes"]
    assert gone.startswith("73 buffers were reused before the packet was sent or freed")
    assert gone.endswith(
        "at most 128 packets can wait; raise the limit with --cflags=-DSLOWPATH_TURNS=..."
    )
    assert waiting.startswith("127 packets wait in line")
    assert sum(sent(report).values()) + 73 + 127 == 1200


def test_returned_packets_free_buffers(tmp_path: Path) -> None:
    """Check that a packet that is sent much later gives its buffer back.

    The program keeps only the address of the packet before it, which links to it.
    """
    traffic = trace(tmp_path, [bytes([at == 1]) + bytes(63) for at in range(3000)])
    report = counted(DELAYS, traffic, "--entry", "given_back")
    assert (sent(report), report["fate"]["waiting"]) == ({1: 1}, 1)
    [note] = report["notes"]
    assert note.startswith("1 packet waits in one")


def test_notes_count_overwritten_copies(tmp_path: Path) -> None:
    traffic = in_turns(tmp_path, 300)
    report = counted(DELAYS, traffic, "--entry", "copied")
    assert (report["fate"]["kept"], report["fate"]["waiting"]) == (0, 255)
    assert report["notes"][0].startswith(
        "45 buffers were reused for a created packet, although perhaps still in use"
    )
    assert sum(sent(report).values()) + 255 + 45 == 1200
    report = counted(DELAYS, traffic, "--entry", "copied", "--cflags=-DSLOWPATH_PACKETS=400")
    assert (sent(report), report["fate"]["waiting"]) == ({0: 900}, 300)
    assert len(report["notes"]) == 1


def test_unreferenced_copies_are_lost(tmp_path: Path) -> None:
    report = counted(DELAYS, in_turns(tmp_path, 7), "--entry", "lost")
    assert report["fate"]["kept"] == 1200
    assert report["notes"] == [
        "1,200 packets that the function created were neither sent nor freed, and no "
        "structure refers to them"
    ]


def test_notes_give_the_true_number_of_buffers(tmp_path: Path) -> None:
    traffic = in_turns(tmp_path, 7, 1)
    for packets_, unmade in (256, 44), (280, 20), (300, 0):
        words = ("--entry", "flooded", f"--cflags=-DSLOWPATH_PACKETS={packets_}")
        report = counted(DELAYS, traffic, *words)
        assert report["fate"]["unmade"] == unmade
        note = (
            f"{unmade} packets could not be created or cloned, because the buffers are too few; enl"
        )
        assert [one.startswith(note) for one in report["notes"]] == [True] * (unmade > 0)


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


def test_datagrams_without_a_buffer(tmp_path: Path) -> None:
    source = tmp_path / "f.c"
    source.write_text(DATAGRAMS)
    traffic = in_turns(tmp_path, 1, 400)
    report = counted(source, traffic)
    refused = report["fate"]["refused"]
    assert refused + report["fate"]["waiting"] == 400
    remedy = "for datagrams the size in the source, or -DSLOWPATH_DATAGRAMS=..."
    assert remedy in report["notes"][0]
    more = counted(source, traffic, "--cflags=-DSLOWPATH_DATAGRAMS=8192")
    assert more["fate"]["refused"] < refused / 4
    words = ("--pcap", traffic, "--cflags=-DSLOWPATH_DATAGRAMS=2")
    error = error_of("insights", "counts", source, *words)
    assert "SLOWPATH_DATAGRAMS is less than a bucket has: take 4 or more" in error
