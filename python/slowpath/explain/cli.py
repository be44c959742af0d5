"""Declares the arguments and options of `slowpath explain`."""

from slowpath.core.command import Command, Example, argument
from slowpath.core.formats import JSON, OUTPUT, STABLE, Formats

_RUN = "slowpath.explain.run"
_FORMATS = Formats(_RUN, text="codes_text", json=JSON)
EXPLAIN = Command(
    (
        "Explain the code of an error, refusal, warning or finding",
        "Errors end with a code such as [SP0201]. Prints its cause, what to do, and an example. "
        "For a block such as SP02, prints one line for each code of the block.",
        "A code keeps its meaning in all later versions; docs/reference/codes.md lists all codes.",
        "Exit codes: 0 success, 2 wrong usage or an unknown code.",
    ),
    (
        argument(
            "CODE",
            "A code (SP0201, sp201 or 201), its name (no-such-file), or a block (SP02)",
            "*",
        ),
        OUTPUT.flag("--list", "Print one line for each code; with CODE, for each named one"),
        _FORMATS.option(STABLE),
    ),
    _FORMATS.call(f"{_RUN}:explain"),
    (
        Example("slowpath explain SP0201", "Explain a code"),
        Example("slowpath explain unbounded-loop no-price", "Explain two codes by their names"),
        Example("slowpath explain --list", "List all codes"),
    ),
)
