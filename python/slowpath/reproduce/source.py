"""Finds the files of an artefact below the paths that the user names."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from slowpath.core import codes
from slowpath.core.errors import Coded, InputError, OptionError
from slowpath.core.inputs import NO_SUCH_FILE
from slowpath.reproduce.registry import Figure

_REF = "ref: "


class Source:
    """The user's copy of an artefact: folders, or single files."""

    def __init__(self, paths: Sequence[str], figure: Figure) -> None:
        """Store the paths of the data for a figure.

        Raises:
            OptionError: if no path is given.
            InputError: if a path does not exist.
        """
        if not paths:
            raise OptionError(
                codes.MISSING_ARGUMENT, "PATH", f"name the local path of {wanted(figure)}"
            )
        self.figure = figure
        self.paths = [Path(path) for path in paths]
        for path in self.paths:
            if not path.exists():
                raise InputError(codes.NO_SUCH_FILE, str(path), NO_SUCH_FILE)

    def files(self, *patterns: str) -> list[Path]:
        """Return the files that match the first glob with a match; the last part is the name.

        A folder is searched for the whole glob and for the name alone. A single file matches by its
        name.
        """
        for pattern in patterns:
            found = sorted(set(self._matching(pattern)))
            if found:
                return found
        return []

    def _matching(self, pattern: str) -> Iterator[Path]:
        name = pattern.rpartition("/")[2]
        for path in self.paths:
            if path.is_file():
                yield from [path] if path.match(name) else []
            else:
                # A clone has the whole pattern, a folder of single files only the name.
                for tried in dict.fromkeys((pattern, name)):
                    found = [one for one in path.glob(tried) if one.is_file()]
                    if found:
                        yield from found
                        break

    def file(self, *patterns: str) -> Path | None:
        """Return the first file that `files` finds; None without one."""
        return next(iter(self.files(*patterns)), None)

    def needed(self, *patterns: str) -> list[Path]:
        """Return the files that match a glob.

        Raises:
            InputError: if there are none; the error says where the artefact is published.
        """
        found = self.files(*patterns)
        if not found:
            raise self.missing(" or ".join(patterns))
        return found

    def missing(self, what: str) -> InputError:
        """Return the error for missing files."""
        where = ", ".join(map(str, self.paths))
        reason = f"has no {what}; name the local path of {wanted(self.figure)}"
        return InputError(codes.ARTEFACT_INCOMPLETE, where, reason)

    def damaged(self, file: Path, reason: str) -> InputError:
        """Return the error for a file whose content is not that of the artefact."""
        again = f"{reason}; get it again from {place(self.figure)}"
        return InputError(codes.ARTEFACT_DAMAGED, str(file), again)

    def revisions(self) -> list[str]:
        """Return the commits of the paths that are Git checkouts."""
        return [one for path in self.paths if (one := _commit(path)) is not None]

    def warnings(self) -> list[Coded]:
        """Return a warning for each checkout at another commit than that of the registry."""
        artefact = self.figure.artefact
        if artefact is None or artefact.revision is None:
            return []
        return [
            Coded(
                codes.ARTEFACT_REVISION,
                f"{path}: is at commit {found[:7]}, but slowpath was compared with commit "
                f"{artefact.revision[:7]}; the data may differ",
            )
            for path in self.paths
            if (found := _commit(path)) is not None and not found.startswith(artefact.revision)
        ]


def wanted(figure: Figure) -> str:
    """Describe the data of a figure and the place to get them, for error messages."""
    at = "" if figure.artefact is None else f", from {place(figure)}"
    return f"the data: {figure.needs}{at}"


def place(figure: Figure) -> str:
    """Return the address of a figure's artefact with its revision."""
    artefact = figure.artefact
    if artefact is None:
        return figure.needs
    at = "" if artefact.revision is None else f" at commit {artefact.revision[:7]}"
    return f"{artefact.address}{at}"


def _commit(folder: Path) -> str | None:
    """Return the commit of a Git checkout; None if the folder is none, or its state is unknown."""
    git = folder / ".git"
    if not git.is_dir():
        return None
    try:
        head = (git / "HEAD").read_text().strip()
        if not head.startswith(_REF):
            return head
        name = head.removeprefix(_REF)
        loose = git / name
        if loose.is_file():
            return loose.read_text().strip()
        packed = (git / "packed-refs").read_text().splitlines()
    except (OSError, UnicodeDecodeError):
        return None
    found = (line.partition(" ") for line in packed)
    return next((commit for commit, _, ref in found if ref == name), None)
