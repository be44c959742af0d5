"""Tests the Python side of the interface to the Rust engine, mostly with a fake engine."""

import json
import os
import signal
import threading
from collections.abc import Callable, Iterator
from types import SimpleNamespace

import pytest

import slowpath
from slowpath import _core
from slowpath.bounds.progress import describe
from slowpath.core.engine import analyses, objects, targets
from slowpath.core.engine.analyses import Options, Outcome, Progress, Run, messages
from slowpath.core.engine.objects import Subject
from slowpath.core.jobs import heeding_signals
from support import ROOT, heed_interrupts

FEATURES = "crates/bpf/tests/data/features.bpf.o"


class Bound(SimpleNamespace):
    """A fake of the engine's class `_core.Bound`."""


class Path(SimpleNamespace):
    """A fake of the engine's class `_core.Path`."""


class SoFar(SimpleNamespace):
    """A fake of the engine's class `_core.SoFar`."""


class Result(SimpleNamespace):
    """A fake of the engine's class `_core.Result`."""


DETAIL: dict[str, object] = {"paths": [], "code": [], "failure": None}
RESULT = Result(
    json='{"file": "x", "error": null}',
    detail=json.dumps(DETAIL),
    complete=True,
    certificate=None,
    no_certificate=None,
)
Install = Callable[[Callable[["FakeAnalysis"], Iterator[object]]], None]


class FakeAnalysis:
    """A fake of the engine's class `_core.Analysis`, whose events come from a function (script)."""

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
    """Return a function that replaces the engine by a fake, whose analyses follow a script."""

    def replace(script: Callable[[FakeAnalysis], Iterator[object]]) -> None:
        core = SimpleNamespace(
            Bound=Bound,
            Path=Path,
            Result=Result,
            SoFar=SoFar,
            Target=targets.Target,
            Analysis=lambda file, *_: FakeAnalysis(script, file),
        )
        monkeypatch.setattr(analyses, "_core", core)

    return replace


def analyse(file: str, on_progress: Callable[[Progress], None] = lambda _: None) -> Outcome | None:
    """Run an analysis on the fake engine, and return its outcome; None if it reports none."""
    run = Run()
    subject = Subject(file, objects.Object(b""), 0, None)
    with heeding_signals() as stopping:
        for message in messages(subject, targets.builtin_target("ebpf"), Options(), stopping):
            done = run.take(message)
            if done is not None:
                return analyses.outcome(done)
            if message[0] in {"bound", "path"}:
                on_progress(run.progress)
    return None


def test_events_become_progress_and_a_result(install: Install) -> None:
    def script(_analysis: FakeAnalysis) -> Iterator[object]:
        yield Bound(value=1.0, seconds=3.0, candidates=4, nogoods=5)
        yield Path(index=1)
        yield RESULT

    install(script)
    news: list[Progress] = []
    outcome = analyse("x", news.append)
    assert news == [Progress(1.0, 3.0, 4, 5, 0), Progress(1.0, 3.0, 4, 5, 1)]
    assert outcome is not None
    assert outcome.result["file"] == "x"
    assert outcome.text == RESULT.json
    assert outcome.detail == DETAIL


def test_bounds_of_further_paths_are_no_progress_of_the_guarantee(install: Install) -> None:
    def script(_analysis: FakeAnalysis) -> Iterator[object]:
        yield Bound(value=1.0, seconds=3.0, candidates=4, nogoods=5)
        yield Path(index=1)
        yield Bound(value=9.0, seconds=4.0, candidates=6, nogoods=7)
        yield RESULT

    install(script)
    news: list[Progress] = []
    analyse("x", news.append)
    assert news[-1] == Progress(1.0, 4.0, 6, 7, 1)
    assert describe(news[0], "bitrate").startswith("at least 1.00 bit/s, 4 paths tried")
    assert describe(news[-1], "bitrate").startswith("1.00 bit/s, 1 path found")
    assert describe(news[0], "memory-accesses").startswith("at most 1 memory accesses, 4 paths")
    assert describe(news[-1], "instructions").startswith("1 instructions, 1 path found")


def test_an_interrupt_asks_for_partial_results(install: Install) -> None:
    def script(analysis: FakeAnalysis) -> Iterator[object]:
        os.kill(os.getpid(), signal.SIGINT)
        assert analysis.stops == 1
        yield RESULT

    install(script)
    before = signal.getsignal(signal.SIGINT)
    assert analyse("x") is not None
    assert signal.getsignal(signal.SIGINT) is before


def test_a_second_interrupt_ends_the_analysis(install: Install) -> None:
    def script(_analysis: FakeAnalysis) -> Iterator[object]:
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)
        yield RESULT

    install(script)
    with pytest.raises(KeyboardInterrupt):
        analyse("x")


def test_other_threads_can_analyse(install: Install) -> None:
    install(lambda _analysis: iter([RESULT]))
    outcomes: list[Outcome | None] = []
    thread = threading.Thread(target=lambda: outcomes.append(analyse("x")))
    thread.start()
    thread.join()
    assert len(outcomes) == 1


def test_an_engine_can_end_without_a_result(install: Install) -> None:
    install(lambda _analysis: iter([]))
    assert analyse("x") is None


def test_odd_file_names_reach_the_engine(install: Install) -> None:
    seen = []

    def script(analysis: FakeAnalysis) -> Iterator[object]:
        seen.append(analysis.file)
        yield RESULT

    install(script)
    analyse(os.fsdecode(b"\xff.asm"))
    assert seen == ["\\udcff.asm"]


def test_a_file_and_a_target_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Check that each object and each target is parsed only once for all analyses."""
    read = list[str]()

    def counting(name: str) -> Callable[..., object]:
        make = getattr(_core, name)

        def made(*arguments: object) -> object:
            read.append(name)
            return make(*arguments)

        return made

    for name in ("Object", "Target"):
        monkeypatch.setattr(_core, name, counting(name))
    results = slowpath.bound(ROOT / FEATURES, prog_name="*", target="ebpf", deadline=20)
    assert len(results) > 3
    assert read == ["Target", "Object"]


def test_options_are_those_of_the_engine() -> None:
    """Check that the engine accepts exactly the fields of `Options`, and checks their types."""
    program = (*Subject("x", objects.Object(b""), 0, None), targets.builtin_target("ebpf"))
    options = Options()._asdict()
    _core.Analysis(*program, options)
    with pytest.raises(TypeError, match="unknown field `speed`"):
        _core.Analysis(*program, options | {"speed": 1})
    with pytest.raises(TypeError, match="invalid type"):
        _core.Analysis(*program, options | {"mtu": "long"})


def test_errors_have_fields() -> None:
    data = (ROOT / FEATURES).read_bytes()
    with pytest.raises(_core.Error) as caught:
        _core.Object(data[:100])
    assert (caught.value.kind, caught.value.what) == ("input", str(caught.value))
    card = targets.builtin_target("agilio-cx-2x40")
    with pytest.raises(_core.Error) as refused:
        _core.compile_program(("x", _core.Object(data), 99, None), card, {}, _core.Stop(None, None))
    assert refused.value.kind == "input"
    stop = _core.Stop(None, None)
    stop.set()
    good = _core.Object((ROOT / "examples/count_min.8.bpf.o").read_bytes())
    with pytest.raises(_core.Error) as stopped:
        _core.compile_program(("x", good, 0, None), card, {}, stop)
    assert (stopped.value.kind, stopped.value.stopped) == ("stopped", "interrupted")
