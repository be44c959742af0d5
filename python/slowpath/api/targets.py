"""The commands `slowpath targets` as Python functions."""

import builtins
import tomllib
from collections.abc import Mapping, Sequence
from os import fsdecode
from typing import Any, NamedTuple

from slowpath.api.options import File
from slowpath.core.engine.targets import Model, Target
from slowpath.core.results import Row, Table
from slowpath.targets.run import (
    BuiltIn,
    built_in_targets,
    model_lines,
    target_description,
    target_lines,
    target_problems,
    target_with_models,
)


class BuiltInTargets(Table):
    """The built-in targets; `str()` returns the list of `slowpath targets list`."""

    def __init__(self, targets: Sequence[BuiltIn]) -> None:
        """Store targets; `list` creates instances."""
        self.targets = targets

    @property
    def rows(self) -> builtins.list[Row]:  # noqa: D102 - as in the base class
        return [dict(one._asdict()) for one in self.targets]

    def __str__(self) -> str:
        return "\n".join(target_lines(self.targets))


class Description(NamedTuple):
    """The description file of a target; `str()` returns its text."""

    name: str
    text: str

    @property
    def document(self) -> dict[str, Any]:
        """The content of the description file."""
        return tomllib.loads(self.text)

    def __str__(self) -> str:
        return self.text.rstrip("\n")

    def __repr__(self) -> str:
        return f"<{__name__}.Description of {self.name}>"


class TargetModels(Table):
    """The cost models of a target's components; `str()` returns the command's table."""

    def __init__(self, target: Target) -> None:
        """Store a target; `models` creates instances."""
        self.target = target

    @property
    def models(self) -> Sequence[Model]:
        """The cost models of the target's components."""
        return self.target.models

    @property
    def rows(self) -> builtins.list[Row]:
        """For each model, its range, the costs at both ends in nanoseconds, and its error."""
        return [_row(one) for one in self.models]

    def __str__(self) -> str:
        return "\n".join(model_lines(self.target))


def _row(model: Model) -> Row:
    first, last = model.range
    return {
        "component": model.name,
        "by": model.parameter,
        "from": first,
        "to": last,
        "from_ns": model.at(first),
        "to_ns": model.at(last),
        "segments": model.segments,
        "error": model.error if model.held_out is None else model.held_out,
        "grows": model.calls[0] if model.calls else None,
    }


class TargetChecks(Table):
    """The problems of target descriptions; `rows` has a row for each problem."""

    def __init__(self, problems: Mapping[str, Sequence[str]]) -> None:
        """Store problems; `check` creates instances."""
        self.problems = problems
        """The problems of each file; none if the description is valid."""

    @property
    def rows(self) -> builtins.list[Row]:  # noqa: D102 - as in the base class
        return [
            {"file": file, "problem": one}
            for file, problems in self.problems.items()
            for one in problems or (None,)
        ]

    def __str__(self) -> str:
        return "\n".join(f"{row['file']}: {row['problem'] or 'fine'}" for row in self.rows)


def show(name: str) -> Description:
    """Return the description of a built-in target.

    Raises:
        OptionError: if the name is unknown.
        InputError: if this machine's calibration is invalid.
    """
    return Description(name, target_description(name))


def models(name: File) -> TargetModels:
    """Return the cost models of a target's components.

    Raises:
        OptionError: if the name is neither a built-in target nor a file.
        InputError: if the file cannot be read, or is not a valid description.
    """
    return TargetModels(target_with_models(fsdecode(name)))


def check(*files: File) -> TargetChecks:
    """Check target descriptions."""
    return TargetChecks({fsdecode(file): target_problems(fsdecode(file))[1] for file in files})


def list() -> BuiltInTargets:  # noqa: A001 - the name of the command
    """Return the built-in targets, with what `linux-xdp` stands for on this machine.

    Raises:
        OptionError: if the variable `SLOWPATH_CPU` is invalid.
    """
    return BuiltInTargets(built_in_targets())
