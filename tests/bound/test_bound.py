"""Tests `slowpath bound` on the examples: required rates, packet files, interrupts and options."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from support import ROOT, heed_interrupts, slowpath
from test_packet import read_pcap

EXAMPLES = sorted(path.relative_to(ROOT) for path in ROOT.glob("examples/*.asm"))
GOOD = Path("examples/two_protocols.asm")


def analyse(*arguments: str | Path) -> list[dict[str, Any]]:
    run = slowpath("bound", *arguments, "--format", "json")
    assert run.stderr == ""
    results: list[dict[str, Any]] = json.loads(run.stdout)["results"]
    return results


def test_there_are_examples() -> None:
    assert GOOD in EXAMPLES


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
@pytest.mark.parametrize("metric", ["bitrate", "packetrate"])
def test_examples_have_exact_guarantees(example: Path, metric: str) -> None:
    (result,) = analyse(example, "--metric", metric)
    guarantee, naive, path = result["guarantee"], result["naive"], result["paths"][0]
    assert guarantee["exact"]
    assert guarantee["stopped"] is None
    rate = {"bitrate": "bitrate_bps", "packetrate": "packetrate_pps"}[metric]
    assert naive[rate] <= guarantee[rate] <= path[rate]
    assert guarantee["bottleneck"] in guarantee["components"]
    assert len(path["witness"]["packet"]) == 2 * path["witness"]["length"]
    assert path["witness"]["length"] >= path["min_packet_size"] >= 60


def test_more_cores_are_no_slower() -> None:
    rates = [analyse(GOOD, "--cores", str(n))[0]["guarantee"]["bitrate_bps"] for n in (1, 5, 50)]
    assert rates == sorted(rates)
    assert rates[0] * 5 == pytest.approx(rates[1])


def test_paths_come_slowest_first() -> None:
    (result,) = analyse(GOOD, "--paths", "all")
    rates = [path["bitrate_bps"] for path in result["paths"]]
    assert len(rates) > 1
    assert rates == sorted(rates)
    edges = [tuple(map(tuple, path["edges"])) for path in result["paths"]]
    assert len(set(edges)) == len(edges)
    (two,) = analyse(GOOD, "--paths", "2")
    assert two["paths"] == result["paths"][:2]


def test_requirement() -> None:
    run = slowpath("bound", GOOD, "--require", "1bps")
    assert (run.returncode, run.stderr) == (0, "")
    run = slowpath("bound", GOOD, "--require", "1Tpps", "--cores", "5")
    assert run.returncode == 1
    error, reproduction = run.stderr.splitlines()
    assert error.startswith(f"error: {GOOD}: only ")
    command = shlex.split(reproduction.removeprefix("reproduce: "))
    again = slowpath(*command[1:])
    assert (again.returncode, again.stdout) == (1, run.stdout)


def test_a_second_requirement_does_not_replace_the_first() -> None:
    for first, second in (("1Tpps", "1bps"), ("1bps", "1Tpps")):
        run = slowpath("bound", GOOD, "--require", first, "--require", second)
        assert run.returncode == 2
        assert "--require" in run.stderr
        assert "is given twice; remove one, or run the command once for each value" in run.stderr


def test_packet_file(tmp_path: Path) -> None:
    file = tmp_path / "witness.pcap"
    (first,) = analyse(GOOD, "--paths", "2", "--pcap-out", file)
    packets = read_pcap(file.read_bytes())
    texts = [path["witness"]["packet"] for path in first["paths"]]
    assert [packet.hex() for packet in packets] == [text.replace("--", "00") for text in texts]


def test_packet_file_never_replaces_a_program(tmp_path: Path) -> None:
    program = tmp_path / "program.asm"
    text = (ROOT / GOOD).read_text()
    program.write_text(text)
    run = slowpath("bound", program, "--pcap-out", tmp_path / "." / "program.asm")
    assert run.returncode == 2
    assert "would overwrite" in run.stderr
    assert program.read_text() == text


def test_csv_agrees_with_json() -> None:
    header, row = slowpath("bound", GOOD, "--format", "csv").stdout.splitlines()
    (result,) = analyse(GOOD)
    cells = dict(zip(header.split(","), row.split(","), strict=True))
    assert float(cells["bitrate_bps"]) == result["guarantee"]["bitrate_bps"]
    assert cells["bottleneck"] == result["guarantee"]["bottleneck"]


def test_interrupt_while_waiting_for_a_file(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.asm"
    os.mkfifo(pipe)
    with subprocess.Popen(
        [sys.executable, "-m", "slowpath", "bound", pipe],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heed_interrupts,  # noqa: PLW1509 - no threads here
    ) as process:
        writer = open_when_read(pipe, process)  # now the command waits for content
        for _ in range(60):  # a signal just before the wait would have no effect
            time.sleep(0.5)
            if process.poll() is not None:
                break
            process.send_signal(signal.SIGINT)
        os.close(writer)  # ends the wait if no signal did
        _, errors = process.communicate(timeout=60)
    assert "Traceback" not in errors
    assert process.returncode == 130


def open_when_read(pipe: Path, process: subprocess.Popen[str]) -> int:
    """Open a named pipe for writing as soon as the process has opened it for reading."""
    while process.poll() is None:
        try:
            return os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:
            time.sleep(0.01)
    pytest.fail("the command ended without reading the pipe")
