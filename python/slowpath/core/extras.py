"""Names the optional groups of packages (extras), and tells how to install them.

slowpath is in no package index, so no text may say that an index has it.
"""

from collections.abc import Sequence

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
"""Extras that include `models`, named like the commands that need them."""


def needs(extra: str) -> str:
    """Return the sentence in the help of a command or option that needs an extra."""
    return f"Needs the extra `{extra}` (docs/how-to/install.md)."


def not_installed(packages: Sequence[str], extra: str) -> str:
    """Return an error about missing packages that says how to install their extra."""
    are = "are" if len(packages) > 1 else "is"
    return (
        f"{' and '.join(packages)} {are} not installed; run make extras in a checkout, "
        f"or pip install 'FILE[{extra}]' with the wheel as FILE"
    )


def missing_package(module: str | None, command: str) -> str | None:
    """Return an error that says how to install a missing module.

    The error names the extra with this module; without one, return None. `command` is the command
    with its groups, such as `slowpath insights blocks`.
    """
    package, extra = _PACKAGES.get((module or "").partition(".")[0], (None, ""))
    if package is None:
        return None
    group = command.split()[1]
    if extra == "models" and group in _LARGER:
        extra = group
    return not_installed([package], extra)
