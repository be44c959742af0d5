"""Files in which Linux describes the machine; missing values are None.

Containers hide some of them, kernels lack others, and other systems have none.
"""

import re
from collections.abc import Iterator
from pathlib import Path

_MOST_CPUS = 1 << 20
"""No machine has more; a text that says so is no list of CPUs."""


class Files:
    """The files below a folder that looks like `/`."""

    def __init__(self, root: Path = Path("/")) -> None:
        self._root = root

    def text(self, file: str) -> str | None:
        """The text of a file, without white space around it; None where it cannot be read."""
        data = self.data(file)
        return None if data is None else data.decode(errors="replace").strip()

    def data(self, file: str) -> bytes | None:
        """The bytes of a file; None where it cannot be read."""
        try:
            return (self._root / file).read_bytes()
        except (OSError, ValueError):
            return None

    def number(self, file: str) -> int | None:
        """The whole number that a file holds; None for what is none."""
        return parse_number(self.text(file))

    def cpus(self, file: str) -> list[int] | None:
        """The CPUs that a file lists; None where it cannot be read."""
        text = self.text(file)
        return None if text is None else parse_cpus(text)

    def exists(self, file: str) -> bool:
        """Whether there is such a file or folder, as far as we may know."""
        try:
            return (self._root / file).exists()
        except (OSError, ValueError):
            return False

    def names(self, folder: str) -> list[str]:
        """What a folder contains, in an order that counts as people do."""
        try:
            found = [path.name for path in (self._root / folder).iterdir()]
        except (OSError, ValueError):
            return []
        return sorted(found, key=_as_counted)

    def fields(self, file: str) -> dict[str, str]:
        """The values of lines such as `MemTotal:   24684084 kB`, by name; the first of a name."""
        found = dict[str, str]()
        for line in (self.text(file) or "").splitlines():
            name, colon, value = line.partition(":")
            if colon:
                found.setdefault(name.strip(), value.strip())
        return found


def parse_number(text: str | None) -> int | None:
    """A whole number as the kernel writes it; None for what is none."""
    words = (text or "").split()
    return int(words[0]) if words and re.fullmatch(r"-?[0-9]{1,20}", words[0]) else None


def parse_cpus(text: str) -> list[int] | None:
    """The numbers of a list such as `0-3,8`; None for what is no such list."""
    return _joined(_ranges(text.strip()))


def show_cpus(cpus: list[int]) -> str:
    """The same list as the kernel writes it."""
    ranges = list[list[int]]()
    for cpu in sorted(set(cpus)):
        if ranges and ranges[-1][1] == cpu - 1:
            ranges[-1][1] = cpu
        else:
            ranges.append([cpu, cpu])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in ranges)


def parse_size(text: str | None) -> int | None:
    """Bytes of a size such as `32K`, `24684084 kB` or `64`; None for what is none."""
    read = re.fullmatch(r"([0-9]{1,15})\s*([KMG]?)B?", (text or "").strip(), re.IGNORECASE)
    if read is None:
        return None
    return int(read[1]) << {"": 0, "K": 10, "M": 20, "G": 30}[read[2].upper()]


def chosen(text: str | None) -> str | None:
    """The chosen word of `always [madvise] never`; None where none is marked."""
    read = re.search(r"\[([^\]\s]+)\]", text or "")
    return read[1] if read else None


def _joined(ranges: Iterator[tuple[int, int] | None]) -> list[int] | None:
    cpus = set[int]()
    for found in ranges:
        if found is None:
            return None
        cpus.update(range(found[0], found[1] + 1))
    return sorted(cpus)


def _ranges(text: str) -> Iterator[tuple[int, int] | None]:
    """The ranges of a list; None for a piece that is none."""
    for piece in text.split(",") if text else ():
        read = re.fullmatch(r"([0-9]{1,7})(?:-([0-9]{1,7}))?", piece.strip())
        first, last = (int(read[1]), int(read[2] or read[1])) if read else (1, 0)
        yield (first, last) if first <= last < _MOST_CPUS else None


def _as_counted(name: str) -> tuple[str, int, str]:
    """Sorts `state2` before `state10`."""
    stem = name.rstrip("0123456789")
    number = name[len(stem) :]
    return stem, int(number[:18] or 0), name
