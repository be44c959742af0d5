"""The command `slowpath config show` as a Python function."""

from typing import Unpack

from slowpath.api.options import ConfigShowOptions, File
from slowpath.config.cli import SHOW
from slowpath.config.documents import ConfigDocument, ConfigSetting
from slowpath.core.calls import interface, run
from slowpath.core.results import Result


class ConfigResult(Result[ConfigDocument]):
    """The settings of the command line, each with its origin."""

    @property
    def settings(self) -> list[ConfigSetting]:
        """The settings of the command line, each with its origin."""
        return self.document["results"]


@interface(SHOW, "config show")
def show(file: File | None = None, **options: Unpack[ConfigShowOptions]) -> ConfigResult:
    """Find the settings of the command line for a program or folder, and their origins.

    Raises:
        OptionError: if an option or a variable is invalid.
        InputError: if the settings file cannot be read, or has an error.
    """
    return ConfigResult(run(SHOW, "config show", {"file": file, **options}))
