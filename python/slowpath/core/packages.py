"""Optional packages (extras of `pyproject.toml`) that are not installed."""

_PACKAGES = {
    "distributed": ("distributed", "fleet"),
    "llvmlite": ("llvmlite", "insights"),
    "matplotlib": ("matplotlib", "models"),
    "numpy": ("numpy", "models"),
    "ortools": ("ortools", "contention"),
    "pyarrow": ("pyarrow", "parquet"),
    "scipy": ("scipy", "models"),
    "sklearn": ("scikit-learn", "contention"),
    "yaml": ("PyYAML", "models"),
}
"""Package of each optional module, and the smallest extra that contains the package."""
_LARGER = frozenset({"contention", "insights"})
"""Extras that include `models`, named like the commands that need them."""


def missing_package(module: str | None, command: str) -> str | None:
    """Return the error of a command that cannot import a module; None if no extra contains it.

    `command` is the command with its groups, such as `slowpath insights blocks`.
    """
    package, extra = _PACKAGES.get((module or "").partition(".")[0], (None, ""))
    if package is None:
        return None
    group = command.split()[1]
    if extra == "models" and group in _LARGER:
        extra = group
    return f"{package} is not installed; pip install slowpath[{extra}]"
