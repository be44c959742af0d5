"""Throughput guarantees for packet-processing programs.

For Python, this module has what `docs/python.md` describes: `slowpath.bound(...)`,
`slowpath.fit(...)`, and the types of what they return and raise. Nothing is imported before it is
asked for, so that the command line, which is in `slowpath.app`, starts quickly.
"""

TYPE_CHECKING = False  # as type checkers know it; the module `typing` is long to import
if TYPE_CHECKING:
    from slowpath.api.bound import bound as bound
    from slowpath.api.fit import fit as fit
    from slowpath.api.model import Model as Model
    from slowpath.api.results import Program as Program
    from slowpath.api.results import Results as Results
    from slowpath.cli.errors import InputError as InputError
    from slowpath.cli.errors import OptionError as OptionError

    __version__: str

_PLACES = {
    "bound": "slowpath.api.bound",
    "fit": "slowpath.api.fit",
    "Model": "slowpath.api.model",
    "Program": "slowpath.api.results",
    "Results": "slowpath.api.results",
    "InputError": "slowpath.cli.errors",
    "OptionError": "slowpath.cli.errors",
}
"""Where the public names are."""
__all__ = ["InputError", "Model", "OptionError", "Program", "Results", "bound", "fit"]


def __getattr__(name: str) -> object:
    """A public name, imported when it is first used (PEP 562)."""
    if name == "__version__":
        from slowpath.engine import identity

        return identity.version()
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_PLACES[name]), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
