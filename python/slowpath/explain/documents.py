"""Types of the JSON document that `slowpath explain` writes."""

from typing import Literal, TypedDict

from slowpath.core.schema import Document


class ExplainedCode(TypedDict):
    """A code with its texts."""

    code: str
    """The code, such as `SP0201`. Its meaning is the same in all versions."""
    name: str
    """Name of the code, such as `no-such-file`."""
    kind: Literal["error", "refusal", "warning", "finding"]
    """`refusal`: a reason why a device cannot run a program; `finding`: a statement about a program
    in formats for code review."""
    title: str
    """The cause in a few words."""
    cause: str
    """The cause, in sentences."""
    remedy: str
    """Advice, in sentences."""
    example: str
    """A terminal session in the folder `examples` of slowpath's repository whose output has the
    code; lines with commands begin with `$ `. Otherwise the message alone."""
    retired: str | None
    """Version that no longer reports the code; null for codes in use."""


class ExplainDocument(Document):
    """Output of `slowpath explain --format json`."""

    results: list[ExplainedCode]
    """The named codes, in the order of the command line; with `--list`, all codes by number."""
