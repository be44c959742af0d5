"""Pairs the files of two folders by name, and saved results with folders of programs."""

import os
from pathlib import Path

from slowpath.core import codes
from slowpath.core.errors import InputError
from slowpath.core.folders import program_files, result_files
from slowpath.core.inputs import read_program
from slowpath.diff.pairs import DiffInputs, looks_saved


def file_pairs(sides: DiffInputs) -> list[tuple[str | None, str | None]]:
    """Return the pairs of files to compare; None stands for a file that one folder lacks.

    Two files are a pair. Files of two folders are a pair if they have the same path below the
    folder. Programs count only if neither folder has results. A file with saved results and a
    folder are a pair, whose programs are matched by name.

    Raises:
        InputError: if one is a folder and the other a program, or both folders are empty.
    """
    named = [str(sides.old), str(sides.new)]
    folders = [name for name in named if Path(name).is_dir()]
    if not folders:
        return [(sides.old, sides.new)]
    if len(folders) == 1:
        other = next(name for name in named if name not in folders)
        if looks_saved(read_program(other)):
            return [(sides.old, sides.new)]
        raise InputError(
            codes.FILES_DO_NOT_MATCH,
            folders[0],
            "is a directory, but the other side is a program; name two directories, two files, or "
            "saved results and a directory",
        )
    found = [result_files(name) for name in named]
    if not any(found):
        found = [program_files(name) for name in named]
    if not any(found):
        raise InputError(
            codes.FOLDER_WITHOUT_FILES,
            named[0],
            "neither folder contains results (*.json) or programs",
        )
    old, new = (
        {os.path.relpath(file, name): file for file in files}
        for name, files in zip(named, found, strict=True)
    )
    return [(old.get(name), new.get(name)) for name in sorted({*old, *new})]
