"""Tests the width of prediction intervals if competitors use the same accelerator.

The width is adjusted to the errors on measured mixes, which are a part of the profile.
"""

import json
from pathlib import Path

import numpy as np
import pytest

from contention_mixes import mixes, only_memory, write_folder, write_mixes
from contention_wrong import FAST, run_command
from slowpath.contention import saved
from slowpath.contention.columns import Mixes
from slowpath.contention.methods import widening
from slowpath.contention.model import FunctionModel, Pattern
from slowpath.contention.prediction import predict
from slowpath.contention.reading import read_mixes
from slowpath.core.errors import InputError

pytestmark = pytest.mark.filterwarnings("ignore")  # of scikit-learn, about bounds of kernels

COMPLETION: Pattern = "run-to-completion"
NOISY, CONFIDENCE = 0.15, 0.9


def learnt(folder: Path, rows: list[list[object]]) -> tuple[FunctionModel, Mixes]:
    """Train a model on a profile with the measured mixes `rows`; return the model and the mixes."""
    write_folder(folder, rows)
    assert run_command(f"train {folder} {FAST} --pattern {COMPLETION} -o {folder}/nf.json")[0] == 0
    model = saved.read(f"{folder}/nf.json")
    return model, read_mixes(f"{folder}/mixes.csv", model.memory)


@pytest.fixture(scope="module")
def noisy(tmp_path_factory: pytest.TempPathFactory) -> tuple[FunctionModel, Mixes]:
    """Train a model of a function whose throughput is noisy next to accelerator clients.

    Return the model and the measured mixes.
    """
    folder = tmp_path_factory.mktemp("noisy") / "p"
    return learnt(folder, mixes(COMPLETION, count=25, noise=NOISY))


def test_what_scatters_beside_clients_has_wide_intervals(
    tmp_path: Path, noisy: tuple[FunctionModel, Mixes]
) -> None:
    steady, _ = learnt(tmp_path / "p", mixes(COMPLETION, count=25, noise=0.005))
    assert noisy[0].widening > 1.5 * steady.widening


def test_intervals_have_as_many_new_mixes_as_they_say(
    tmp_path: Path, noisy: tuple[FunctionModel, Mixes]
) -> None:
    model, _ = noisy
    fresh = mixes(COMPLETION, count=400, noise=NOISY)
    new = read_mixes(str(write_mixes(tmp_path / "new.csv", fresh)), model.memory)
    found = predict(model, new.query, CONFIDENCE)
    inside = (found.low <= new.throughput) & (new.throughput <= found.high)
    assert 0.8 <= inside.mean() <= 0.99
    narrow = predict(model._replace(widening=1.0), new.query, CONFIDENCE)
    assert ((narrow.low <= new.throughput) & (new.throughput <= narrow.high)).mean() < inside.mean()


def test_only_rows_with_clients_are_wider(noisy: tuple[FunctionModel, Mixes]) -> None:
    model, measured = noisy
    narrow = model._replace(widening=1.0)
    query = measured.query
    one, other = predict(model, query, CONFIDENCE), predict(narrow, query, CONFIDENCE)
    assert (one.low < other.low).all()
    assert (one.high > other.high).all()
    assert one.throughput == pytest.approx(other.throughput)
    alone = query.without_clients()
    assert predict(model, alone, CONFIDENCE).low == pytest.approx(
        predict(narrow, alone, CONFIDENCE).low
    )


@pytest.mark.parametrize("count", [0, 4])
def test_few_mixes_with_clients_tell_nothing(tmp_path: Path, count: int) -> None:
    rows = mixes(COMPLETION, count=12, noise=NOISY)
    model, _ = learnt(tmp_path / "p", [*rows[:count], *map(only_memory, rows[count:])])
    assert model.widening == 1.0


def test_competitors_that_no_row_of_the_profile_has(noisy: tuple[FunctionModel, Mixes]) -> None:
    model, measured = noisy
    beside = [one[0] for one in measured.columns.values()]
    assert not any(all(beside == row) for row in np.column_stack([*model.memory.columns.values()]))
    assert widening(model, measured) == pytest.approx(model.widening)


def test_models_that_somebody_changed(tmp_path: Path, noisy: tuple[FunctionModel, Mixes]) -> None:
    document = json.loads(saved.written(noisy[0]))
    file = tmp_path / "nf.json"
    del document["widening"]
    file.write_text(json.dumps(document))
    assert saved.read(str(file)).widening == 1.0  # as in files of older versions
    for wrong, reason in (
        ("0", "which is not a positive number"),
        ("-2.0", "which is not a positive number"),
        ("1e999", "is not a finite number"),
    ):
        file.write_text(json.dumps(document).replace("{", f'{{"widening": {wrong}, ', 1))
        with pytest.raises(InputError) as error:
            saved.read(str(file))
        assert "widening" in error.value.reason
        assert reason in error.value.reason
