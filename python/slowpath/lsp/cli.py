"""Declares the arguments and options of `slowpath lsp`."""

from argparse import Namespace

from slowpath.bounds.cli import REPEATED
from slowpath.bounds.flags import ANALYSIS
from slowpath.core.command import Command, Example, Heading, within
from slowpath.core.quantities import duration

_EDITOR = Heading("Editor")


def _lsp(args: Namespace) -> int:
    from slowpath.lsp.run import serve

    return serve(args, LSP.options)


LSP = Command(
    (
        "Show bounds and costs in an editor, as its language server",
        "The editor starts this command, and talks to it on standard input and output. Shows "
        "the bound of each XDP program in C, and the cost of each line on the slowest path. "
        "Problems are refusals, errors of clang, and failed requirements of slowpath.toml.",
        "slowpath also analyses unsaved text, including headers. docs/how-to/editor.md shows "
        "settings for editors.",
        "Exit codes: 0 ended by the editor, 1 the editor ended without stopping the server, 2 "
        "wrong usage.",
    ),
    (
        *ANALYSIS,
        *REPEATED,
        _EDITOR.option(
            "--delay TIME",
            "Start the analysis TIME after the last edit [default: 300ms]",
            "If you save the file, the analysis starts at once.",
            type=within(duration, 0),
            default=0.3,
        ),
        _EDITOR.flag(
            "--on-save",
            "Analyse saved text only",
            "Until you save, edited text then shows neither bounds nor costs.",
        ),
    ),
    _lsp,
    (
        Example("slowpath lsp", "Show costs with the settings of the project"),
        Example("slowpath lsp --target agilio-cx-2x40 --on-save", "Show cycles on a SmartNIC"),
    ),
)
