"""Tests `slowpath measure --mode live` in the running kernel: reports and clean-up.

No test depends on measured times.
"""

import csv
import json
import signal
import time
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import oracles
from compiler import needs_clang
from running_kernel import measured, needs_kernel, paths_of, text_of
from slowpath.core.engine import kernel, objects
from slowpath.core.errors import ExitCode, InputError
from slowpath.core.schema.validation import schema
from support import ROOT, slowpath

FIREWALL = ROOT / "examples/firewall.bpf.o"
FLOW_MONITOR = ROOT / "examples/flow_monitor.bpf.o"
LIVE = ("--mode", "live", "--seconds", "0.1")


@pytest.fixture(autouse=True)
def _kernel() -> None:
    needs_kernel()


def measured_live(*words: str | Path) -> Any:
    return measured(*words, "--mode", "live")


def test_a_live_measurement_has_the_documented_shape() -> None:
    document = measured_live(FIREWALL, "--paths", "2")
    jsonschema.validate(document, schema("measure"))
    (program,) = document["results"]
    assert (program["mode"], program["error"]) == ("live", None)
    assert program["loads"] >= 3
    assert "virtual device of this machine" in program["conclusion"]
    for path in program["paths"]:
        live = path["live"]
        assert path["measured_ns"] is None
        assert live["low_ns"] <= live["program_ns"] <= live["high_ns"]
        assert live["baseline_action"] == path["action"]
        assert live["batch"] == 64
        assert 0 < live["frames"] == path["runs"]
        assert 0 <= live["lost"] <= live["frames"]
        assert live["receiver_pps"] > 0
        assert live["receiver_drop_pps"] > 0
    oracles.compared("kernel", len(program["paths"]), "live paths measured")


def test_what_programs_send_back_arrives() -> None:
    sending = written_anew = 0
    for path in paths_of(measured_live(ROOT / "examples/dns_cache.bpf.o", "--paths", "1")):
        live = path["live"]
        assert path["action"] == "XDP_TX"
        assert live["frames"] - live["lost"] <= live["arrived"] <= live["frames"]
        sending += live["arrived"]
        written_anew += any("rewrote each packet" in note for note in live["notes"])
    for path in paths_of(measured_live(FIREWALL, "--paths", "2")):
        assert path["live"]["arrived"] == 0
    assert sending
    assert written_anew, "its paths change the packet"
    oracles.compared("kernel", sending, "live packets that arrived")


def test_a_path_that_only_the_first_packet_takes_is_refused() -> None:
    paths = list(paths_of(measured_live(FLOW_MONITOR)))
    refused = [path for path in paths if path["live"] is None]
    assert refused
    # Some programs report new flows in a ring buffer, which nothing empties in live mode.
    full = [path for path in refused if path["drained"]]
    assert all("ring buffer" in path["error"] for path in full)
    others = [path for path in refused if not path["drained"]]
    assert others
    assert all("take another path" in path["error"] for path in others)
    assert any(path["live"] is not None for path in paths)


LATE = """
#include <linux/bpf.h>

volatile unsigned int seen;

__attribute__((section("xdp"), used)) int program(struct xdp_md *ctx)
{
	if (seen > 6000)
		return XDP_DROP;
	seen++;
	return XDP_DROP;
}
"""


def test_a_path_that_ends_after_thousands_of_packets_is_refused(tmp_path: Path) -> None:
    needs_clang()
    source = tmp_path / "late.bpf.c"
    source.write_text(LATE)
    longest, shortest = paths_of(measured_live(source))
    assert "take another path" in longest["error"]
    assert (shortest["error"], longest["live"]) == (None, None)
    assert shortest["live"] is not None
    oracles.compared("kernel", 1, "refusals of live packets")


def test_batches_can_be_chosen_and_csv_has_a_row_for_each_path() -> None:
    words = ("measure", FIREWALL, "--paths", "2", *LIVE, "--batch", "8", "--format", "csv")
    header, *rows = slowpath(*words).stdout.splitlines()
    assert header.split(",")[:4] == ["file", "section", "program", "rank"]
    assert all(row.count(",") == header.count(",") for row in rows)
    assert [row["batch"] for row in csv.DictReader([header, *rows])] == ["8", "8"]
    for batch in ("0", "257"):
        run = slowpath("measure", str(FIREWALL), "--mode", "live", "--batch", batch)
        assert run.returncode == ExitCode.USAGE
        assert "--batch" in run.stderr


def test_versions_are_not_compared_live() -> None:
    files = [str(FIREWALL), str(FIREWALL)]
    run = slowpath("measure", *files, *LIVE, "--fail-on", "ratio > 1")
    assert run.returncode == ExitCode.USAGE
    assert "--mode live" in run.stderr


def test_the_report_explains_the_rates_of_live_packets() -> None:
    lines = text_of(measured_live(FIREWALL, "--paths", "2"), live=64).splitlines()
    assert lines[0].startswith(f"{FIREWALL}:firewall: 2 of ")
    assert lines[1].split()[:4] == ["path", "action", "program", "ns"]
    assert any("not the rate of a card" in line for line in lines)


def live_case(station: kernel.Station) -> tuple[kernel.Station, str, kernel.Case, int]:
    """Return arguments for `prepare_live_case` with which it takes long: one packet per batch."""
    found = objects.read_object(str(FIREWALL), FIREWALL.read_bytes())
    subject = objects.Subject(str(FIREWALL), found, 0, None)
    witness = json.dumps({"packet": "00" * 64, "maps": {}})
    return station, str(FIREWALL), kernel.prepare_case(station, subject, witness, None), 1


def test_signals_are_heeded_while_the_kernel_works() -> None:
    station = kernel.open_station(kernel.open_kernel(), None)
    arguments = live_case(station)
    handled = 0

    def handle(_signal: int, _frame: object) -> None:
        nonlocal handled
        handled += 1
        if handled == 2:
            raise InterruptedError

    before = signal.signal(signal.SIGALRM, handle)
    signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
    try:
        # Without checks during the call, both signals would be handled as one after the call.
        with pytest.raises(InterruptedError):
            kernel.prepare_live_case(*arguments)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    oracles.compared("kernel", handled, "signals while a path is prepared")


def test_work_that_lasts_is_not_waited_for_once_asked_to_end() -> None:
    station = kernel.open_station(kernel.open_kernel(), None)
    arguments = live_case(station)
    station.stop()
    time.sleep(1.2)
    with pytest.raises(InputError, match="interrupted before it was done"):
        kernel.prepare_live_case(*arguments)
    oracles.compared("kernel", 1, "paths that are not waited for")
