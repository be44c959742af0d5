"""Runs `slowpath insights coalescing`."""

from argparse import Namespace
from typing import TYPE_CHECKING

from slowpath.cli.exit_codes import ExitCode
from slowpath.commands.insights.writing import show
from slowpath.engine import identity

if TYPE_CHECKING:
    from slowpath.insights.coalescing.documents import CoalescingReport


def run(given: Namespace) -> ExitCode:
    """Finds orders and reports.

    Raises:
        InputError: when the file cannot be used.
    """
    report = _report(given)
    from slowpath.commands.insights.coalescing.report import layout_c, layout_csv, layout_text

    show(given, {"csv": layout_csv, "table": layout_text, "c": layout_c}, report)
    return ExitCode.FINE


def _report(given: Namespace) -> "CoalescingReport":
    from slowpath.insights.coalescing.advising import WIDTH, advise
    from slowpath.insights.coalescing.reading import read_elements

    found = read_elements(given.file)
    width = given.width or found.width or WIDTH
    return {
        "slowpath": identity.version(),
        "file": given.file,
        "width": width,
        "elements": [advise(one, width) for one in found.elements],
    }
