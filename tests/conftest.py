"""What all tests start with."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest
from hypothesis import settings

from compiler import needs_clang
from support import CAMPAIGN, ROOT

# A shell that runs the tests in the background may have them ignore these, which programs inherit;
# tests of what signals do would then wait for ever.
for number in (signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM):
    signal.signal(number, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)

# What is computed here is too small for several threads. Each process of the tests would have as
# many as there are CPUs, which wait for each other.
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")

settings.register_profile("slowpath", max_examples=30 * CAMPAIGN)
settings.load_profile("slowpath")

# Behind all else: `trace` and others are also names of the standard library. Tests of one slice
# may use those of another.
sys.path += [str(folder) for folder in sorted((ROOT / "tests").iterdir()) if folder.is_dir()]
sys.path.append(str(ROOT / "bench"))


@pytest.fixture(autouse=True, scope="session")
def _no_calibration(tmp_path_factory: pytest.TempPathFactory) -> None:
    """What the machine of the tests was calibrated to plays no part."""
    os.environ["XDG_DATA_HOME"] = str(tmp_path_factory.mktemp("data"))


@pytest.fixture(autouse=True, scope="session")
def _remembered(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Processes of the same session share what `support.remembered` keeps."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "remembered"
    folder.mkdir(exist_ok=True)
    os.environ["SLOWPATH_REMEMBERED"] = str(folder)


@pytest.fixture
def with_clang() -> None:
    """Leaves tests out where there is no clang."""
    needs_clang()


@pytest.fixture(scope="module")
def scheduler() -> Iterator[str]:
    """The address of a cluster of two processes with one thread each, replaced when they die."""
    path = os.pathsep.join(one for one in sys.path if one)  # of workers: tests are no package
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
