"""What options of fleets have in common."""

from argparse import Namespace

from slowpath.cli.errors import OptionError


def check_noise(given: Namespace) -> None:
    """Finds out whether there is anything that scatters.

    Raises:
        OptionError: when there is not.
    """
    if given.noise is not None and given.measured is None:
        raise OptionError("--noise", "is of measured mixes; --measured names their table")
