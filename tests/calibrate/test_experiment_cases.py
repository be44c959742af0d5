"""Tests that an experiment prepares its programs once, and reuses them in later measurements.

If memory is short, they are released and prepared again.
"""

import json
from collections import Counter
from pathlib import Path

import pytest

from slowpath.calibrate.experiments.running import Job
from slowpath.calibrate.experiments.specification import (
    shipped_experiment,
    swept_values,
    with_range,
)
from slowpath.calibrate.testbeds import linux_xdp
from slowpath.calibrate.testbeds.linux_xdp import CaseBudget, Cases
from slowpath.calibrate.testbeds.xdp_files import Compiler
from slowpath.core.engine import kernel, objects, targets


@pytest.fixture
def prepared(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Replace the preparation of programs by a counter; return the counts by program."""
    preparations = Counter[str]()

    def prepare(_station: object, subject: objects.Subject, witness: str, _known: None) -> str:
        preparations[Path(subject.file).name] += 1
        found = json.loads(witness)
        assert len(bytes.fromhex(found["packet"])) == found["length"]
        return f"{subject.file} with {json.dumps(found['maps'])}"

    monkeypatch.setattr(kernel, "prepare_case", prepare)
    monkeypatch.setattr(targets, "flow", lambda _case: None)
    return preparations


def cases_of(folder: Path) -> Cases:
    experiment = with_range(shipped_experiment("table-exact-entries"), 1, 100, 3)
    station: kernel.Station = None  # type: ignore[assignment] # not used
    folder.mkdir(exist_ok=True)
    job = Job(experiment, "ns", swept_values(experiment), folder, lambda _text: None)
    return Cases(station, Compiler("linux-xdp"), job, CaseBudget())


def blocks(cases: Cases, count: int) -> list[list[kernel.Case]]:
    found = []
    for _ in range(count):
        assert cases.prepare(lambda _text: None, lambda: False)
        found.append(cases.ready())
        cases.release()
    return found


def test_programs_are_prepared_once(tmp_path: Path, prepared: Counter[str]) -> None:
    cases = cases_of(tmp_path)
    first, *others = blocks(cases, 3)
    assert set(prepared.values()) == {1}
    assert len(first) == len(prepared) == len(set(first))
    assert others == [first, first]
    assert sorted(cases.pairs) == [1, 10, 100]
    assert all(component != baseline for component, baseline in cases.pairs.values())


def test_much_map_content_is_not_kept(
    tmp_path: Path, prepared: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(linux_xdp, "_LARGEST", 10_000)
    cases = cases_of(tmp_path)
    first, *others = blocks(cases, 3)
    assert prepared.pop("entries-100.bpf.c") == 3
    assert set(prepared.values()) == {1}
    assert others == [first, first]  # the same files, with the same maps


def test_all_that_is_kept_has_a_limit(
    tmp_path: Path, prepared: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(linux_xdp, "_ROOM", 1000)
    blocks(cases_of(tmp_path), 2)
    assert prepared["entries-1.bpf.c"] == 1
    assert prepared["entries-10.bpf.c"] == prepared["entries-100.bpf.c"] == 2


def test_preparing_stops_when_it_has_to(tmp_path: Path, prepared: Counter[str]) -> None:
    cases = cases_of(tmp_path)
    assert not cases.prepare(lambda _text: None, lambda: bool(prepared))
    assert len(prepared) < 4
    assert cases.prepare(lambda _text: None, lambda: False)


def test_what_does_not_compile_is_an_error_of_its_point(
    tmp_path: Path, prepared: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    cases = cases_of(tmp_path)
    monkeypatch.setenv("CLANG", "no-such-clang")
    assert blocks(cases, 2) == [[], []]
    assert not cases.pairs
    assert not prepared
    assert sorted(cases.errors) == [1, 10, 100]
    assert all("cannot be started" in reason for reason in cases.errors.values())
