"""Types (BTF) of the kernel that programs are for: a given file, or the running kernel's."""

from typing import NamedTuple

from slowpath.cli.errors import InputError
from slowpath.cli.inputs import read_program
from slowpath.engine import objects

_RUNNING = "/sys/kernel/btf/vmlinux"


class CarriedBtf(NamedTuple):
    """The types as they go to another machine, whose kernel has others."""

    file: str
    data: bytes | None  # None: there are none, or none are needed
    given: bool


class KernelBtf:
    """The types to resolve programs against; the running kernel's are read when first needed."""

    def __init__(self, file: str | None) -> None:
        """Reads the types in `file`, if one is given.

        Raises:
            InputError: when they cannot be read.
        """
        self._given = file is not None
        self.file = file or _RUNNING  # where the types come from, if there are any
        self._data = None if file is None else read_program(file)
        self._btf = None if self._data is None else objects.read_btf(self.file, self._data)
        self._tried = self._given

    def carried(self, *, needed: bool) -> CarriedBtf:
        """The same, to be carried elsewhere."""
        data = self._data
        if needed and not self._given:
            try:
                data = read_program(_RUNNING)
            except InputError:
                data = None
        return CarriedBtf(self.file, data, self._given)

    @classmethod
    def arrived(cls, carried: CarriedBtf) -> "KernelBtf":
        """What was carried here; nothing is read of the kernel that runs here."""
        found = cls(None)
        found.file, found._given, found._tried = carried.file, carried.given, True
        try:
            if carried.data is not None:
                found._btf = objects.read_btf(carried.file, carried.data)
        except InputError:
            found._btf = None  # of another kind: as where it came from
        return found

    def for_program(self, *, needed: bool) -> objects.Btf | None:
        """The types for a program; None where there are none, or none are needed."""
        if not self._tried and needed:
            self._tried = True
            try:
                self._btf = objects.read_btf(_RUNNING, read_program(_RUNNING))
            except InputError:
                self._btf = None  # a kernel without BTF, or of another kind
        return self._btf if needed or self._given else None
