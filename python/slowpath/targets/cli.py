"""Declares the arguments and options of `slowpath targets`."""

from slowpath.core.command import Command, Example, Group, argument, deferred

_RUN = "slowpath.targets.run"
LIST = Command(
    ("List the built-in targets", "Marks show which target linux-xdp is on this machine."),
    (),
    deferred(f"{_RUN}:list_targets"),
    (
        Example("slowpath targets list", "List the built-in targets"),
        Example("slowpath targets list -o targets.txt", "Write the list to a file"),
    ),
)
SHOW = Command(
    (
        "Print the description of a built-in target",
        "Use it as a starting point for your own. linux-xdp is the calibration of this machine, "
        "or else the target of the most similar CPU. A comment names it.",
    ),
    (argument("NAME", "A built-in target"),),
    deferred(f"{_RUN}:show_target", "name"),
    (
        Example("slowpath targets show linux-xdp", "Print the prices and limits of a target"),
        Example("slowpath targets show linux-xdp -o mine.toml", "Start a description of your own"),
    ),
)
MODELS = Command(
    (
        "List the cost models of a target's components",
        "Shows the parameter, cost and error of each model. The error is the mean symmetric "
        "relative error at points that were not part of the fit.",
        "Calls in the last column take longer with more map entries (bound --entries N).",
    ),
    (argument("NAME", "A built-in target, or a description (*.toml)"),),
    deferred(f"{_RUN}:list_models", "name"),
    (
        Example("slowpath targets models linux-xdp", "List the models of a built-in target"),
        Example("slowpath targets models mine.toml", "List the models of a description"),
    ),
)
CHECK = Command(
    ("Check target descriptions", "Exit code 3 if a description is invalid."),
    (argument("FILE", "Target descriptions (*.toml)", "+"),),
    deferred(f"{_RUN}:check_targets", "file"),
    (
        Example("slowpath targets check mine.toml", "List the errors in a description"),
        Example("slowpath targets check targets/*.toml", "Check all descriptions of a folder"),
    ),
)
TARGETS = Group(
    ("Describe the devices that programs can be analysed for",),
    (),
    {name: f"{__name__}:{name.upper()}" for name in ("list", "show", "models", "check")},
    examples=(
        Example("slowpath targets list", "List the built-in targets"),
        Example("slowpath targets show linux-xdp", "Print the prices and limits of a target"),
    ),
)
