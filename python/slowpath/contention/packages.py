"""The packages that predictions take: the extra `contention`, which not everybody has installed."""

import importlib.util

from slowpath.cli.errors import UnavailableError

_NEEDED = {"numpy": "numpy", "scipy": "scipy", "sklearn": "scikit-learn"}


def need() -> None:
    """Finds out whether the packages are installed.

    Raises:
        UnavailableError: which are not, and what to install.
    """
    missing = [name for module, name in _NEEDED.items() if importlib.util.find_spec(module) is None]
    if missing:
        are = "are" if len(missing) > 1 else "is"
        reason = f"{' and '.join(missing)} {are} not installed; pip install slowpath[contention]"
        raise UnavailableError(reason)
