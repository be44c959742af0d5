"""The JSON documents that commands write: their schemas, Python types, and validation.

This file defines the head of every JSON document: the keys by which a reader recognises it.
"""

from typing import Annotated, TypedDict

VERSION = 1
"""Version of the schemas of all documents. It changes if a key is renamed, removed, or gets another
meaning; further keys do not change it."""


class Document(TypedDict):
    """Head of a JSON document."""

    slowpath: Annotated[str, "Version of slowpath."]
    command: Annotated[str, "Command that wrote the document, such as `chain optimize`."]
    schema: Annotated[
        str,
        "Name and version of the schema, such as `bound/1`, which `slowpath schema` prints.",
    ]


class Warned(Document):
    """Head of a JSON document with warnings."""

    warnings: Annotated[
        list[str],
        "Warnings about the result: a file or option, a colon, and a sentence. Standard error has "
        "them too.",
    ]
    warning_codes: Annotated[
        list[str],
        "Codes of the causes of `warnings`, in the same order. `slowpath explain` describes them.",
    ]


def schema_id(name: str) -> str:
    """Return the value of a document's key `schema`: name and version, such as `bound/1`."""
    return f"{name}/{VERSION}"
