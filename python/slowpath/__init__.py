"""Throughput guarantees for packet-processing programs.

The module has the Python interface that `docs/how-to/python.md` describes: `slowpath.bound(...)`,
`slowpath.fit(...)`, the types that they return and raise, and `slowpath.api` with functions for the
other commands. Each name is imported on first use, so that the command line, `slowpath.app`, starts
quickly.
"""

TYPE_CHECKING = False  # true for type checkers; importing `typing` would take long
if TYPE_CHECKING:
    from slowpath import api as api
    from slowpath.bounds.api import Program as Program
    from slowpath.bounds.api import Results as Results
    from slowpath.bounds.api import bound as bound
    from slowpath.core.errors import InputError as InputError
    from slowpath.core.errors import OptionError as OptionError
    from slowpath.models.api import Model as Model
    from slowpath.models.api import fit as fit

    __version__: str

_MODULES = {
    "bound": "slowpath.bounds.api",
    "fit": "slowpath.models.api",
    "Model": "slowpath.models.api",
    "Program": "slowpath.bounds.api",
    "Results": "slowpath.bounds.api",
    "InputError": "slowpath.core.errors",
    "OptionError": "slowpath.core.errors",
}
"""For each public name, the module that defines it."""
__all__ = ["InputError", "Model", "OptionError", "Program", "Results", "api", "bound", "fit"]


def __getattr__(name: str) -> object:
    """Import a public name on first use (PEP 562)."""
    if name == "__version__":
        from slowpath.core import engine

        return engine.version()
    if name != "api" and name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    if name == "api":
        return import_module("slowpath.api")
    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
