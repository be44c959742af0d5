"""Keys about tool versions in every document about programs."""

from collections.abc import Iterator, Mapping
from typing import NotRequired, TypedDict

from slowpath.core.printable import one_line
from slowpath.core.terminal import Line


class Provenance(TypedDict):
    """Versions of the tools that built the programs of a document."""

    compiler: NotRequired[str]
    """Version line of the compiler; absent if no source was compiled."""


def provenance_lines(document: Mapping[str, object]) -> Iterator[Line]:
    """Yield the version of the compiler, if a source was compiled."""
    if "compiler" in document:
        yield Line("")
        yield Line(one_line(f"compiled by {document['compiler']}"))
