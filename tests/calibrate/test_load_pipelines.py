"""Tests `slowpath calibrate --testbed load --attach dpdk-swx`: pipelines at offered rates."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import pytest

import oracles
from calibrating import needs_dpdk
from running_kernel import needs_two_cpus
from slowpath.calibrate.experiments.specification import (
    Experiment,
    shipped_experiment,
    with_range,
)
from slowpath.calibrate.load import run
from slowpath.calibrate.load.beds import Offering, open_pipelines
from slowpath.calibrate.load.run import _unfit
from slowpath.calibrate.load.settings import LoadSettings, load_cpus
from slowpath.calibrate.testbeds import swx_programs
from slowpath.core.engine.kernel import OfferedTrial
from slowpath.core.errors import InputError
from slowpath.core.jobs import Stopping
from support import slowpath
from test_load import document, texts, wait_for

FORWARD = "forward-size"
ATTACH = ("calibrate", "--testbed", "load", "--attach", "dpdk-swx", "--points", "1")


def settings(folder: Path, name: str = FORWARD, cpus: tuple[int, int] = (0, 1)) -> LoadSettings:
    experiment = with_range(shipped_experiment(name), None, None, 1)
    return LoadSettings(folder, [experiment], [0.5], 0.5, "dpdk-swx", 1.0, *cpus, None)


@contextmanager
def offering(folder: Path, name: str, right: str = "", wrong: str = "") -> Iterator[Offering]:
    """Start the first pipeline of an experiment, in whose text `wrong` replaces `right`."""
    needs_dpdk()
    needs_two_cpus()
    known = swx_programs.swx_pipelines

    def changed(experiment: Experiment, value: int) -> swx_programs.Pipelines:
        found = known(experiment, value)
        assert right in found.component.text
        text = found.component.text.replace(right, wrong) if right else found.component.text
        return found._replace(component=found.component._replace(text=text))

    with patch.object(swx_programs, "swx_pipelines", changed):
        bed = open_pipelines(settings(folder, name, load_cpus(None)), Stopping())
        with bed as programs, next(programs).open() as found:
            yield found


def fates(trial: OfferedTrial) -> int:
    """Return the number of sent packets that the counters account for."""
    return trial.refused + trial.kept + trial.lost_back + trial.unmarked + trial.received


@pytest.mark.parametrize("name", [FORWARD, "table-exact-entries", "table-lpm-miss-entries"])
def test_each_packet_is_accounted_for(name: str, tmp_path: Path) -> None:
    with offering(tmp_path, name) as offer:
        for rate in (1e4, 3e5, None):
            trial = offer(rate, 0.05)
            assert trial.due == trial.sent + trial.late
            assert fates(trial) == trial.sent
            assert trial.kept == trial.unmarked == 0
            assert trial.received > 0
            assert len(trial.latencies) == 6
            assert trial.latencies == sorted(trial.latencies)
            assert trial.latencies[0] > 0
        # The rate is higher than any pipeline can process, so the queue in front of it overflows.
        assert trial.refused > 0
    oracles.compared("dpdk", 3, "offered rates")


def test_dropped_packets_are_the_pipelines(tmp_path: Path) -> None:
    with offering(tmp_path, FORWARD, "\ttx m.port", "\tdrop") as offer:
        trial = offer(1e4, 0.05)
    assert trial.sent > 0
    assert (trial.kept + trial.refused, trial.received, trial.latencies) == (trial.sent, 0, [])
    assert trial.kept > 0
    assert "does not send packets back" in str(_unfit(trial))


def test_wrong_packets_are_an_error(tmp_path: Path) -> None:
    parts = "add m.sum t.data0", "add m.sum 2"
    with (
        offering(tmp_path, "table-exact-entries", *parts) as offer,
        pytest.raises(InputError, match="byte 11 of packets is 0x02, not 0x01"),
    ):
        offer(1e4, 0.05)


def test_a_pipeline_that_does_not_start_has_a_reason(tmp_path: Path) -> None:
    wrong = offering(tmp_path, FORWARD, "rx m.port", "rx m.prt")
    with (
        pytest.raises(InputError, match=r"process of the pipeline ended with code 1: size-.*spec"),
        wrong,
    ):
        pass


@pytest.mark.parametrize("role", ["pipeline", "sender"])
def test_a_process_that_dies_is_an_error(role: str, tmp_path: Path) -> None:
    with offering(tmp_path, FORWARD) as offer:
        pair = offer.__self__  # type: ignore[attr-defined]
        process, errors = pair._processes[role]
        errors.write(b"a last word\n")
        process.kill()
        process.wait()
        expected = f"the process of the {role} ended with signal 9: a last word"
        with pytest.raises(InputError, match=expected):
            offer(1e4, 0.05)


def test_copies_are_refused(tmp_path: Path) -> None:
    refused = slowpath(*ATTACH, "--component", "clones", cwd=tmp_path)
    assert refused.returncode == 3
    assert "copies of packets would return to the sender" in refused.stderr


def test_the_report_names_the_place_and_shared_cores(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    lines = "\n".join(texts({**document(), "attachment": "dpdk-swx"}))
    assert "SWX in DPDK; CPU 0 sends and receives, CPU 1 runs the program." in lines
    for siblings, count in (([], 0), ([0], 1)):
        monkeypatch.setattr(run, "sibling_cpus", lambda *_, found=siblings: found)
        notes = [
            one
            for one in run._notes(settings(tmp_path, FORWARD, (0, 1)))
            if "threads of one core" in one
        ]
        assert len(notes) == count


def test_a_measurement_has_rates_and_latencies(tmp_path: Path) -> None:
    needs_dpdk()
    needs_two_cpus()
    # Even on a busy machine, half of the packets arrive at some rate.
    words = (
        "--component",
        FORWARD,
        "--seconds",
        "1",
        "--loss",
        "50",
        "--rate",
        "0.2..0.6/2",
    )
    ran = slowpath(*ATTACH, *words, "--html", "load.html", "--format", "json", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    (program,) = json.loads(ran.stdout)["programs"]
    assert program["full"] is not None
    assert program["highest_pps"]
    for one in (*program["rates"], program["full"]):
        packets = one["packets"]
        assert packets["unexplained"] == packets["unmarked"] == packets["program"] == 0
        assert one["latency"] is not None
    assert "SWX in DPDK" in (tmp_path / "load.html").read_text()
    oracles.compared("dpdk", 3, "offered rates")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_stop_leaves_nothing_behind(number: signal.Signals, tmp_path: Path) -> None:
    needs_dpdk()
    needs_two_cpus()
    words = (*ATTACH, "--component", FORWARD, "--seconds", "300", "-o", "run")
    with subprocess.Popen(
        [sys.executable, "-m", "slowpath", *words],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        mark = f"socket=slowpath-{process.pid}-"
        wait_for(lambda: len(processes(mark)) == 2 or process.poll() is not None)
        assert len(processes(mark)) == 2
        process.send_signal(number)
        out, err = process.communicate()
    if number == signal.SIGINT:
        assert process.returncode == 4, err
        assert "interrupted" in out
    # A process that ends has no command line any more before the kernel closes its sockets.
    wait_for(lambda: not processes(mark) and not has_sockets(process.pid))
    assert not processes(mark)
    assert not has_sockets(process.pid)


def has_sockets(number: int) -> bool:
    """Return true if a run of slowpath still has an abstract socket; `number` is its process id."""
    return f"slowpath-{number}-" in Path("/proc/net/unix").read_text()


def processes(mark: str) -> list[str]:
    """Return the command lines of all processes that contain the text `mark`."""
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found.append(file.read_bytes().decode(errors="replace"))
        except OSError:  # the process ended meanwhile
            continue
    return [line for line in found if mark in line]
