"""Tests that `slowpath contention` can read profiles that the simulated NIC yields."""

from pathlib import Path

import numpy as np
import pytest

from nic_profiles import (
    MemBench,
    MemoryRun,
    Settings,
    Traffic,
    function,
    memory_table,
    own_table,
    request_table,
    run_all,
)
from nic_simulation import simulate
from slowpath.contention.columns import Origin
from slowpath.contention.reading import read_accelerator, read_memory, read_own_contention
from slowpath.core.errors import InputError

QUICK = Settings(warm_up_ms=4.0, measured_ms=4.0)


def _check_origin(origin: Origin, name: str) -> None:
    assert (origin.function, origin.device, origin.source) == (
        name,
        "simulated-bluefield-2",
        "simulated",
    )


def test_memory_tables_are_profiles_and_fall_with_contention(tmp_path: Path) -> None:
    traffic = Traffic(4000, 512, 0.0)
    benches: list[tuple[MemBench, ...]] = [
        (),
        *((MemBench("stream", 8.0, 1e7 * level, 2),) for level in range(1, 10)),
    ]
    file = tmp_path / "memory.csv"
    runs = [MemoryRun(traffic, bench) for bench in benches]
    file.write_text(memory_table("FlowStats", runs, QUICK))
    profile = read_memory([str(file)])
    _check_origin(profile.origin, "FlowStats")
    assert profile.origin.unit == "packets/s"
    assert profile.origin.mtbr == 0
    assert profile.columns["wss_mb"][0] == 0
    # Slow competitors do not touch their whole working set in 4 ms.
    np.testing.assert_allclose(profile.columns["wss_mb"][5:], 16.0, rtol=0.02)
    accesses = profile.columns["l2crd"][1:]
    np.testing.assert_allclose(accesses, 2e7 * np.arange(1, 10), rtol=0.05)
    assert profile.throughput[-1] < 0.95 * profile.throughput[0]


def test_request_times_are_what_the_device_says(tmp_path: Path) -> None:
    file = tmp_path / "regex.csv"
    traffics = [Traffic(1000, 1518, mtbr) for mtbr in (300.0, 600.0, 900.0)]
    settings = Settings(warm_up_ms=2.0, measured_ms=40.0, noise=False)
    file.write_text(request_table("NIDS", traffics, settings))
    profile = read_accelerator(str(file))
    _check_origin(profile.origin, "NIDS")
    # nicsim/devices: 30 ns, 12.46 GB/s, 1453.5 ns for each match, 1464 bytes of payload.
    expected = 30e-9 + 1464 / 12.46e9 + 1453.5e-9 * 1464e-6 * profile.mtbr
    np.testing.assert_allclose(profile.request_time, expected, rtol=0.05)
    assert (np.diff(profile.request_time) > 0).all()


def test_a_function_that_does_not_use_the_accelerator_has_no_request_time() -> None:
    with pytest.raises(InputError, match="ACL: the regex accelerator does not limit it"):
        request_table("ACL", [Traffic(1000, 1500, 600.0)], QUICK)


def test_own_contention_is_that_of_the_function_alone(tmp_path: Path) -> None:
    file = tmp_path / "own.csv"
    traffics = [Traffic(1000, 256, 0.0), Traffic(64_000, 256, 0.0)]
    file.write_text(own_table("NAT", traffics, QUICK))
    own = read_own_contention(str(file))
    _check_origin(own.origin, "NAT")
    assert own.columns["wss_mb"][1] > 2 * own.columns["wss_mb"][0]


def test_runs_do_not_depend_on_threads() -> None:
    mixes = [[function(name, Traffic(100, 256, 100.0))] for name in ("ACL", "NIDS", "NAT")]
    one, two = (run_all(mixes, QUICK._replace(threads=threads)) for threads in (1, 2))
    assert one == two
    assert [mix["clients"][0]["function"] for mix in one] == ["ACL", "NIDS", "NAT"]


def test_what_cannot_be_is_named() -> None:
    with pytest.raises(InputError, match=r"^simulation: client 1: there is no function"):
        simulate([{"clients": [{"function": "Nothing"}], "seed": 1}])
    with pytest.raises(InputError, match="8 cores"):
        simulate([{"clients": [{"function": "ACL"}] * 5, "seed": 1}])
