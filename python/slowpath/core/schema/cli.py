"""Declares and runs the command `slowpath schema`."""

from argparse import Namespace

from slowpath.core.command import Command, argument
from slowpath.core.errors import ExitCode, OptionError


def _schema(args: Namespace) -> int:
    return print_schema(args.command)


SCHEMA = Command(
    (
        "Print the JSON Schema (2020-12) of the output of a command with --format json.",
        "With `catalogue`, that of slowpath calibrate --list; with `calibration`, that of slowpath "
        "show TARGET.toml; with `experiment`, that of the "
        "specifications that slowpath calibrate reads, in YAML; with `chain`, that of slowpath "
        "chain facts and optimize; with `plan` and `verify`, those of slowpath chain plan and "
        "verify; with `contention`, "
        "`diagnosis`, `placement` and `suggestion`, those of slowpath contention train, diagnose, "
        "place and suggest.",
        "Documents of later versions may have further keys, and those of older versions lack some; "
        "see docs/json.md.",
    ),
    (
        argument(
            "COMMAND",
            "bound, sweep, measure, fit, calibrate, annotate, diff, compile, show, chain, plan, "
            "verify, catalogue, calibration, experiment, contention, diagnosis, placement or "
            "suggestion.",
        ),
    ),
    _schema,
)


def print_schema(command: str) -> ExitCode:
    """Print the schema of a command's documents.

    Raises:
        OptionError: if the command is unknown or does not write JSON.
    """
    from slowpath.core.schema.validation import schema_names, schema_text
    from slowpath.core.terminal import out_lines

    names = schema_names()
    if command not in names:
        known = ", ".join(names)
        raise OptionError("COMMAND", f"{command!r} writes no JSON; there are schemas of {known}")
    out_lines(schema_text(command).splitlines())
    return ExitCode.FINE
