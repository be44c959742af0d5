"""What the user can mend becomes a message and an exit code, the same for all commands."""

from collections.abc import Iterator
from contextlib import contextmanager

import typer


@contextmanager
def failures_told(context: typer.Context) -> Iterator[None]:
    """Ends the command with a message where its body raises what the user can mend."""
    from slowpath.exit_codes import ExitCode
    from slowpath.inputs import InputError
    from slowpath.plan import OptionError
    from slowpath.terminal import error

    try:
        yield
    except OptionError as problem:
        hint = f"'{problem.option}'"
        raise typer.BadParameter(problem.reason, ctx=context, param_hint=hint) from None
    except InputError as problem:
        error(problem.file, problem.reason)
        raise typer.Exit(ExitCode.INPUT) from None
