"""Loads program files and kernel types (BTF). C sources are compiled first."""

import os.path
from typing import NamedTuple

from slowpath.core import codes
from slowpath.core.engine import objects
from slowpath.core.engine.cache import digest
from slowpath.core.errors import InputError
from slowpath.core.inputs import read_program
from slowpath.core.programs.sources import (
    HEAD,
    KINDS,
    Clang,
    advice_for,
    is_p4,
    is_pipeline,
    is_source,
    kind_of,
)


def load_program(file: str, clang: Clang) -> bytes:
    """Return the content of an object or listing; compile C and P4 sources first.

    Raises:
        InputError: if the file cannot be read or compiled, or is a source that the user must
            compile.
        StoppedError: if no time is left to compile it.
    """
    if os.path.isdir(file):
        raise _error_for_folder(file)
    data = read_program(file)
    advice = advice_for(file, data, pipelines=True)
    if advice is not None:
        raise InputError(advice.code, file, advice)
    kind = None if is_pipeline(file, data[:HEAD]) else kind_of(file, data)
    if kind is None:
        return data
    from slowpath.core.programs.clang import compile_c, shown_command

    if kind == "c" and is_source(file):
        return compile_c(file, clang)
    if kind == "p4" and is_p4(file):
        from slowpath.core.programs.p4 import compile_p4

        return compile_p4(file, clang)
    if kind == "p4":
        raise InputError(codes.NOT_EBPF_SOURCE, file, "is P4; rename it to a name that ends in .p4")
    what, language = KINDS[kind]
    settings = () if file.endswith(f".{kind}") else language
    command = shown_command(file, Clang((*clang.flags, *settings)), search=kind == "c")
    raise InputError(
        codes.NOT_EBPF_SOURCE, file, f"is {what}, not an object; compile it: {command}"
    )


def _error_for_folder(folder: str) -> InputError:
    """Return the error for a folder where a file is needed; it names some files of the folder."""
    from slowpath.core.inputs import program_files
    from slowpath.core.terminal import first_few

    names = [os.path.relpath(file, folder) for file in program_files(folder)]
    if not names:
        kinds = "*.bpf.o, *.o for BPF, *.bpf.c, *.p4, *.spec, *.asm"
        what = f"is a directory without programs ({kinds})"
        return InputError(codes.FOLDER_WITHOUT_FILES, folder, what)
    what = f"is a directory; name one of its files: {first_few(names, 3)}"
    return InputError(codes.IS_A_DIRECTORY, folder, what)


_RUNNING = "/sys/kernel/btf/vmlinux"
"""File with the types of the running kernel."""


class SerializedBtf(NamedTuple):
    """Kernel types as bytes, which can be sent to a machine with another kernel."""

    file: str
    data: bytes | None  # None: not available, or not needed
    given: bool  # true: the user named the file


class KernelBtf:
    """Provides the kernel types (BTF) that programs need.

    The running kernel's types are read only if a program needs them.
    """

    def __init__(self, file: str | None) -> None:
        """Read the types in `file`; None stands for the running kernel.

        Raises:
            InputError: if the file cannot be read.
        """
        self._given = file is not None
        self.file = file or _RUNNING  # file that the types come from
        self._data = None if file is None else read_program(file)
        self._btf = None if self._data is None else objects.read_btf(self.file, self._data)
        self._tried = self._given
        self._digest: str | None = None

    def serialized(self, *, needed: bool) -> SerializedBtf:
        """Return the types as bytes, to send them to other machines.

        The running kernel's types are read only if they are `needed` and the user named no file.
        """
        data = self._data
        if needed and not self._given:
            try:
                data = read_program(_RUNNING)
            except InputError:
                data = None
        return SerializedBtf(self.file, data, self._given)

    @classmethod
    def restored(cls, sent: SerializedBtf) -> "KernelBtf":
        """Restore kernel types that another machine sent; the local kernel's types are not read."""
        found = cls(None)
        found.file, found._given, found._tried = sent.file, sent.given, True
        try:
            if sent.data is not None:
                found._btf = objects.read_btf(sent.file, sent.data)
        except InputError:
            found._btf = None  # unsupported BTF, as on the machine that sent it
        return found

    def digest(self, *, needed: bool) -> str | None:
        """Return a digest of the types that `for_program` would return; None without types.

        If the types are not supported, the digest is that of the file.
        """
        if self._digest is None:
            data = self.serialized(needed=needed).data
            if data is None:
                return None
            self._digest = digest(data)
        return self._digest if needed or self._given else None

    def for_program(self, *, needed: bool) -> objects.Btf | None:
        """Return the types for a program; None if they are not available or not used.

        `needed` is true if the program needs types of the running kernel. Types in a file that the
        user named are always used.
        """
        if not self._tried and needed:
            self._tried = True
            try:
                self._btf = objects.read_btf(_RUNNING, read_program(_RUNNING))
            except InputError:
                self._btf = None  # a kernel without BTF, or with unsupported BTF
        return self._btf if needed or self._given else None
