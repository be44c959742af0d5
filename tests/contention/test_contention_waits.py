"""Tests that a model learns how long a run-to-completion function waits for an accelerator."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from contention_mixes import (
    HEADER,
    MEMORY_MTBR,
    MTBR,
    mixes,
    only_client,
    own_time,
    write_folder,
)
from contention_models import kind, model
from contention_tables import MEMORY, columns
from contention_wrong import FAST, error_of, run_command
from slowpath.contention import saved
from slowpath.contention.accelerators import co_runs_of, waits_by
from slowpath.contention.columns import Clients, CoRuns, Origin, Query
from slowpath.contention.mixes import predict_mixes
from slowpath.contention.model import FunctionModel, Pattern, Profiles, learn
from slowpath.contention.prediction import predict, query_with_competitors
from slowpath.contention.reading import read_memory, read_mixes
from slowpath.core.arrays import Floats
from slowpath.core.errors import InputError
from support import GOLDEN, check_golden

pytestmark = pytest.mark.filterwarnings("ignore")  # of scikit-learn, about bounds of kernels

COMPLETION: Pattern = "run-to-completion"
TIMES = np.linspace(2e-4, 2e-3, 10)


def runs(added: Floats, times: Floats = TIMES) -> CoRuns:
    """Return made-up measurements with one accelerator client; waiting adds the time `added`.

    Request times of the client are `times`.
    """
    alone = np.random.default_rng(1).uniform(300.0, 900.0, len(times))
    names = tuple(f"mix-{at}" for at in range(len(times)))
    queues = np.ones(len(times))
    return CoRuns(Origin(("mixes.csv",)), names, queues, times, alone, 1 / (1 / alone + added))


def waiting(shares: Floats | float) -> CoRuns:
    return runs(TIMES * shares)


def test_waits_are_what_is_added_whatever_a_packet_takes_alone() -> None:
    of = runs(np.array([1e-4, 6e-4, 9e-4]), np.array([5e-4, 1e-3, 2e-3]))
    found = waits_by(of)
    assert found is not None
    times = np.array([1e-4, 5e-4, 7.5e-4, 2e-3, 9e-3])
    assert found.at(times) == pytest.approx(np.array([1e-4, 1e-4, 3.5e-4, 9e-4, 9e-4]))


def test_neighbours_are_taken_together() -> None:
    draw = np.random.default_rng(2)
    times = np.linspace(2e-4, 2e-3, 64)
    noisy = runs(0.4 * times + 3e-5 * draw.standard_normal(64), times)
    found = waits_by(noisy)
    assert found is not None
    assert len(found.round_time) == 8
    assert found.at(times[8:-8]) == pytest.approx(0.4 * times[8:-8], abs=4e-5)


@pytest.mark.parametrize(
    "of",
    [
        waiting(1.0),  # whole rounds predict better
        waiting(0.0),  # no waits
        runs(np.array([3e-4, 3.1e-4]), np.array([5e-4, 5e-4])),  # one request time only
        runs(np.array([3e-4]), np.array([5e-4])),
        runs(np.array([9e-4, 3e-4]), np.array([5e-4, 9e-4])),  # longer requests wait less
    ],
)
def test_co_runs_that_show_no_waits(of: CoRuns) -> None:
    assert waits_by(of) is None


def learnt(of: CoRuns | None, pattern: Pattern = COMPLETION, queues: int = 1) -> FunctionModel:
    base = model(1, 2e-4)
    profiles = Profiles(base.memory, base.accelerator, base.contention, of)
    return learn(profiles, base.choice, pattern, queues)


SHARE = 0.4
WAITING, ROUNDS = learnt(waiting(SHARE)), learnt(None)
OWN = 2e-4 * (1 + 0.003 * 400)
"""Request time of the function at the match ratio of the rows for memory contention."""


def query(*of: tuple[float, float], with_clients: bool = True) -> Query:
    """Return a query with one accelerator client per row, from pairs of request time and rate."""
    times, rates = (np.array(one)[:, None] for one in zip(*of, strict=True))
    contention = {name: values[: len(of)] for name, values in columns(8, seed=9).items()}
    clients = Clients(np.ones_like(times), times, rates) if with_clients else None
    names = tuple(str(at) for at in range(len(of)))
    queued = np.where(rates > 0, times, 0.0)[:, 0]
    return Query("q", names, contention, np.full(len(of), 400.0), queued, clients=clients)


@pytest.mark.parametrize("with_clients", [True, False])
def test_predictions_have_the_waits_of_the_profile(with_clients: bool) -> None:
    asked = query((5e-4, np.inf), (1.5e-3, np.inf), (1e-3, 0.0), with_clients=with_clients)
    found = predict(WAITING, asked, 0.9)
    memory = np.exp(WAITING.stage.log_throughput(asked.columns))
    added = SHARE * np.array([5e-4, 1.5e-3, 0.0])
    assert found.throughput == pytest.approx(1 / (1 / memory + added))
    assert (found.low <= found.throughput).all()
    assert (found.throughput <= found.high).all()
    rounds = predict(ROUNDS, asked, 0.9)
    assert rounds.throughput == pytest.approx(1 / (1 / memory + np.array([5e-4, 1.5e-3, 0])))


def test_clients_that_pause_are_waited_for_less() -> None:
    time = 1e-3
    asked = query(*((time, rate) for rate in (0.0, 100.0, 300.0, 1e9, np.inf)))
    one = {name: np.repeat(values[:1], 5) for name, values in asked.columns.items()}
    found = predict(WAITING, asked._replace(columns=one), 0.9).throughput
    assert (np.diff(found[:4]) < 0).all()
    assert found[3] == pytest.approx(found[4])


def test_pipelines_and_several_queues_do_not_wait() -> None:
    asked = query((5e-4, np.inf), (1.5e-3, np.inf))
    of: tuple[tuple[Pattern, int], ...] = (("pipeline", 1), (COMPLETION, 2))
    for pattern, queues in of:
        both = learnt(waiting(SHARE), pattern, queues), learnt(None, pattern, queues)
        left, right = (predict(one, asked, 0.9).throughput for one in both)
        np.testing.assert_array_equal(left, right)


def test_what_is_asked_of_many_mixes_is_what_is_asked_one_by_one() -> None:
    traffic = (10_000.0, 1500.0, 400.0)
    kinds = [kind(WAITING, "waits.json"), kind(model(3, 3e-4), "other.json"), kind(model(4), "c")]
    mixed = predict_mixes(kinds, [(0, 1), (0, 1, 2), (0, 0, 1), (0,)], 0.9)
    of_first = [float(mixed.throughput[at]) for at in np.flatnonzero(mixed.kind == 0)]
    others = [[kinds[1]], kinds[1:], [kinds[0], kinds[1]], []]
    for found, functions in zip(of_first, others, strict=True):
        beside = [(one.file, one.model) for one in functions]
        asked = query_with_competitors(("waits.json", WAITING), beside, traffic)
        assert found == pytest.approx(predict(WAITING, asked, 0.9).throughput[0])
    rounds = [kind(ROUNDS, "rounds.json"), *kinds[1:]]
    slower = predict_mixes(rounds, [(0, 1)], 0.9)
    assert slower.throughput[slower.kind == 0][0] < of_first[0]


# --- from a profile -------------------------------------------------------------------------------


def rows(share: float, kept: Sequence[int] = range(12)) -> list[list[object]]:
    """Return measured mixes with contention at the accelerator only.

    The function waits for `share` of the time of the client's requests in its queues. `kept`
    selects rows.
    """
    of = columns(12, seed=3)
    times = np.linspace(2e-4, 2e-3, 12)
    solo = 1 / (1e-3 + 1e-4 * np.log(of["flow_count"]) + own_time(MTBR) - own_time(MEMORY_MTBR))
    traffic = np.column_stack([of[name] for name in MEMORY[:-1]]).tolist()
    found: list[list[object]] = []
    for at in kept:
        time = float(times[at])
        beside = 1 / (1 / solo[at] + share * time)
        client = (MTBR, 1, time, "", time, solo[at], beside)
        found.append(only_client([f"mix-{at}", *traffic[at], *client]))
    return found


def test_models_of_profiles_wait_as_they_did(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_folder(tmp_path / "p", [*rows(SHARE), *mixes(COMPLETION, share=SHARE)], COMPLETION)
    write_folder(tmp_path / "q", mixes(COMPLETION), COMPLETION)
    code, text, _ = run_command(f"train p {FAST} -o nf.json")
    assert code == 0
    check_golden(GOLDEN / "contention/train-waits.txt", text)
    assert "a full round of the requests" in run_command(f"train q {FAST} -o rounds.json")[1]
    document = json.loads((tmp_path / "nf.json").read_text())
    assert len(document["co_runs"]["rows"]) == 12
    assert json.loads((tmp_path / "rounds.json").read_text())["co_runs"] is None
    of = saved.read("nf.json")
    assert of.waits is not None
    assert of.waits.at(np.array([1e-3])) == pytest.approx([SHARE * 1e-3], rel=1e-6)
    one, two = (saved.read(file) for file in ("nf.json", "rounds.json"))
    asked = query((5e-4, np.inf), (1.5e-3, np.inf))
    assert (predict(one, asked, 0.9).throughput > predict(two, asked, 0.9).throughput).all()


@pytest.mark.parametrize("kept", [[], [3]])
def test_profiles_that_do_not_tell_how_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: list[int]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_folder(tmp_path / "p", [*rows(SHARE, kept), *mixes(COMPLETION)], COMPLETION)
    assert "a full round of the requests" in run_command(f"train p {FAST}")[1]


def test_only_mixes_without_anybody_else_tell_of_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    measured = [*rows(SHARE), *mixes(COMPLETION)]
    measured[2][HEADER.index("client_rate")] = 100.0  # a client that pauses
    write_folder(tmp_path / "p", measured)
    of = co_runs_of(read_mixes("p/mixes.csv", read_memory(["p/memory.csv"])))
    assert of is not None
    assert of.rows == tuple(f"mix-{at}" for at in range(12) if at != 2)


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("alone", ..., "co_runs: the part lacks the column alone"),
        ("alone", [300.0], "co_runs.columns.alone has 1 values for 10 rows"),
        ("client_request_time", [-1.0] * 10, "co_runs, row mix-0, column client_request_time: -1"),
        ("rows", [], "co_runs.columns.client_queues has 10 values for 0 rows"),
    ],
)
def test_models_that_somebody_changed(
    tmp_path: Path, name: str, value: object, reason: str
) -> None:
    document = json.loads(saved.written(WAITING))
    inside = document["co_runs"] if name == "rows" else document["co_runs"]["columns"]
    if value is ...:
        del inside[name]
    else:
        inside[name] = value
    file = tmp_path / "nf.json"
    file.write_text(json.dumps(document))
    with pytest.raises(InputError) as wrong:
        saved.read(str(file))
    assert reason in wrong.value.reason


def test_models_whose_co_runs_somebody_took(tmp_path: Path) -> None:
    document = json.loads(saved.written(WAITING))
    empty = {name: list[float]() for name in document["co_runs"]["columns"]}
    document["co_runs"] |= {"rows": [], "columns": empty}
    file = tmp_path / "nf.json"
    file.write_text(json.dumps(document))
    message = error_of(f"diagnose {file} --traffic flows=1,size=64,mtbr=1", 3)
    assert "is not a model of slowpath contention train: the part co_runs has no rows" in message
