"""Interface to the compiled engine `slowpath._core`. Only this folder imports the engine.

The modules here do not depend on the command line and do not print.
"""

from slowpath import _core
from slowpath.core.schema.document import Document, schema_id


def version() -> str:
    """Return the version of slowpath."""
    return _core.version()


def head(command: str, schema: str) -> Document:
    """Return the head of a JSON document of a command, with the name of its schema."""
    return {"slowpath": version(), "command": command, "schema": schema_id(schema)}
