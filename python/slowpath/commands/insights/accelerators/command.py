"""The command line of `slowpath insights accelerators`."""

from argparse import Namespace

from slowpath.cli.command import Command
from slowpath.commands.insights.command import CODES, FORMAT, NEEDS
from slowpath.commands.insights.compiling import CFLAGS, DEADLINE, ENTRY, MEMORY, SOURCE


def _accelerators(given: Namespace) -> int:
    from slowpath.commands.insights.accelerators.run import run

    return run(given)


ACCELERATORS = Command(
    (
        "Find functions that an accelerator could do: CRC, checksums, hashes, ciphers, longest "
        "prefix match.",
        "What is proved was run on random inputs beside a reference, with its parameters recovered "
        "from what it answered; what only looks like it is listed apart. Code runs in processes "
        "of their own, without files and network; see docs/insights.md for what that is worth.",
        NEEDS,
        CODES,
    ),
    (SOURCE, ENTRY, CFLAGS, DEADLINE, MEMORY, FORMAT),
    _accelerators,
)
