"""Declares the arguments and options of `slowpath reproduce`."""

from slowpath.core.command import Command, Example, Heading, argument, within
from slowpath.core.formats import JSON, OUTPUT, Formats
from slowpath.core.quantities import duration

_WORK = Heading("Work")
_FORMATS = Formats("slowpath.reproduce.report", table="table", json=JSON, csv="csv_report")

REPRODUCE = Command(
    (
        "Compare a published figure with values that slowpath computes",
        "Without arguments, lists the supported papers and figures, and the data that each "
        "figure needs. slowpath contains no published data: name your copy of the artefact. A "
        "checkout of slowpath includes the data of two figures: example of chains "
        "(examples/chain) and figure-15 of insights (examples/insights).",
        "A copy can be a clone, a folder with the needed files, or single files. A clone at "
        "another commit causes a warning. After Ctrl-C, the report shows the items computed so "
        "far.",
        "The papers contention and insights need the extras `contention` and `insights`, and "
        "performance-models needs the extra `models` (docs/how-to/install.md).",
        "Exit codes: 0 success, 2 wrong usage, 3 data are missing or damaged, or the figure cannot "
        "be reproduced, 4 stopped before all items were computed.",
    ),
    (
        argument("PAPER", "Paper, such as throughput-guarantees [default: list all]", "?"),
        argument("FIGURE", "Figure or table, such as table-2 [default: list those of PAPER]", "?"),
        argument("PATH", "Folder or files with the data of the artefact", "*"),
        _WORK.flag("--list", "List figures with their data, licences and places"),
        _WORK.option(
            "--only GLOB",
            "Compute only the items whose name matches GLOB",
            "Items depend on the figure, such as `published` and `slomo` in table-5 of contention. "
            "A GLOB without a match, such as ?, lists them. Repeatable.",
            action="append",
        ),
        _WORK.option(
            "--repetitions N",
            "Repeat the cross-validation N times",
            common=False,
            type=within(int, 1, 100),
            default=1,
        ),
        _WORK.option(
            "--deadline TIME",
            "Compute for at most TIME [default: no limit]",
            "After TIME, the report shows the items computed so far.",
            type=within(duration, 0),
        ),
        _WORK.option(
            "--jobs N",
            "Compute N items in parallel [default: number of CPUs]",
            common=False,
            type=within(int, 1, 1024),
        ),
        OUTPUT.option(
            "--within PERCENT",
            "Count the deviations up to PERCENT",
            type=within(float, 0, 1_000_000),
            default=1.0,
        ),
        OUTPUT.option(
            "--html FILE",
            "Write an HTML page with charts of published and own values",
        ),
        _FORMATS.option(),
    ),
    _FORMATS.call("slowpath.reproduce.run:reproduce"),
    (
        Example("slowpath reproduce", "List papers and figures with the data that they need"),
        Example(
            "slowpath reproduce throughput-guarantees table-2 nfp-pred-artifacts",
            "Compare guarantees with those of a clone of the published artefact",
        ),
        Example(
            "slowpath reproduce chains example examples/chain",
            "Compare sizes with data that a checkout includes",
        ),
        Example(
            "slowpath reproduce contention table-5 Yala --html table-5.html",
            "Draw published and own errors of predictions",
        ),
    ),
)
