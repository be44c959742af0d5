"""The model of a core: fitted to programs, it explains their times and those of others."""

import json
import random
from collections.abc import Iterator

import pytest

pytest.importorskip("scipy", reason="the extra `models` is not installed")

from slowpath.engine import estimates, targets
from slowpath.experiments.cores.description import Machine, target_text, timing_text
from slowpath.experiments.cores.fitting import fit
from slowpath.experiments.cores.observations import Observation
from slowpath.experiments.cores.parameters import PARAMETERS, clipped, first

MACHINE: Machine = {"machine": 'a "machine"\n', "date": "2026-01-01", "clock_hz": 2_000_000_000}
CALLS = {
    "ktime_get_ns": 90.0,
    "map_lookup_elem.hash": 70.0,
    "redirect": 25.0,
}
WORKS = ("alu", "shift", "multiply", "divide", "load", "store", "atomic", "branch", "renamed")


def chain(work: str, count: int, *, dependent: bool) -> estimates.Flow:
    step = [work, [1] if dependent else [], 1, False, None, None]
    return estimates.flow_of(json.dumps({"steps": [step] * count, "calls": []}))


def mixed(luck: random.Random) -> estimates.Flow:
    """A path of random instructions and calls."""
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
    return estimates.flow_of(json.dumps({"steps": steps, "calls": calls}))


def called(name: str, count: int) -> estimates.Flow:
    steps: list[object] = [["call", [], 0, False, None, number] for number in range(count)]
    return estimates.flow_of(json.dumps({"steps": steps, "calls": [[name, 0, False]] * count}))


def flows() -> Iterator[tuple[str, estimates.Flow]]:
    for work in WORKS:
        for count in (8, 64, 256):
            for dependent in (True, False):
                yield work, chain(work, count, dependent=dependent)
    for name in CALLS:
        for count in (1, 2, 4):
            yield name, called(name, count)


@pytest.fixture(scope="module")
def truth() -> targets.Target:
    """A core other than the one that the search begins at."""
    luck = random.Random(1)  # noqa: S311 - no secret
    parameters = {
        name: value if PARAMETERS[name].fixed else clipped(name, value * luck.uniform(0.7, 1.5))
        for name, value in first().items()
    }
    calls = {name: {"cycles": cycles, "zero_cycles": cycles} for name, cycles in CALLS.items()}
    text = target_text(timing_text(MACHINE, parameters, calls, (0.9, 1.1)))  # type: ignore[arg-type]
    target = targets.described_target("truth", text)
    assert target.problems() == []
    assert target.machine == ('a "machine" ', "2026-01-01")
    return target


def test_a_core_is_found_that_explains_what_was_seen(truth: targets.Target) -> None:
    names, seen = zip(*flows(), strict=True)
    times = estimates.nanoseconds(seen, truth)
    observed = [Observation(*one) for one in zip(names, seen, times, strict=True)]
    looks = iter(range(400))
    fitted = fit(observed, MACHINE, lambda _: next(looks, None) is not None)
    assert sum(abs(error) for error in fitted.errors) / len(fitted.errors) < 0.02
    found = targets.described_target("found", fitted.text)
    assert found.problems() == []
    luck = random.Random(2)  # noqa: S311 - no secret
    others = [mixed(luck) for _ in range(100)]
    pairs = zip(
        estimates.nanoseconds(others, found), estimates.nanoseconds(others, truth), strict=True
    )
    errors = [abs(mine / real - 1) for mine, real in pairs]
    assert sum(errors) / len(errors) < 0.05


def test_the_same_observations_come_to_the_same_core(truth: targets.Target) -> None:
    names, seen = zip(*flows(), strict=True)
    times = estimates.nanoseconds(seen, truth)
    observed = [Observation(*one) for one in zip(names, seen, times, strict=True)]

    def once() -> str:
        looks = iter(range(30))
        return fit(observed, MACHINE, lambda _: next(looks, None) is not None).text

    assert once() == once()


def test_a_path_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="instruction 0 of the path is none"):
        estimates.flow_of('{"steps": [["alu", [99], 0, false, null, null]], "calls": []}')
    with pytest.raises(ValueError, match="expected"):
        estimates.flow_of("nothing")
