"""Splits a request for several targets (`--target a,b`) into one request for each target.

Each of these requests has only the options that apply to its target.
"""

import os.path
from collections.abc import Sequence

from slowpath.bounds.options import WrittenOptions, choose_target, read_option, read_request
from slowpath.bounds.plan import Request
from slowpath.core import codes
from slowpath.core.engine.cache import Cache
from slowpath.core.engine.targets import Target
from slowpath.core.errors import OptionError
from slowpath.core.schema.rates import METRICS


def named_targets(text: str) -> list[str]:
    """Split a comma-separated list of targets into names.

    Raises:
        OptionError: if a target is named twice.
    """
    if os.path.exists(text):
        return [text]  # a file whose name has a comma
    names = [name.strip() for name in text.split(",")]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise OptionError(
            codes.REPEATED_OPTION, "--target", f"target {twice} is named twice; name it once"
        )
    return names


def one_target(text: str, reason: str) -> str:
    """Return the target that an option names; `reason` says why a command accepts only one.

    Raises:
        OptionError: if the option names several targets.
    """
    names = named_targets(text)
    if len(names) > 1:
        raise OptionError(
            codes.INVALID_VALUE, "--target", f"{reason}; name one of {', '.join(names)}"
        )
    return names[0]


def by_target(written: WrittenOptions) -> list[WrittenOptions]:
    """Return a copy of the options for each named target, without options that it does not support.

    An option that no named target supports stays, and causes an error later.

    Raises:
        OptionError: if a target is unknown or named twice.
    """
    if written.target is None:
        return [written]
    names = named_targets(written.target)
    if len(names) == 1:
        return [written._replace(target=names[0])]
    known = [read_option("--target", choose_target, name) for name in names]
    return [
        applicable(written._replace(target=name), target, known)
        for name, target in zip(names, known, strict=True)
    ]


def read_requests(
    files: Sequence[str], written: WrittenOptions, cache: Cache | None = None
) -> list[Request]:
    """Turn options into one request per named target; all use `cache`.

    Raises:
        OptionError: if an option is invalid.
        InputError: if a file that an option names cannot be read.
    """
    requests = [read_request(files, one) for one in by_target(written)]
    # The total deadline of all targets starts at the same moment.
    until = requests[0].until
    return [one._replace(until=until, clang=requests[0].clang, cache=cache) for one in requests]


def applicable(
    written: WrittenOptions, target: Target, targets: Sequence[Target]
) -> WrittenOptions:
    """Return the options for one target, without options that only other targets support.

    `targets` are all targets of the command. An option that no target supports stays.
    """

    def has_metric(one: Target) -> bool:
        return written.metric in (one.counters or METRICS)

    if not has_metric(target) and any(map(has_metric, targets)):
        written = written._replace(metric=None)
    if target.counters is not None and any(one.counters is None for one in targets):
        written = written._replace(cores=None)
    if target.machine is None and any(one.machine is not None for one in targets):
        written = written._replace(entries=None)
    if target.counters is None and any(one.counters is not None for one in targets):
        written = written._replace(receive=None)
    return written
