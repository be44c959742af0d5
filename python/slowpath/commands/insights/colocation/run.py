"""Runs `slowpath insights colocation`."""

from argparse import Namespace
from typing import TYPE_CHECKING

from slowpath.cli.exit_codes import ExitCode
from slowpath.commands.insights.writing import check_output, warn_of_guesses, write
from slowpath.insights.packages import need_numbers

if TYPE_CHECKING:
    from slowpath.insights.colocation.documents import ColocationReport
    from slowpath.insights.colocation.groups import Groups
    from slowpath.insights.colocation.model import PairsModel


def run(given: Namespace) -> ExitCode:
    """Predicts and reports.

    Raises:
        InputError: when a file cannot be read, used or written.
        OptionError: when options do not fit together.
        UnavailableError: when a package is missing.
    """
    check_output(given.output, [given.query, *([given.train] if given.train else [])])
    need_numbers()
    from slowpath.insights.colocation.groups import read_groups

    groups = read_groups(given.query)
    report = _report(given, groups, _model(given))
    from slowpath.commands.insights.colocation.report import colocation_csv, colocation_text

    write(given, {"csv": colocation_csv, "table": colocation_text}, report)
    unusual = [(one["group"], one["unusual"]) for one in report["groups"]]
    warn_of_guesses(given.query, "groups have functions", unusual)
    return ExitCode.FINE


def _model(given: Namespace) -> "PairsModel":
    if given.train is None:
        from slowpath.insights.colocation.saved import shipped

        return shipped()
    from slowpath.insights.colocation.groups import read_measured
    from slowpath.insights.colocation.learning import learn

    return learn(*read_measured(given.train))


def _report(given: Namespace, groups: "Groups", model: "PairsModel") -> "ColocationReport":
    from slowpath.engine import identity
    from slowpath.insights.colocation.documents import groups_of

    return {
        "slowpath": identity.version(),
        "query": given.query,
        "train": given.train,
        "learnt_from": model.groups,
        "groups": groups_of(model, groups),
    }
