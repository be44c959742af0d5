"""Pools of processes: of this machine, and of a Dask cluster; workers that die."""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from distributed import LocalCluster

from fleet_work import always_dies, dies_once, place_of_work, squared
from slowpath.cli.errors import OptionError, UnavailableError
from slowpath.fleet.cluster import ClusterPool, connected
from slowpath.fleet.local import LocalPool
from slowpath.fleet.pool import Pool, open_pool
from support import ROOT, slowpath

FLEET = ROOT / "examples/fleet/fleet.yaml"
ITEMS = list(range(5))
NOBODY = "tcp://127.0.0.1:9"


@pytest.fixture(scope="module")
def scheduler() -> Iterator[str]:
    """A cluster of two processes with one thread each, which are replaced when they die."""
    path = os.pathsep.join(one for one in sys.path if one)
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = path  # of workers: tests are no package
    try:
        with LocalCluster(  # type: ignore[no-untyped-call]
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            host="127.0.0.1",
        ) as cluster:
            yield cluster.scheduler_address
    finally:
        if before is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = before


@pytest.fixture(params=["local", "cluster"])
def pool(request: pytest.FixtureRequest) -> Iterator[Pool]:
    if request.param == "local":
        yield LocalPool(2)
    else:
        with connected(request.getfixturevalue("scheduler")) as found:
            yield found


def test_results_are_in_the_order_of_the_items(pool: Pool) -> None:
    assert pool.map(squared, 3, ITEMS) == [3 * at * at for at in ITEMS]
    assert pool.map(squared, 3, []) == []


def test_other_processes_work(pool: Pool) -> None:
    assert os.getpid() not in pool.map(place_of_work, None, ITEMS)


def test_the_work_of_a_killed_worker_is_done_by_another(pool: Pool, tmp_path: Path) -> None:
    mark = tmp_path / "killed"
    found = pool.map(dies_once, str(mark), ITEMS)
    assert mark.exists()
    assert [item for item, _ in found] == ITEMS


def test_workers_that_all_die_are_an_error_of_the_local_pool() -> None:
    with pytest.raises(UnavailableError, match="die again and again"):
        LocalPool(2).map(always_dies, None, [1, 2])


def test_one_process_is_this_one() -> None:
    assert LocalPool(1).map(place_of_work, None, ITEMS) == [os.getpid()] * 5
    with open_pool(None, 1) as found:
        assert isinstance(found, LocalPool)


def test_a_scheduler_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("slowpath.fleet.cluster._SECONDS", 0.5)
    with pytest.raises(OptionError, match="--scheduler: ") as wrong, open_pool(NOBODY):
        pass
    assert repr(NOBODY) in wrong.value.reason


def test_addresses_open_clusters(scheduler: str) -> None:
    with open_pool(scheduler) as found:
        assert isinstance(found, ClusterPool)


def test_placements_are_the_same_wherever_they_are_computed(scheduler: str) -> None:
    words: list[str | Path] = ["contention", "place", FLEET, "--sequences", "3", "--length", "20"]
    words += ["--policy", "greedy", "--policy", "contention-aware", "--format", "json"]
    runs = [
        slowpath(*words, *where)
        for where in (("--jobs", "1"), ("--jobs", "2"), ("--scheduler", scheduler))
    ]
    assert [run.returncode for run in runs] == [0, 0, 0], runs[-1].stderr
    one, two, three = (run.stdout for run in runs)
    assert len(json.loads(one)["sequences"]) == 3
    assert one == two == three
