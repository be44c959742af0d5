"""Reads files in which Linux describes the machine. Missing values are None.

Containers hide some of these files. Some kernels, and all other systems, lack them.
"""

import re
from pathlib import Path

_MOST_CPUS = 1 << 20
"""Upper limit on the number of CPUs; a text with larger numbers is not a list of CPUs."""


class Files:
    """Reads files below a folder that is laid out like `/`."""

    def __init__(self, root: Path = Path("/")) -> None:
        self._root = root

    def text(self, file: str) -> str | None:
        """Return the text of a file without surrounding white space, or None if unreadable."""
        data = self.data(file)
        return None if data is None else data.decode(errors="replace").strip()

    def data(self, file: str) -> bytes | None:
        """Return the bytes of a file, or None if unreadable."""
        try:
            return (self._root / file).read_bytes()
        except (OSError, ValueError):
            return None

    def number(self, file: str) -> int | None:
        """Return the integer in a file, or None if it does not contain one."""
        return parse_number(self.text(file))

    def cpus(self, file: str) -> list[int] | None:
        """Return the CPUs that a file lists, or None if it is unreadable or malformed."""
        text = self.text(file)
        return None if text is None else parse_cpus(text)

    def exists(self, file: str) -> bool:
        """Return true if the file or folder exists and is visible to this process."""
        try:
            return (self._root / file).exists()
        except (OSError, ValueError):
            return False

    def names(self, folder: str) -> list[str]:
        """Return the entries of a folder, with numbers in numeric order."""
        try:
            found = [path.name for path in (self._root / folder).iterdir()]
        except (OSError, ValueError):
            return []
        return sorted(found, key=_numeric_order)

    def fields(self, file: str) -> dict[str, str]:
        """Parse lines such as `MemTotal: 24684084 kB`; of equal names, the first line counts."""
        found = dict[str, str]()
        for line in (self.text(file) or "").splitlines():
            name, colon, value = line.partition(":")
            if colon:
                found.setdefault(name.strip(), value.strip())
        return found


def parse_number(text: str | None) -> int | None:
    """Parse an integer as the kernel writes it, or return None if the text is not an integer."""
    words = (text or "").split()
    return int(words[0]) if words and re.fullmatch(r"-?[0-9]{1,20}", words[0]) else None


def parse_cpus(text: str) -> list[int] | None:
    """Parse a list of CPU numbers such as `0-3,8`, or return None if the text is malformed."""
    cpus = set[int]()
    for piece in text.strip().split(",") if text.strip() else ():
        read = re.fullmatch(r"([0-9]{1,7})(?:-([0-9]{1,7}))?", piece.strip())
        first, last = (int(read[1]), int(read[2] or read[1])) if read else (1, 0)
        if not first <= last < _MOST_CPUS:
            return None
        cpus.update(range(first, last + 1))
    return sorted(cpus)


def show_cpus(cpus: list[int]) -> str:
    """Format a list of CPUs as the kernel does: `0-3,8`."""
    ranges = list[list[int]]()
    for cpu in sorted(set(cpus)):
        if ranges and ranges[-1][1] == cpu - 1:
            ranges[-1][1] = cpu
        else:
            ranges.append([cpu, cpu])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in ranges)


def parse_size(text: str | None) -> int | None:
    """Parse a size such as `32K`, `24684084 kB` or `64` in bytes, or return None if malformed."""
    read = re.fullmatch(r"([0-9]{1,15})\s*([KMG]?)B?", (text or "").strip(), re.IGNORECASE)
    if read is None:
        return None
    return int(read[1]) << {"": 0, "K": 10, "M": 20, "G": 30}[read[2].upper()]


def chosen(text: str | None) -> str | None:
    """Return the word in brackets of a text such as `always [madvise] never`; None without one."""
    read = re.search(r"\[([^\]\s]+)\]", text or "")
    return read[1] if read else None


def _numeric_order(name: str) -> tuple[str, int, str]:
    """Return a sort key that orders names by their final number: `state2` before `state10`."""
    stem = name.rstrip("0123456789")
    number = name[len(stem) :]
    return stem, int(number[:18] or 0), name
