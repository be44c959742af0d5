"""Runs the commands `slowpath contention place` and `suggest`."""

from argparse import Namespace
from typing import TYPE_CHECKING

from slowpath.contention.options import LENGTH, POLICY, check_noise, quiet_libraries
from slowpath.core import codes, engine
from slowpath.core.errors import Coded, ExitCode, OptionError
from slowpath.core.extras import need_contention
from slowpath.core.formats import Reporter, coded, codes_of
from slowpath.core.jobs.pool import check_place
from slowpath.core.terminal import first_few

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slowpath.contention.placement.documents import (
        PlacementReport,
        SequenceOutcome,
        SuggestionReport,
    )
    from slowpath.contention.placement.fleet import Fleet
    from slowpath.contention.placement.running import SequenceInputs


_FEW = 3
"""Maximum number of functions, and of inputs of each function, that a warning names."""


def run_place(given: Namespace, reporter: Reporter) -> ExitCode:
    """Run the command `slowpath contention place`, which places arriving functions on NICs.

    Raises:
        InputError: if a file cannot be used.
        OptionError: if options do not fit together.
        UnavailableError: if a package is missing, or workers die.
    """
    _check(given)
    need_contention()
    policies = tuple(dict.fromkeys(given.policy or (POLICY,)))
    with quiet_libraries():
        report = _placed(given, policies)
    reporter.write(report, warnings=coded(report["warnings"], report["warning_codes"]))
    return ExitCode.FINE


def _check(given: Namespace) -> None:
    """Check that the options of `place` are complete and do not contradict each other."""
    if (given.arrivals is None) == (given.sequences is None):
        raise OptionError(
            codes.MISSING_ARGUMENT if given.arrivals is None else codes.CONFLICTING_OPTIONS,
            "--arrivals",
            "name one of --arrivals and --sequences",
        )
    random = {"--length": given.length, "--seed": given.seed}
    for name in (one for one, value in random.items() if value is not None):
        if given.sequences is None:
            raise OptionError(
                codes.OPTION_WITHOUT_EFFECT,
                name,
                "the option is for random sequences (--sequences), not for --arrivals",
            )
    check_noise(given)
    check_place(given.scheduler, given.jobs)


def _placed(given: Namespace, policies: tuple[str, ...]) -> "PlacementReport":
    from slowpath.contention.placement.reading import (
        read_arrivals,
        read_fleet,
        read_measured,
        read_truth,
    )
    from slowpath.contention.placement.running import SequenceInputs, run, summary
    from slowpath.contention.placement.shares import PredictedShares

    fleet = read_fleet(given.fleet)
    arrivals = None if given.arrivals is None else read_arrivals(given.arrivals, fleet)
    truth = None if given.truth is None else read_truth(given.truth, fleet)
    measured = None
    if given.measured is not None:
        measured = read_measured(given.measured, fleet, given.noise)
    sure = None if given.confidence is None else given.confidence / 100
    predicted = PredictedShares(fleet, sure, measured)
    fleets = SequenceInputs(fleet, predicted, truth, policies, not given.no_reference, given.expect)
    found = _drawn(given, fleets) if arrivals is None else [run(fleets, arrivals)]
    shares = fleets.predicted.shares
    return {
        **engine.head("contention place", "placement"),
        "warnings": [*(warnings := _warnings(fleet, shares.guesses, shares.guessed))],
        "warning_codes": codes_of(warnings),
        "fleet": given.fleet,
        "device": fleet.device,
        "measured": given.measured,
        "noise": None if measured is None else measured.noise,
        "judged_by": "models" if given.truth is None else given.truth,
        "expected": given.expect,
        "guesses": shares.guesses,
        "summary": summary(found),
        "sequences": found,
    }


def _warnings(fleet: "Fleet", guesses: int, guessed: "Mapping[int, set[str]]") -> list[Coded]:
    """Return a warning if predictions are outside the range of the training rows; empty otherwise.

    `guesses` is the number of such predictions. `guessed` has the columns outside this range, by
    the index of a function.
    """
    if not guesses:
        return []
    subject = "1 prediction is a guess" if guesses == 1 else f"{guesses} predictions are guesses"
    names = [
        f"{fleet.names[at]} ({first_few(sorted(columns), _FEW)})"
        for at, columns in sorted(guessed.items())
    ]
    text = (
        f"{fleet.file}: {subject}, because these inputs of functions on shared NICs are outside "
        f"the measured range: {first_few(names, _FEW)}"
    )
    return [Coded(codes.EXTRAPOLATED, text)]


def _drawn(given: Namespace, fleets: "SequenceInputs") -> "list[SequenceOutcome]":
    from slowpath.contention.placement.running import Drawn, run_drawn
    from slowpath.core.jobs.local_pool import open_pool

    length = given.length or LENGTH
    sequences = [Drawn(length, (given.seed or 0, at)) for at in range(given.sequences)]
    with open_pool(given.scheduler, given.jobs) as pool:
        return run_drawn(fleets, sequences, pool)


def run_suggest(given: Namespace, reporter: Reporter) -> ExitCode:
    """Run the command `slowpath contention suggest`, which finds mixes worth measuring.

    Raises:
        InputError: if a file cannot be used.
        OptionError: if options do not fit together.
        UnavailableError: if a package is missing.
    """
    check_noise(given)
    need_contention()
    with quiet_libraries():
        report = _suggested(given)
    reporter.write(report, warnings=coded(report["warnings"], report["warning_codes"]))
    return ExitCode.FINE


def _suggested(given: Namespace) -> "SuggestionReport":
    from slowpath.contention.placement.reading import mix_text, read_fleet, read_measured
    from slowpath.contention.placement.suggesting import ARRIVALS, suggest

    fleet = read_fleet(given.fleet)
    measured = None
    if given.measured is not None:
        measured = read_measured(given.measured, fleet, given.noise)
    sure = given.confidence / 100
    found = suggest(fleet, given.mixes, sure, measured)
    return {
        **engine.head("contention suggest", "suggestion"),
        "warnings": [*(warnings := _warnings(fleet, found.guesses, found.guessed))],
        "warning_codes": codes_of(warnings),
        "fleet": given.fleet,
        "device": fleet.device,
        "measured": given.measured,
        "sure": sure,
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
