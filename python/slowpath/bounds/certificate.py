"""Writes and reads files with certificates: guarantees with proofs that `slowpath check` checks.

The format is described in `docs/how-to/certificates.md`.
"""

import gzip
import json
import zlib
from collections.abc import Sequence
from hashlib import sha256
from typing import Any, NamedTuple

from slowpath.bounds.options import check_not_a_program, read_option
from slowpath.bounds.outcomes import Analysed
from slowpath.bounds.plan import Request, Task
from slowpath.core import codes, engine
from slowpath.core.engine import analyses, as_text, targets
from slowpath.core.errors import ExitCode, InputError, OptionError
from slowpath.core.inputs import check_writable, read_program, write_bytes
from slowpath.core.terminal import error

FORMAT = "slowpath certificate"
VERSION = 1
"""Version of the format; other versions are not read."""
_LARGEST = 256 << 20
"""Maximum size of an uncompressed certificate in bytes."""
_NOT_STORED = (
    "paths",
    "entries",
    "entries_of",
    "foreign_cpu",
    "deadline_seconds",
    "memory_bytes",
    "path_details",
    "code",
    "certificate",
)
"""Options of an analysis that do not change the guarantee."""


class Certificate(NamedTuple):
    """The content of a file with a certificate."""

    slowpath: str  # version of slowpath that made it
    file: str  # name of the program's file
    sha256: str  # digest of the object, listing or pipeline
    section: str | None
    program: str | None  # None: the file is a listing or a pipeline
    target: targets.Description
    options: analyses.Options
    claims: str  # claims with their proofs, as JSON


def check_request(file: str, requests: Sequence[Request], tasks: Sequence[Task]) -> None:
    """Check that a certificate can be written to `file`, and that it is for one program.

    Raises:
        OptionError: if the file is a program, or several programs or targets are requested.
        InputError: if the file cannot be written.
    """
    option = "--certificate"
    read_option(option, lambda path: check_not_a_program(path, requests[0].files), file)
    if len(requests) > 1:
        reason = "a certificate is for one target; name one with --target"
        raise OptionError(codes.CONFLICTING_OPTIONS, option, reason)
    if len(tasks) > 1:
        reason = "a certificate is for one program; select one with --prog-name"
        raise OptionError(codes.PROGRAM_NOT_CHOSEN, option, reason)
    check_writable(file)


def save(file: str, request: Request, analysed: Analysed) -> ExitCode:
    """Write the certificate of an analysed program, or report the reason why there is none.

    Raises:
        InputError: if the file cannot be written.
    """
    task, claims = analysed.task, analysed.certificate
    if claims is None or task.data is None:
        reason = analysed.no_certificate or "the program is not from a file"
        error(codes.NO_CERTIFICATE, task.label, f"no certificate: {reason}")
        return ExitCode.UNDECIDED
    options = request.options._replace(metric=task.metric)._asdict()
    name, text = request.description
    if name in targets.target_names():
        text = None  # calibrated targets of this name differ only in their times
    document = {
        "format": FORMAT,
        "version": VERSION,
        "slowpath": engine.version(),
        "file": as_text(task.file),
        "sha256": sha256(task.data).hexdigest(),
        "section": None if task.program is None else task.program.section,
        "program": None if task.program is None else task.program.name,
        "target": {"name": as_text(name), "text": text},
        "options": {name: value for name, value in options.items() if name not in _NOT_STORED},
        "claims": json.loads(claims),
    }
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    # The same certificate has the same bytes, so the header has no time.
    write_bytes(file, gzip.compress(text.encode(), mtime=0))
    return ExitCode.FINE


def read(file: str) -> Certificate:
    """Read a file that `save` has written.

    Raises:
        InputError: if it cannot be read, or is not a certificate of this version.
    """
    data = read_program(file)
    try:
        unpacker = zlib.decompressobj(wbits=31)
        text = unpacker.decompress(data, _LARGEST)
    except zlib.error:
        raise _unreadable(file, "is not a certificate, or is damaged") from None
    if unpacker.unconsumed_tail:
        raise _unreadable(file, f"has more than {_LARGEST >> 20} MiB without compression")
    if not unpacker.eof:
        raise _unreadable(file, "ends too early; it is cut off or damaged")
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        raise _unreadable(file, "is not a certificate, or is damaged") from None
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise _unreadable(file, "is not a certificate of slowpath bound --certificate")
    if found.get("version") != VERSION:
        reason = f"has version {found.get('version')!r} of the format; this slowpath reads version"
        raise _unreadable(file, f"{reason} {VERSION}")
    try:
        return _parsed(found)
    except (KeyError, TypeError, ValueError):
        raise _unreadable(file, "lacks a part, or has one of a wrong type") from None


def _parsed(found: dict[str, Any]) -> Certificate:
    """Return the certificate of a JSON document.

    Raises:
        KeyError: if a key is missing.
        TypeError: if an option does not exist.
        ValueError: if a value has a wrong type.
    """
    target, options = found["target"], found["options"]
    texts = [found[key] for key in ("slowpath", "file", "sha256")] + [target["name"]]
    perhaps = [found["section"], found["program"], target["text"]]
    if not all(isinstance(one, str) for one in texts):
        raise ValueError
    if not all(one is None or isinstance(one, str) for one in perhaps):
        raise ValueError
    if not isinstance(options, dict) or options.keys() & set(_NOT_STORED):
        raise ValueError
    if target["text"] is not None and target["name"] in targets.target_names():
        raise ValueError  # another target under the name of a built-in one
    return Certificate(
        found["slowpath"],
        found["file"],
        found["sha256"],
        found["section"],
        found["program"],
        targets.Description(target["name"], target["text"]),
        analyses.Options(**options),
        json.dumps(found["claims"]),
    )


def _unreadable(file: str, reason: str) -> InputError:
    return InputError(codes.CERTIFICATE_UNREADABLE, file, reason)
