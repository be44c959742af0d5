"""Turns the options of `slowpath chain plan`, as typed, into what is asked for."""

from argparse import Namespace
from pathlib import Path

from slowpath.analysis.flags import written_options
from slowpath.analysis.options import memory_or_share
from slowpath.cli.errors import OptionError
from slowpath.commands.chain.plan.run import Planned, cache_folder


def make_planned(given: Namespace) -> Planned:
    """What the options ask for.

    Raises:
        OptionError: when an option makes no sense.
    """
    if given.cache is not None and given.no_cache:
        raise OptionError("--no-cache", "--cache says where results are kept")
    written = written_options(given, [given.topology])
    return Planned(
        file=given.topology,
        mode="trust" if given.trust else "guard",
        form=given.format,
        neighbours=given.neighbours,
        variants=given.variants,
        budget_seconds=given.budget,
        cache=None if given.no_cache else given.cache or cache_folder(),
        btf=written.btf,
        cflags=written.cflags,
        memory_bytes=memory_or_share(written.memory),
        output=None if given.output is None else Path(given.output),
    )
