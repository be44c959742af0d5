"""Tests `slowpath calibrate --testbed load`, which offers packets to programs at given rates."""

import csv
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, cast

import pytest

import oracles
from compiler import needs_clang
from running_kernel import needs_kernel, needs_two_cpus
from slowpath.calibrate.load.documents import LoadDocument, LoadedProgram, OfferedRate
from slowpath.calibrate.load.page import load_page
from slowpath.calibrate.load.report import load_csv, load_text, share_text
from slowpath.calibrate.load.run import _fates, _latency, _unfit
from slowpath.calibrate.load.settings import _shares, load_cpus
from slowpath.core.engine.kernel import OfferedTrial
from slowpath.core.errors import OptionError, UnavailableError
from support import slowpath
from test_html import parsed

TRIAL = OfferedTrial(1000, 50, 950, 7, 5, 3, 2, 930, 10**6, [900, 1000, 2000, 3000, 4000, 5000])


@pytest.mark.parametrize(
    ("text", "shares"),
    [
        ("0.5", [0.5]),
        ("0.1..1.0", [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]),
        ("0.5..1.5/3", [0.5, 1.0, 1.5]),
    ],
)
def test_rates_are_shares_of_the_highest_rate(text: str, shares: list[float]) -> None:
    assert list(_shares(text)) == pytest.approx(shares)


@pytest.mark.parametrize("text", ["0", "-1", "nan", "5", "1..0.5", "x", "0.1..0.5/1", "0.1..1/1e9"])
def test_other_rates_are_refused(text: str) -> None:
    with pytest.raises(OptionError, match="--rate"):
        _shares(text)


def test_one_cpu_is_not_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3})
    with pytest.raises(UnavailableError, match="needs two CPUs"):
        load_cpus(None)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {1, 3})
    assert load_cpus(None) == (1, 3)
    assert load_cpus(1) == (3, 1)
    with pytest.raises(OptionError, match="may not run on CPU 7"):
        load_cpus(7)


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("--rate", "0.5"), "'--rate': the option is for the test bed load"),
        (("--loss", "1"), "'--loss': the option is for the test bed load"),
        (("--attach", "native"), "'--attach': the option is for the test bed load"),
        (("--testbed", "load", "--quick"), "the test bed load does not support --quick"),
        (("--testbed", "load", "--precision", "1"), "does not support --precision"),
        (("--testbed", "load", "--evaluate", "x"), "does not support --evaluate"),
        (("--testbed", "load", "--rate", "9"), "'9': rates are shares of the highest rate"),
    ],
)
def test_options_that_do_not_fit_are_refused(
    words: tuple[str, ...], error: str, tmp_path: Path
) -> None:
    refused = slowpath("calibrate", *words, cwd=tmp_path)
    assert refused.returncode == 2
    assert error in refused.stderr
    assert not list(tmp_path.iterdir())


def test_fates_are_sums_and_name_unexplained_packets() -> None:
    fates = _fates([TRIAL, TRIAL._replace(received=900)])
    assert fates == {
        "due": 2000,
        "late": 100,
        "sent": 1900,
        "received": 1830,
        "queue": 14,
        "program": 10,
        "return_queue": 6,
        "unmarked": 4,
        "unexplained": 36,
    }


def test_latencies_are_medians_over_trials() -> None:
    trials = [[1000 * (trial + at) for at in range(6)] for trial in (1, 2, 9)]
    latency = {"least": 2.0, "p50": 3.0, "p90": 4.0, "p99": 5.0, "p999": 6.0, "most": 7.0}
    assert _latency(trials) == latency
    assert _latency([]) is None


def test_programs_that_do_not_send_packets_back_have_a_reason() -> None:
    assert _unfit(TRIAL) is None
    lost = TRIAL._replace(received=0)
    assert "does not send packets back" in str(_unfit(lost))
    assert "changes the last 16 bytes" in str(_unfit(lost._replace(kept=0)))
    assert "no packet reaches" in str(_unfit(lost._replace(kept=0, unmarked=0)))


def document(**changes: Any) -> LoadDocument:
    """Return a made-up JSON document: one program at two rates and at full speed."""

    def rate(share: float | None, offered: float, lost: int) -> OfferedRate:
        trial = TRIAL._replace(late=0, sent=1000, refused=lost, kept=0, lost_back=0, unmarked=0)
        fates = _fates([trial._replace(received=1000 - lost)])
        return {
            "share": share,
            "requested_pps": None if share is None else offered,
            "offered_pps": offered,
            "received_pps": offered * (1 - lost / 1000),
            "loss": lost / 1000,
            "trials": 1,
            "packets": fates,
            "latency": _latency([TRIAL.latencies]),
        }

    program = {
        "experiment": "forward-size",
        "parameter": "size",
        "value": 64,
        "bytes": 80,
        "highest_pps": 200_000.0,
        "limit": "program",
        "trials": 17,
        "full": rate(None, 4e5, 480),
        "rates": [rate(0.1, 2e4, 0), rate(0.125, 2.5e4, 1)],
        "reason": None,
        **changes,
    }
    return {
        "slowpath": "1",
        "command": "calibrate",
        "schema": "load/1",
        "directory": "runs",
        "date": "2026-01-02T03:04:05Z",
        "attachment": "native",
        "sender_cpu": 0,
        "program_cpu": 1,
        "cpus": 2,
        "tolerance": 0.001,
        "notes": ["A note."],
        "programs": [cast("LoadedProgram", program)],
    }


def texts(found: LoadDocument) -> list[str]:
    return [line if isinstance(line, str) else line.text for line in load_text(found)]


def test_the_report_has_a_row_for_each_rate() -> None:
    lines = texts(document())
    assert lines[0] == "forward-size, size = 64, packets of 80 bytes"
    assert lines[1] == "Highest rate with at most 0.1 % lost: 200.0 kpps (17 trials)."
    rows = [line.split() for line in lines[3:6]]
    assert [row[0] for row in rows] == ["10%", "12.5%", "all"]
    assert rows[0] == ["10%", "20.0", "20.0", "0.000%", "1.0", "2.0", "3.0", "4.0"]
    assert rows[2][3] == "48.000%"
    assert lines[5].endswith("queue of the program 480")
    limited = "\n".join(texts(document(limit="sender")))
    assert "200.0 kpps, limited by the sender" in limited
    failed = document(rates=[], full=None, highest_pps=None, reason="no luck")
    assert "Not measured: no luck." in "\n".join(texts(failed))


def test_shares_have_no_needless_digits() -> None:
    rate = document()["programs"][0]["rates"][0]
    texts = {0.1: "10%", 1.0: "100%", 0.333333: "33.3333%", 1.05: "105%", 0.005: "0.5%"}
    for share, text in texts.items():
        assert share_text({**rate, "share": share}) == text


def test_csv_has_all_figures() -> None:
    rows = list(csv.DictReader(load_csv(document())))
    assert [row["share"] for row in rows] == ["0.1", "0.125", ""]
    assert rows[2]["queue"] == "480"
    assert rows[0]["p99_us"] == "3"
    assert {row["highest_pps"] for row in rows} == {"200000"}


def test_the_page_has_figures_and_data() -> None:
    root = parsed(load_page(document()))
    assert len(list(root.iter("svg"))) == 3
    text = "".join(root.itertext())
    assert "Highest rate with at most 0.1 % lost: 200.0 kpps" in text
    assert "queue of the program 480" in text
    failed = "".join(parsed(load_page(document(rates=[], full=None, reason="no luck"))).itertext())
    assert "Not measured: no luck." in failed


BED = ("calibrate", "--testbed", "load", "--component", "forward-size", "--points", "1")


@pytest.mark.parametrize("attach", ["native", "generic"])
def test_each_packet_is_accounted_for_in_the_kernel(attach: str, tmp_path: Path) -> None:
    needs_clang()
    needs_kernel()
    needs_two_cpus()
    # Even on a busy machine, half of the packets arrive at some rate.
    words = ("--seconds", "1", "--loss", "50", "--rate", "0.2..0.6/2", "--attach", attach)
    ran = slowpath(*BED, *words, "--html", "load.html", "--format", "json", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    found: LoadDocument = json.loads(ran.stdout)
    (program,) = found["programs"]
    assert program["full"] is not None
    assert program["highest_pps"]
    for one in (*program["rates"], program["full"]):
        packets = one["packets"]
        assert packets["unexplained"] == packets["unmarked"] == packets["program"] == 0
        assert packets["due"] == packets["sent"] + packets["late"]
        assert packets["received"] > 0
    assert [one["share"] for one in program["rates"]] == [0.2, 0.6]
    assert "forward-size" in (tmp_path / "load.html").read_text()
    oracles.compared("kernel", 3, "offered rates")


def test_a_stop_leaves_nothing_behind(tmp_path: Path) -> None:
    needs_clang()
    needs_kernel()
    needs_two_cpus()
    words = [sys.executable, "-m", "slowpath", *BED, "--seconds", "300", "-o", "run"]
    with subprocess.Popen(
        words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        wait_for(lambda: polling_threads(process.pid) or process.poll() is not None)
        assert polling_threads(process.pid)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
    assert process.returncode == 4, err
    assert "interrupted" in out
    # The kernel removes devices in the background.
    wait_for(lambda: not polling_threads(process.pid))
    assert not polling_threads(process.pid)


def polling_threads(process: int) -> list[str]:
    """Return the names of kernel threads that poll the network devices of a process."""
    names = []
    for file in Path("/proc").glob("[0-9]*/comm"):
        try:
            names.append(file.read_text().strip())
        except OSError:  # the process ended meanwhile
            continue
    ends = tuple(f"napi/{end}{process:x}." for end in "ab")
    return [name for name in names if name.startswith(ends)]


def wait_for(condition: Any) -> None:
    """Wait until `condition()` is true, for at most a minute."""
    for _ in range(600):
        if condition():
            return
        time.sleep(0.1)
