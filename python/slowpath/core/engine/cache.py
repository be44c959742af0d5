"""Keeps results of the engine on disk, so that later commands need not compute them again.

A key is a digest of everything that a result depends on, with the content of the compiled engine.
Callers keep complete results only: a result that a limit of time or memory affected depends on the
machine. Entries are text, which is parsed as JSON and never executed.
"""

import hashlib
import json
import os
from collections.abc import Callable, Sequence
from contextlib import suppress

from slowpath import _core
from slowpath.core import codes
from slowpath.core.errors import InputError

FOLDER_VARIABLE = "SLOWPATH_CACHE_DIR"
"""Environment variable with the path of the cache folder."""
OFF_VARIABLE = "SLOWPATH_NO_CACHE"
"""Environment variable that turns the cache off if it has a value."""
_FORMAT = 1
"""Version of the format of cache entries.

Programs with another version do not find these entries.
"""
_CHUNK = 1 << 20


def default_folder() -> str | None:
    """Return the cache folder; None if the user has turned the cache off, or has no home folder.

    The folder is `$SLOWPATH_CACHE_DIR`, else `slowpath` in the user's cache directory (XDG).
    """
    if os.environ.get(OFF_VARIABLE):
        return None
    named = os.environ.get(FOLDER_VARIABLE)
    if named:
        return named
    caches = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(caches):  # the XDG specification ignores relative paths
        caches = os.path.expanduser("~/.cache")
    return os.path.join(caches, "slowpath") if os.path.isabs(caches) else None


def digest(data: bytes) -> str:
    """Return the digest of some content, in hexadecimal."""
    return hashlib.blake2b(data, digest_size=32).hexdigest()


class Cache:
    """A folder with cached results; the folder need not exist."""

    def __init__(self, folder: str, warn: Callable[[str], None]) -> None:
        """Open the folder.

        `warn` is called with a message when a result cannot be stored for the first time.
        """
        self.folder = folder
        self._kept = _core.Cache(folder)
        self._warn = warn
        self._broken = False
        self._engine: str | None = None

    def key(self, kind: str, parts: object) -> str:
        """Return the cache key of a result.

        `kind` is the kind of the result. `parts` is plain data (JSON) with everything that the
        result depends on, apart from the engine. Large content is given by its `digest`.
        """
        return _key([_FORMAT, self.engine, kind, parts])

    @property
    def engine(self) -> str:
        """Identity of the engine: its version, and the digest of its file.

        The digest of the file is itself cached, because computing it takes longer than starting a
        command.
        """
        if self._engine is None:
            about = os.stat(_core.__file__)
            facts = [about.st_size, about.st_mtime_ns, about.st_ctime_ns, about.st_ino]
            key = _key([_FORMAT, "engine", os.path.abspath(_core.__file__), facts])
            known = self.find(key, 1)
            content = known[0] if known else _digest_of_file(_core.__file__)
            if known is None:
                with suppress(OSError):  # later writes fail as well, and warn
                    self._kept.write(key, content.encode())
            self._engine = f"{_core.version()} {content}"
        return self._engine

    def find(self, key: str, count: int) -> list[str] | None:
        """Return the texts that are stored for a key.

        Return None if there are none, or not `count`.
        """
        data = self._kept.read(key)
        if data is None:
            return None
        texts = data.decode(errors="replace").split("\n")
        return texts if len(texts) == count else None

    def keep(self, key: str, texts: Sequence[str]) -> None:
        """Store single-line texts, such as JSON, for a key.

        The first failure causes a warning; nothing is stored afterwards.
        """
        if self._broken or any("\n" in text for text in texts):
            return
        try:
            self._kept.write(key, "\n".join(texts).encode())
        except (OSError, UnicodeEncodeError) as problem:
            self._broken = True
            self._warn(f"{self.folder}: results cannot be kept: {_reason(problem)}")

    def prune(self) -> None:
        """Delete results that were not used for a long time, unless this was done recently."""
        self._kept.prune()


def _key(parts: object) -> str:
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"))
    return digest(text.encode())


def _reason(problem: Exception) -> str:
    """Return the reason of an error without the number that the operating system gives it."""
    return str(getattr(problem, "strerror", None) or problem).partition(" (os error ")[0]


def _digest_of_file(file: str) -> str:
    found = hashlib.blake2b(digest_size=32)
    with open(file, "rb") as opened:
        while data := opened.read(_CHUNK):
            found.update(data)
    return found.hexdigest()


def usage(folder: str) -> tuple[int, int]:
    """Return the number of cached results in a folder, and their size in bytes."""
    return _core.cache_usage(folder)


def clear(folder: str) -> tuple[int, int]:
    """Delete all cached results in a folder; return their number, and their size in bytes.

    Raises:
        InputError: if a result cannot be deleted.
    """
    try:
        return _core.clear_cache(folder)
    except OSError as problem:
        file = os.fsdecode(problem.filename or folder)
        raise InputError(
            codes.CACHE_NOT_CLEARED, file, f"cannot be deleted: {_reason(problem).lower()}"
        ) from None


SIZE_LIMIT = _core.cache_limit()
"""Maximum size of the cached results in a folder, in bytes.

If there are more, the results that were used longest ago are deleted.
"""
