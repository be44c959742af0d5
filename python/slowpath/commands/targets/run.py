"""The commands `slowpath targets list`, `show` and `check`."""

import tomllib
from collections.abc import Sequence

from slowpath import engine
from slowpath.cli.errors import InputError, OptionError
from slowpath.cli.exit_codes import ExitCode, worst
from slowpath.cli.inputs import read_text
from slowpath.cli.terminal import error, out, out_lines


def list_targets() -> ExitCode:
    """Writes the name and description of every built-in target."""
    names = engine.target_names()
    width = max(map(len, names), default=0)
    for name in names:
        description = tomllib.loads(engine.target_text(name) or "").get("description", "")
        out(f"{name:<{width}}  {description}".rstrip())
    return ExitCode.FINE


def show_target(name: str) -> ExitCode:
    """Writes the description of a built-in target, a starting point for one's own.

    Raises:
        OptionError: when there is none of that name.
    """
    text = engine.target_text(name)
    if text is None:
        known = ", ".join(engine.target_names())
        raise OptionError("NAME", f"{name!r} is not a built-in target; known are {known}")
    out_lines(text.splitlines())
    return ExitCode.FINE


def check_targets(files: Sequence[str]) -> ExitCode:
    """Says of each file whether it is a valid target description, and what is wrong if not."""
    codes = []
    for file in files:
        try:
            problems = engine.described_target(file, read_text(file)).problems()
        except InputError as problem:
            problems = [problem.reason]
        for problem_text in problems:
            error(file, problem_text)
        if not problems:
            out(f"{file}: fine")
        codes.append(ExitCode.INPUT if problems else ExitCode.FINE)
    return worst(codes)
