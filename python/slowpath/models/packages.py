"""The packages that models take: the extra `models`, which not everybody has installed."""

import importlib.util
from collections.abc import Sequence

from slowpath.cli.errors import UnavailableError


def need(names: Sequence[str]) -> None:
    """Finds out whether packages are installed.

    Raises:
        UnavailableError: which are not, and what to install.
    """
    missing = [name for name in names if importlib.util.find_spec(name) is None]
    if missing:
        are = "are" if len(missing) > 1 else "is"
        reason = f"{' and '.join(missing)} {are} not installed; pip install slowpath[models]"
        raise UnavailableError(reason)
