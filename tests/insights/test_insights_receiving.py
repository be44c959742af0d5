"""Tests DPDK functions that receive packets in a loop, the choice of the entry, and `--setup`."""

import re
from pathlib import Path

import pytest

from insights_counted import (
    calls,
    counted,
    error_of,
    fewer_unless_campaign,
    results,
    sent,
    structures,
    trace,
)
from support import ROOT, slowpath
from test_insights_blocks import predicted

pytest.importorskip("llvmlite.binding")
pytestmark = pytest.mark.usefixtures("with_clang")

FOLDER = ROOT / "tests/dpdk"
LOOPS, BACK = FOLDER / "loops.c", FOLDER / "called_back.c"
PACKETS = 100


def packets(folder: Path, count: int = PACKETS) -> Path:
    return trace(folder, [bytes([at]) * 64 for at in range(count)])


def test_a_loop_receives_all_packets_by_bursts_from_all_ports(tmp_path: Path) -> None:
    """Check that a receive loop over two ports gets all packets, in bursts of up to 32.

    Bursts alternate between the ports, and leave by the other port.
    """
    report = counted(LOOPS, packets(tmp_path), "--entry", "all_ports")
    fate = report["fate"]
    assert report["traffic"]["packets"] == PACKETS
    assert fate["outputs"] == [{"output": 0, "packets": 36}, {"output": 1, "packets": 64}]
    assert (fate["killed"], fate["kept"], fate["waiting"], fate["results"]) == (0, 0, 0, [])
    assert structures(report)["received"] == (PACKETS, PACKETS)
    assert calls(report)["rte_eth_rx_burst"] == 4
    assert calls(report)["rte_eth_tx_burst"] == 4
    [turned] = [one for one in report["blocks"] if one["function"] == "turn"]
    assert (turned["runs"], turned["per_packet"]) == (PACKETS, 1)


@pytest.mark.parametrize(("burst", "times"), fewer_unless_campaign([(7, 15), (64, 2), (1, 100)], 2))
def test_bursts_have_the_requested_length(tmp_path: Path, burst: int, times: int) -> None:
    words = ("--entry", "all_ports", f"--cflags=-DSLOWPATH_BURST={burst}")
    report = counted(LOOPS, packets(tmp_path), *words)
    assert calls(report)["rte_eth_rx_burst"] == times
    assert structures(report)["received"] == (PACKETS, PACKETS)


@pytest.mark.parametrize(
    ("flags", "times"),
    fewer_unless_campaign(
        [
            ("-DSLOWPATH_BURST=512", 1),
            ("-DSLOWPATH_BURST=512 -DSLOWPATH_TURNS=100", 3),
            ("-DSLOWPATH_BURST=200", 2),
        ],
        2,
    ),
)
def test_bursts_may_be_longer_than_most(tmp_path: Path, flags: str, times: int) -> None:
    """Check that a burst may have as many packets as there are buffers.

    No buffer may be reused within a burst.
    """
    report = counted(LOOPS, packets(tmp_path, 250), "--entry", "all_at_once", f"--cflags={flags}")
    assert calls(report)["rte_eth_rx_burst"] == times
    assert report["fate"]["outputs"] == [{"output": 1, "packets": 250}]
    assert not [note for note in report["notes"] if "reused before the packet" in note]


def test_blocks_option_extends_the_time_before_receiving(tmp_path: Path) -> None:
    traffic = packets(tmp_path)
    error = error_of("insights", "counts", LOOPS, "--pcap", traffic, "--entry", "takes_long")
    assert (
        "more than 67,108,864 basic blocks ran without a call of rte_eth_rx_burst, in an" in error
    )
    report = counted(LOOPS, traffic, "--entry", "takes_long", "--blocks", "200000000")
    assert report["fate"]["killed"] == PACKETS


def test_a_loop_gets_the_configuration_of_its_core(tmp_path: Path) -> None:
    report = counted(LOOPS, packets(tmp_path), "--entry", "of_a_conf")
    assert calls(report)["rte_eth_rx_burst"] == 25
    assert report["fate"]["killed"] == PACKETS
    assert "given of of_a_conf is conf, as constructors initialise it" in report["notes"]
    assert structures(report)["conf"] == (50, 0)


def test_a_loop_may_return_early(tmp_path: Path) -> None:
    report = counted(LOOPS, packets(tmp_path), "--entry", "enough")
    assert (report["traffic"]["packets"], report["fate"]["killed"]) == (24, 24)
    assert (
        "the function enough ended after 24 packets without receiving the rest of the trace"
        in report["notes"]
    )
    all_ = counted(LOOPS, packets(tmp_path, 24), "--entry", "enough")
    assert not [note for note in all_["notes"] if "ended after" in note]


def test_notes_count_packets_left_in_queues(tmp_path: Path) -> None:
    fate = counted(LOOPS, packets(tmp_path), "--entry", "into_a_queue")["fate"]
    assert (fate["waiting"], fate["outputs"], fate["killed"]) == (100, [], 0)
    words = ("--entry", "into_a_queue", "--cflags=-DSLOWPATH_TURNS=128")
    report = counted(LOOPS, packets(tmp_path, 200), *words)
    assert report["fate"]["waiting"] == 128
    note = (
        "72 buffers were reused before the packet was sent or freed: at most 128 packets can wait, "
    )
    note += "and no other core empties the queues; raise the limit with --cflags=-DSLOWPATH_TURNS="
    assert any(one.startswith(note) for one in report["notes"])


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        (
            "has_nothing_to_do",
            ": the function has_nothing_to_do ended without receiving a packet (rte_eth_rx",
        ),
        ("never_receives", "before it received a packet: more than 67,108,864 basic blocks ran"),
        (
            "waits",
            "packets 33 to 40 of the trace: endless loop: a burst ran more basic blocks than "
            "--blocks allows",
        ),
        ("reads_nowhere", "packets 9 to 16 of the trace: the code accesses memory at an invalid"),
        (
            "asks_for_none",
            "the function asks_for_none repeatedly asks rte_eth_rx_burst for 0 packets",
        ),
        ("worker", "worker does not take a packet; "),
    ],
)
def test_errors_that_end_a_loop(tmp_path: Path, entry: str, expected: str) -> None:
    words = ("--pcap", packets(tmp_path), "--entry", entry)
    error = error_of("insights", "counts", LOOPS, *words)
    assert expected in error
    where = re.search(r"loops\.c:(\d+): ", error)
    assert where is not None
    lines = LOOPS.read_text().splitlines()
    start = next(at for at, line in enumerate(lines, 1) if f" {entry}(" in line)
    end = next(at for at, line in enumerate(lines, 1) if at > start and line == "}")
    assert start <= int(where[1]) <= end


@pytest.mark.parametrize(
    ("flags", "entry", "note"),
    [
        (
            "",
            "handle",
            "handle got the packets: core passes on the packets that it receives (unsent is only "
            "callbacks); select another function with --entry",
        ),
        (
            " -DWATCHED",
            "handle",
            "handle got the packets: core passes on the packets that it receives (unsent, watch "
            "are only callbacks); select another function with --entry",
        ),
        (
            " -DLOOP",
            "core",
            "core received the packets: no other function receives packets (unsent is only "
            "callbacks); select another function with --entry",
        ),
    ],
)
def test_callbacks_are_not_candidates_for_the_entry(
    tmp_path: Path, flags: str, entry: str, note: str
) -> None:
    report = counted(BACK, packets(tmp_path), f"--cflags=-w{flags}")
    assert report["entry"] == entry
    assert note in report["notes"]
    assert sent(report) == {1: PACKETS}


def test_an_error_names_a_loop_and_a_watcher(tmp_path: Path) -> None:
    words = ("--pcap", packets(tmp_path), "--cflags=-DLOOP -DWATCHED")
    error = error_of("insights", "counts", BACK, *words)
    assert "has several functions without a caller" in error
    assert error.rstrip().endswith("core, watch")


def test_a_callback_may_be_the_entry(tmp_path: Path) -> None:
    words = ("--pcap", packets(tmp_path), "--entry", "unsent")
    error = error_of("insights", "counts", BACK, *words)
    assert "parameter 3 (given) of unsent: points to an unknown type" in error


def test_a_loop_is_predicted_with_a_reason() -> None:
    [program] = predicted(LOOPS, "--entry", "all_ports")["programs"]
    assert program["model"] == "learnt"
    assert (
        "all_ports receives packets itself, but the card passes single packets to a program"
        in program["why"]
    )


def test_the_report_advises_on_a_loop(tmp_path: Path) -> None:
    words = ("--pcap", packets(tmp_path), "--entry", "all_ports")
    run = slowpath("insights", LOOPS, *words, timeout=120)
    assert run.returncode == 0, run.stderr
    assert "for all_ports on 100 packets" in run.stdout


def test_a_loop_in_cplusplus_receives(tmp_path: Path) -> None:
    source = tmp_path / "f.cc"
    source.write_text(
        "#include <rte_ethdev.h>\n"
        "static int loop()\n{\n\trte_mbuf *m[8];\n"
        "\tfor (;;) rte_pktmbuf_free_bulk(m, rte_eth_rx_burst(0, 0, m, 8));\n}\n"
        "int main() { return loop(); }\n"
    )
    report = counted(source, packets(tmp_path))
    assert report["entry"] == "loop"
    assert report["fate"]["killed"] == PACKETS


def test_main_does_not_receive(tmp_path: Path) -> None:
    """Check the error for a source whose receive loop is in `main`.

    `main` cannot run: no command line is available for its arguments, and its set-up would be
    missing.
    """
    source = tmp_path / "f.c"
    source.write_text(
        "#include <rte_ethdev.h>\n"
        "int main(int count, char **words)\n{\n\tstruct rte_mbuf *m[8];\n"
        "\tif (count < 1 || !words) return 1;\n"
        "\tfor (;;) rte_pktmbuf_free_bulk(m, rte_eth_rx_burst(0, 0, m, 8));\n}\n"
    )
    for words in (), ("--entry", "main"):
        error = error_of("insights", "counts", source, "--pcap", packets(tmp_path), *words)
        assert "f.c:2: main receives packets, but cannot run here, because" in error
        assert (
            "move the loop of main into another function, and the set-up into a function "
            "of RTE_INIT" in error
        )


def test_ports_set_packet_types(tmp_path: Path) -> None:
    source = tmp_path / "f.c"
    source.write_text(
        "#include <rte_mbuf.h>\nint f(struct rte_mbuf *m) { return (int)m->packet_type; }\n"
    )
    ethernet, ipv4 = bytes(12) + b"\x08\x00", bytes([0x45, *bytes(8), 17, *bytes(10)])
    traffic = trace(tmp_path, [ethernet + ipv4 + bytes(30), bytes(60), ethernet + ipv4 + bytes(40)])
    for flags, types in ((), {0x211: 2, 1: 1}), (("--cflags=-DSLOWPATH_TYPES=0",), {0: 3}):
        assert results(counted(source, traffic, *flags)) == types


HANDED = FOLDER / "handed.c"
SETTING_UP = (
    "make_routes(0); cores->queues = 2; cores->ports[1] = 3; cores->routes = tables[0]; "
    "rte_lpm_add(tables[0], RTE_IPV4(10, 1, 0, 0), 16, 1)"
)
"""Code for the set-up that `main` in another file would do."""


def routed(folder: Path) -> tuple[Path, int]:
    """Write a trace of IPv4 packets, and return the file.

    Also return the number of packets that match the route of SETTING_UP.
    """
    frames = []
    for at in range(PACKETS):
        header = bytearray(20)
        header[0], header[8], header[9] = 0x45, 64, 17
        header[2:4] = (46).to_bytes(2, "big")
        header[16:20] = bytes([10, at % 3, 0, at])
        frames.append(bytes(12) + b"\x08\0" + bytes(header) + bytes(26))
    return trace(folder, frames), sum(at % 3 == 1 for at in range(PACKETS))


def test_callees_of_a_loop_do_not_get_packets(tmp_path: Path) -> None:
    """Check that only the function that the receive loop calls, `forward_all`, gets packets.

    Its own callees and callbacks do not. A note says that its state is defined in another file.
    """
    report = counted(HANDED, packets(tmp_path))
    note = (
        "forward_all got the packets: route_loop passes on the packets that it receives; select "
        "another function with --entry"
    )
    assert any(one.startswith(note) for one in report["notes"])
    note = (
        "core of forward_all is cores, defined in another file: zeros, except for bytes that "
        "--setup writes"
    )
    assert any(one.startswith(note) for one in report["notes"])
    assert sent(report) == {0: PACKETS}


def test_a_header_may_define_the_entry(tmp_path: Path) -> None:
    """Check that the function that gets packets may be defined in an included header.

    As in DPDK's l3fwd, the source file has only the receive loop and a callback.
    """
    lines = HANDED.read_text().splitlines(keepends=True)
    first = next(at for at, line in enumerate(lines) if line.startswith("static inline void forw"))
    last = next(at for at, line in enumerate(lines) if line.startswith("int route_loop"))
    (tmp_path / "forward.h").write_text("".join(lines[first:last]))
    source = tmp_path / "route.c"
    source.write_text("".join([*lines[:first], '#include "forward.h"\n', *lines[last:]]))
    report = counted(source, packets(tmp_path))
    assert report["entry"] == "forward_all"
    assert sent(report) == {0: PACKETS}
    programs = predicted(source, "--model", "learnt")["programs"]
    assert {"forward_all", "look"} <= {one["entry"] for one in programs}


def test_setup_code_replaces_main_of_another_file(tmp_path: Path) -> None:
    """Check that the code of `--setup` replaces the set-up that `main` does in another file.

    It sets static variables and those of other files, for a packet function and a receive loop.
    """
    traffic, to_one = routed(tmp_path)
    bursts = {0: 32 + 32, 3: 32 + 4}  # packets by port; the two queues alternate
    for entry in ("forward_all", "route_loop"):
        words = ("--entry", entry, "--setup", SETTING_UP)
        report = counted(HANDED, traffic, *words)
        outputs = sent(report)
        assert outputs[1] == to_one
        assert sum(outputs.values()) == PACKETS
        assert calls(report)["rte_lpm_lookup"] == PACKETS
        [cores] = [one for one in report["structures"] if one["structure"] == "cores"]
        [routes] = [one for one in cores["members"] if one["member"] == "[].routes"]
        assert (routes["reads"], cores["size_bytes"]) == (PACKETS, 4 * 24)
    assert set(outputs) == {0, 1, 3}
    assert calls(report)["rte_eth_rx_burst"] == len(bursts) * 2


def test_functions_and_code_may_set_up_together(tmp_path: Path) -> None:
    traffic, _ = routed(tmp_path)
    words = ("--setup", "cores->routes = tables[0]", "--setup", "make_routes")
    report = counted(HANDED, traffic, *words)
    assert sent(report) == {0: PACKETS}
    assert calls(report)["rte_lpm_lookup"] == PACKETS


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (
            ("--entry", "route_loop"),
            "set up state for packets with --setup, a function or code ('conf[0].queues",
        ),
        (("--setup", "cores->nothing = 1"), "no member named 'nothing' in 'struct core'"),
        (("--setup", "nothing"), "does not have a function 'nothing'"),
        (
            ("--setup", "cores[9999999].queues = 1"),
            "set-up (--setup): the code accesses memory at an invalid",
        ),
    ],
)
def test_wrong_setups_are_refused(tmp_path: Path, options: tuple[str, ...], expected: str) -> None:
    error = error_of("insights", "counts", HANDED, "--pcap", packets(tmp_path), *options)
    assert expected in error
    assert "handed.c" in error


@pytest.mark.parametrize("code", ["cores->queues = 1; // one", "make(2);\nmake(3)"])
def test_setup_code_must_fit_one_line(tmp_path: Path, code: str) -> None:
    words = ("--pcap", packets(tmp_path), "--setup", code)
    error = error_of("insights", "counts", HANDED, *words, code=2)
    assert (
        "--setup': the option takes one line of C without //; repeat the option for each line"
        in error
    )
