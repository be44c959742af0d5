"""Tests the sampling of live packets, which are really sent where a program decides.

The tests need no kernel.
"""

import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest

from slowpath.core.engine import kernel
from slowpath.core.printable import json_line
from slowpath.measure import live as measurements
from slowpath.measure.live import LiveSample, LiveSubject, measure_live
from slowpath.measure.programs import PreparedProgram
from slowpath.measure.sampling import Progress, ProgressCallbacks, StopCriteria

ROUNDS, SUBJECTS = 3, 4


class Bench:
    """A fake kernel in which a path takes 100 ns and the baseline 60 ns.

    It loses a fraction of all packets.
    """

    def __init__(self, lost: float = 0.0, counted: int = 1_000_000) -> None:
        self.received = [True]
        self.counted = [counted]
        self.ran = list[int]()
        self._lost = lost

    def load(self) -> "Bench":
        self.ran.append(0)
        return self

    def busy(self) -> float:
        return 1000.0

    def sample(self, path: int, subject: int, frames: int) -> LiveSample:
        assert path == 0
        self.ran[-1] += frames if subject == 0 else 0
        taken = 100 if subject == 0 else 60
        return LiveSample(taken * frames, frames, 0, int(self._lost * frames))


def stop_after(times: int) -> Callable[[Progress], bool]:
    left = iter(range(times))
    return lambda _: next(left, None) is not None


QUOTA = StopCriteria(0.01, 0.0)


@pytest.mark.parametrize("counted", [32_768, 50_000, 4_000_000])
def test_no_load_times_more_packets_than_were_counted(counted: int) -> None:
    bench = Bench(counted=counted)
    measure_live(bench, QUOTA, lambda _: True)
    assert max(bench.ran) <= counted
    assert min(bench.ran) >= ROUNDS * 4096


def test_a_stop_takes_effect_after_one_round() -> None:
    outcome = measure_live(Bench(), QUOTA, stop_after(0))
    assert (outcome.loads, outcome.samples) == (1, SUBJECTS)
    assert outcome.paths[0] is not None


def program(monkeypatch: pytest.MonkeyPatch, bench: Bench) -> tuple[PreparedProgram, Any]:
    """Return a program with one path, prepared for the fake kernel, and the record of the path."""
    case = SimpleNamespace(rewritten=False, unreceived=None, counted=bench.counted[0])
    monkeypatch.setattr(kernel, "prepare_live_case", lambda *_: case)
    monkeypatch.setattr(measurements, "LiveKernelBench", lambda *_: bench)
    path = {"rank": 1, "action": "XDP_DROP", "live": None, "error": None}
    record = {"file": "a.o", "paths": [path], "error": None}
    return PreparedProgram(cast("Any", record), [cast("Any", None)], [0], [], [], "xdp"), path


def measured(prepared: PreparedProgram, callbacks: ProgressCallbacks) -> Any:
    measurements.measure_program_live(cast("Any", None), prepared, 64, QUOTA, callbacks)
    return prepared.record


def test_after_one_load_the_interval_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    prepared, path = program(monkeypatch, Bench())
    record = measured(prepared, ProgressCallbacks(lambda *_: True, stop_after(1)))
    assert record["loads"] == 1
    assert (path["live"]["low_ns"], path["live"]["high_ns"]) == (None, None)
    assert json.loads(json_line(record))["paths"][0]["live"]["program_ns"] == 40


@pytest.mark.parametrize(("share", "warns"), [(0.0008, False), (0.0015, True)])
def test_many_lost_packets_give_a_warning(
    monkeypatch: pytest.MonkeyPatch, share: float, *, warns: bool
) -> None:
    prepared, path = program(monkeypatch, Bench(share))
    record = measured(prepared, ProgressCallbacks(lambda *_: True, lambda _: True))
    assert path["live"]["lost"] > 0.001 * path["live"]["frames"]
    assert any("for lack of room" in warning for warning in record["warnings"]) == warns


def test_after_a_stop_nothing_is_prepared(monkeypatch: pytest.MonkeyPatch) -> None:
    prepared, path = program(monkeypatch, Bench())
    monkeypatch.setattr(kernel, "prepare_live_case", None)
    record = measured(prepared, ProgressCallbacks(lambda *_: False, lambda _: True))
    assert path["error"] == record["error"] == "interrupted before it was measured"


class _DisturbedInTurns(Bench):
    """A fake kernel in which other work slows down the program or the baseline.

    The disturbed one alternates between loads of the programs.
    """

    slow = False

    def busy(self) -> float:
        return 1500.0 if self.slow else 1000.0

    def sample(self, path: int, subject: int, frames: int) -> LiveSample:
        self.slow = subject == (LiveSubject.PROGRAM, LiveSubject.BASELINE)[len(self.ran) % 2]
        return super().sample(path, subject, frames)


def test_program_and_baseline_are_compared_within_a_load() -> None:
    """Check that a path has a time even if no load has undisturbed samples of both programs.

    They are the measured program and the baseline.
    """
    outcome = measure_live(_DisturbedInTurns(), StopCriteria(-1.0, 60.0), stop_after(30))
    [path] = outcome.paths
    assert path is not None
    assert path.program.value == 40
