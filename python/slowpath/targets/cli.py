"""Declares the arguments and options of `slowpath targets`."""

from slowpath.core.command import Command, Group, argument, deferred

_RUN = "slowpath.targets.run"
LIST = Command(("List the built-in targets.",), (), deferred(f"{_RUN}:list_targets"))
SHOW = Command(
    ("Print the description of a built-in target, a starting point for your own.",),
    (argument("NAME", "A built-in target."),),
    deferred(f"{_RUN}:show_target", "name"),
)
MODELS = Command(
    (
        "List the models of a target's components: their parameter, cost and error.",
        "The error is the mean symmetric relative error at points that were not part of the fit; "
        "--entries N makes estimates grow with calls named in the last column.",
    ),
    (argument("NAME", "A built-in target, or a description (*.toml)."),),
    deferred(f"{_RUN}:list_models", "name"),
)
CHECK = Command(
    ("Check target descriptions. Exit code 3 if one is invalid.",),
    (argument("FILE", "Target descriptions (*.toml).", "+"),),
    deferred(f"{_RUN}:check_targets", "file"),
)
TARGETS = Group(
    ("Describe the devices that programs can be analysed for.",),
    (),
    {name: f"{__name__}:{name.upper()}" for name in ("list", "show", "models", "check")},
)
