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
        "The editor starts this command, and talks to it on standard input and output. Functions "
        "of XDP programs in C get their bound, lines their cost on the slowest path. Refusals, "
        "errors of clang, and requirements of slowpath.toml that fail are problems.",
        "Unsaved text is analysed, also that of headers. docs/how-to/editor.md has settings of "
        "editors.",
        "Exit codes: 0 ended by the editor, 1 the editor has gone, 2 wrong usage.",
    ),
    (
        *ANALYSIS,
        *REPEATED,
        _EDITOR.option(
            "--delay TIME",
            "Start the analysis TIME after the last edit [default: 300ms]",
            "A save starts it at once.",
            type=within(duration, 0),
            default=0.3,
        ),
        _EDITOR.flag(
            "--on-save",
            "Analyse saved text only",
            "Edited text then has neither bounds nor costs until it is saved.",
        ),
    ),
    _lsp,
    (
        Example("slowpath lsp", "Show costs with the settings of the project"),
        Example("slowpath lsp --target agilio-cx-2x40 --on-save", "Show cycles on a SmartNIC"),
    ),
)
