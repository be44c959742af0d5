"""Declares the arguments and options of `slowpath config`."""

from slowpath.bounds.cli import BOUND
from slowpath.bounds.flags import CACHE_DIR, CACHING
from slowpath.core.command import Command, Example, Group, argument, deferred
from slowpath.core.formats import JSON, STABLE, Formats
from slowpath.core.settings import KEYS

_RUN = "slowpath.config.run"
_FORMATS = Formats(_RUN, table="settings_text", json=JSON)
_FILE = argument(
    "FILE",
    "Settings file, program or folder [default: this folder]",
    "?",
    "A settings file ends in .toml. For a program or folder, slowpath finds the settings file "
    "that applies.",
)
_NAMES = {f"--{key}" for key in KEYS}
SHOW = Command(
    (
        "Show the settings for a program, each with its origin",
        "The command line comes first, then environment variables such as SLOWPATH_TARGET, then "
        "the settings file: slowpath.toml, or [tool.slowpath] in pyproject.toml, in the folder "
        "of the program or above it in the same Git repository.",
        "Exit codes: 0 success, 2 wrong usage, 3 the settings file cannot be read or has an error.",
    ),
    (
        _FILE,
        *(option for option in BOUND.options if option.names[-1] in _NAMES),
        _FORMATS.option(STABLE),
    ),
    _FORMATS.call(f"{_RUN}:show"),
    (
        Example("slowpath config show", "Show the settings for programs in this folder"),
        Example("slowpath config show filter.bpf.o", "Show the settings that apply to an object"),
    ),
)
CHECK = Command(
    (
        "Check a settings file of a project",
        "Reports unknown keys, wrong types and invalid values, each with its line.",
        "Exit codes: 0 success, 2 wrong usage, 3 the file cannot be read or has an error.",
    ),
    (_FILE,),
    deferred(f"{_RUN}:check", "file"),
    (
        Example("slowpath config check", "Check the settings file of this folder"),
        Example("slowpath config check slowpath.toml", "Check this file"),
    ),
)
CACHE = Command(
    (
        "Show or clear the cache of results",
        "Analyses keep complete results for later runs with the same program, target, options "
        "and version. slowpath deletes results that were not used for 90 days. Above 500 MiB, "
        "it also deletes those that were used longest ago.",
        "Exit codes: 0 success, 2 wrong usage, 3 a result cannot be deleted.",
    ),
    (
        CACHE_DIR,
        CACHING.flag("--clear", "Remove all kept results"),
    ),
    deferred(f"{_RUN}:cache", "cache_dir", "clear"),
    (
        Example("slowpath config cache", "Show the folder and size of the cache"),
        Example("slowpath config cache --clear", "Remove all kept results"),
    ),
)
CONFIG = Group(
    ("Show and check settings (slowpath.toml), and the cache",),
    (),
    {"show": f"{__name__}:SHOW", "check": f"{__name__}:CHECK", "cache": f"{__name__}:CACHE"},
    examples=(
        Example("slowpath config show filter.bpf.o", "Show the settings that apply to an object"),
        Example("slowpath config check", "Check the settings file of this folder"),
        Example("slowpath config cache", "Show the folder and size of the cache"),
    ),
)
