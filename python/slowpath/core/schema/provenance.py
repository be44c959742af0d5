"""Keys of every document about programs: versions of tools."""

from collections.abc import Iterator, Mapping
from typing import NotRequired, TypedDict

from slowpath.core.printable import one_line
from slowpath.core.terminal import Line


class Provenance(TypedDict):
    """The tools that made what a document is about."""

    compiler: NotRequired[str]
    """Version of the compiler, as it prints it; absent where nothing was compiled."""


def provenance_lines(document: Mapping[str, object]) -> Iterator[Line]:
    """Yield the version of the compiler, where something was compiled."""
    if "compiler" in document:
        yield Line("")
        yield Line(one_line(f"compiled by {document['compiler']}"))
