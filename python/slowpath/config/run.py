"""Runs the commands `slowpath config show`, `check` and `cache`."""

import os
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path

from slowpath.bounds.cli import BOUND
from slowpath.bounds.configured import read_requirements
from slowpath.bounds.multi_target import named_targets
from slowpath.bounds.options import find_target
from slowpath.config.documents import ConfigDocument, ConfigSetting
from slowpath.core import codes, engine
from slowpath.core.engine import cache as kept
from slowpath.core.errors import ExitCode, InputError
from slowpath.core.formats import Reporter
from slowpath.core.printable import one_line
from slowpath.core.settings import (
    KEYS,
    OWN,
    REQUIRE,
    SHARED,
    Origin,
    SettingsFile,
    complete_from,
    convert,
    examine,
    find_settings,
    read_settings,
)
from slowpath.core.terminal import Line, error, grid, out


def show(args: Namespace, reporter: Reporter) -> ExitCode:
    """Print each setting of the project with its value and origin.

    Raises:
        InputError: if the settings file cannot be read, or has an error.
        OptionError: if an environment variable is invalid.
    """
    file = _settings_file(args.file)
    settings = None if file is None else read_settings(file)
    written = {key for key in KEYS if getattr(args, key) is not None}
    origins = complete_from(args, KEYS, BOUND.options, settings)
    results = list[ConfigSetting]()
    for key in KEYS:
        origin = "command line" if key in written else None
        if key in origins:
            origin = origins[key].name
        if key != REQUIRE or origin is not None:
            results.append({"key": key, "value": getattr(args, key), "origin": origin})
    for glob, one in args.requirements.items():
        results.append({"key": f"{REQUIRE}.{glob}", "value": one.text, "origin": one.place})
    read_requirements(args.requirements)
    head = engine.head("config show", "config")
    document: ConfigDocument = {**head, "file": file, "results": results}
    reporter.write(document)
    return ExitCode.FINE


def settings_text(document: ConfigDocument) -> Iterator[Line]:
    """Yield the settings as a table."""
    yield Line(f"settings file: {document['file'] or 'none'}")
    rows = [
        (one["key"], _text(one["value"]), one["origin"] or "not set") for one in document["results"]
    ]
    yield from grid(("setting", "value", "origin"), rows)


def _text(value: str | float | None) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else f"{value:.15g}"


def check(file: str | None) -> ExitCode:
    """Print all errors of a settings file, each with its line, or `fine`.

    Raises:
        InputError: if there is no settings file, it cannot be read, or it is not TOML.
    """
    if file is not None and not Path(file).exists():
        raise InputError(codes.NO_SUCH_FILE, file, "no such file or folder")
    found = _settings_file(file)
    if found is None:
        where = file or os.curdir
        raise InputError(
            codes.NO_SETTINGS_FILE,
            where,
            f"no settings file applies to it; create {OWN}, or add [tool.slowpath] to {SHARED}",
        )
    settings, problems = examine(found)
    errors = [(codes.INVALID_SETTING, problem.place, problem.reason) for problem in problems]
    errors += [(one.code, one.file, one.reason) for one in _invalid_values(settings)]
    for code, place, reason in errors:
        error(code, place, reason)
    if errors:
        return ExitCode.INPUT
    out(f"{found}: fine")
    return ExitCode.FINE


def cache(folder: str | None, clear: bool) -> ExitCode:
    """Print the folder of cached results, and the number and size of the results.

    With `clear`, delete all results instead.

    Raises:
        InputError: if a result cannot be deleted.
    """
    place = folder or kept.default_folder()
    if place is None:
        out(f"no cache: ${kept.OFF_VARIABLE} is set, or there is no home folder")
        return ExitCode.FINE
    if clear:
        count, size = kept.clear(place)
        out(one_line(f"{place}: {_kept(count, size)} deleted"))
        return ExitCode.FINE
    out(one_line(f"{place}: {_kept(*kept.usage(place))}, at most {kept.SIZE_LIMIT >> 20} MiB"))
    return ExitCode.FINE


def _kept(count: int, size: int) -> str:
    return f"{count} result{'s'[: count != 1]}, {size / (1 << 20):.1f} MiB"


def _invalid_values(settings: SettingsFile) -> Iterator[InputError]:
    """Yield an error for each value in a settings file that its option does not accept."""
    for key, setting in settings.values.items():
        try:
            convert(key, setting.text, Origin(setting.place, is_file=True), BOUND.options)
            if key == "target":
                for name in named_targets(setting.text):
                    find_target(name)
        except InputError as problem:
            yield problem
        except ValueError as problem:
            yield InputError(codes.INVALID_SETTING, setting.place, f"{key}: {problem}")
    for glob, setting in settings.required.items():
        try:
            read_requirements({glob: setting})
        except InputError as problem:
            yield problem


def _settings_file(file: str | None) -> str | None:
    """Return the settings file that applies to `file`; None if there is none.

    `file` is a settings file itself, or a program or folder; None stands for the current folder.
    """
    if file is not None and file.endswith(".toml"):
        return file
    return find_settings(file or os.curdir)
