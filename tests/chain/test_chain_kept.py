"""What `slowpath chain optimize` knew before it had to be killed."""

import json
import time
from collections.abc import Iterator

import pytest

from slowpath.chain.run import ChainOptions, optimize
from slowpath.core.engine import chains
from slowpath.core.errors import ExitCode
from slowpath.core.formats import JSON, Reporter
from slowpath.core.jobs import Message
from slowpath.core.jobs.stopping import Stopping
from support import ROOT
from test_schema import check

CHAIN = str(ROOT / "examples/chain/chain.yaml")
NOT_YET = "there was no time to rewrite it"


def killed_behind(messages: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rewriting says so much, and then nothing, however long it takes."""
    rewrite = chains.rewrite_messages

    def endless(
        subject: chains.ChainSubject, rewriting: chains.Rewriting, stopping: Stopping
    ) -> Iterator[Message]:
        all_said = rewrite(subject, rewriting, stopping)
        said = (message for message in all_said if message[0] == "rewritten")
        yield from (message for message, _ in zip(said, range(messages), strict=False))
        time.sleep(600)

    monkeypatch.setattr(chains, "rewrite_messages", endless)


def ended(capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    """The load balancer in the report, of a command that was out of time."""
    options = ChainOptions(CHAIN, "trust", Reporter("json", {"json": JSON}), deadline_seconds=5)
    assert optimize(options) is ExitCode.UNDECIDED
    text = capsys.readouterr().out
    check("chain", text)
    report = json.loads(text)
    assert report["stopped"] == "deadline"
    return dict(report["programs"][1])


def test_programs_that_were_rewritten_are_kept(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # What is known first, and behind the only program that packets reach from another one.
    killed_behind(2, monkeypatch)
    balancer = ended(capsys)
    assert balancer["proved"]
    assert balancer["instructions_after"] != balancer["instructions_before"]
    assert NOT_YET not in str(balancer["remarks"])


def test_facts_are_kept_where_nothing_was_rewritten(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    killed_behind(1, monkeypatch)
    balancer = ended(capsys)
    assert balancer["facts"]
    assert balancer["remarks"] == [NOT_YET]
    assert balancer["instructions_after"] == balancer["instructions_before"]
