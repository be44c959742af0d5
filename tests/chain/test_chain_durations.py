"""Tests that the durations in reports on chains include the time of reading the input."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import slowpath.chain.plan
import slowpath.chain.run
from slowpath.app import app
from slowpath.core.errors import ExitCode
from support import ROOT

CHAIN = str(ROOT / "examples/chain/chain.yaml")
TOPOLOGY = str(ROOT / "examples/chain/topology.yaml")
READING = 1000.0
"""Simulated duration of reading the input, in seconds: far more than the rest of a command takes.
"""

Output = Callable[..., str]


@pytest.fixture
def output(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Output:
    """Return a function that runs a command and returns its output.

    Reading the input seems to take `READING` seconds.
    """

    def run(module: ModuleType, reader: str, *words: str | Path) -> str:
        ahead = 0.0
        read = getattr(module, reader)

        def slow(*arguments: Any, **options: Any) -> Any:
            nonlocal ahead
            ahead = READING
            return read(*arguments, **options)

        monkeypatch.setattr(module, reader, slow)
        monkeypatch.setattr(module, "monotonic", lambda: time.monotonic() + ahead)
        assert app([str(word) for word in words]) == ExitCode.FINE
        return capsys.readouterr().out

    return run


@pytest.mark.parametrize("words", [("facts",), ("optimize", "--trust", "--packets", "0")])
def test_seconds_of_a_chain_include_reading(output: Output, words: tuple[str, ...]) -> None:
    command, *options = words
    text = output(
        slowpath.chain.run, "load_chain", "chain", command, CHAIN, *options, "--format", "json"
    )
    report = json.loads(text)
    assert report["engine_seconds"] < READING <= report["seconds"]


def test_the_table_tells_both_durations(output: Output) -> None:
    words = ("chain", "optimize", CHAIN, "--trust", "--packets", "0")
    (line,) = (
        line
        for line in output(slowpath.chain.run, "load_chain", *words).splitlines()
        if "s in all" in line
    )
    all_, part = line.removesuffix(")").split(" s in all (")
    engine, what = part.split(" s ")
    assert float(engine) < READING <= float(all_)
    assert what == "for facts, rewriting and proofs"


def test_seconds_of_a_plan_include_reading(output: Output) -> None:
    words = ("chain", "plan", TOPOLOGY, "--no-cache-dir", "--format", "json")
    assert json.loads(output(slowpath.chain.plan, "load_members", *words))["seconds"] >= READING
