"""Tests that `slowpath chain optimize` reports its results so far if its worker hangs."""

import json
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

from slowpath.app import app
from slowpath.core.engine import chains
from slowpath.core.errors import ExitCode
from slowpath.core.jobs import Message, Stopping, supervision
from slowpath.core.jobs.supervision import ProcessWorker
from support import ROOT
from test_schema import check

CHAIN = str(ROOT / "examples/chain/chain.yaml")
NOT_YET = "no time was left to rewrite the program"
RECEIVE = ProcessWorker.receive


class Clock:
    """A clock that a test can set forward, to let deadlines pass."""

    ahead = 0.0

    def monotonic(self) -> float:
        return time.monotonic() + self.ahead


def report_until_killed(
    messages: int,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> dict[str, object]:
    """Run `chain optimize` on the load balancer with a worker that hangs; return the report.

    The worker process hangs after it has sent `messages` messages, and is killed. Its deadline
    seems to pass when all messages have arrived.
    """
    rewrite = chains.rewrite_messages
    clock, hanging = Clock(), folder / "hanging"

    def hang(
        subject: chains.ChainSubject, rewriting: chains.Rewriting, stopping: Stopping
    ) -> Iterator[Message]:
        sent = rewrite(subject, rewriting, stopping)
        rewritten = (message for message in sent if message[0] == "rewritten")
        yield from islice(rewritten, messages)
        hanging.touch()
        time.sleep(600)

    def receive(worker: ProcessWorker, seconds: float) -> Message | None:
        hangs = hanging.exists()
        message = RECEIVE(worker, seconds)
        if hangs and message is None:
            clock.ahead = 3600.0
        return message

    monkeypatch.setattr(chains, "rewrite_messages", hang)
    monkeypatch.setattr(supervision, "time", clock)
    monkeypatch.setattr(ProcessWorker, "receive", receive)
    words = ["chain", "optimize", CHAIN, "--trust", "--packets", "0", "--deadline", "60"]
    assert app([*words, "--format", "json"]) == ExitCode.UNDECIDED
    text = capsys.readouterr().out
    check("chain", text)
    report = json.loads(text)
    assert report["stopped"] == "deadline"
    return dict(report["programs"][1])


def test_programs_that_were_rewritten_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # The first message has only facts. The second one follows the rewriting of the load balancer,
    # which alone gets packets from another program.
    balancer = report_until_killed(2, tmp_path, monkeypatch, capsys)
    assert balancer["proved"]
    assert balancer["instructions_after"] != balancer["instructions_before"]
    assert NOT_YET not in str(balancer["remarks"])


def test_facts_are_kept_where_nothing_was_rewritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    balancer = report_until_killed(1, tmp_path, monkeypatch, capsys)
    assert balancer["facts"]
    assert balancer["remarks"] == [NOT_YET]
    assert balancer["instructions_after"] == balancer["instructions_before"]
