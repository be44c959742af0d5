"""The command line of `slowpath targets`."""

from argparse import Namespace

from slowpath.core.command import Command, Group, argument


def _list(_given: Namespace) -> int:
    from slowpath.targets.run import list_targets

    return list_targets()


def _show(given: Namespace) -> int:
    from slowpath.targets.run import show_target

    return show_target(given.name)


def _models(given: Namespace) -> int:
    from slowpath.targets.run import list_models

    return list_models(given.name)


def _check(given: Namespace) -> int:
    from slowpath.targets.run import check_targets

    return check_targets(given.file)


LIST = Command(("List the built-in targets.",), (), _list)
SHOW = Command(
    ("Print the description of a built-in target, a starting point for your own.",),
    (argument("NAME", "A built-in target."),),
    _show,
)
MODELS = Command(
    (
        "List what is known of the components of a target: by which parameter, how much, how well.",
        "The error is that of points that a model was not fitted to: symmetric, relative, in the "
        "mean; --entries N makes estimates grow with what is named in the last column.",
    ),
    (argument("NAME", "A built-in target, or a description (*.toml)."),),
    _models,
)
CHECK = Command(
    ("Check target descriptions. Exit code 3 when one is not valid.",),
    (argument("FILE", "Target descriptions (*.toml).", many=True),),
    _check,
)
TARGETS = Group(
    ("Describe the devices that programs can be analysed for.",),
    (),
    {name: f"{__name__}:{name.upper()}" for name in ("list", "show", "models", "check")},
)
