"""The files that a user names: read, written, or one line that says why that cannot be done."""

from collections.abc import Iterable

from slowpath.cli.errors import InputError, OptionError

_LARGEST_MEBIBYTES = 256
"""No program comes near; it keeps endless files (`/dev/zero`) from filling the memory."""

NO_SUCH_FILE = "no such file"
"""Why a file that is not there cannot be read."""


def read_program(file: str) -> bytes:
    """The content of a program file.

    Raises:
        InputError: when it cannot be read.
    """
    limit = _LARGEST_MEBIBYTES << 20
    try:
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
    """Finds out that what is written does not replace what is read.

    Raises:
        OptionError: when it would.
    """
    from pathlib import Path

    if output is None or not Path(output).exists():
        return
    if any(Path(file).exists() and Path(file).samefile(output) for file in read):
        raise OptionError(option, f"{output} is read, and would be overwritten")


def write_text(file: str, text: str) -> None:
    """Writes a text file, in UTF-8; bytes of file names that are no text become escapes.

    Raises:
        InputError: when it cannot be written.
    """
    try:
        with open(file, "w", encoding="utf-8", errors="backslashreplace") as stream:
            stream.write(text)
    except OSError as error:
        raise write_error(file, error) from None


def write_error(file: str, error: OSError) -> InputError:
    """The error of a file that cannot be written."""
    return InputError(file, f"cannot be written: {(error.strerror or str(error)).lower()}")
