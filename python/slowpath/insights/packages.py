"""The packages that insights take: the extra `insights`, which not everybody has installed."""

import importlib.util
from collections.abc import Mapping

from slowpath.cli.errors import UnavailableError

_NUMBERS = {"numpy": "numpy", "scipy": "scipy"}
_COMPILER = {"llvmlite": "llvmlite"}


def need_numbers() -> None:
    """Finds out whether what computes with numbers is installed.

    Raises:
        UnavailableError: what is not, and what to install.
    """
    _find(_NUMBERS)


def need_compiler() -> None:
    """The same of what reads and runs LLVM's intermediate representation.

    Raises:
        UnavailableError: when it is not installed.
    """
    _find(_COMPILER)


def _find(packages: Mapping[str, str]) -> None:
    missing = [
        name for module, name in packages.items() if importlib.util.find_spec(module) is None
    ]
    if missing:
        are = "are" if len(missing) > 1 else "is"
        reason = f"{' and '.join(missing)} {are} not installed; pip install slowpath[insights]"
        raise UnavailableError(reason)
