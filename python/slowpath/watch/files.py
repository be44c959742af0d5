"""Finds files whose content has changed, by polling.

Polling works on all file systems, needs no package, and takes microseconds for each file. Content
decides: a file that is only touched has not changed.
"""

import time
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

_CLOCK_TICK = 1.0
"""Seconds for which equal times of a file do not prove equal content, because two saves can happen
within one tick of a file system's clock."""
_COARSE = 0.01
"""Seconds by which times of files on Linux can be late: one tick of the kernel."""


class _Stamp(NamedTuple):
    """Metadata of a file that a save changes."""

    modified: int  # nanoseconds
    size: int
    inode: int


class _State:
    """The last known content of a file."""

    def __init__(self, file: str) -> None:
        self.stamp: _Stamp | None = None  # None: missing, or changed just now
        self.digest: bytes | None = None  # None: missing
        self.previous = _stamp(file)  # at the previous look
        self.read(file)

    def read(self, file: str) -> bool:
        """Read the content; return true if it has changed."""
        before, stamp = self.digest, _stamp(file)
        self.digest = _digest(file)
        old = stamp is not None and time.time() - stamp.modified / 1e9 > _CLOCK_TICK
        self.stamp = stamp if old else None
        return self.digest != before


class WatchedFiles:
    """Files whose changes are found by calls of `changed`."""

    def __init__(self) -> None:
        self._states = dict[str, _State]()

    def follow(self, files: Iterable[str], since: float | None = None) -> None:
        """Watch exactly these files from now on; those that are watched already keep their state.

        A new file that was modified after `since` (seconds, as `time.time`) counts as changed.
        """
        wanted = set(files)
        for file in self._states.keys() - wanted:
            del self._states[file]
        for file in wanted - self._states.keys():
            state = self._states[file] = _State(file)
            modified = None if state.previous is None else state.previous.modified / 1e9
            if since is not None and modified is not None and modified > since - _COARSE:
                state.digest, state.stamp = b"", None

    def changed(self) -> set[str]:
        """Return the files whose content differs from that of the previous change.

        A file that is being written counts only when two successive calls see the same state.
        """
        found = set[str]()
        for file, state in self._states.items():
            stamp = _stamp(file)
            settled, state.previous = stamp == state.previous, stamp
            is_known = stamp == state.stamp and stamp is not None
            if not is_known and settled and state.read(file):
                found.add(file)
        return found

    def pending(self) -> bool:
        """Return true if a file was written since the last call of `changed`."""
        return any(_stamp(file) != state.previous for file, state in self._states.items())


def _stamp(file: str) -> _Stamp | None:
    try:
        found = Path(file).stat()
    except (OSError, ValueError):
        return None
    return _Stamp(found.st_mtime_ns, found.st_size, found.st_ino)


def _digest(file: str) -> bytes | None:
    if not Path(file).is_file():  # a pipe could block forever
        return None
    try:
        return sha256(Path(file).read_bytes()).digest()
    except OSError:
        return None
