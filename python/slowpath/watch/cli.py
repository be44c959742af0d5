"""Declares the arguments and options of `slowpath watch`."""

from argparse import Namespace

from slowpath.bounds.cli import REPEATED
from slowpath.bounds.flags import ANALYSIS, FILES
from slowpath.core.command import Command, Example, within
from slowpath.core.formats import OUTPUT


def _watch(args: Namespace) -> int:
    from slowpath.watch.run import watch

    return watch(args, WATCH.options)


WATCH = Command(
    (
        "Analyse programs again after each save",
        "Prints the bound and estimate of each program. After a save, prints their changes, and "
        "the lines whose cost changed. Saves of headers and settings count, too. Ctrl-C ends "
        "the command.",
        "If a C source does not compile, prints the error with its line. The next good result "
        "is compared with the last good one. If you save during an analysis, the analysis "
        "starts again.",
        "Exit codes: 0 ended by Ctrl-C, 2 wrong usage, 3 a file does not exist at the start, or an "
        "option's file cannot be read then.",
    ),
    (
        FILES._replace(folders=False),  # new files in folders are watched, too
        *ANALYSIS,
        *REPEATED,
        OUTPUT.option(
            "--lines N",
            "Show N lines whose cost rose and N whose cost fell",
            "The limit applies to each program.",
            common=False,
            type=within(int, 0),
            default=10,
        ),
    ),
    _watch,
    (
        Example("slowpath watch prog.bpf.c", "Show what each save changes"),
        Example(
            "slowpath watch build --require '<=4000 instructions'",
            "Check all programs of a folder whenever one is built",
        ),
    ),
)
