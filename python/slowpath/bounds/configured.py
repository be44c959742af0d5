"""Fits settings of a project to one analysis, and checks its requirements by program.

A setting is for all programs of a project. Unlike an option, it is ignored where it does not apply.
"""

from argparse import Namespace
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase

from slowpath.bounds.default_target import CARD, default_target
from slowpath.bounds.multi_target import named_targets
from slowpath.bounds.options import check_required, choose_target
from slowpath.bounds.plan import Request
from slowpath.bounds.requirement import ProgramRequirement, parse_requirement
from slowpath.core import codes
from slowpath.core.command import Option
from slowpath.core.engine.targets import Target
from slowpath.core.errors import InputError
from slowpath.core.schema.rates import METRICS, Rate
from slowpath.core.settings import KEYS, Origin, Setting, complete, subject


def fit(args: Namespace, origins: Mapping[str, Origin], files: Sequence[str]) -> None:
    """Remove from `args` the settings that do not apply; `origins` has the names of all settings.

    A setting of a target for objects does not apply to listings. A setting of map entries applies
    only to targets that estimate times.

    Raises:
        InputError: if a target in a settings file is unknown, or a target file is invalid.
        OptionError: if a target in a variable is unknown.
    """
    if "target" in origins:
        names = named_targets(args.target)
        if default_target(files) == CARD:
            names = [one for one in names if _chosen(one, origins["target"]).counters is None]
        args.target = ",".join(names) or None
    if "entries" in origins:
        names = named_targets(args.target or default_target(files))
        if all(_has_no_times(one) for one in names):
            args.entries = None
    if "jobs" in origins and getattr(args, "scheduler", None) is not None:
        args.jobs = None


_WITHOUT_PLACE = tuple(key for key in KEYS if key != "jobs")


def with_settings(args: Namespace, options: Sequence[Option], files: Sequence[str]) -> Namespace:
    """Return a copy of the options of a command for some files, completed with their settings.

    Commands that run for long call it again and again, because settings files change.

    Raises:
        InputError: if the settings file is invalid.
        OptionError: if a variable is invalid.
    """
    completed = Namespace(**(vars(args) | {"file": list(files)}))
    origins = complete(completed, _WITHOUT_PLACE, options)
    fit(completed, origins, [subject(completed)])
    return completed


def _chosen(name: str, origin: Origin) -> Target:
    try:
        return choose_target(name)
    except ValueError as problem:
        raise origin.refuse("target", str(problem)) from None


def _has_no_times(name: str) -> bool:
    try:
        return choose_target(name).machine is None
    except ValueError:  # reported when the target is used
        return False


def read_requirements(table: Mapping[str, Setting]) -> tuple[ProgramRequirement, ...]:
    """Read a table of requirements, whose keys are globs on names of programs.

    Raises:
        InputError: if a requirement is invalid; the error names its line.
    """
    found = list[ProgramRequirement]()
    for glob, setting in table.items():
        try:
            requirement = parse_requirement(setting.text)
        except ValueError as problem:
            raise InputError(codes.INVALID_REQUIREMENT, setting.place, str(problem)) from None
        found.append(ProgramRequirement(glob, requirement, setting.text, setting.place))
    return tuple(found)


def with_requirements(request: Request, table: Sequence[ProgramRequirement]) -> Request:
    """Return the request with the requirements of a settings file.

    If the command line chooses no metric and all applicable requirements have the same, this metric
    is guaranteed.
    """
    metrics = {one.requirement.metric for one in table if _decides_metric(one, request.target)}
    options = request.options
    if options.metric is None and len(metrics) == 1:
        options = options._replace(metric=metrics.pop())
    return request._replace(options=options, program_requirements=tuple(table))


def _decides_metric(one: ProgramRequirement, target: Target) -> bool:
    is_estimated = target.machine is not None and isinstance(one.requirement, Rate)
    return not is_estimated and _reason_against(one, target) is None


def _reason_against(one: ProgramRequirement, target: Target) -> str | None:
    """Return the reason why a target does not support a requirement; None if it does."""
    try:
        check_required(one.requirement, target)
    except ValueError as problem:
        return str(problem)
    return None


def requirement_of(request: Request, program: str, label: str) -> ProgramRequirement | None:
    """Return the first requirement whose glob matches a program's name or its label."""
    return next(
        (
            one
            for one in request.program_requirements
            if fnmatchcase(program, one.glob) or fnmatchcase(label, one.glob)
        ),
        None,
    )


def unchecked(one: ProgramRequirement, request: Request) -> str | None:
    """Return the reason why this analysis does not check a requirement; None if it does."""
    reason = _reason_against(one, request.target)
    if reason is None and _decides_metric(one, request.target):
        metric = request.options.metric or (request.target.counters or METRICS)[0]
        if one.requirement.metric != metric:
            reason = (
                f"the requirement needs --metric {one.requirement.metric}, but this run has "
                f"--metric {metric}"
            )
    return reason
