"""Runs the commands `slowpath targets list`, `show`, `models` and `check`.

The functions in `slowpath.api.targets` call the same functions.
"""

import os.path
import tomllib
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from slowpath.bounds.default_target import (
    CALIBRATED,
    CPU_VARIABLE,
    Nearest,
    calibration_file,
    nearest_target,
)
from slowpath.bounds.options import check_valid, choose_target, find_target, read_option
from slowpath.core import codes
from slowpath.core.engine import targets
from slowpath.core.errors import ExitCode, InputError, OptionError, worst
from slowpath.core.inputs import read_text
from slowpath.core.printable import one_line
from slowpath.core.terminal import error, grid, out, out_lines


class BuiltIn(NamedTuple):
    """A target that is part of slowpath.

    For `linux-xdp`, `remark` names the target that it stands for on this machine.
    """

    name: str
    description: str
    remark: str | None


def list_targets() -> ExitCode:
    """Print name and description of every built-in target.

    For `linux-xdp`, also print the target that it stands for on this machine.

    Raises:
        OptionError: if the variable `SLOWPATH_CPU` is invalid.
    """
    out_lines(target_lines(built_in_targets()))
    return ExitCode.FINE


def built_in_targets() -> list[BuiltIn]:
    """Return all built-in targets.

    Raises:
        OptionError: if the variable `SLOWPATH_CPU` is invalid.
    """
    used = None if _is_calibrated() else _nearest()
    found = []
    for name in targets.target_names():
        description = tomllib.loads(targets.target_text(name) or "").get("description", "")
        remark = None
        if name == CALIBRATED:
            remark = f"on this machine: {_resolved()}"
        elif used is not None and name == used.target:
            remark = f"{CALIBRATED} on this machine"
        found.append(BuiltIn(name, description, remark))
    return found


def target_lines(found: Sequence[BuiltIn]) -> Iterator[str]:
    """Yield a line for each built-in target."""
    width = max((len(one.name) for one in found), default=0)
    for name, description, remark in found:
        mark = "" if remark is None else f"  <- {remark}"
        yield f"{name:<{width}}  {description}{mark}".rstrip()


def _is_calibrated() -> bool:
    return os.path.lexists(calibration_file())


def _nearest() -> Nearest:
    """Return the shipped target that fits this CPU best.

    The result has the CPU's name if no target is from its family.

    Raises:
        OptionError: if the variable `SLOWPATH_CPU` is invalid.
    """
    try:
        return nearest_target()
    except ValueError as problem:
        raise OptionError(codes.INVALID_VALUE, CPU_VARIABLE, str(problem)) from None


def _resolved() -> str:
    """Describe the target that `linux-xdp` stands for on this machine."""
    if _is_calibrated():
        return f"its calibration ({one_line(calibration_file())})"
    name, foreign = _nearest()
    if foreign is None:
        return name
    return f"{name}; no built-in target was calibrated on a CPU such as {one_line(foreign)}"


def show_target(name: str) -> ExitCode:
    """Print the description file of a built-in target; see `target_description`."""
    out_lines(target_description(name).splitlines())
    return ExitCode.FINE


def target_description(name: str) -> str:
    """Return the description file of a built-in target, as a start for a target of the user.

    For `linux-xdp`, this is the description that analyses on this machine use; a comment names it.

    Raises:
        OptionError: if the name is unknown.
        InputError: if this machine's calibration is invalid.
    """
    text = targets.target_text(name)
    if text is None:
        from slowpath.core.spelling import did_you_mean

        names = targets.target_names()
        hint = did_you_mean(name, names) or f"; choose one of {', '.join(names)}"
        raise OptionError(codes.UNKNOWN_TARGET, "NAME", f"{name!r} is not a target{hint}")
    if name == CALIBRATED:
        text = read_option("NAME", find_target, name).text or text
        text = f"# On this machine, {CALIBRATED} is {_resolved()}.\n{text}"
    return text


def list_models(name: str) -> ExitCode:
    """Print a table of the cost models of a target's components.

    `name` is a built-in target or a file.
    """
    out_lines(model_lines(target_with_models(name)))
    return ExitCode.FINE


def target_with_models(name: str) -> targets.Target:
    """Return a target, given by name or file; its attribute `models` has the cost models.

    Raises:
        OptionError: if the name is neither a built-in target nor a file.
        InputError: if the file cannot be read, or is not a valid description.
    """
    target = read_option("NAME", choose_target, name)
    check_valid(target, name)
    return target


def model_lines(target: targets.Target) -> Iterator[str]:
    """Yield a line with the measured machine, and a table of the components' cost models."""
    if target.machine is not None:
        yield one_line(f"{target.name}: {target.machine[0]}, measured {target.machine[1]}")
    models = target.models
    if not models:
        yield f"target {target.name} has no cost models of components"
        return
    yield from (line.text for line in grid(_COLUMNS, [_model_row(model) for model in models]))


_COLUMNS = ("component", "by", "from", "to", "ns there", "segments", "error", "grows")


def _model_row(model: targets.Model) -> tuple[str, ...]:
    first, last = (model.at(end) for end in model.range)
    costs = ["-" if cost is None else f"{cost:z.1f}" for cost in (first, last)]
    error = model.error if model.held_out is None else model.held_out
    return (
        one_line(model.name),
        one_line(model.parameter),
        *(f"{end:,.0f}" for end in model.range),
        " to ".join(costs),
        str(model.segments),
        f"{100 * error:.1f} %",
        one_line(model.calls[0]) if model.calls else "",
    )


def check_targets(files: Sequence[str]) -> ExitCode:
    """Check target descriptions; print `fine` for each valid file, and the problems of others."""
    results = []
    for file in files:
        code, problems = target_problems(file)
        for problem_text in problems:
            error(code, file, problem_text)
        if not problems:
            out(f"{file}: fine")
        results.append(ExitCode.INPUT if problems else ExitCode.FINE)
    return worst(results)


def target_problems(file: str) -> tuple[str, Sequence[str]]:
    """Return the problems of a target description, and their error code.

    A valid description has no problems.
    """
    try:
        problems = targets.described_target(file, read_text(file)).problems()
    except InputError as problem:
        return problem.code, [problem.reason]
    return codes.TARGET_FILE_INVALID, problems
