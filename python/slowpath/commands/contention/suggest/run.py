"""Runs `slowpath contention suggest`."""

from argparse import Namespace
from typing import TYPE_CHECKING

from slowpath.cli.exit_codes import ExitCode
from slowpath.cli.printable import json_line
from slowpath.cli.terminal import out, out_lines
from slowpath.commands.contention.options import quiet_libraries
from slowpath.commands.contention.place.options import check_noise
from slowpath.contention.packages import need
from slowpath.engine import identity

if TYPE_CHECKING:
    from slowpath.contention.placement.documents import SuggestionReport


def run(given: Namespace) -> ExitCode:
    """Looks for mixes and reports.

    Raises:
        InputError: when a file cannot be used.
        OptionError: when options do not fit together.
        UnavailableError: when a package is missing.
    """
    check_noise(given)
    need()
    with quiet_libraries():
        report = _suggested(given)
    if given.format == "json":
        out(json_line(report))
    else:
        from slowpath.commands.contention.suggest.report import suggestion_csv, suggestion_text

        out_lines(suggestion_csv(report) if given.format == "csv" else suggestion_text(report))
    return ExitCode.FINE


def _suggested(given: Namespace) -> "SuggestionReport":
    from slowpath.contention.placement.known.mix_tables import mix_text, read_measured
    from slowpath.contention.placement.known.reading import read_fleet
    from slowpath.contention.placement.suggesting import ARRIVALS, suggest

    fleet = read_fleet(given.fleet)
    measured = None
    if given.measured is not None:
        measured = read_measured(given.measured, fleet, given.noise)
    found = suggest(fleet, given.mixes, given.sure, measured)
    return {
        "slowpath": identity.version(),
        "fleet": given.fleet,
        "device": fleet.device,
        "measured": given.measured,
        "sure": given.sure,
        "alone": [fleet.names[at] for at in found.alone],
        "mixes": [
            {
                "mix": mix_text(one.mix, fleet),
                "nics": one.nics,
                "kept": [
                    {"function": fleet.names[at], "kept": kept} for at, kept in one.kept.items()
                ],
            }
            for one in found.mixes
        ],
        "arrivals": int(ARRIVALS),
        "nics_now": found.now,
        "nics_then": found.then,
        "nics_best": found.best,
    }
