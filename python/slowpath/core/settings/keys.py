"""Keys of settings files, and the commands that use each.

Every run of these commands imports this module, so it imports nothing.
"""

REQUIRE = "require"
"""Key of the table of requirements, by globs on names of programs."""
_ANALYSIS = ("target", "entries", "mtu", "deadline")
KEYS = (*_ANALYSIS, "jobs", REQUIRE)
"""All keys. Except for the table of requirements, each has the name of an option."""
USED = {
    "bound": KEYS,
    "annotate": _ANALYSIS,
    "diff": (*_ANALYSIS, "jobs"),
    "sweep": _ANALYSIS,
    "measure": ("mtu",),
    "chain bound": _ANALYSIS,
    "chain facts": ("deadline",),
    "chain optimize": ("deadline",),
    "chain verify": ("deadline",),
    "chain plan": ("deadline",),
}
"""Keys that each command uses. The deadline of `measure` has a default of its own, and `chain
optimize` guarantees costs only for targets that are named. `watch` and `lsp` are not here, because
they read settings again before each analysis (`bounds/configured.py`)."""


def variable(key: str) -> str | None:
    """Return the environment variable of a key; None for the table of requirements."""
    return None if key == REQUIRE else f"SLOWPATH_{key.upper()}"
