"""The execution pattern that records of profiles declare."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast, get_args

from slowpath.cli.errors import InputError
from slowpath.cli.inputs import read_text
from slowpath.contention.host.setup import Pattern
from slowpath.contention.host.writing import RECORD

_PATTERNS = get_args(Pattern)


class Declared(NamedTuple):
    """A pattern, and the record that has it."""

    file: str
    pattern: Pattern


def declared_by(named: Sequence[str]) -> Declared | None:
    """What the records in folders say of the pattern; None where none does.

    Raises:
        InputError: when a record cannot be used, or two contradict each other.
    """
    found: Declared | None = None
    for name in named:
        file = str(Path(name) / RECORD)
        pattern = _declared(file) if Path(file).is_file() else None
        if pattern is None:
            continue
        if found is not None and found.pattern != pattern:
            raise InputError(file, f"declares {pattern}; {found.file} declares {found.pattern}")
        found = found or Declared(file, pattern)
    return found


def _declared(file: str) -> Pattern | None:
    """What a record says; None where it is of an older slowpath."""
    try:
        record: Any = json.loads(read_text(file))
    except (ValueError, RecursionError) as problem:
        raise InputError(file, f"is not JSON: {problem}") from None
    if not isinstance(record, dict):
        raise InputError(file, "is no record of a profile: should be an object")
    pattern = record.get("pattern")
    if pattern is not None and pattern not in _PATTERNS:
        raise InputError(file, f"pattern: {str(pattern)[:40]!r} is none of {', '.join(_PATTERNS)}")
    return cast("Pattern | None", pattern)
