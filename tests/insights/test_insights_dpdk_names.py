"""Compares functions and constants in slowpath's DPDK headers with published values.

Values that are not published are computed by the test.
"""

import subprocess
from collections.abc import Iterator
from fractions import Fraction
from ipaddress import IPv6Address
from itertools import count
from pathlib import Path

import pytest

from insights_counted import EXAMPLES, counted, error_of, frames_of, results, trace
from slowpath.insights.source.sources import FIND, HEADERS, address_form
from support import ROOT
from test_insights_dpdk import compiler

pytest.importorskip("llvmlite.binding")
pytestmark = pytest.mark.usefixtures("with_clang")

SOURCE = ROOT / "tests/dpdk/names.c"
VALUES = {
    "RTE_MBUF_F_RX_IP_CKSUM_NONE": 1 << 4 | 1 << 7,
    "RTE_MBUF_F_RX_L4_CKSUM_NONE": 1 << 3 | 1 << 8,
    "RTE_MBUF_F_RX_QINQ_STRIPPED": 1 << 15,
    "RTE_MBUF_F_TX_TUNNEL_VXLAN": 1 << 45,
    "RTE_MBUF_F_TX_OUTER_IPV6": 1 << 60,
    "RTE_MBUF_F_INDIRECT": 1 << 62,
    "RTE_LOG_EMERG": 1,
    "RTE_LOG_ALERT": 2,
    "RTE_LOG_CRIT": 3,
    "RTE_LOG_ERR": 4,
    "RTE_LOG_WARNING": 5,
    "RTE_LOG_NOTICE": 6,
    "RTE_LOG_INFO": 7,
    "RTE_LOG_DEBUG": 8,
    "sizeof(struct rte_ipv6_hdr)": 40,
    "sizeof(struct rte_ipv6_addr)": 16,
    "sizeof(((struct rte_ipv6_hdr *)0)->src_addr)": 16,
}
HASHES = [(0x323E8FC2, 0x51CCC178), (0xD718262A, 0xC626B0EA), (0xD2D0A5DE, 0x5C2B394A)]
"""Hashes without and with ports: Microsoft's vectors for the verification of RSS."""
OLD = """#include <rte_ip.h>
#include <rte_lpm6.h>
int handle(struct rte_mbuf *packet)
{
	struct rte_ipv6_hdr *ip = rte_pktmbuf_mtod_offset(packet, struct rte_ipv6_hdr *, 14);
	uint8_t to[16];

	memcpy(to, ip->dst_addr, sizeof(to));
	return to[0] ^ ip->src_addr[0];
}
"""
NEW = """#include <rte_ether.h>
#include <rte_ip6.h>
#include <rte_mbuf.h>
int handle(struct rte_mbuf *packet)
{
	struct rte_ipv6_hdr *ip = rte_pktmbuf_mtod_offset(packet, struct rte_ipv6_hdr *, 14);
	struct rte_ipv6_addr to = ip->dst_addr;

	return to.a[0] ^ ip->src_addr.a[0];
}
"""


@pytest.fixture(scope="module", params=[(), ("-DSLOWPATH_DPDK_IPV6",)], ids=["bytes", "struct"])
def lines(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Compile `names.c` with either form of IPv6 addresses, and return the lines that it prints."""
    made = tmp_path_factory.mktemp("names") / "names"
    flags = ("-O1", "-w", "-fno-strict-aliasing", *FIND, *request.param)
    subprocess.run([compiler(), *flags, "-o", made, SOURCE], check=True)
    run = subprocess.run([made], capture_output=True, text=True, check=True, timeout=60)
    return run.stdout.splitlines()


def rows(lines: list[str], kind: str) -> Iterator[list[str]]:
    return (line.split()[1:] for line in lines if line.startswith(f"{kind} "))


def test_names_have_their_values(lines: list[str]) -> None:
    found = dict(line.rsplit(" ", 1) for line in lines[: len(VALUES)])
    assert found == {name: str(value) for name, value in VALUES.items()}


def test_the_hash_of_receive_side_scaling(lines: list[str]) -> None:
    found = [tuple(map(int, row)) for row in rows(lines, "hash")]
    assert found == [(short, long, long) for short, long in HASHES]


def test_masks_of_addresses(lines: list[str]) -> None:
    address = int(IPv6Address("2001:db8:ffff:fedc:1234:5678:9abc:def0"))
    found = list(rows(lines, "mask"))
    assert len(found) == 129
    for depth, row in enumerate(found):
        masked = address >> (128 - depth) << (128 - depth)
        assert row == [str(depth), "1", "0", str(depth), f"{masked:032x}"]


def test_approximations_have_the_smallest_denominator(lines: list[str]) -> None:
    found = list(rows(lines, "approx"))
    assert len(found) == 99
    for row in found:
        alpha, within = Fraction(float(row[0])), Fraction(float(row[1]))
        near = (Fraction(min(q - 1, max(1, round(alpha * q))), q) for q in count(2))
        best = next(one for one in near if abs(one - alpha) <= within)
        assert row[2] == "0"
        assert int(row[4]) == best.denominator
        assert abs(Fraction(int(row[3]), int(row[4])) - alpha) <= within


@pytest.mark.parametrize(("text", "form"), [(OLD, ()), (NEW, ("-DSLOWPATH_DPDK_IPV6",))])
def test_addresses_have_the_form_of_the_source(
    tmp_path: Path, text: str, form: tuple[str, ...]
) -> None:
    source = tmp_path / "nf.c"
    source.write_text(text)
    assert address_form(str(source), text.encode(), ()) == form
    frames = frames_of(EXAMPLES / "nat.pcap")[:40]
    expected = sorted({one[38] ^ one[22] for one in frames})
    assert sorted(results(counted(source, trace(tmp_path, frames)))) == expected


def test_headers_of_a_source_tell_its_form(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own/deep.h").write_text("#include <rte_ip6.h>\n")
    (tmp_path / "own.h").write_text('#pragma once\n#include "own.h"\n#include "deep.h"\n')
    source, text = str(tmp_path / "nf.c"), b'  #  include "own.h"\n'
    assert address_form(source, text, ()) == ()
    for flags in ([f"-I{tmp_path}/own"], ["-I", f"{tmp_path}/own"]):
        assert address_form(source, text, flags) == ("-DSLOWPATH_DPDK_IPV6",)


def test_a_missing_header(tmp_path: Path) -> None:
    source = tmp_path / "nf.c"
    source.write_text("#include <rte_flow_classify.h>\nint handle(struct rte_mbuf *packet);\n")
    error = error_of("insights", "counts", source, "--pcap", EXAMPLES / "nat.pcap")
    assert "'rte_flow_classify.h' file not found" in error
    assert "headers of DPDK 22.11, but not rte_flow_classify" in error
    assert "add a folder with your own header: --cflags=-IFOLDER" in error
    assert all(f" {one}," in error for one in ("ethdev", "ip6", "thash"))
    assert (HEADERS / "dpdk/rte_thash.h").exists()
