"""Loading of program files and kernel types (BTF); compiles C sources."""

from typing import NamedTuple

from slowpath.core.engine import objects
from slowpath.core.errors import InputError
from slowpath.core.inputs import read_program
from slowpath.core.programs.sources import KINDS, Clang, is_c, kind_of, known_as


def load_program(file: str, clang: Clang) -> bytes:
    """The content of an object or listing; C source is compiled.

    Raises:
        InputError: when it cannot be read or compiled, or is to be compiled first.
        StoppedError: when there is no time left to compile it.
    """
    data = read_program(file)
    known = known_as(file, data)
    if known is not None:
        raise InputError(file, known)
    kind = kind_of(file, data)
    if kind is None:
        return data
    from slowpath.core.programs.clang import compile_c, shown_command

    if kind == "c" and is_c(file):
        return compile_c(file, clang)
    what, language = KINDS[kind]
    settings = () if file.endswith(f".{kind}") else language
    command = shown_command(file, Clang((*clang.flags, *settings)), search=kind == "c")
    raise InputError(file, f"is {what}, no object; clang makes one of it: {command}")


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
