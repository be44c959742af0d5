"""Runs `slowpath insights placement`."""

from argparse import Namespace
from typing import TYPE_CHECKING

from slowpath.cli.exit_codes import ExitCode
from slowpath.commands.insights.writing import show
from slowpath.engine import identity
from slowpath.insights.packages import need_numbers

if TYPE_CHECKING:
    from slowpath.insights.placement.advice.documents import StatePlacement


def run(given: Namespace) -> ExitCode:
    """Places and reports.

    Raises:
        InputError: when the file cannot be used, or a case has no placement.
        UnavailableError: when a package is missing.
    """
    need_numbers()
    report = _report(given)
    from slowpath.commands.insights.placement.report import placement_csv, placement_text

    show(given, {"csv": placement_csv, "table": placement_text}, report)
    return ExitCode.FINE


def _report(given: Namespace) -> "StatePlacement":
    from slowpath.insights.placement.advice.advising import Rules, advise
    from slowpath.insights.placement.reading import read_cases

    rules = Rules(given.unpriced == "free", given.objective, given.deadline or None)
    return {
        "slowpath": identity.version(),
        "file": given.file,
        "without_price": given.unpriced,
        "cases": [advise(given.file, one, rules) for one in read_cases(given.file)],
    }
