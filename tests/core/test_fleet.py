"""Tests process pools on this machine and on a Dask cluster, including workers that die."""

import json
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from fleet_work import (
    always_dies,
    dies_of_three,
    dies_once,
    place_of_work,
    squared,
    waits_for_a_file,
    waits_to_be_asked,
)
from slowpath.core.errors import OptionError, UnavailableError
from slowpath.core.jobs import pool as pools
from slowpath.core.jobs.cluster_pool import ClusterPool, connected
from slowpath.core.jobs.local_pool import LocalPool, open_pool
from slowpath.core.jobs.pool import Pool, PoolObserver, Unfinished
from support import ROOT, slowpath, wait_until

FLEET = ROOT / "examples/fleet/fleet.yaml"
ITEMS = list(range(5))
NOBODY = "tcp://127.0.0.1:9"
_STARTING = 300
"""Time limit in seconds for workers to start on a busy machine."""


class Gone(Exception):  # noqa: N818 - nothing is wrong
    """Raised by a test to stop waiting for the results of a pool."""


def gone_once_two_work(folder: Path) -> PoolObserver:
    """Return an observer that raises `Gone` once two items of `waits_to_be_asked` are running."""

    def look(_done: int) -> None:
        if len(list(folder.glob("begun *"))) == 2:
            raise Gone

    return PoolObserver(look=look)


@pytest.fixture(params=["local", "cluster"])
def pool(request: pytest.FixtureRequest) -> Iterator[Pool]:
    if request.param == "local":
        yield LocalPool(2)
    else:
        with connected(request.getfixturevalue("scheduler")) as found:
            # Workers that died in the last test may still be starting.
            found._client.wait_for_workers(2, timeout=_STARTING)
            yield found


def test_results_are_in_the_order_of_the_items(pool: Pool) -> None:
    assert pool.map(squared, 3, ITEMS) == [3 * at * at for at in ITEMS]
    assert pool.map(squared, 3, []) == []


def test_other_processes_work(pool: Pool) -> None:
    assert os.getpid() not in pool.map(place_of_work, None, ITEMS)


def test_an_abandoned_pool_leaves_no_threads(tmp_path: Path) -> None:
    # A thread that is still ending an executor when the interpreter exits would print an error.
    before = set(threading.enumerate())
    with closing(LocalPool(2).each(waits_for_a_file, str(tmp_path / "never"), ITEMS)) as found:
        assert next(found) == 0
    assert set(threading.enumerate()) == before


def test_the_work_of_a_killed_worker_is_done_by_another(pool: Pool, tmp_path: Path) -> None:
    mark = tmp_path / "killed"
    found = pool.map(dies_once, str(mark), ITEMS)
    assert mark.exists()
    assert [item for item, _ in found] == ITEMS


def test_workers_that_all_die_are_an_error(pool: Pool) -> None:
    with pytest.raises(UnavailableError, match="die repeatedly"):
        pool.map(always_dies, None, [1, 2])


def test_a_pool_gives_up_after_many_deaths(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pools, "_HOPELESS", 4)
    with pytest.raises(UnavailableError, match="all worker processes have died"):
        LocalPool(2).map(always_dies, None, list(range(100)))


def test_only_the_item_that_kills_workers_has_no_result(pool: Pool) -> None:
    found = list(pool.each(dies_of_three, 7, [1, 2, 3, 4, 5, 6]))
    assert found == [7, 14, Unfinished(died=True), 28, 35, 42]


def test_results_are_there_as_soon_as_all_in_front_are(pool: Pool, tmp_path: Path) -> None:
    """Check that a pool yields its first result while all other items are still unfinished.

    The others wait for a file, which the test writes after the first result.
    """
    mark = tmp_path / "had"
    with closing(pool.each(waits_for_a_file, str(mark), ITEMS)) as found:
        first = next(found)
        mark.touch()
        assert [first, *found] == ITEMS


def test_a_stop_request_ends_work_with_partial_results(pool: Pool, tmp_path: Path) -> None:
    counts = list[int]()
    begun = PoolObserver(lambda: len(list(tmp_path.glob("begun *"))) >= 2, counts.append)
    found = list(pool.each(waits_to_be_asked, str(tmp_path), list(range(50)), begun))
    ended = len(list(tmp_path.glob("ended *")))
    assert found == ["ended"] * ended + [Unfinished(died=False)] * (50 - ended)
    assert 2 <= ended < 50
    assert counts


def test_abandoned_work_ends(pool: Pool, tmp_path: Path) -> None:
    with pytest.raises(Gone):
        list(pool.each(waits_to_be_asked, str(tmp_path), [0, 1], gone_once_two_work(tmp_path)))
    if isinstance(pool, LocalPool):
        # In a local pool, the work ends because its processes are killed.
        for begun in tmp_path.glob("begun *"):
            process = Path("/proc", begun.read_text())
            wait_until(lambda process=process: not process.exists())  # type: ignore[misc]
    else:
        wait_until(lambda: len(list(tmp_path.glob("ended *"))) == 2)


def test_work_ends_with_its_caller(
    scheduler: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Check that workers stop if their caller has been killed, and cannot ask them to stop."""
    with connected(scheduler) as pool:
        monkeypatch.setattr("slowpath.core.jobs.cluster_pool._Workers.end", lambda _self: None)
        with pytest.raises(Gone):
            list(pool.each(waits_to_be_asked, str(tmp_path), [0, 1], gone_once_two_work(tmp_path)))
    wait_until(lambda: len(list(tmp_path.glob("ended *"))) == 2)


def test_one_process_is_this_one() -> None:
    assert LocalPool(1).map(place_of_work, None, ITEMS) == [os.getpid()] * 5
    with open_pool(None, 1) as found:
        assert isinstance(found, LocalPool)


def test_an_unreachable_scheduler_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def client(*_: object, **__: object) -> None:
        pytest.fail("Dask tries for a long time")

    monkeypatch.setattr("distributed.Client", client)
    monkeypatch.setattr("slowpath.core.jobs.cluster_pool._STARTING", 0.0)
    with pytest.raises(OptionError, match="--scheduler: ") as wrong, open_pool(NOBODY):
        pass
    assert wrong.value.reason == f"{NOBODY!r}: the scheduler does not answer: Connection refused"


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("tcp://127.0.0.1", "missing port number"),
        ("tcp://127.0.0.1:x", "invalid literal"),
        ("tcp://::1:8786", "invalid address"),
    ],
)
def test_an_invalid_address_of_a_scheduler_is_named(address: str, reason: str) -> None:
    with pytest.raises(OptionError) as wrong, open_pool(address):
        pass
    assert repr(address) in wrong.value.reason
    assert reason in wrong.value.reason


def test_a_scheduler_that_is_starting_is_awaited(
    scheduler: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []
    real = socket.create_connection

    def refused_once(*of: Any) -> socket.socket:
        calls.append(of)
        if len(calls) == 1:
            raise ConnectionRefusedError(111, "Connection refused")
        return real(*of)

    monkeypatch.setattr("slowpath.core.jobs.cluster_pool.socket.create_connection", refused_once)
    with open_pool(scheduler) as found:
        assert found.map(squared, 3, [2]) == [12]


def test_addresses_open_clusters(scheduler: str) -> None:
    with open_pool(scheduler) as found:
        assert isinstance(found, ClusterPool)


def test_placements_do_not_depend_on_the_pool(scheduler: str) -> None:
    words: list[str | Path] = ["contention", "place", FLEET, "--sequences", "3", "--length", "8"]
    words += ["--policy", "greedy", "--policy", "contention-aware", "--format", "json"]
    runs = [
        slowpath(*words, *where)
        for where in (("--jobs", "1"), ("--jobs", "2"), ("--scheduler", scheduler))
    ]
    assert [run.returncode for run in runs] == [0, 0, 0], runs[-1].stderr
    one, two, three = (run.stdout for run in runs)
    assert len(json.loads(one)["sequences"]) == 3
    assert one == two == three
