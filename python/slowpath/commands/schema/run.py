"""The command `slowpath schema`."""

from slowpath.cli.errors import OptionError
from slowpath.cli.exit_codes import ExitCode
from slowpath.cli.terminal import out_lines
from slowpath.schema.json_schema import schema_names, schema_text


def print_schema(command: str) -> ExitCode:
    """Writes the schema of the documents that a command writes.

    Raises:
        OptionError: when it writes none, or there is no such command.
    """
    names = schema_names()
    if command not in names:
        known = ", ".join(names)
        raise OptionError("COMMAND", f"{command!r} writes no JSON; there are schemas of {known}")
    out_lines(schema_text(command).splitlines())
    return ExitCode.FINE
