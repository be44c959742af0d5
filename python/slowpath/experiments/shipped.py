"""The specifications that come with slowpath: one YAML file each, in `catalogue/`."""

from pathlib import Path

from slowpath.cli.errors import OptionError
from slowpath.experiments.specification.documents import Experiment
from slowpath.experiments.specification.reading import load_experiment

_FOLDER = Path(__file__).parent / "catalogue"


def shipped_names() -> list[str]:
    """Names of all of them."""
    return sorted(path.stem for path in _FOLDER.glob("*.yaml"))


def shipped_experiment(name: str) -> Experiment:
    """The one of this name.

    Raises:
        OptionError: when there is none.
    """
    if name not in shipped_names():
        reason = f"{name!r} is no experiment; slowpath calibrate --list has them"
        raise OptionError("--component", reason)
    return load_experiment(str(_FOLDER / f"{name}.yaml"))
