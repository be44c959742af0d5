"""How to measure, as options say it, and whether that makes sense."""

import os
from collections.abc import Sequence
from typing import NamedTuple

from slowpath.analysis.plan import Request
from slowpath.cli.errors import OptionError
from slowpath.commands.measure.gate import Gate
from slowpath.commands.measure.trace_run import check_trace_options
from slowpath.engine.kernel import stations

VERSIONS = ("old", "new")


class Settings(NamedTuple):
    """How to measure, and how to tell."""

    between: bool  # the slowest, the fastest and some between, not the slowest so many
    precision: float  # half the intervals, as a share of the times
    seconds: float
    cpu: int | None
    form: str
    verbose: bool
    gates: Sequence[Gate] = ()
    live: int | None = None  # how many live packets at a time; None: test runs
    pcap: str | None = None  # a trace to run
    plot: str | None = None  # a file for a picture of it
    cache: str = "both"  # `hot`, `cold`, or `both`: cold where it differs
    stretches: bool = True  # whether to say where the time goes


def check(settings: Settings, request: Request) -> None:
    """Finds out before the work whether it can be done.

    Raises:
        OptionError: when an option makes no sense for what the files are, or with the others.
    """
    if settings.gates and len(request.files) != len(VERSIONS):
        raise OptionError("--fail-on", "there is nothing to compare; name two files, old and new")
    if settings.gates and settings.live is not None:
        raise OptionError("--fail-on", "versions are compared without --mode live")
    if settings.cache == "cold" and settings.live is not None:
        raise OptionError("--cache", "live packets are measured on hot caches; leave it out")
    if settings.cache == "cold" and len(request.files) == len(VERSIONS):
        raise OptionError(
            "--cache", "two versions are compared on hot caches; leave it out, or name one file"
        )
    check_trace_options(settings.pcap, settings.plot, request, live=settings.live is not None)


def watched_cpu(station: stations.Station) -> int:
    """The CPU that a station is on, as far as is known."""
    return max(os.sched_getaffinity(0)) if station.cpu is None else station.cpu
