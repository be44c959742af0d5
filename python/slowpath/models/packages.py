"""Checks that the packages of the extra `models` are installed, without importing them."""

import importlib.util
from collections.abc import Sequence

from slowpath.core import codes
from slowpath.core.errors import UnavailableError
from slowpath.core.extras import not_installed


def need(names: Sequence[str]) -> None:
    """Check that the Python packages with these names are installed.

    Raises:
        UnavailableError: with the missing packages and the command that installs them.
    """
    missing = [name for name in names if importlib.util.find_spec(name) is None]
    if missing:
        raise UnavailableError(codes.MISSING_PACKAGE, not_installed(missing, "models"))
