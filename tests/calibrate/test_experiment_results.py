"""Tests the folder of a calibration run: data are read as written, equal data give equal models."""

import json
import random
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowpath.calibrate.experiments.documents import Measurement, Sample
from slowpath.calibrate.experiments.evaluation import evaluate
from slowpath.calibrate.experiments.folder import (
    ExperimentFolder,
    RunFolder,
    joint_deviations,
    points_csv,
    read_samples,
    samples_csv,
    standard_error,
    summarise,
)
from slowpath.calibrate.experiments.specification import shipped_experiment, swept_values
from slowpath.core.errors import InputError

FLOATS = st.floats(allow_nan=False, allow_infinity=False)
SAMPLES = st.lists(st.builds(Sample, st.integers(0), st.integers(1), FLOATS, FLOATS))


@given(SAMPLES)
def test_samples_are_read_as_they_were(samples: list[Sample]) -> None:
    assert read_samples(samples_csv(samples)) == samples


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1: the columns must be value,block,number"),
        (
            "value,block,number,component,baseline\n1,1,1,2.0\n",
            "line 2: the line is not a sample with the columns of line 1",
        ),
        (
            "value,block,number,component,baseline\n1,1,1,2.0,1.0\n1,1,1,2.0,x\n",
            "line 3: the line is not a sample with the columns of line 1",
        ),
    ],
)
def test_other_files_are_no_samples(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_samples(text)


def test_points_are_differences_with_intervals() -> None:
    samples = [Sample(7, 1, 12.0, 10.0), Sample(7, 2, 13.0, 10.0), Sample(3, 1, 5.0, 4.0)]
    first, second = summarise(samples, exact=False)
    assert (first["value"], first["cost"], first["low"], first["high"]) == (3, 1.0, None, None)
    assert (second["value"], second["cost"], second["program"]) == (7, 2.5, 12.5)
    assert second["low"] is not None
    assert second["low"] < 2.5
    (exact,) = summarise(samples[:1], exact=True)
    assert (exact["low"], exact["high"]) == (2.0, 2.0)
    text = points_csv([first, exact], "entries")
    assert text.splitlines() == [
        "entries,cost,low,high,program,baseline,observations",
        "3,1.0,,,5.0,4.0,1",
        "7,2.0,2.0,2.0,12.0,10.0,1",
    ]


def test_intervals_say_how_sure_points_are() -> None:
    component = [10.0, 11.0, 12.5, 9.0, 10.5]
    samples = [Sample(3, number, one, 4.0) for number, one in enumerate(component, 1)]
    (point,) = summarise(samples, exact=False)
    assert standard_error(point) == pytest.approx(stdev(component) / 5**0.5)
    assert [standard_error(summarise(samples[:1], exact=exact)[0]) for exact in (False, True)] == [
        None,
        0.0,
    ]


def test_what_moves_all_points_at_once_is_their_covariance() -> None:
    """Check the covariance of mean costs if disturbances hit all measured values at once.

    The machine is slower in six of ten observations.
    """
    slow = [0.0] * 4 + [1.0] * 6
    samples = [
        Sample(value, number, value * (10.0 + late), 0.0)
        for value in (1, 3)
        for number, late in enumerate(slow, 1)
    ]
    one, other = joint_deviations(samples)
    assert len(one) == 5
    assert other == pytest.approx([3 * share for share in one])
    # The five means of two observations are 0, 0, 1, 1 and 1.
    assert sum(share**2 for share in one) == pytest.approx(0.3 / 5)


def test_blocks_of_time_are_the_blocks() -> None:
    """Check that each block of measurements has the same weight, whatever its number of samples.

    The second block is slower than the others, and has more observations.
    """
    counts = {1: 2, 2: 6, 3: 2}
    samples = [
        Sample(1, number, 10.0 + (block == 2), 0.0, block)
        for block, count in counts.items()
        for number in range(1, count + 1)
    ]
    (row,) = joint_deviations(samples)
    more = (3 / 2) ** 0.5
    assert row == pytest.approx([-0.12 * more, 0.24 * more, -0.12 * more])


def test_an_outlier_does_not_make_the_rest_less_sure() -> None:
    times = [10.0, 10.1, 9.9, 10.05, 9.95]
    usual = [Sample(1, number, time, 0.0) for number, time in enumerate(times)]
    point, alone = (
        summarise(some, exact=False)[0] for some in ([*usual, Sample(1, 5, 90.0, 0.0)], usual)
    )
    assert point["observations"] == len(times)
    assert standard_error(point) == pytest.approx(standard_error(alone))
    assert standard_error(point) == pytest.approx(stdev(times) / 5**0.5)


def test_observations_that_know_nothing_of_each_other_have_the_usual_error() -> None:
    draw = random.Random(3)  # noqa: S311 - no secret
    squares = [
        sum(share**2 for share in joint_deviations(samples)[0])
        for samples in (
            [Sample(1, number, draw.gauss(50, 2), 0.0) for number in range(1, 21)]
            for _ in range(300)
        )
    ]
    assert fmean(squares) == pytest.approx(2**2 / 20, rel=0.15)


def test_outliers_move_nothing() -> None:
    samples = [Sample(1, number, 10.0 + number % 2, 0.0) for number in range(1, 11)]
    samples.append(Sample(1, 11, 500.0, 0.0))
    (row,) = joint_deviations(samples)
    assert max(map(abs, row)) < 0.2


def test_few_observations_are_blocks_by_themselves() -> None:
    samples = [Sample(1, 4, 10.0, 0.0), Sample(1, 9, 12.0, 0.0)]
    assert joint_deviations(samples) == [pytest.approx([-(0.5**0.5), 0.5**0.5])]
    assert joint_deviations(samples[:1]) == [[0.0]]


def measured(folder: Path) -> ExperimentFolder:
    """Write the folder of a made-up parser experiment: 3 ns, and 2 ns more per header."""
    experiment = shipped_experiment("parser-headers")
    values = swept_values(experiment)
    run = RunFolder(folder)
    settings: Any = {"testbed": "linux-xdp", "experiments": [experiment["name"]]}
    run.begin(settings, [experiment])
    measurement: Measurement = {
        "slowpath": "0",
        "testbed": "linux-xdp",
        "target": "linux-xdp",
        "metric": "ns",
        "state": "complete",
        "exact": False,
        "date": "2026-01-02T03:04:05Z",
        "seconds": 1.0,
        "blocks": 1,
        "points": values,
        "errors": [],
        "notes": [],
        "samples_sha256": None,
    }
    noise = (0.99, 1.01, 1.0, 0.98, 1.02)
    samples = [
        Sample(value, number, 20 + (3 + 2 * value) * share, 20.0)
        for value in values
        for number, share in enumerate(noise, 1)
    ]
    into = run.of(experiment["name"])
    into.keep(measurement, samples, [], {})
    return into


def test_what_was_measured_is_evaluated_to_the_same_bytes(tmp_path: Path) -> None:
    folder = measured(tmp_path)
    found = evaluate(folder)
    model = found["result"]["model"]
    assert model is not None
    assert [segment["template"] for segment in model["segments"]] == ["polynomial-1"]
    names = ("model.json", "points.csv")
    first = [(folder.path / name).read_bytes() for name in names]
    for name in names:
        (folder.path / name).unlink()
    evaluate(folder)
    assert [(folder.path / name).read_bytes() for name in names] == first
    assert json.loads(first[0]) == json.loads(json.dumps(found["result"]))


def test_samples_that_were_changed_are_refused(tmp_path: Path) -> None:
    folder = measured(tmp_path)
    file = folder.path / "samples.csv"
    file.write_text(file.read_text().replace("20.0", "21.0", 1))
    with pytest.raises(InputError, match=r"its hash differs from that in measurement\.json"):
        evaluate(folder)


@pytest.mark.parametrize("name", ["specification.yaml", "measurement.json", "samples.csv"])
def test_what_is_missing_is_named(tmp_path: Path, name: str) -> None:
    folder = measured(tmp_path)
    (folder.path / name).unlink()
    with pytest.raises(InputError, match=f"{name}.*no such file"):
        evaluate(folder)


def test_a_new_run_leaves_nothing_of_the_old_one(tmp_path: Path) -> None:
    folder = measured(tmp_path)
    (folder.programs / "old.c").touch()
    evaluate(folder)
    folder.begin(shipped_experiment("parser-headers"))
    assert not folder.measured
    assert {file.name for file in folder.path.iterdir()} == {"programs", "specification.yaml"}
    assert not list(folder.programs.iterdir())


def test_too_few_points_have_no_model_but_a_reason(tmp_path: Path) -> None:
    folder = measured(tmp_path)
    samples = [one for one in folder.samples() if one.value < 5]
    folder.keep(folder.measurement(), samples, [], {})
    result = evaluate(folder)["result"]
    assert result["model"] is None
    assert result["reason"] == (
        "the column headers has 2 different values; a model needs at least 3"
    )
