"""What the running kernel refuses."""

from collections.abc import Iterator
from contextlib import contextmanager

from slowpath import _core
from slowpath.cli.errors import InputError

Refusal = InputError
"""What functions here raise when the kernel does not do what it is asked for."""


class RewrittenRefusedError(InputError):
    """The kernel's verifier refuses a rewritten program, and not the original."""


@contextmanager
def of_the_kernel() -> Iterator[None]:
    """What the kernel refuses is an error that says so."""
    try:
        yield
    except _core.Error as problem:
        raise InputError("the running kernel", str(problem)) from None
