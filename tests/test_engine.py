"""The one module that talks to the compiled engine, against an engine made for the test."""

import json
import os
import signal
import threading
from collections.abc import Callable, Iterator
from types import SimpleNamespace

import pytest

from slowpath import engine
from slowpath.analysis.progress import describe
from slowpath.engine import Options, Progress, analyse
from support import heed_interrupts

OPTIONS = Options(
    target="agilio-cx-2x40",
    target_is_text=False,
    metric="bitrate",
    cores=None,
    unroll=[],
    paths=1,
    mtu=1500,
    deadline_seconds=None,
    memory_bytes=None,
    assume=None,
    maps=None,
    map_abi=None,
)


class Bound(SimpleNamespace):
    """Stands for `_core.Bound`."""


class Path(SimpleNamespace):
    """Stands for `_core.Path`."""


class SoFar(SimpleNamespace):
    """Stands for `_core.SoFar`."""


class File:
    """Stands for `_core.File`."""

    def __init__(self, data: bytes) -> None:
        self.data = data


class Result(SimpleNamespace):
    """Stands for `_core.Result`."""


DETAIL = {"paths": [], "code": [], "stopped": "deadline", "usage": False}
RESULT = Result(json='{"file": "x", "error": null}', detail=json.dumps(DETAIL))
Install = Callable[[Callable[["FakeAnalysis"], Iterator[object]]], None]


class FakeAnalysis:
    """Stands for `_core.Analysis`: runs a script of events."""

    def __init__(self, script: Callable[["FakeAnalysis"], Iterator[object]], file: str) -> None:
        self.file = file
        self.stops = 0
        self.stage = "reading the program"
        self._script = script

    def stop(self) -> None:
        self.stops += 1

    def __iter__(self) -> Iterator[object]:
        return self._script(self)


@pytest.fixture(autouse=True)
def _heed_interrupts() -> Iterator[None]:
    before = signal.getsignal(signal.SIGINT)
    heed_interrupts()
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Install:
    """Replaces the compiled engine."""

    def replace(script: Callable[[FakeAnalysis], Iterator[object]]) -> None:
        core = SimpleNamespace(
            Bound=Bound,
            Path=Path,
            Result=Result,
            SoFar=SoFar,
            File=File,
            Analysis=lambda file, *_program, **_options: FakeAnalysis(script, file),
        )
        monkeypatch.setattr(engine, "_core", core)

    return replace


def test_events_become_progress_and_a_result(install: Install) -> None:
    def script(_analysis: FakeAnalysis) -> Iterator[object]:
        yield Bound(value=1.0, seconds=3.0, candidates=4, nogoods=5)
        yield Path(index=1)
        yield RESULT

    install(script)
    news: list[Progress] = []
    outcome = analyse("x", b"", OPTIONS, news.append)
    assert news == [Progress(1.0, 3.0, 4, 5, 0), Progress(1.0, 3.0, 4, 5, 1)]
    assert outcome.result["file"] == "x"
    assert outcome.text == RESULT.json
    assert outcome.detail == DETAIL
    assert not outcome.interrupted


def test_bounds_of_further_paths_are_no_progress_of_the_guarantee(install: Install) -> None:
    def script(_analysis: FakeAnalysis) -> Iterator[object]:
        yield Bound(value=1.0, seconds=3.0, candidates=4, nogoods=5)
        yield Path(index=1)
        yield Bound(value=9.0, seconds=4.0, candidates=6, nogoods=7)
        yield RESULT

    install(script)
    news: list[Progress] = []
    analyse("x", b"", OPTIONS, news.append)
    assert news[-1] == Progress(1.0, 4.0, 6, 7, 1)
    assert describe(news[0], "bitrate").startswith("at least 1.00 bit/s, 4 paths tried")
    assert describe(news[-1], "bitrate").startswith("1.00 bit/s, 1 path found")
    assert describe(news[0], "memory-accesses").startswith("at most 1 memory accesses, 4 paths")
    assert describe(news[-1], "instructions").startswith("1 instructions, 1 path found")


def test_an_interrupt_asks_for_what_there_is(install: Install) -> None:
    def script(analysis: FakeAnalysis) -> Iterator[object]:
        os.kill(os.getpid(), signal.SIGINT)
        assert analysis.stops == 1
        yield RESULT

    install(script)
    before = signal.getsignal(signal.SIGINT)
    assert analyse("x", b"", OPTIONS).interrupted
    assert signal.getsignal(signal.SIGINT) is before


def test_a_second_interrupt_ends_it(install: Install) -> None:
    def script(_analysis: FakeAnalysis) -> Iterator[object]:
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)
        yield RESULT

    install(script)
    with pytest.raises(KeyboardInterrupt):
        analyse("x", b"", OPTIONS)


def test_other_threads_can_analyse(install: Install) -> None:
    install(lambda _analysis: iter([RESULT]))
    outcomes: list[engine.Outcome] = []
    thread = threading.Thread(target=lambda: outcomes.append(analyse("x", b"", OPTIONS)))
    thread.start()
    thread.join()
    assert len(outcomes) == 1


def test_an_engine_without_result_is_a_defect(install: Install) -> None:
    install(lambda _analysis: iter([]))
    with pytest.raises(engine.EngineError):
        analyse("x", b"", OPTIONS)


def test_odd_file_names_reach_the_engine(install: Install) -> None:
    seen = []

    def script(analysis: FakeAnalysis) -> Iterator[object]:
        seen.append(analysis.file)
        yield RESULT

    install(script)
    analyse(os.fsdecode(b"\xff.asm"), b"", OPTIONS)
    assert seen == ["\\udcff.asm"]
