"""Runs the commands `slowpath completion`, `slowpath man` and `slowpath complete`."""

import os
from collections.abc import Sequence
from pathlib import Path

from slowpath.core.engine import objects
from slowpath.core.errors import ExitCode, InputError
from slowpath.core.inputs import read_program, write_error, write_text
from slowpath.core.printable import one_line
from slowpath.core.terminal import out, out_lines
from slowpath.shell.manual import manual_pages
from slowpath.shell.scripts import bash, fish, zsh
from slowpath.shell.words import places

_SCRIPTS = {"bash": bash, "zsh": zsh, "fish": fish}


def print_completion(shell: str) -> ExitCode:
    """Print the completion script of a shell."""
    out_lines(_SCRIPTS[shell](places()))
    return ExitCode.FINE


def write_manual(folder: str | None) -> ExitCode:
    """Write all manual pages into a folder; without one, print the first page.

    Raises:
        InputError: if the folder or a page cannot be written.
    """
    pages = manual_pages()
    if folder is None:
        out_lines(pages["slowpath.1"])
        return ExitCode.FINE
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise write_error(folder, problem) from None
    for name, lines in pages.items():
        write_text(str(Path(folder, name)), "\n".join([*lines, ""]))
    out(f"{len(pages)} pages written to {folder}")
    return ExitCode.FINE


def print_names(what: str, words: Sequence[str]) -> ExitCode:
    """Print the names of programs or sections of the objects among the words of a command line.

    Nothing is an error, because the user has not finished the command line.
    """
    names = dict[str, None]()
    for file in filter(os.path.isfile, words):
        try:
            programs = objects.programs(objects.read_object(file, read_program(file)))
        except InputError:
            continue
        for program in programs or ():
            names[program.section if what == "sections" else program.name] = None
    out_lines(name for name in names if name and name == one_line(name))
    return ExitCode.FINE
