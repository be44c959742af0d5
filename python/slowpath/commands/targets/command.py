"""The command line of `slowpath targets`."""

from argparse import Namespace

from slowpath.cli.command import Command, Group, argument


def _list(_given: Namespace) -> int:
    from slowpath.commands.targets.run import list_targets

    return list_targets()


def _show(given: Namespace) -> int:
    from slowpath.commands.targets.run import show_target

    return show_target(given.name)


def _check(given: Namespace) -> int:
    from slowpath.commands.targets.run import check_targets

    return check_targets(given.file)


LIST = Command(("List the built-in targets.",), (), _list)
SHOW = Command(
    ("Print the description of a built-in target, a starting point for your own.",),
    (argument("NAME", "A built-in target."),),
    _show,
)
CHECK = Command(
    ("Check target descriptions. Exit code 3 when one is not valid.",),
    (argument("FILE", "Target descriptions (*.toml).", many=True),),
    _check,
)
TARGETS = Group(
    ("Describe the devices that programs can be analysed for.",),
    (),
    {name: f"{__name__}:{name.upper()}" for name in ("list", "show", "check")},
)
