"""The packages that predictions take: the extra `contention`, which not everybody has installed."""

import importlib.util
import os
from collections.abc import Mapping

from slowpath.cli.errors import UnavailableError

_NEEDED = {"numpy": "numpy", "scipy": "scipy", "sklearn": "scikit-learn"}
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_SOLVER = {"ortools": "ortools"}
_PARQUET = {"pyarrow": "pyarrow"}


def need() -> None:
    """Finds out whether the packages are installed, and keeps them to one thread.

    Matrices are of some tens of rows: further threads wait for work, and take CPU time for it. The
    libraries read these variables when they are imported; what the user has set, stays.

    Raises:
        UnavailableError: which are not, and what to install.
    """
    _find(_NEEDED)
    for name in _THREADS:
        os.environ.setdefault(name, "1")


def need_solver() -> None:
    """The same of the solver for placements.

    Raises:
        UnavailableError: when it is not installed.
    """
    _find(_SOLVER)


def need_parquet() -> None:
    """The same of what reads and writes Parquet (the extra `parquet`).

    Raises:
        UnavailableError: when it is not installed.
    """
    _find(_PARQUET, "parquet")


def _find(packages: Mapping[str, str], extra: str = "contention") -> None:
    missing = [
        name for module, name in packages.items() if importlib.util.find_spec(module) is None
    ]
    if missing:
        are = "are" if len(missing) > 1 else "is"
        reason = f"{' and '.join(missing)} {are} not installed; pip install slowpath[{extra}]"
        raise UnavailableError(reason)
