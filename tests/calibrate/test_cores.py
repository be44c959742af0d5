"""Tests that the model of a CPU core is fitted to some programs, and predicts others."""

import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("scipy", reason="the extra `models` is not installed")

from slowpath.calibrate.description import (
    PARAMETERS,
    Machine,
    clipped,
    start_values,
    target_text,
    timing_text,
)
from slowpath.calibrate.experiments.documents import Measurement, Sample
from slowpath.calibrate.experiments.folder import ExperimentFolder
from slowpath.calibrate.experiments.specification import shipped_experiment
from slowpath.calibrate.fitting import ends, fit
from slowpath.calibrate.observations import Observation, observations
from slowpath.core.engine import targets
from slowpath.core.schema.derived import USUAL_ENDS

MACHINE: Machine = {"machine": 'a "machine"\n', "date": "2026-01-01", "clock_hz": 2_000_000_000}
CALLS = {
    "ktime_get_ns": 90.0,
    "map_lookup_elem.hash": 70.0,
    "redirect": 25.0,
}
WORKS = ("alu", "shift", "multiply", "divide", "load", "store", "atomic", "branch", "renamed")


def chain(work: str, count: int, *, dependent: bool) -> targets.Flow:
    step = [work, [1] if dependent else [], 1, False, None, None]
    return targets.flow_of(json.dumps({"steps": [step] * count, "calls": []}))


def mixed(luck: random.Random) -> targets.Flow:
    """Return a random execution path of instructions and calls."""
    steps: list[object] = []
    calls: list[object] = []
    for _ in range(luck.randrange(20, 200)):
        if luck.random() < 0.02:
            calls.append([luck.choice(sorted(CALLS)), 0, luck.random() < 0.5])
            steps.append(["call", [], 0, False, None, len(calls) - 1])
            continue
        work, reads = luck.choice(WORKS), [luck.randrange(10) for _ in range(luck.randrange(3))]
        jumps = work == "branch" and luck.random() < 0.5
        steps.append([work, reads, luck.randrange(10), jumps, None, None])
    return targets.flow_of(json.dumps({"steps": steps, "calls": calls}))


def called(name: str, count: int) -> targets.Flow:
    steps: list[object] = [["call", [], 0, False, None, number] for number in range(count)]
    return targets.flow_of(json.dumps({"steps": steps, "calls": [[name, 0, False]] * count}))


def flows() -> Iterator[tuple[str, targets.Flow]]:
    for work in WORKS:
        for count in (8, 64, 256):
            for dependent in (True, False):
                yield work, chain(work, count, dependent=dependent)
    for name in CALLS:
        for count in (1, 2, 4):
            yield name, called(name, count)


@pytest.fixture(scope="module")
def truth() -> targets.Target:
    """Return a target with random core parameters, which the fit must find again.

    They differ from the parameters with which the fit starts.
    """
    luck = random.Random(1)  # noqa: S311 - no secret
    parameters = {
        name: value if PARAMETERS[name].fixed else clipped(name, value * luck.uniform(0.7, 1.5))
        for name, value in start_values().items()
    }
    calls = {name: {"cycles": cycles, "zero_cycles": cycles} for name, cycles in CALLS.items()}
    text = target_text(timing_text(MACHINE, parameters, calls, (0.9, 1.1)))  # type: ignore[arg-type]
    target = targets.described_target("truth", text)
    assert target.problems() == []
    assert target.machine == ('a "machine" ', "2026-01-01")
    return target


def test_a_core_is_found_that_explains_what_was_seen(truth: targets.Target) -> None:
    names, seen = zip(*flows(), strict=True)
    times = targets.nanoseconds(seen, truth)
    observed = [Observation(*one) for one in zip(names, seen, times, strict=True)]
    looks = iter(range(150))
    fitted = fit(observed, MACHINE, lambda _: next(looks, None) is not None)
    assert sum(abs(error) for error in fitted.errors) / len(fitted.errors) < 0.02
    found = targets.described_target("found", fitted.text)
    assert found.problems() == []
    luck = random.Random(2)  # noqa: S311 - no secret
    others = [mixed(luck) for _ in range(100)]
    pairs = zip(targets.nanoseconds(others, found), targets.nanoseconds(others, truth), strict=True)
    errors = [abs(mine / real - 1) for mine, real in pairs]
    assert sum(errors) / len(errors) < 0.05


def test_the_same_observations_come_to_the_same_core(truth: targets.Target) -> None:
    names, seen = zip(*flows(), strict=True)
    times = targets.nanoseconds(seen, truth)
    observed = [Observation(*one) for one in zip(names, seen, times, strict=True)]

    def once() -> str:
        looks = iter(range(30))
        return fit(observed, MACHINE, lambda _: next(looks, None) is not None).text

    assert once() == once()


def test_a_path_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="instruction 0 of the path is none"):
        targets.flow_of('{"steps": [["alu", [99], 0, false, null, null]], "calls": []}')
    with pytest.raises(ValueError, match="expected"):
        targets.flow_of("nothing")


def kept(folder: Path, samples: list[Sample], flows: dict[str, str]) -> ExperimentFolder:
    """Write the folder of a measured experiment with these samples.

    `flows` are the executed instructions of its programs.
    """
    into = ExperimentFolder(folder)
    into.begin(shipped_experiment("arithmetic-add"))
    measurement: Measurement = {
        "slowpath": "",
        "testbed": "linux-xdp",
        "target": "linux-xdp",
        "metric": "ns",
        "state": "complete",
        "exact": False,
        "date": "2026-01-01T00:00:00Z",
        "seconds": 1.0,
        "blocks": 1,
        "points": [8, 16, 24],
        "errors": [],
        "notes": [],
        "samples_sha256": None,
    }
    into.keep(measurement, samples, [None], flows)
    return into


def test_samples_of_a_shared_core_do_not_count(tmp_path: Path) -> None:
    """Check that samples are ignored if another CPU used the same physical core.

    The mean of all samples, 15 ns, would be wrong for a shared and for an unshared core.
    """
    samples = [
        *(Sample(8, number, 10.0, 8.0, 1) for number in range(3)),
        *(Sample(8, number, 20.0, 13.0, 1) for number in range(3, 6)),
        *(Sample(16, number, 30.0, 13.0, 1) for number in range(6)),
    ]
    flows = {
        f"{which}-{value}": chain("alu", size, dependent=True).text()
        for value in (8, 16)
        for which, size in (("component", value), ("baseline", 1))
    }
    into = kept(tmp_path / "arithmetic-add", samples, flows)
    seen = [(one.flow.text(), one.ns) for one in observations({"arithmetic-add": into})]
    assert seen == [(flows["component-8"], 10.0), (flows["baseline-8"], 8.0)]


def test_a_component_that_is_disturbed_alone_does_not_count(tmp_path: Path) -> None:
    """Check that samples are ignored if only the program with the component was disturbed.

    Most of its samples took twice the time; those of the baseline program did not.
    """
    samples = [
        *(Sample(8, number, 10.0, 8.0, 1) for number in range(2)),
        *(Sample(8, number, 20.0, 8.0, 1) for number in range(2, 8)),
    ]
    flows = {
        "component-8": chain("alu", 8, dependent=True).text(),
        "baseline-8": chain("alu", 1, dependent=True).text(),
    }
    into = kept(tmp_path / "arithmetic-add", samples, flows)
    assert [one.ns for one in observations({"arithmetic-add": into})] == [10.0, 8.0]


def test_another_experiment_tells_what_a_baseline_takes_alone(tmp_path: Path) -> None:
    flows = {
        "component-8": chain("alu", 8, dependent=True).text(),
        "baseline-8": chain("alu", 1, dependent=True).text(),
    }
    shared = [Sample(8, number, 20.0, 13.0, 1) for number in range(4)]
    alone = [Sample(8, number, 10.0, 8.0, 1) for number in range(4)]
    folders = {
        "shared": kept(tmp_path / "shared", shared, flows),
        "alone": kept(tmp_path / "alone", alone, flows),
    }
    assert {one.experiment for one in observations(folders)} == {"alone"}


def test_intervals_widen_to_what_check_programs_show(truth: targets.Target) -> None:
    assert ends([0.97, 1.0, 1.02]) == USUAL_ENDS
    assert ends([0.5, 0.5, 1.0, 2.0, 2.0]) == (0.5, 2.0)
    names, seen = zip(*flows(), strict=True)
    times = targets.nanoseconds(seen, truth)
    observed = [Observation(*one) for one in zip(names, seen, times, strict=True)]
    checks = [one._replace(ns=2 * one.ns) for one in observed[::3]]
    looks = iter(range(5))
    fitted = fit(observed, MACHINE, lambda _: next(looks, None) is not None, checks)
    low, high = (
        float(fitted.text.partition(f"\n{end} = ")[2].split()[0]) for end in ("low", "high")
    )
    assert low <= USUAL_ENDS[0]
    assert high > 1.8


def test_where_returns_are_predicted_calls_overlap() -> None:
    usual = start_values()
    without = timing_text(MACHINE, {**usual, "function_cycles": 24.0}, {}, USUAL_ENDS)
    overlapping = timing_text(MACHINE, {**usual, "function_cycles": 5.0}, {}, USUAL_ENDS)
    assert "[timing.pipeline" not in without
    assert "[timing.pipeline.calls]" in overlapping
