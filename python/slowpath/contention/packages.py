"""Checks that the packages of the extra `contention` are installed, without importing them."""

import importlib.util
from collections.abc import Mapping

from slowpath.core import codes
from slowpath.core.errors import UnavailableError
from slowpath.core.extras import not_installed

_NEEDED = {"numpy": "numpy", "scipy": "scipy", "sklearn": "scikit-learn"}


def need() -> None:
    """Check that NumPy and other required packages are installed.

    Raises:
        UnavailableError: if a package is missing; the error names it and the command that installs
            it.
    """
    _find(_NEEDED)


def need_parquet() -> None:
    """Check that the Parquet library is installed (extra `parquet`).

    Raises:
        UnavailableError: if it is not installed.
    """
    _find({"pyarrow": "pyarrow"}, "parquet")


def _find(packages: Mapping[str, str], extra: str = "contention") -> None:
    missing = [
        name for module, name in packages.items() if importlib.util.find_spec(module) is None
    ]
    if missing:
        raise UnavailableError(codes.MISSING_PACKAGE, not_installed(missing, extra))
