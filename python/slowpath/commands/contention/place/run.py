"""Runs `slowpath contention place`."""

from argparse import Namespace
from typing import TYPE_CHECKING

from slowpath.cli.errors import OptionError
from slowpath.cli.exit_codes import ExitCode
from slowpath.cli.printable import json_line
from slowpath.cli.terminal import note, out, out_lines
from slowpath.commands.contention.options import quiet_libraries
from slowpath.commands.contention.place.defaults import LENGTH, POLICY
from slowpath.commands.contention.place.options import check_noise
from slowpath.contention.packages import need, need_solver
from slowpath.engine import identity
from slowpath.fleet.pool import check_place

if TYPE_CHECKING:
    from slowpath.contention.placement.documents import PlacementReport, SequenceOutcome
    from slowpath.contention.placement.running import Fleets


def run(given: Namespace) -> ExitCode:
    """Places and reports.

    Raises:
        InputError: when a file cannot be used.
        OptionError: when options do not fit together.
        UnavailableError: when a package is missing, or workers die.
    """
    _check(given)
    need()
    policies = tuple(dict.fromkeys(given.policy or (POLICY,)))
    if "optimal" in policies or not given.no_reference:
        need_solver()
    with quiet_libraries():
        report = _placed(given, policies)
    if given.format == "json":
        out(json_line(report))
    else:
        from slowpath.commands.contention.place.report import placement_csv, placement_text

        out_lines(placement_csv(report) if given.format == "csv" else placement_text(report))
    if report["guesses"]:
        note(
            f"warning: {given.fleet}: {report['guesses']} predictions for functions in mixes are "
            "of settings unlike those that were measured: guesses"
        )
    return ExitCode.FINE


def _check(given: Namespace) -> None:
    """Finds out whether options fit together."""
    if (given.arrivals is None) == (given.sequences is None):
        raise OptionError("--arrivals", "either --arrivals or --sequences says what arrives")
    random = {"--length": given.length, "--seed": given.seed}
    for name in (one for one, value in random.items() if value is not None):
        if given.sequences is None:
            raise OptionError(name, "is of random sequences; --arrivals says what arrives")
    check_noise(given)
    check_place(given.scheduler, given.jobs)


def _placed(given: Namespace, policies: tuple[str, ...]) -> "PlacementReport":
    from slowpath.contention.placement.known.mix_tables import read_measured, read_truth
    from slowpath.contention.placement.known.reading import read_arrivals, read_fleet
    from slowpath.contention.placement.known.shares import Predicted
    from slowpath.contention.placement.running import Fleets, run, summary

    fleet = read_fleet(given.fleet)
    arrivals = None if given.arrivals is None else read_arrivals(given.arrivals, fleet)
    truth = None if given.truth is None else read_truth(given.truth, fleet)
    measured = None
    if given.measured is not None:
        measured = read_measured(given.measured, fleet, given.noise)
    predicted = Predicted(fleet, given.sure, measured)
    fleets = Fleets(fleet, predicted, truth, policies, not given.no_reference, given.expect)
    found = _drawn(given, fleets) if arrivals is None else [run(fleets, arrivals)]
    return {
        "slowpath": identity.version(),
        "fleet": given.fleet,
        "device": fleet.device,
        "measured": given.measured,
        "noise": None if measured is None else measured.noise,
        "judged_by": "models" if given.truth is None else given.truth,
        "expected": given.expect,
        "guesses": fleets.predicted.shares.guesses,
        "summary": summary(found),
        "sequences": found,
    }


def _drawn(given: Namespace, fleets: "Fleets") -> "list[SequenceOutcome]":
    from slowpath.contention.placement.running import Drawn, run_drawn
    from slowpath.fleet.pool import open_pool

    length = given.length or LENGTH
    sequences = [Drawn(length, (given.seed or 0, at)) for at in range(given.sequences)]
    with open_pool(given.scheduler, given.jobs) as pool:
        return run_drawn(fleets, sequences, pool)
