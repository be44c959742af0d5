"""The command line of `slowpath insights`, and what its commands have in common."""

from slowpath.cli.command import Group, option

OUTPUT = "Output"
FORMATS = ("table", "json", "csv")
CODES = "Exit codes: 0 fine, 2 wrong usage, 3 a file cannot be read, used or written."
NEEDS = "Needs the extra `insights`: pip install slowpath[insights]."
FORMAT = option(
    OUTPUT,
    "--format",
    choices=FORMATS,
    default="table",
    help="How to write to standard output; json and csv are stable (default: %(default)s).",
)
PREDICTIONS = option(
    OUTPUT,
    "-o",
    "--output",
    metavar="FILE",
    help="Write the predictions to a file that ends in .csv or .json, rather than to standard "
    "output.",
)

INSIGHTS = Group(
    (
        "Tell what a network function will need on a SmartNIC before it is ported, and how to port "
        "it.",
        "slowpath insights FILE [OPTIONS] advises how to port the function in a source (.c, .cc, "
        ".ll, ...): slowpath insights FILE --help has its options. A file that is called as a "
        "command is: ./counts.",
    ),
    (),
    {
        "cores": "slowpath.commands.insights.cores.command:CORES",
        "colocation": "slowpath.commands.insights.colocation.command:COLOCATION",
        "placement": "slowpath.commands.insights.placement.command:PLACEMENT",
        "coalescing": "slowpath.commands.insights.coalescing.command:COALESCING",
        "counts": "slowpath.commands.insights.counts.command:COUNTS",
        "blocks": "slowpath.commands.insights.blocks.command:BLOCKS",
        "accelerators": "slowpath.commands.insights.accelerators.command:ACCELERATORS",
    },
    "slowpath.commands.insights.advice.command:ADVICE",
)
