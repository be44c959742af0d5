"""Tests the speed of a CPU that is computed from the times of chains of additions."""

import random
from pathlib import Path

import pytest

from slowpath.measure import bench, environment
from slowpath.measure.bench import Additions, CpuSpeed, PaceMeter
from slowpath.measure.machine import Files


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "_EVERY", 0.0)


def test_clock_and_width_are_medians() -> None:
    draw = random.Random(1)  # noqa: S311 - no secret

    def additions(_runs: int) -> Additions:
        shared = draw.random() < 0.3
        return 0.25 * draw.gauss(1, 0.02), (0.11 if shared else 0.0625) * draw.gauss(1, 0.02)

    meter = PaceMeter(additions)
    for _ in range(200):
        meter.read()
    paced = meter.speed()
    assert paced is not None
    assert paced.clock_hz == pytest.approx(4e9, rel=0.02)
    assert paced.instructions_per_cycle == pytest.approx(4, rel=0.05)


def test_too_few_and_impossible_times_tell_nothing() -> None:
    meter = PaceMeter(lambda _runs: (0.25, 0.0625))
    assert meter.speed() is None
    meter.read()
    assert meter.speed() is None
    disturbed = PaceMeter(lambda _runs: (0.25, -0.5))
    for _ in range(20):
        disturbed.read()
    assert disturbed.speed() is None


def test_it_is_not_read_more_often_than_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "_EVERY", 3600.0)
    calls = list[int]()

    def additions(runs: int) -> Additions:
        calls.append(runs)
        return 0.25, 0.0625

    meter = PaceMeter(additions)
    for _ in range(50):
        meter.read()
    assert len(calls) < 10


def test_interpreted_programs_tell_nothing_of_the_cpu(tmp_path: Path) -> None:
    setting = tmp_path / "proc/sys/net/core/bpf_jit_enable"
    setting.parent.mkdir(parents=True)
    for text, compiled in (("1", True), ("0", False)):
        setting.write_text(text)
        record = environment.begin(0, files=Files(tmp_path)).end(CpuSpeed(3_000_000_000, 4.0))
        assert (record["pace"] is not None) == compiled
