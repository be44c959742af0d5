"""Runs `slowpath insights cores`."""

from argparse import Namespace
from typing import TYPE_CHECKING

from slowpath.cli.errors import OptionError
from slowpath.cli.exit_codes import ExitCode
from slowpath.cli.lists import first_few
from slowpath.commands.insights.writing import (
    GUESS,
    SHOWN,
    check_output,
    warn,
    warn_of_guesses,
    write,
)
from slowpath.insights.packages import need_numbers

if TYPE_CHECKING:
    from slowpath.insights.cores.curves import Asked
    from slowpath.insights.cores.documents import CoresReport
    from slowpath.insights.cores.model import CoresModel


def run(given: Namespace) -> ExitCode:
    """Predicts and reports.

    Raises:
        InputError: when a file cannot be read, used or written.
        OptionError: when options do not fit together.
        UnavailableError: when a package is missing.
    """
    if given.train is not None and given.traffic is not None:
        raise OptionError("--traffic", "is of the model without --train")
    check_output(given.output, [given.query, *([given.train] if given.train else [])])
    need_numbers()
    from slowpath.insights.cores.curves import read_asked

    asked = read_asked(given.query)
    report = _report(given, asked, _model(given))
    from slowpath.commands.insights.cores.report import cores_csv, cores_text

    write(given, {"csv": cores_csv, "table": cores_text}, report)
    _warn(asked, report)
    return ExitCode.FINE


def _model(given: Namespace) -> "CoresModel":
    from slowpath.insights.cores import saved

    if given.train is None:
        return saved.shipped(given.traffic or saved.TRAFFIC[0])
    from slowpath.insights.cores.curves import read_curves
    from slowpath.insights.cores.learning import learn

    return learn(read_curves(given.train))


def _report(given: Namespace, asked: "Asked", model: "CoresModel") -> "CoresReport":
    from slowpath.engine import identity
    from slowpath.insights.cores import saved
    from slowpath.insights.cores.documents import functions_of, points_of

    confidence = given.confidence / 100
    return {
        "slowpath": identity.version(),
        "query": given.query,
        "train": given.train,
        "traffic": None if given.train else given.traffic or saved.TRAFFIC[0],
        "learnt_from": model.functions,
        "confidence": confidence,
        "functions": functions_of(model, asked, confidence),
        "points": points_of(model, asked),
    }


def _warn(asked: "Asked", report: "CoresReport") -> None:
    """Says what is unlike that which was measured."""
    beyond = sorted({one["cores"] for one in report["points"] if one["outside"]})
    if beyond:
        cores = first_few([str(one) for one in beyond], SHOWN)
        text = f"{cores} cores are outside of the 24 to 60 that were measured; {GUESS}"
        warn(asked.file, text)
    unusual = [(one["function"], one["unusual"]) for one in report["functions"]]
    warn_of_guesses(asked.file, "functions are", unusual)
