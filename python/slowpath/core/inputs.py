"""Files that the user names: reading, writing, and their errors."""

import errno
import os
import select
import stat
import time
from argparse import Namespace
from collections.abc import Iterable
from contextlib import suppress

from slowpath.core.command import Option
from slowpath.core.errors import InputError, OptionError

_LARGEST_MEBIBYTES = 256
"""No program comes near; it keeps endless files (`/dev/zero`) from filling the memory."""

_pipes_until: float | None = None
"""When pipes are no longer read, by the monotonic clock; None: no limit."""

NO_SUCH_FILE = "no such file"
"""Why a file that is not there cannot be read."""


def read_program(file: str) -> bytes:
    """The content of a program file.

    Raises:
        InputError: when it cannot be read.
    """
    limit = _LARGEST_MEBIBYTES << 20
    try:
        if stat.S_ISFIFO(os.stat(file).st_mode):
            data = _from_pipe(file, limit + 1)
        else:
            with open(file, "rb") as stream:
                data = stream.read(limit + 1)
    except IsADirectoryError:
        raise InputError(file, "is a directory; name the files in it") from None
    except OSError as error:
        raise InputError(file, _reason(error)) from None
    except ValueError:  # what descriptions name can be any text
        raise InputError(file, "no file has a NUL byte in its name") from None
    if len(data) > limit:
        raise InputError(file, f"is larger than {_LARGEST_MEBIBYTES} MiB; no program is that large")
    return data


def read_pipes_within(seconds: float | None) -> None:
    """Limits from now on how long pipes are read, all together; None: no limit."""
    global _pipes_until  # noqa: PLW0603 - files are read in many places
    _pipes_until = None if seconds is None else time.monotonic() + seconds


def _from_pipe(file: str, limit: int) -> bytes:
    """The content of a pipe until its end, or so many bytes.

    Raises:
        InputError: when it does not end in time.
    """
    parts = list[bytes]()
    # Opening a pipe that nobody writes to would wait without end.
    descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK)
    try:
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        while limit > 0:
            left = None if _pipes_until is None else max(_pipes_until - time.monotonic(), 0)
            if not poll.poll(None if left is None else 1000 * left):
                raise InputError(file, "is a pipe that was not written to its end in time")
            part = os.read(descriptor, min(limit, 1 << 20))
            if not part:
                break
            parts.append(part)
            limit -= len(part)
    finally:
        os.close(descriptor)
    return b"".join(parts)


def read_text(file: str) -> str:
    """The content of a text file, such as a target description.

    Raises:
        InputError: when it cannot be read or is not UTF-8.
    """
    return text_of(file, read_program(file))


def text_of(file: str, data: bytes) -> str:
    """The content of a file as text.

    Raises:
        InputError: when it is not UTF-8.
    """
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise InputError(file, f"is not UTF-8 text (byte {error.start})") from None


def _reason(error: OSError) -> str:
    if isinstance(error, FileNotFoundError):
        return NO_SUCH_FILE
    reason = error.strerror or str(error)
    return reason[:1].lower() + reason[1:]


def check_page(file: str | None) -> None:
    """Finds out whether the file of `--html`, if one is named, has the name of a page.

    Raises:
        OptionError: when it has another one.
    """
    if file is not None and not file.endswith((".html", ".htm")):
        raise OptionError("--html", "the file has to end in .html")


def check_output(option: str, output: str | None, read: Iterable[str]) -> None:
    """Finds out that what is written does not replace what is read, by whatever name or link.

    Raises:
        OptionError: when it would.
    """
    if output is not None and any(is_same_file(output, file) for file in read):
        raise OptionError(option, f"{output} is read, and would be overwritten")


def check_written(options: Iterable[Option], given: Namespace) -> None:
    """Finds out that no file that a command writes is one that it reads, or writes twice.

    Raises:
        OptionError: when one is.
    """
    values = [(one, _values(one, given)) for one in options]
    read = [file for one, files in values if one.reads for file in files]
    written = list[tuple[str, str]]()
    for one, files in values:
        if not one.writes:
            continue
        for file in files:
            check_output(one.names[-1], file, read)
            for name, other in written:
                if os.path.realpath(file) == os.path.realpath(other) or is_same_file(file, other):
                    raise OptionError(one.names[-1], f"{file} is written for {name} as well")
            written.append((one.names[-1], file))


def _values(option: Option, given: Namespace) -> list[str]:
    """What was typed for an option or argument, if anything was."""
    name = next((name for name in option.names if name.startswith("--")), option.names[0])
    name = option.settings.get("dest", name.lstrip("-").replace("-", "_"))
    value = vars(given).get(name)
    several = value if isinstance(value, list | tuple) else [value]
    return [one for one in several if isinstance(one, str)]


def is_same_file(one: str, other: str) -> bool:
    """Whether two names are those of one file that is there, by device and inode."""
    try:
        return os.path.samefile(one, other)
    except (OSError, ValueError):  # one is not there, or no name of a file
        return False


def write_text(file: str, text: str) -> None:
    """Writes a text file, in UTF-8; bytes of file names that are no text become escapes.

    Raises:
        InputError: when it cannot be written; it is then as it was.
    """
    write_bytes(file, text.encode(errors="backslashreplace"))


def write_bytes(file: str, data: bytes) -> None:
    """Writes a file, as a whole or not at all.

    Raises:
        InputError: when it cannot be written; it is then as it was.
    """
    try:
        replace_file(file, data)
    except OSError as error:
        raise write_error(file, error) from None


def replace_file(file: str, data: bytes) -> None:
    """Writes a file beside the one that is there, and then renames it.

    Readers find the old content or the new one at any time. Links are followed; devices and pipes
    are written to as they are.

    Raises:
        OSError: when it cannot be written; it is then as it was.
    """
    path = os.path.realpath(file)
    if os.path.exists(path) and not os.path.isfile(path):
        with open(path, "wb") as stream:
            stream.write(data)
        return
    fresh = _beside(path)
    try:
        with open(fresh, "xb") as stream:
            stream.write(data)
            stream.flush()
            _keep_attributes(path, stream.fileno())
            os.fsync(stream.fileno())
        os.replace(fresh, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(fresh)
        raise
    _sync(os.path.dirname(path))


def check_writable(file: str) -> None:
    """Finds out before the work whether a file can be written; what is there stays.

    Raises:
        InputError: when it cannot.
    """
    path = os.path.realpath(file)
    try:
        if os.path.isdir(path):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if os.path.exists(path) and not os.path.isfile(path):
            return
        fresh = _beside(path)
        os.close(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        os.unlink(fresh)
    except OSError as error:
        raise write_error(file, error) from None


def _beside(path: str) -> str:
    """The name of a new file in the folder of a file."""
    name = f".slowpath-{os.getpid()}-{os.urandom(8).hex()}"
    return os.path.join(os.path.dirname(path), name)


def _keep_attributes(file: str, descriptor: int) -> None:
    """Gives a new file mode and owner of the one that it replaces, as far as that is allowed."""
    with suppress(OSError):
        old = os.stat(file)
        if (old.st_uid, old.st_gid) != (os.geteuid(), os.getegid()):
            os.fchown(descriptor, old.st_uid, old.st_gid)
        os.fchmod(descriptor, old.st_mode & 0o777)


def _sync(folder: str) -> None:
    """Makes a renaming last, where the file system can."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def write_error(file: str, error: OSError) -> InputError:
    """The error of a file that cannot be written."""
    return InputError(file, f"cannot be written: {(error.strerror or str(error)).lower()}")
