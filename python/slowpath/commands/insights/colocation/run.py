"""Runs `slowpath insights colocation`."""

from argparse import Namespace
from typing import TYPE_CHECKING

from slowpath.cli.exit_codes import ExitCode
from slowpath.commands.insights.writing import check_output, told, warn, write
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
    from slowpath.commands.insights.colocation.report import (
        colocation_csv,
        colocation_json,
        colocation_text,
    )

    forms = {"csv": colocation_csv, "json": colocation_json, "table": colocation_text}
    write(given, forms, report)
    odd = [f"{one['group']} ({', '.join(one['unusual'])})" for one in report["groups"]]
    odd = [text for text, one in zip(odd, report["groups"], strict=True) if one["unusual"]]
    if odd:
        warn(
            given.query,
            f"{len(odd)} of {groups.size} groups have functions unlike those that were measured: "
            f"{told(odd)}; what is said of them is a guess",
        )
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
