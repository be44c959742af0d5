"""Names source files relative to the root of the repository, as hosts of code reviews expect.

Debug information has the names that the compiler got, or absolute paths of the machine that
compiled. Both can differ from the checkout in which the command runs.
"""

import os.path
from pathlib import Path


def repository_root(folder: Path) -> Path:
    """Return the nearest folder above or at `folder` with a Git repository, else `folder`."""
    whole = folder.resolve()
    return next((one for one in (whole, *whole.parents) if (one / ".git").exists()), whole)


class Names:
    """Finds files by their names in debug information, and names them relative to the root."""

    def __init__(self, folder: Path | None = None) -> None:
        """Create names for a command that runs in `folder` [default: the current one]."""
        self._folder = (folder or Path()).resolve()
        self._root = repository_root(self._folder)
        self._known = dict[tuple[str, str], str]()

    def name(self, file: str, program: str = "") -> str:
        """Return the name of a file relative to the root, with `/`; else its absolute path.

        `program` is the file of the program that has the name in its debug information; sources
        may be beside it.
        """
        key = (file, program)
        if key not in self._known:
            found = self._find(Path(file), Path(program).parent)
            self._known[key] = self._relative(found)
        return self._known[key]

    def _find(self, file: Path, beside: Path) -> Path:
        """Return the path of a file that exists, if one fits the name."""
        below = [self._root.joinpath(*file.parts[at:]) for at in range(1, len(file.parts))]
        places = (file, beside / file, beside / file.name, *below)
        for place in places:
            path = self._folder / place
            try:
                if path.is_file():
                    return path
            except (OSError, ValueError):  # not a name of a file
                continue
        return self._folder / file

    def _relative(self, path: Path) -> str:
        plain = Path(os.path.normpath(path))  # keeps links, as Git does
        below = plain.is_relative_to(self._root)
        return (plain.relative_to(self._root) if below else plain).as_posix()


def is_relative(name: str) -> bool:
    """Return true if a name is relative to the root of the repository."""
    return not name.startswith("/")
