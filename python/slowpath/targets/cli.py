"""The command line of `slowpath targets`."""

from argparse import Namespace

from slowpath.core.command import Command, Group, argument


def _list(_args: Namespace) -> int:
    from slowpath.targets.run import list_targets

    return list_targets()


def _show(args: Namespace) -> int:
    from slowpath.targets.run import show_target

    return show_target(args.name)


def _models(args: Namespace) -> int:
    from slowpath.targets.run import list_models

    return list_models(args.name)


def _check(args: Namespace) -> int:
    from slowpath.targets.run import check_targets

    return check_targets(args.file)


LIST = Command(("List the built-in targets.",), (), _list)
SHOW = Command(
    ("Print the description of a built-in target, a starting point for your own.",),
    (argument("NAME", "A built-in target."),),
    _show,
)
MODELS = Command(
    (
        "List the models of a target's components: their parameter, cost and error.",
        "The error is the mean symmetric relative error at points that were not part of the fit; "
        "--entries N makes estimates grow with calls named in the last column.",
    ),
    (argument("NAME", "A built-in target, or a description (*.toml)."),),
    _models,
)
CHECK = Command(
    ("Check target descriptions. Exit code 3 if one is invalid.",),
    (argument("FILE", "Target descriptions (*.toml).", "+"),),
    _check,
)
TARGETS = Group(
    ("Describe the devices that programs can be analysed for.",),
    (),
    {name: f"{__name__}:{name.upper()}" for name in ("list", "show", "models", "check")},
)
