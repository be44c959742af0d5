"""Tests that evaluation with several processes writes the same bytes as with one process."""

from pathlib import Path

import pytest

from slowpath.calibrate.experiments import evaluation
from slowpath.calibrate.experiments.documents import Measurement, Sample
from slowpath.calibrate.experiments.evaluation import evaluate_all
from slowpath.calibrate.experiments.folder import ExperimentFolder
from slowpath.calibrate.experiments.specification import shipped_experiment
from slowpath.core.errors import InputError

FILES = ("model.json", "points.csv", "plot.svg")


def measured(path: Path, factor: float) -> ExperimentFolder:
    """Write the folder of a made-up experiment in which each call takes `factor` nanoseconds."""
    experiment, folder = shipped_experiment("calls"), ExperimentFolder(path)
    folder.begin(experiment)
    samples = [
        Sample(value, load, factor * value * (1 + load / 1000), 10.0, block)
        for value in range(1, 65, 7)
        for block in (1, 2, 3)
        for load in (1, 2, 3)
    ]
    measurement: Measurement = {
        "slowpath": "0",
        "testbed": "linux-xdp",
        "target": "linux-xdp",
        "metric": "ns",
        "state": "complete",
        "exact": False,
        "date": "2026-11-23T12:00:00Z",
        "seconds": 1.0,
        "blocks": 3,
        "points": sorted({one.value for one in samples}),
        "errors": [],
        "notes": [],
        "samples_sha256": None,
    }
    folder.keep(measurement, samples, [None] * 3, {})
    return folder


def test_processes_come_to_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluation, "_FEW", 1)
    folders = [measured(tmp_path / f"{number}", number + 1.5) for number in range(2)]
    several = evaluate_all(folders)
    read = [(folder.path / name).read_bytes() for folder in folders for name in FILES]
    monkeypatch.setattr(evaluation, "_FEW", 2)
    assert evaluate_all(folders) == several
    assert [(folder.path / name).read_bytes() for folder in folders for name in FILES] == read


def test_an_error_passes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluation, "_FEW", 1)
    folders = [measured(tmp_path / f"{number}", 2.0) for number in range(2)]
    (folders[1].path / "samples.csv").write_text("other")
    with pytest.raises(InputError, match="changed since the measurement"):
        evaluate_all(folders)


def test_there_are_models_without_plots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check that experiments can be evaluated without matplotlib; only the plot is missing."""
    monkeypatch.setattr(evaluation, "can_draw", lambda: False)
    folder = measured(tmp_path / "experiment", 1.5)
    (experiment,) = evaluate_all([folder])
    assert experiment["result"]["model"] is not None
    written = {path.name for path in folder.path.iterdir()}
    assert {*FILES} - written == {"plot.svg"}
