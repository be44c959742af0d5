"""Applies the settings of a project, from its settings file and environment, to one analysis.

A setting is for all programs of a project. Unlike an option of the command line, a setting is
ignored for programs to which it does not apply.
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
    """Remove from `args` the settings that do not apply to these files.

    `origins` has the settings by name, with their file or variable. A target for BPF objects does
    not apply to listings for network cards. A number of map entries applies only to targets with
    time estimates.

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
    """Return a copy of a command's options for some files, completed from the project's settings.

    Long-running commands call it for each analysis, because settings files change.

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
    """Read the requirements of a settings file. The keys of the table are globs on program names.

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
    """Return the request together with the requirements of a settings file.

    If no metric was chosen and all requirements for the target have the same metric, that metric is
    guaranteed.
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
    """Return the first requirement whose glob matches a program's name or label; None if none does.

    A label consists of file and program name.
    """
    return next(
        (
            one
            for one in request.program_requirements
            if fnmatchcase(program, one.glob) or fnmatchcase(label, one.glob)
        ),
        None,
    )


def unchecked(one: ProgramRequirement, request: Request) -> str | None:
    """Return the reason why this analysis cannot check a requirement; None if it checks it."""
    reason = _reason_against(one, request.target)
    if reason is None and _decides_metric(one, request.target):
        metric = request.options.metric or (request.target.counters or METRICS)[0]
        if one.requirement.metric != metric:
            reason = (
                f"the requirement needs --metric {one.requirement.metric}, but this run has "
                f"--metric {metric}"
            )
    return reason
