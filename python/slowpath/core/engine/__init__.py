"""Interface to the compiled engine `slowpath._core`. Only this folder imports the engine.

The modules here do not depend on the command line and do not print.
"""

import os

from slowpath import _core


def version() -> str:
    """Return the version of slowpath."""
    return _core.version()


def build() -> str:
    """Return a text that differs between builds of the engine, even of the same version."""
    about = os.stat(_core.__file__)
    return f"{version()} {about.st_size} {about.st_mtime_ns}"
