"""Types (BTF) of the kernel that programs are for: a given file, or the running kernel's."""

from slowpath import engine
from slowpath.cli.inputs import InputError, read_program

_RUNNING = "/sys/kernel/btf/vmlinux"


class Kernels:
    """The kernel to resolve programs against; the running one is read when it is first needed."""

    def __init__(self, file: str | None) -> None:
        """Reads the types in `file`, if one is given.

        Raises:
            InputError: when they cannot be read.
        """
        self._given = file is not None
        self._kernel = None if file is None else engine.load_kernel(file, read_program(file))
        self._tried = self._given

    def for_program(self, *, needed: bool) -> engine.Kernel | None:
        """The kernel for a program; None where there is none, or none is needed."""
        if not self._tried and needed:
            self._tried = True
            try:
                self._kernel = engine.load_kernel(_RUNNING, read_program(_RUNNING))
            except InputError:
                self._kernel = None  # a kernel without BTF, or of another kind
        return self._kernel if needed or self._given else None
