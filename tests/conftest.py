"""Settings and fixtures that all tests share."""

import gc
import os
import signal
import subprocess
import sys
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from compiler import answer_versions, needs_clang
from support import CAMPAIGN, ROOT
from warm_starts import ready_to_fork

# A shell may make background jobs ignore these signals, and programs inherit that. Tests of signals
# would then wait forever.
for number in (signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM):
    signal.signal(number, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)

# Computations in tests are too small for several threads. By default, each test process would start
# one per CPU, and all of them would wait for each other.
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")

# The duration of an example depends on other load of the machine, so do not limit it.
settings.register_profile(
    "slowpath",
    max_examples=20 * CAMPAIGN,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("slowpath")

# Tests of one command may import helpers from the folder of another. These folders come last,
# because some names, such as `trace`, are also modules of the standard library.
sys.path += [str(folder) for folder in sorted((ROOT / "tests").iterdir()) if folder.is_dir()]
sys.path += [str(ROOT / "bench"), str(ROOT / "release")]


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect tests without garbage collection, which finds hardly any garbage at that time."""
    gc.disable()
    try:
        return (yield)
    finally:
        ready_to_fork()
        gc.enable()


@pytest.fixture(autouse=True, scope="session")
def _no_calibration(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Set `XDG_DATA_HOME` to an empty folder, so that no test uses a calibration of this machine.

    `SLOWPATH_CPU` selects the same shipped target on every machine.
    """
    os.environ["XDG_DATA_HOME"] = str(tmp_path_factory.mktemp("data"))
    os.environ["SLOWPATH_CPU"] = "AuthenticAMD-25-17"  # estimates do not depend on the machine


@pytest.fixture(autouse=True, scope="session")
def _no_cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Turn the cache of results off, which would hide tested behaviour, such as progress."""
    os.environ["SLOWPATH_NO_CACHE"] = "1"
    os.environ["SLOWPATH_CACHE_DIR"] = str(tmp_path_factory.mktemp("cache"))


@pytest.fixture(autouse=True, scope="session")
def _clang(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Replace clang by scripts that know its version, for which commands ask thousands of times."""
    answer_versions(tmp_path_factory.mktemp("clang"))


@pytest.fixture(autouse=True, scope="session")
def _remembered(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Let all processes of a test session share the outputs that `support.remembered` keeps."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "remembered"
    folder.mkdir(exist_ok=True)
    os.environ["SLOWPATH_REMEMBERED"] = str(folder)


@pytest.fixture
def with_clang() -> None:
    """Skip tests if no suitable clang is installed."""
    needs_clang()


@pytest.fixture(scope="module")
def scheduler() -> Iterator[str]:
    """Start a Dask cluster of two workers with one thread each; yield the scheduler's address.

    Workers that die are replaced.
    """
    path = os.pathsep.join(one for one in sys.path if one)  # workers import modules of tests
    with subprocess.Popen(
        [sys.executable, str(ROOT / "tests/dask_cluster.py")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=os.environ | {"PYTHONPATH": path},
    ) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.communicate()


@pytest.fixture(scope="session")
def wheel() -> Path:
    """Return the wheel that `make test` has built; skip the test without one."""
    folder = os.environ.get("SLOWPATH_WHEELS")
    if folder is None:
        pytest.skip("SLOWPATH_WHEELS names no folder; `make test` builds the wheel")
    (found,) = Path(folder).glob("*.whl")
    return found
