"""Turns the options of a command, and its settings, into requests for analyses."""

from argparse import Namespace
from collections.abc import Sequence

from slowpath.bounds.flags import written_options
from slowpath.bounds.multi_target import read_requests
from slowpath.bounds.plan import Request
from slowpath.core.engine.cache import Cache


def requests_of(args: Namespace, files: Sequence[str], cache: Cache | None = None) -> list[Request]:
    """Return the requests for files, one for each target, with the requirements of settings.

    `args` has the options of `slowpath bound`; `args.requirements`, if present, is the table of
    requirements of a settings file. `cache` has results of earlier analyses.

    Raises:
        OptionError: if an option is invalid.
        InputError: if a requirement is invalid, or a file that an option names cannot be read.
    """
    written, table = written_options(args, files), getattr(args, "requirements", {})
    if not table:
        return read_requests(files, written, cache)
    from slowpath.bounds.configured import read_requirements, with_requirements

    # Options refuse assumptions without a requirement.
    requests = read_requests(files, written._replace(accept_assumptions=False), cache)
    required = read_requirements(table)
    return [
        with_requirements(one._replace(accept_assumptions=args.accept_assumptions), required)
        for one in requests
    ]
