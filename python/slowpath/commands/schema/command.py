"""The command line of `slowpath schema`."""

from argparse import Namespace

from slowpath.cli.command import Command, argument


def _schema(given: Namespace) -> int:
    from slowpath.commands.schema.run import print_schema

    return print_schema(given.command)


SCHEMA = Command(
    (
        "Print the JSON Schema (2020-12) of what a command writes with --format json.",
        "With `catalogue`, that of slowpath calibrate --list; with `calibration`, that of slowpath "
        "show TARGET.toml; with `experiment`, that of the "
        "specifications which slowpath calibrate takes, in YAML; with `chain`, that of slowpath "
        "chain facts and optimize; with `plan` and `verify`, those of slowpath chain plan and "
        "verify; with `contention`, "
        "`diagnosis`, `placement` and `suggestion`, those of slowpath contention train, diagnose, "
        "place and suggest.",
        "Documents of later versions may have further keys, and those of older versions lack some; "
        "docs/json.md says more.",
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
