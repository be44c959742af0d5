"""Names the optional groups of packages (extras), and checks that their packages are installed.

slowpath is in no package index, so messages must not tell users to install it from one.
"""

from collections.abc import Mapping, Sequence

from slowpath.core import codes
from slowpath.core.errors import UnavailableError

_PACKAGES = {
    "distributed": ("distributed", "fleet"),
    "llvmlite": ("llvmlite", "insights"),
    "matplotlib": ("matplotlib", "plots"),
    "numpy": ("numpy", "models"),
    "pandas": ("pandas", "pandas"),
    "pyarrow": ("pyarrow", "parquet"),
    "scipy": ("scipy", "models"),
    "sklearn": ("scikit-learn", "contention"),
    "yaml": ("PyYAML", "models"),
}
"""For each optional module, its package and the smallest extra that contains the package."""
_LARGER = frozenset({"contention", "insights"})
"""Extras that include the extra `models`; each has the name of the command that needs it."""


def needs(extra: str) -> str:
    """Return the sentence that a help text has about a required extra."""
    return f"Needs the extra `{extra}` (docs/how-to/install.md)."


def not_installed(packages: Sequence[str], extra: str) -> str:
    """Return the error about missing packages, with the command that installs their extra."""
    are = "are" if len(packages) > 1 else "is"
    return (
        f"{' and '.join(packages)} {are} not installed; run make extras in a checkout, "
        f"or pip install 'FILE[{extra}]' with the wheel as FILE"
    )


def missing_package(module: str | None, command: str) -> str | None:
    """Return the error for a missing module, with the command that installs it.

    Return None if the module belongs to no extra. `command` is the slowpath command with its
    groups, such as `slowpath insights blocks`.
    """
    package, extra = _PACKAGES.get((module or "").partition(".")[0], (None, ""))
    if package is None:
        return None
    group = command.split()[1]
    if extra == "models" and group in _LARGER:
        extra = group
    return not_installed([package], extra)


_NEEDED = {"numpy": "numpy", "scipy": "scipy", "sklearn": "scikit-learn"}


def need_contention() -> None:
    """Check that NumPy and other packages of the extra `contention` are installed.

    Raises:
        UnavailableError: if a package is missing; the error names it and the command that installs
            it.
    """
    _find(_NEEDED, "contention")


def need_parquet() -> None:
    """Check that the Parquet library is installed (extra `parquet`).

    Raises:
        UnavailableError: if it is not installed.
    """
    _find({"pyarrow": "pyarrow"}, "parquet")


def need_models(names: Sequence[str]) -> None:
    """Check that the Python packages with these names are installed.

    Raises:
        UnavailableError: with the missing packages and the command that installs them.
    """
    _find(dict(zip(names, names, strict=True)), "models")


def _find(packages: Mapping[str, str], extra: str) -> None:
    from importlib.util import find_spec

    missing = [name for module, name in packages.items() if find_spec(module) is None]
    if missing:
        raise UnavailableError(codes.MISSING_PACKAGE, not_installed(missing, extra))
