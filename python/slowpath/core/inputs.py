"""Reads and writes files that the user names, and reports their errors.

A folder stands for the program files or results below it, without files that Git ignores.
"""

import errno
import os
import re
import select
import stat
import time
from argparse import Namespace
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING

from slowpath.core import codes
from slowpath.core.codes import Code
from slowpath.core.command import Option
from slowpath.core.errors import InputError, OptionError

if TYPE_CHECKING:
    import subprocess

_LARGEST_MEBIBYTES = 256
"""Maximum size of a file, far above that of programs, so that `/dev/zero` cannot fill the memory.
"""

STANDARD_INPUT = "-"
"""Name of standard input as a file."""

_pipes_until: float | None = None
"""Time on the monotonic clock until which pipes may be read; None if there is no limit."""

NO_SUCH_FILE = "no such file"
"""Text of the error about a missing file."""


def read_program(file: str) -> bytes:
    """Read a program file, or standard input for `-`.

    Raises:
        InputError: if it cannot be read.
    """
    limit = _LARGEST_MEBIBYTES << 20
    try:
        if file == STANDARD_INPUT:
            data = _standard_input(limit + 1)
        elif stat.S_ISFIFO(os.stat(file).st_mode):
            # Without O_NONBLOCK, opening a pipe without a writer would block forever.
            data = _from_pipe(file, os.open(file, os.O_RDONLY | os.O_NONBLOCK), limit + 1)
        else:
            with open(file, "rb") as stream:
                data = stream.read(limit + 1)
    except IsADirectoryError:
        raise InputError(
            codes.IS_A_DIRECTORY, file, "is a directory; name the files in it"
        ) from None
    except OSError as error:
        raise InputError(_code(error), file, _reason(error)) from None
    except ValueError:  # file names in descriptions can be any text
        raise InputError(
            codes.FILE_UNREADABLE, file, "a file name cannot contain a NUL byte"
        ) from None
    if len(data) > limit:
        raise InputError(
            codes.FILE_TOO_LARGE,
            file,
            f"is larger than {_LARGEST_MEBIBYTES} MiB, the limit for programs",
        )
    return data


@cache
def _standard_input(limit: int) -> bytes:
    """Read standard input, at most `limit` bytes.

    Its content is read only once, even if the user names it twice.
    """
    return _from_pipe(STANDARD_INPUT, os.dup(0), limit)


def read_pipes_within(seconds: float | None) -> None:
    """Limit the time for reading all pipes together to `seconds` from now; None: no limit."""
    global _pipes_until  # noqa: PLW0603 - files are read in many places
    _pipes_until = None if seconds is None else time.monotonic() + seconds


def _from_pipe(file: str, descriptor: int, limit: int) -> bytes:
    """Read a pipe through its descriptor to the end, but at most `limit` bytes, and close it.

    `file` is its name in errors.

    Raises:
        InputError: if the writer does not close the pipe in time.
    """
    parts = list[bytes]()
    try:
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        while limit > 0:
            left = None if _pipes_until is None else max(_pipes_until - time.monotonic(), 0)
            if not poll.poll(None if left is None else 1000 * left):
                raise InputError(
                    codes.PIPE_NOT_FINISHED, file, "is a pipe whose writer did not finish in time"
                )
            part = os.read(descriptor, min(limit, 1 << 20))
            if not part:
                break
            parts.append(part)
            limit -= len(part)
    finally:
        os.close(descriptor)
    return b"".join(parts)


def read_text(file: str) -> str:
    """Read a text file, such as a target description.

    Raises:
        InputError: if it cannot be read or is not UTF-8.
    """
    return text_of(file, read_program(file))


def text_of(file: str, data: bytes) -> str:
    """Decode the content of a file as UTF-8; `file` is its name in errors.

    Raises:
        InputError: if the content is not UTF-8.
    """
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise InputError(
            codes.NOT_UTF8, file, f"is not UTF-8 text: byte {error.start} is invalid"
        ) from None


def _code(error: OSError) -> Code:
    missing = isinstance(error, FileNotFoundError | NotADirectoryError)
    return codes.NO_SUCH_FILE if missing else codes.FILE_UNREADABLE


def _reason(error: OSError) -> str:
    if isinstance(error, FileNotFoundError):
        return NO_SUCH_FILE
    reason = error.strerror or str(error)
    return reason[:1].lower() + reason[1:]


def check_page(file: str | None) -> None:
    """Check that the file of `--html`, if given, has the extension of a web page.

    Raises:
        OptionError: if it has another extension.
    """
    if file is not None and not file.endswith((".html", ".htm")):
        raise OptionError(codes.WRONG_SUFFIX, "--html", "the file name must end in .html")


def check_output(option: str, output: str | None, read: Iterable[str]) -> None:
    """Check that an output file is not one of the input files `read`, not even through a link.

    `option` is the option that names the output file.

    Raises:
        OptionError: if it is an input file; the error names `option`.
    """
    if output is None:
        return
    for file in read:
        if is_same_file(output, file):
            what = "an input" if file == output else f"the input {file}"
            raise OptionError(
                codes.OUTPUT_IS_INPUT, option, f"{output} would overwrite {what}; name another file"
            )


def check_written(options: Iterable[Option], args: Namespace) -> None:
    """Check before the work that all output files can be written, and differ from all other files.

    Raises:
        OptionError: if an output file is also an input file or another output file; the error names
            its option.
        InputError: if an output file cannot be written, for example because its folder is missing.
    """
    values = [(option, _values(option, args)) for option in options]
    read = [file for option, files in values if option.reads for file in files]
    written = list[tuple[str, str]]()
    for option, files in values:
        if not option.writes:
            continue
        for file in files:
            check_output(option.names[-1], file, read)
            for name, other in written:
                if os.path.realpath(file) == os.path.realpath(other) or is_same_file(file, other):
                    raise OptionError(
                        codes.OUTPUT_IS_INPUT,
                        option.names[-1],
                        (f"{file} is also the output of {name}; name another file"),
                    )
            check_writable(file)
            written.append((option.names[-1], file))


def expand_folders(options: Iterable[Option], args: Namespace) -> None:
    """Replace folders in the argument `file` by their program files, if the command allows it."""
    for option in options:
        if option.folders and any(map(os.path.isdir, args.file)):
            args.file = expanded(args.file)


def expand_output_folders(options: Iterable[Option], args: Namespace) -> None:
    """Replace each output folder by a default file in it, for options that allow this.

    Folders are created. A value that ends in `/` is a folder, even if it does not exist.

    Raises:
        InputError: if the folder cannot be created.
    """
    for option in options:
        if option.file_name is None:
            continue
        for folder in _values(option, args):
            if not folder.endswith("/") and not os.path.isdir(folder):
                continue
            try:
                os.makedirs(folder, exist_ok=True)
            except OSError as error:
                raise write_error(folder, error) from None
            setattr(args, _destination(option), os.path.join(folder, option.file_name(args)))


def _values(option: Option, args: Namespace) -> list[str]:
    """Return the texts that the user gave for an option or argument, such as names of files."""
    value = vars(args).get(_destination(option))
    values = value if isinstance(value, list | tuple) else [value]
    return [text for text in values if isinstance(text, str)]


def _destination(option: Option) -> str:
    """Return the name of the namespace attribute that argparse gives to an option or argument."""
    name = next((name for name in option.names if name.startswith("--")), option.names[0])
    return str(option.settings.get("dest", name.lstrip("-").replace("-", "_")))


def is_same_file(one: str, other: str) -> bool:
    """Return true if two names refer to the same existing file (same device and inode)."""
    try:
        return os.path.samefile(one, other)
    except (OSError, ValueError):  # a missing file, or an invalid name
        return False


def write_text(file: str, text: str) -> None:
    """Write a text file in UTF-8; undecodable bytes of file names become escapes.

    Raises:
        InputError: if the file cannot be written; it is then unchanged.
    """
    write_bytes(file, text.encode(errors="backslashreplace"))


def write_bytes(file: str, data: bytes) -> None:
    """Write a file atomically.

    Raises:
        InputError: if the file cannot be written; it is then unchanged.
    """
    try:
        replace_file(file, data)
    except OSError as error:
        raise write_error(file, error) from None


def replace_file(file: str, data: bytes) -> None:
    """Replace a file atomically: write a new file in the same folder and rename it.

    Readers find either the old or the new content. Links are followed; devices and pipes are
    written to directly.

    Raises:
        OSError: if the file cannot be written; it is then unchanged.
    """
    new = NewFile(file)
    try:
        with open(new.descriptor, "wb") as stream:
            stream.write(data)
            stream.flush()
            new.keep()
    finally:
        with suppress(OSError):
            new.discard()


class NewFile:
    """A new file that replaces one of the user's files, atomically and only when it is complete.

    Links are followed. A device or a pipe is not replaced, but written to.
    """

    def __init__(self, file: str) -> None:
        """Create the new file in the folder of `file`, and open it for writing.

        Raises:
            OSError: if it cannot be created.
        """
        if file.endswith("/"):  # the real path lacks the slash
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), file)
        self._path = os.path.realpath(file)
        self._temporary: str | None = None
        if os.path.exists(file) and not os.path.isfile(file):
            self.descriptor = os.open(file, os.O_WRONLY)  # /dev/stderr can lead to an unnamed pipe
            return
        self._temporary = _temporary_name(self._path)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        self.descriptor = os.open(self._temporary, flags, 0o666)

    def keep(self) -> None:
        """Replace the user's file by the new one; the caller must have flushed its content.

        Raises:
            OSError: if that is impossible; the user's file is then unchanged.
        """
        if self._temporary is None:
            return
        _keep_attributes(self._path, self.descriptor)
        os.fsync(self.descriptor)
        os.replace(self._temporary, self._path)
        self._temporary = None
        _sync(os.path.dirname(self._path))

    def discard(self) -> None:
        """Remove the new file, unless it replaced the user's file.

        Raises:
            OSError: if it cannot be removed.
        """
        if self._temporary is not None:
            os.unlink(self._temporary)


def check_writable(file: str) -> None:
    """Check before long work that a file can be written; existing content is kept.

    Raises:
        InputError: if it cannot be written.
    """
    path = os.path.realpath(file)
    try:
        if os.path.isdir(path):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if os.path.exists(file) and not os.path.isfile(file):
            return
        temporary = _temporary_name(path)
        os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        os.unlink(temporary)
    except OSError as error:
        raise write_error(file, error) from None


def _temporary_name(path: str) -> str:
    """Return an unused name in the folder of a file, for a temporary file that will replace it."""
    name = f".slowpath-{os.getpid()}-{os.urandom(8).hex()}"
    return os.path.join(os.path.dirname(path), name)


def _keep_attributes(file: str, descriptor: int) -> None:
    """Give the new file the mode and owner of the file that it replaces, as far as permitted."""
    with suppress(OSError):
        old = os.stat(file)
        if (old.st_uid, old.st_gid) != (os.geteuid(), os.getegid()):
            os.fchown(descriptor, old.st_uid, old.st_gid)
        os.fchmod(descriptor, old.st_mode & 0o777)


def _sync(folder: str) -> None:
    """Write the renaming of a file to disk by fsync of its folder, if the system supports it."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def write_error(file: str, error: OSError) -> InputError:
    """Convert an error of the operating system about writing `file` to an `InputError`."""
    folder = os.path.dirname(file)
    if isinstance(error, FileNotFoundError) and folder and not os.path.exists(folder):
        return InputError(
            codes.CANNOT_WRITE, file, f"cannot be written: there is no folder {folder}; create it"
        )
    return InputError(
        codes.CANNOT_WRITE, file, f"cannot be written: {(error.strerror or str(error)).lower()}"
    )


_NAMES = (".bpf.o", ".bpf.c", ".asm")
"""Ends of names of program files."""
_P4 = ".p4"
_MAIN = rb"\)\s*main\s*;"
"""A line that only main files of P4 programs have: the package (P4_16 specification, section 17).
"""
_PIPELINE = ".spec"
_APPLY = rb"(?m)^[ \t]*apply[ \t]*\{"
"""A line that only pipelines of DPDK's software switch have: the block `apply`. Other `.spec` files
lack it."""
_RESULTS = ".json"
"""End of names of saved results."""
_OBJECT = ".o"
"""End of names of objects, which may be for any machine."""
_ELF = b"\x7fELF"
_MACHINE = slice(18, 20)
"""Position of the machine type in an ELF header (e_machine; gabi, chapter 4)."""
_BPF = (b"\xf7\x00", b"\x00\xf7")
"""EM_BPF, 247, in both byte orders."""


def program_files(folder: str) -> list[str]:
    """Return the sorted program files below a folder: objects, C, P4, pipelines, listings."""
    return sorted(file for file in _files(folder) if _is_program(file))


def result_files(folder: str) -> list[str]:
    """Return the sorted JSON files below a folder, which commands wrote with `--format json`."""
    return sorted(file for file in _files(folder) if file.endswith(_RESULTS))


def expanded(files: Sequence[str]) -> list[str]:
    """Replace each folder in a list by the program files below it.

    A folder without program files stays; reading it is an error.
    """
    found = list[str]()
    for file in files:
        found += (program_files(file) if os.path.isdir(file) else []) or [file]
    return found


def _is_program(file: str) -> bool:
    if file.endswith(_NAMES):
        return True
    if not file.endswith((_OBJECT, _P4, _PIPELINE)):
        return False
    try:
        with open(file, "rb") as opened:
            if file.endswith(_P4):
                return re.search(_MAIN, opened.read()) is not None
            if file.endswith(_PIPELINE):
                return re.search(_APPLY, opened.read()) is not None
            head = opened.read(_MACHINE.stop)
    except OSError:
        return False
    return head.startswith(_ELF) and head[_MACHINE] in _BPF


def _files(folder: str) -> Iterator[str]:
    """Yield all files below a folder; in a Git repository, only those that Git does not ignore."""
    names = _git(folder)
    if names is not None:
        found = (os.path.join(folder, name) for name in names)
        yield from (file for file in found if os.path.isfile(file))
        return
    for path, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        yield from (os.path.join(path, name) for name in files)


def _git(folder: str) -> list[str] | None:
    """Return the files below a folder that Git does not ignore.

    Return None without Git or a repository. Also return None for an ignored folder, because the
    user named it explicitly.
    """
    import subprocess

    command = ["git", "-C", folder]
    listing = ["ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate"]
    try:
        if _run([*command, "check-ignore", "-q", "."]).returncode == 0:
            return None
        listed = _run([*command, *listing])
    except (OSError, subprocess.SubprocessError):
        return None
    if listed.returncode:
        return None
    return [os.fsdecode(name) for name in listed.stdout.split(b"\0") if name]


def _run(command: Sequence[str]) -> "subprocess.CompletedProcess[bytes]":
    import subprocess

    return subprocess.run(  # noqa: S603 - git with a folder of the user
        command, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False
    )
