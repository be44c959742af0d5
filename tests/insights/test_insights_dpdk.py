"""Compares DPDK functions that `insights` runs on traces with runs on real DPDK.

Other tests count the accesses of these functions independently.
"""

import json
import re
import shutil
import struct
import subprocess
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import oracles
from calibrating import needs_dpdk
from compiler import needs_clang
from insights_counted import (
    EXAMPLES,
    calls,
    counted,
    error_of,
    fewer_unless_campaign,
    frames_of,
    reported,
    results,
    sent,
    structures,
    trace,
)
from slowpath.insights.advice.report import advice_text
from slowpath.insights.source.sources import FIND
from support import ROOT, slowpath
from test_insights_blocks import blocks_of, predicted

pytest.importorskip("llvmlite.binding")
pytestmark = pytest.mark.usefixtures("with_clang")

FOLDER = ROOT / "tests/dpdk"
ROUTER = FOLDER / "router.c"
NAT = EXAMPLES / "nat.pcap"


def compiler() -> str:
    found = next((name for name in ("gcc", "cc") if shutil.which(name)), None)
    return found or oracles.missing("compiler", "there is no C compiler; install gcc")


def of_dpdk(source: Path, made: Path, *flags: str) -> Path:
    """Compile a source with the headers and libraries of an installed DPDK; return the program."""
    needs_dpdk()
    words = ["pkg-config", "--cflags", "--libs", "libdpdk"]
    dpdk = subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()
    subprocess.run([compiler(), "-O1", "-w", *flags, "-o", made, source, *dpdk], check=True)
    return made


def packets() -> list[bytes]:
    """Return the packets of the NAT's trace, changed so that a router drops some of them.

    The router sends the others to all ports.
    """
    found = frames_of(NAT)
    for at, one in enumerate(found):
        last = [(10, 0, 0, 1), (10, 9, 9, 9), (192, 0, 2, at % 256), (203, 0, 113, 7)][at % 4]
        changed = bytearray(one)
        changed[30:34] = bytes(last)
        if at % 11 == 0:
            changed[22] = 1
        if at % 13 == 0:
            changed[12:14] = b"\x86\xdd"
        found[at] = bytes(changed[:20]) if at % 17 == 0 else bytes(changed)
    return found


def test_a_router_behaves_as_with_dpdk(tmp_path: Path) -> None:
    twin = of_dpdk(FOLDER / "router_twin.c", tmp_path / "twin", f"-I{FOLDER}")
    frames = packets()
    data = b"".join(struct.pack("<I", len(one)) + one for one in frames)
    ran = subprocess.run([twin], input=data, capture_output=True, check=True, timeout=120)
    *ports, short, unknown, flows = map(int, ran.stdout.split())
    report = counted(ROUTER, trace(tmp_path, frames))
    fate = report["fate"]
    assert sent(report) == dict(enumerate(ports, 1))
    assert (fate["killed"], fate["kept"], fate["refused"]) == (short + unknown, 0, 0)
    assert results(report) == {1: len(frames)}
    (table,) = [one for one in report["structures"] if one["structure"] == "flows"]
    assert table["entries_written"] == flows
    assert min(*ports, short, unknown) > 10
    oracles.compared("dpdk", len(frames), "packets")


def test_headers_agree_with_dpdk(tmp_path: Path) -> None:
    theirs = of_dpdk(FOLDER / "same.c", tmp_path / "theirs")
    ours = tmp_path / "ours"
    flags = ["-O1", "-w", "-fno-strict-aliasing", *FIND]
    subprocess.run([compiler(), *flags, "-o", ours, FOLDER / "same.c"], check=True)
    values = [
        subprocess.run([one], capture_output=True, text=True, check=True).stdout.splitlines()
        for one in (ours, theirs)
    ]
    assert len(values[0]) > 8000
    assert values[0] == values[1]
    oracles.compared("dpdk", len(values[0]), "values of headers")


@pytest.mark.parametrize(
    ("name", "size", "count", "answers", "what"),
    [
        ("ring", 4, 600, 40, "turns of rings"),
        ("lookups", 16, 900, 60, "turns of prefixes and rules"),
        ("pieces", 16, 1200, 300, "turns of pieces, packets in order and prefixes of IPv6"),
    ],
)
def test_turns_have_the_results_of_dpdk(  # noqa: PLR0913, PLR0917 - the columns of the table
    tmp_path: Path, name: str, size: int, count: int, answers: int, what: str
) -> None:
    """Compare the results of slowpath's DPDK headers with those of real DPDK.

    Both get the same `count` random packets of `size` bytes.
    """
    source = FOLDER / f"{name}.c"
    twin = of_dpdk(source, tmp_path / name, "-DBESIDE")
    drawn = np.random.default_rng(11)
    frames = [drawn.bytes(size) for _ in range(count)]
    ran = subprocess.run(
        [twin], input=b"".join(frames), capture_output=True, check=True, timeout=120
    )
    theirs = Counter(map(int, ran.stdout.split()))
    assert results(counted(source, trace(tmp_path, frames), "--entry", "take")) == theirs
    assert len(theirs) > answers
    oracles.compared("dpdk", len(frames), what)


def test_timers_fire_in_their_order(tmp_path: Path) -> None:
    drawn = np.random.default_rng(3)
    frames = [bytes([*drawn.integers(0, [4, 4, 9]), *bytes(57)]) for _ in range(400)]
    # Each waiting timer has an expiry time, a number, and a period (0: fires once).
    waiting, expected = list[tuple[int, int, int]](), Counter[int]()
    for now, one in enumerate(frames):  # one packet arrives per microsecond
        fired, due = 0, [each for each in waiting if each[0] <= now]
        for when, which, period in due:
            fired = fired * 5 + which + 1
            waiting.remove((when, which, period))
        waiting += [(when + period, which, period) for when, which, period in due if period]
        expected[fired] += 1
        which, action, time = one[:3]
        if action < 3:
            waiting = [each for each in waiting if each[1] != which]
        if action < 2:
            waiting.append((now + time, which, time * action))
        waiting.sort(key=lambda each: each[0])  # stable: equal times keep the order of setting
    found = results(counted(FOLDER / "timers.c", trace(tmp_path, frames), "--entry", "take"))
    assert found == dict(expected)
    assert len(found) > 10


def test_packets_of_several_segments(tmp_path: Path) -> None:
    report = counted(FOLDER / "segments.c", trace(tmp_path, [bytes(60 + at) for at in range(12)]))
    fate = report["fate"]
    assert results(report) == {0: 12}
    assert sent(report) == {1: 6}
    assert (fate["killed"], fate["kept"], fate["unmade"], fate["made"]) == (18, 0, 0, 36)


def test_accesses_of_a_router_follow_from_the_trace(tmp_path: Path) -> None:
    frames = packets()
    report = counted(ROUTER, trace(tmp_path, frames))
    routed = [
        one
        for one in frames
        if len(one) >= 34 and one[12:14] == b"\x08\x00" and one[22] > 1  # complete, IPv4, TTL > 1
    ]
    flows = Counter(
        one[26:34] + one[23:24] + (one[34:38] if one[23] in (6, 17) else b"") for one in routed
    )
    found = structures(report)
    assert found["flows"] == (2 * len(routed), 2 * len(routed))
    assert found["routes"] == (len(routed), 0)
    assert calls(report)["rte_lpm_lookup"] == len(routed)
    assert calls(report)["rte_hash_take_slot"] == len(flows)
    (table,) = [one for one in report["structures"] if one["structure"] == "rte_hash"]
    assert table["size_bytes"] > 1024 * 48
    written = {one["member"]: one["writes"] for one in table["members"]}
    assert written["used"] == len(flows)
    first = next(one for one in report["blocks"] if one["function"] == "route")
    assert Path(first["file"]).name == "router.c"


def test_a_router_is_counted_for_the_card() -> None:
    (program,) = predicted(ROUTER, "--entry", "route")["programs"]
    assert (program["model"], program["why"]) == ("exact", None)
    (route,) = [one for one in program["functions"] if one["name"] == "route"]
    made = {call["what"] for one in route["blocks"] for call in one["calls"]}
    assert {"rte_hash_lookup", "rte_eth_tx_burst", "rte_pktmbuf_free"} <= made


def test_a_packet_has_room_in_front_on_the_card(tmp_path: Path) -> None:
    source = tmp_path / "f.c"
    source.write_text(
        "#include <rte_ethdev.h>\n"
        "void f(struct rte_mbuf *m) {\n"
        "  char *at = rte_pktmbuf_prepend(m, 4);\n"
        "  if (!at) { rte_pktmbuf_free(m); return; }\n"
        "  at[0] = 1;\n"
        "  rte_eth_tx_burst(0, 0, &m, 1);\n"
        "}\n"
    )
    (program,) = predicted(source)["programs"]
    blocks = blocks_of(program)
    assert program["model"] == "exact"
    assert not any(one["refused"] for one in blocks)
    assert sum(one["accesses"]["packet"] for one in blocks) == 1


def test_the_report_advises_on_tables_of_dpdk() -> None:
    report = reported("tests/dpdk/router.c", "--pcap", "examples/insights/nat.pcap")
    text = "\n".join(line.text for line in advice_text(report))  # type: ignore[arg-type]
    assert "Put rte_hash into imem" in text
    assert "instructions on the card:" not in text


def test_kept_sent_and_freed_packets(tmp_path: Path) -> None:
    frames = [bytes([at]) * 64 for at in range(9)]
    report = counted(FOLDER / "keeps.c", trace(tmp_path, frames))
    fate = report["fate"]
    assert sent(report) == {4: 4}
    assert results(report) == {0: 5, 1: 4}
    assert (fate["killed"], fate["made"], fate["kept"], fate["unmade"]) == (4, 13, 5, 0)


@pytest.mark.parametrize(
    ("first", "expected"),
    [
        (1, "rte_eth_tx_burst: packet 1 of the trace: this port does not exist; ports are 0 to 63"),
        (
            2,
            "keys of rte_hash are longer than 40 bytes; raise the limit with "
            "--cflags=-DSLOWPATH_KEY=64",
        ),
        (
            3,
            "wrong.c:14: wrong: packet 1 of the trace: the code calls rte_exit, which slowpath "
            "does not provide",
        ),
        (4, "wrong.c:15: wrong: packet 1 of the trace: the code calls rte_eth_dev_start, which"),
    ],
)
def test_errors_that_end_a_run(tmp_path: Path, first: int, expected: str) -> None:
    traffic = trace(tmp_path, [bytes([first]) * 64])
    assert expected in error_of("insights", "counts", FOLDER / "wrong.c", "--pcap", traffic)


def test_the_function_of_an_application_is_found(tmp_path: Path) -> None:
    source = FOLDER / "application.c"
    traffic = trace(tmp_path, [bytes([at]) * 64 for at in range(7)])
    ran = slowpath("insights", "counts", source, "--pcap", traffic, "--format", "json")
    report = json.loads(ran.stdout)
    assert report["entry"] == "forward"
    assert sent(report) == {1: 7}
    assert structures(report)["received"] == (7, 7)
    assert (
        "forward got the packets: poll passes on the packets that it receives; select another "
        in ran.stderr
    )
    (program,) = predicted(source)["programs"]
    assert (program["entry"], program["model"]) == ("forward", "exact")


def test_sources_compile_with_dpdk(tmp_path: Path) -> None:
    strict = "-Werror=incompatible-pointer-types"
    of_dpdk(FOLDER / "application.c", tmp_path / "application", strict)
    of_dpdk(FOLDER / "gone.c", tmp_path / "gone", "-c")
    names = ("further", "unmade", "timers", "segments", "bursts", "loops", "called_back", "delays")
    for name in names:
        of_dpdk(FOLDER / f"{name}.c", tmp_path / name, "-c", strict)


@pytest.mark.parametrize(
    ("entry", "outputs", "killed", "gone_twice"),
    fewer_unless_campaign(
        [
            ("sent_and_freed", {0: 33}, 0, True),
            ("flooded", {0: 33, 1: 33, 2: 33}, 0, False),
            ("together", {3: 32}, 0, False),
            ("sent_twice", {0: 66}, 0, True),
            ("freed_twice", {}, 33, True),
            ("kept_after_sending", {0: 33}, 33, False),
            ("made_instead", {0: 33}, 33, False),
        ],
        3,
    ),
)
def test_fates_of_packets(
    tmp_path: Path, entry: str, outputs: dict[int, int], killed: int, *, gone_twice: bool
) -> None:
    traffic = trace(tmp_path, [bytes([at]) * 64 for at in range(33)])
    words = ("--pcap", traffic, "--entry", entry, "--format", "json")
    ran = slowpath("insights", "counts", FOLDER / "gone.c", *words)
    report = json.loads(ran.stdout)
    fate = report["fate"]
    assert sent(report) == outputs
    assert (fate["killed"], fate["kept"]) == (killed, 0)
    note = "a packet was sent or freed a second time"
    assert (note in ran.stderr) == (f"{note} (33 times)" in ran.stderr) == gone_twice
    if entry == "together":
        assert results(report) == {0: 32, 1: 1}


def test_prefixes_of_ipv6(tmp_path: Path) -> None:
    prefix = bytes.fromhex("20010db800000000ffff000000000000")
    expected = {
        prefix: 4,
        prefix[:15] + b"\1": 3,
        prefix[:8] + b"\x7f" + prefix[9:]: 2,
        prefix[:7] + b"\1" + prefix[8:]: 1,
        bytes.fromhex("20010db9") + prefix[4:]: -1,
    }
    frames = [bytes(38) + one for one in expected]
    found = results(counted(FOLDER / "routes6.c", trace(tmp_path, frames)))
    assert set(found) == set(expected.values())


@pytest.mark.parametrize(
    "signature",
    fewer_unless_campaign(
        [
            "struct rte_mbuf **m, uint16_t port, uint16_t nb_rx",
            "uint16_t port, uint16_t queue, struct rte_mbuf *m[], uint16_t n, uint16_t most",
            "uint16_t found, struct rte_mbuf **m",
            "uint16_t nb_rx, struct rte_mbuf **m",
            "uint16_t n, struct rte_mbuf **m, uint16_t port",
            "struct rte_mbuf **m, int found",
        ],
        3,
    ),
)
def test_lengths_of_packet_arrays(tmp_path: Path, signature: str) -> None:
    name = next(one for one in ("nb_rx", "found", "n") if re.search(rf"\b{one}\b", signature))
    source = tmp_path / "f.c"
    source.write_text(
        "#include <rte_ethdev.h>\n"
        f"int f({signature}) {{ return rte_eth_tx_burst(5, 0, m, {name}); }}\n"
    )
    assert results(counted(source, trace(tmp_path, [bytes(60)]))) == {1: 1}


FURTHER = FOLDER / "further.c"


@pytest.mark.parametrize(
    ("entry", "touched", "outputs", "note"),
    [
        ("of_a_variable", {"confs": (18, 9)}, {3: 9}, "conf of of_a_variable is confs[0]"),
        ("of_void", {"confs": (18, 9)}, {3: 9}, "userdata of of_void is confs[0], as"),
        ("of_void_handed_on", {"confs": (18, 9)}, {3: 9}, "userdata of of_void_handed_on is con"),
        ("of_nothing", {}, {}, None),
        (
            "of_zeros",
            {"*limits": (18, 9)},
            {},
            "limits of of_zeros is zeroed memory, because no variable has type limits",
        ),
        (
            "of_numbers",
            {"*seen": (9, 9)},
            {},
            "seen of of_numbers is zeroed memory, because no variable has type uint32_t",
        ),
        ("of_a_table", None, {}, "table of of_a_table is the target of flows after constructors"),
    ],
)
def test_further_pointers_have_targets(
    tmp_path: Path,
    entry: str,
    touched: dict[str, tuple[int, int]] | None,
    outputs: dict[int, int],
    note: str | None,
) -> None:
    traffic = trace(tmp_path, [bytes([at % 3]) * 64 for at in range(9)])
    report = counted(FURTHER, traffic, "--entry", entry)
    assert touched in (None, structures(report))
    assert sent(report) == outputs
    assert report["fate"]["killed"] == 9 - sum(outputs.values())
    assert note is None or any(note in one for one in report["notes"]), report["notes"]
    if entry == "of_a_table":
        assert results(report) == {0: 3, 1: 6}
    if entry == "of_numbers":  # the clock of the trace is beyond 0
        assert results(report) == {1: 9}


@pytest.mark.parametrize(
    "entry",
    fewer_unless_campaign(
        ["of_void_handed_on", "of_nothing", "of_zeros", "of_a_variable", "of_void", "of_numbers"], 3
    ),
)
def test_with_further_pointers_functions_are_counted_for_the_card(entry: str) -> None:
    (program,) = predicted(FURTHER, "--entry", entry)["programs"]
    assert (program["entry"], program["model"]) == (entry, "exact")
    rows = blocks_of(program)
    assert {each["what"].partition(":")[0] for row in rows for each in row["refused"]} <= {
        "a global variable"
    }
    state = sum(row["accesses"]["state"] for row in rows)
    assert (state > 0) == (entry != "of_nothing")


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        (
            "that_cannot_see",
            r"further\.c:\d+: parameter 2 \(hidden\) of that_cannot_see: hidden is declared but "
            r"not defined; include its definition, or",
        ),
        ("that_cannot_know", r"parameter 2 \(anything\) of \w+: points to an unknown type"),
        ("that_were_told", r"\(ether\) of \w+: points to rte_ether_hdr in the packet"),
        ("that_sort", r"parameter 3 \(sorted\) of that_sort: points to pointers"),
    ],
)
def test_further_pointers_without_targets_are_refused(entry: str, expected: str) -> None:
    for command in ("counts", "blocks"):
        traffic = ("--pcap", NAT) if command == "counts" else ("--model", "exact")
        error = error_of("insights", command, FURTHER, "--entry", entry, *traffic)
        assert re.search(expected, error), error


@pytest.mark.parametrize(
    ("entry", "lacks"),
    fewer_unless_campaign(
        [
            ("count_lengths", {"a stack access at a variable offset"}),
            ("filter", set()),
            ("stamp", {"a stack access at a variable offset"}),
            ("ahead", set()),
            ("up_to", set()),
        ],
        2,
    ),
)
def test_bursts_are_counted_for_the_card(entry: str, lacks: set[str]) -> None:
    """Check the counts of DPDK functions that get packets in bursts.

    Stack accesses at unknown offsets are reported as unsupported (`lacks`); all other code is
    counted.
    """
    (program,) = predicted(FOLDER / "bursts.c", "--entry", entry)["programs"]
    assert (program["model"], program["why"]) == ("exact", None)
    refused = {each["what"] for row in blocks_of(program) for each in row["refused"]}
    assert {one for one in refused if not one.startswith("a global variable")} == lacks


def test_missing_tables_are_refused() -> None:
    words = ("insights", "counts", FOLDER / "unmade.c", "--pcap", NAT, "--entry")
    error = error_of(*words, "share")
    assert "unmade.c:8: share: packet 1 of the trace: the code divides by zero; main does" in error
    error = error_of(*words, "route")
    assert (
        "unmade.c:10: table of route: no rte_lpm exists when packets arrive; let a function of "
        "RTE_INIT call rte_lpm_create and store the result" in error
    )


UNSET = """
#include <rte_ethdev.h>
struct rates { uint32_t each; };
struct limits { struct rates *rates; uint32_t count; };
struct rates some = {3}, *rates;
int of_main(struct rte_mbuf *m) { return m->pkt_len / rates->each; }
int of_zeros(struct rte_mbuf *m, struct limits *limits) { return m->pkt_len / limits->rates->each; }
int by_zero(struct rte_mbuf *m, struct limits *limits) { return m->pkt_len / limits->count; }
%s
"""
MAIN = "int main(void) { rates = &some; return 0; }"


@pytest.mark.parametrize(
    ("entry", "rest", "expected"),
    [
        (
            "of_main",
            MAIN,
            "the code accesses memory at an invalid address; main does not run here; set "
            "up state for packets",
        ),
        ("of_main", "", "the code accesses memory at an invalid address\n"),
        (
            "of_zeros",
            "",
            "limits of of_zeros is zeroed memory, because no variable has type limits;",
        ),
        ("by_zero", "", "the code divides by zero; limits of by_zero is zeroed memory, because no"),
    ],
)
def test_errors_name_unset_variables(tmp_path: Path, entry: str, rest: str, expected: str) -> None:
    file = tmp_path / "unset.c"
    file.write_text(UNSET % rest)
    error = error_of("insights", "counts", file, "--entry", entry, "--pcap", NAT)
    assert f"{entry}: packet 1 of the trace: " in error
    assert expected in error
    remedy = "set up state for packets with --setup, a function or code ("
    assert (remedy in error) == expected.endswith((";", "no", "packets"))


def test_the_function_of_llvm_ir_is_found(tmp_path: Path) -> None:
    """Check that the function that processes packets is found in a file of LLVM IR."""
    made = tmp_path / "application.ll"
    flags = ("-O1", "-g", "-S", "-emit-llvm", "-Xclang", "-disable-llvm-passes", *FIND)
    subprocess.run([*needs_clang(), *flags, "-o", made, FOLDER / "application.c"], check=True)
    programs = predicted(made, "--model", "learnt")["programs"]
    assert [one["entry"] for one in programs] == ["forward"]


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (
            "void poll(void) { struct rte_mbuf *m; rte_eth_rx_burst(0, 0, &m, 1); }\n"
            "void other(void) { struct rte_mbuf *m[4]; rte_eth_rx_burst(1, 0, m, 4); }",
            r"has several functions without a caller; name the function .*: other, poll",
        ),
        (
            "void one(void) {}\nvoid other(int x) {}",
            r"none takes struct rte_mbuf \* or calls rte_eth_rx_burst",
        ),
        (
            "int set_up(uint16_t port, struct rte_mempool *pool) { return port && pool; }\n"
            "int main(void) { return set_up(0, 0); }",
            r"has a function without a caller; none takes struct rte_mbuf \*.*: set_up",
        ),
    ],
)
def test_functions_that_get_no_packets(tmp_path: Path, written: str, expected: str) -> None:
    source = tmp_path / "f.c"
    source.write_text(f"#include <rte_ethdev.h>\n{written}\n")
    error = error_of("insights", "counts", source, "--pcap", NAT)
    assert re.search(expected, error)


def test_a_static_structure_stays_whole_and_has_its_members(tmp_path: Path) -> None:
    """Check that accesses to a static structure are counted for each member.

    LLVM would replace the structure by single variables, as no function needs it as a whole.
    """
    source = tmp_path / "f.c"
    source.write_text(
        "#include <rte_mbuf.h>\n"
        "static struct { uint64_t last; struct { uint64_t tokens, rate; } of[2]; } bucket;\n"
        "int f(struct rte_mbuf *m) {\n"
        "  if (bucket.last == m->pkt_len) bucket.of[1].tokens++;\n"
        "  bucket.last = m->pkt_len;\n"
        "  return bucket.of[1].tokens > 1;\n"
        "}\n"
    )
    traffic = trace(tmp_path, [bytes(60)] * 4)
    [bucket] = counted(source, traffic)["structures"]
    assert (bucket["structure"], bucket["reads"], bucket["writes"]) == ("bucket", 11, 7)
    members = {one["member"]: (one["reads"], one["writes"]) for one in bucket["members"]}
    assert members == {"last": (4, 4), "of[].tokens": (7, 3)}
    run = slowpath("insights", source, "--pcap", traffic)
    assert "Put bucket into imem" in run.stdout, run.stderr


def test_headers_of_an_installation_are_refused(tmp_path: Path) -> None:
    fake = tmp_path / "dpdk"
    fake.mkdir()
    (fake / "rte_mbuf.h").write_text("struct rte_mbuf { int x; };\n")
    source = tmp_path / "f.c"
    source.write_text("#include <rte_mbuf.h>\nint f(struct rte_mbuf *m) { return m->x; }\n")
    words = ("insights", "counts", source, "--pcap", NAT, f"--cflags=-I{fake}")
    error = error_of(*words)
    assert re.search(
        r"f\.c:2: f takes packets of DPDK, for which slowpath has its own headers", error
    )
