"""Types (BTF) of the kernel that programs are for: a given file, or the running kernel's."""

from slowpath.cli.errors import InputError
from slowpath.cli.inputs import read_program
from slowpath.engine import objects

_RUNNING = "/sys/kernel/btf/vmlinux"


class KernelBtf:
    """The types to resolve programs against; the running kernel's are read when first needed."""

    def __init__(self, file: str | None) -> None:
        """Reads the types in `file`, if one is given.

        Raises:
            InputError: when they cannot be read.
        """
        self._given = file is not None
        self.file = file or _RUNNING  # where the types come from, if there are any
        self._btf = None if file is None else objects.read_btf(file, read_program(file))
        self._tried = self._given

    def for_program(self, *, needed: bool) -> objects.Btf | None:
        """The types for a program; None where there are none, or none are needed."""
        if not self._tried and needed:
            self._tried = True
            try:
                self._btf = objects.read_btf(_RUNNING, read_program(_RUNNING))
            except InputError:
                self._btf = None  # a kernel without BTF, or of another kind
        return self._btf if needed or self._given else None
