"""Declares and runs the command `slowpath schema`."""

from argparse import Namespace

from slowpath.core import codes
from slowpath.core.command import Command, Example, argument
from slowpath.core.errors import ExitCode, OptionError


def _schema(args: Namespace) -> int:
    return print_schema(args.command)


SCHEMA = Command(
    (
        "Print the JSON Schema of a command's output",
        "The schema (2020-12) describes the output of the command with --format json.",
        "Some documents have other names than their command: chain (slowpath chain facts and "
        "optimize), plan and verify (slowpath chain), contention, predictions, evaluation, "
        "diagnosis, placement, profile and suggestion (slowpath contention train, predict, "
        "evaluate, diagnose, place, profile and suggest), advice, "
        "accelerators, blocks, coalescing, counts and state_placement (slowpath insights), "
        "catalogue (slowpath calibrate --list), calibration and pipeline (slowpath show "
        "TARGET.toml and PIPELINE.spec), pipelines (slowpath measure for these), "
        "reproduction and figures (slowpath reproduce, figures with --list). "
        "experiment describes the YAML files that slowpath calibrate reads.",
        "Later versions may add keys; older versions may lack some; see docs/reference/json.md.",
    ),
    (
        argument(
            "COMMAND",
            "A command such as bound or measure, or another name",
            None,
            "accelerators, advice, annotate, blocks, bound, calibrate, calibration, catalogue, "
            "chain, coalescing, compile, config, contention, counts, diagnosis, diff, evaluation, "
            "experiment, explain, figures, fit, measure, pipeline, pipelines, placement, plan, "
            "predictions, profile, reproduction, show, state_placement, suggestion, sweep or "
            "verify.",
        ),
    ),
    _schema,
    (
        Example("slowpath schema bound", "Print the schema of bound --format json"),
        Example("slowpath schema bound -o bound.schema.json", "Write it to a file"),
    ),
)


def print_schema(command: str) -> ExitCode:
    """Print the schema of a command's documents.

    Raises:
        OptionError: if the command is unknown or does not write JSON.
    """
    from slowpath.core.schema import VERSION
    from slowpath.core.schema.validation import schema_names, schema_text
    from slowpath.core.terminal import out_lines

    names = schema_names()
    name, _, version = command.partition("/")
    if name in names and version in {"", str(VERSION)}:
        command = name
    if command not in names:
        from slowpath.core.spelling import did_you_mean

        known = did_you_mean(command, names) or f"; there are schemas of {', '.join(names)}"
        raise OptionError(codes.NO_JSON_OUTPUT, "COMMAND", f"no schema is named {command!r}{known}")
    out_lines(schema_text(command).splitlines())
    return ExitCode.FINE
