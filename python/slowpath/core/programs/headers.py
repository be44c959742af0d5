"""Loads programs for commands that watch files, and records the headers of each program.

When a header changes, these commands reload the programs that include it.
"""

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from slowpath.core.errors import InputError
from slowpath.core.programs.clang import CompilationError, SourceError, compile_c
from slowpath.core.programs.loading import load_program
from slowpath.core.programs.p4 import compile_p4, included_files
from slowpath.core.programs.sources import Clang, is_p4, is_source

_WORD = re.compile(r"(?:\\.|[^\s\\])+")
"""A file name in a rule of Make. A backslash is in front of spaces and `#`."""


class RecordingLoader:
    """Loads programs, and records the headers and errors of C sources.

    It is a function of the type `bounds.plan.Load`.
    """

    def __init__(self, folder: str, texts: Mapping[str, str] | None = None) -> None:
        """Create a loader.

        Args:
            folder: An existing folder for temporary files, which the caller removes.
            texts: Texts to compile in place of files, such as unsaved ones, by absolute path.
        """
        self._rule = os.path.join(folder, "headers.d")
        self._texts = texts or {}
        self._overlay = _overlay(folder, self._texts) if texts else ()
        self.headers: dict[str, list[str]] = {}
        """Headers of each C source that was compiled, without those of the system."""
        self.errors: dict[str, Sequence[SourceError]] = {}
        """Errors of each C source that clang rejects; empty if clang names no places."""

    def __call__(self, file: str, clang: Clang) -> bytes:
        """Return the content of a program file; a C or P4 source is compiled first.

        Raises:
            InputError: as `load_program`.
            StoppedError: as `load_program`.
        """
        if not is_source(file):
            return load_program(file, clang)
        if is_p4(file):
            return self._load_p4(file, clang)
        hidden = ("-MMD", "-MF", self._rule, *self._overlay)
        self.errors.pop(file, None)
        load = load_program
        if file in self._texts and not os.path.lexists(file):
            load = _compile_unsaved
        try:
            data = load(file, clang._replace(hidden=hidden))
        except CompilationError as problem:
            self.errors[file] = problem.errors
            named = [error.file for error in problem.errors if error.file != file]
            # Without an object, clang writes no rule; errors can be in headers that are not yet
            # recorded.
            self.headers[file] = list(dict.fromkeys((*self.headers.get(file, ()), *named)))
            raise
        with open(self._rule, encoding="utf-8", errors="surrogateescape") as rule:
            named = prerequisites(rule.read())
        self.headers[file] = [name for name in named if name not in {file, os.devnull}]
        return data

    def _load_p4(self, file: str, clang: Clang) -> bytes:
        """Compile a P4 program; record the files that it includes as its headers."""
        self.errors.pop(file, None)
        text = self._texts.get(file)
        self.headers[file] = included_files(file, clang.flags, text)
        try:
            return load_program(file, clang) if text is None else compile_p4(file, clang, text)
        except CompilationError as problem:
            self.errors[file] = problem.errors
            raise


def _compile_unsaved(file: str, clang: Clang) -> bytes:
    """Compile an unsaved text of an editor whose file does not exist yet.

    The driver of clang refuses a missing file before it reads the overlay, so the text is included
    in an empty source.

    Raises:
        InputError: as `load_program`; it names `file`.
    """
    flags = ("-x", "c", *clang.flags, "-include", file)
    try:
        return compile_c(os.devnull, clang._replace(flags=flags))
    except CompilationError as problem:
        raise CompilationError(problem.code, file, problem.reason, problem.errors) from None
    except InputError as problem:
        raise type(problem)(problem.code, file, problem.reason) from None


def prerequisites(rule: str) -> list[str]:
    """Return the prerequisites in the first rule of a Makefile, which clang writes for `-MMD`."""
    _, _, files = rule.replace("\\\n", " ").partition(": ")
    words = _WORD.findall(files.partition("\n")[0])
    return [re.sub(r"\\(.)", r"\1", word).replace("$$", "$") for word in words]


def _overlay(folder: str, texts: Mapping[str, str]) -> tuple[str, str]:
    """Return flags that make clang read unsaved texts in place of files.

    The texts are written to `folder`. The file of clang's option is JSON (LLVM:
    `RedirectingFileSystem`, `VirtualFileSystem.h`). Errors and debug information keep the names of
    the replaced files.
    """
    import json

    roots = []
    for number, (path, text) in enumerate(texts.items()):
        stored = os.path.join(folder, f"text{number}")
        Path(stored).write_bytes(text.encode(errors="surrogateescape"))
        roots.append({"type": "file", "name": path, "external-contents": stored})
    overlay = os.path.join(folder, "overlay.json")
    content = {"version": 0, "use-external-names": False, "roots": roots}
    Path(overlay).write_bytes(json.dumps(content).encode())
    return "-ivfsoverlay", overlay
