"""Pairs the files of two folders by name, for `slowpath diff OLD NEW`."""

import os
from pathlib import Path

from slowpath.core.errors import InputError
from slowpath.core.folders import program_files, result_files
from slowpath.diff.pairs import DiffInputs


def file_pairs(sides: DiffInputs) -> list[tuple[str | None, str | None]]:
    """Return the pairs of files to compare; None stands for a file that one folder lacks.

    Two files are a pair. Files of two folders are a pair if they have the same path below the
    folder. Programs count only if neither folder has results.

    Raises:
        InputError: if only one of both is a folder, or both folders are empty.
    """
    named = [str(sides.old), str(sides.new)]
    folders = [name for name in named if Path(name).is_dir()]
    if not folders:
        return [(sides.old, sides.new)]
    if len(folders) == 1:
        raise InputError(folders[0], "is a directory; name two directories or two files")
    found = [result_files(name) for name in named]
    if not any(found):
        found = [program_files(name) for name in named]
    if not any(found):
        raise InputError(
            named[0], ("has neither results (*.json) nor programs, and nor has the other folder")
        )
    old, new = (
        {os.path.relpath(file, name): file for file in files}
        for name, files in zip(named, found, strict=True)
    )
    return [(old.get(name), new.get(name)) for name in sorted({*old, *new})]
