"""The target of programs where none is named."""

import os.path
from collections.abc import Sequence

from slowpath.programs.sources import HEAD, is_listing

SERVER = "linux-xdp"
"""That of objects, and of what is compiled to them."""
CARD = "agilio-cx-2x40"
"""That of listings, which are code of this card; what objects are translated for."""


def default_target(files: Sequence[str]) -> str:
    """The target of all of the files: the server, unless some file is a listing.

    One target for all, so that what stands in one table can be compared. A file that cannot be
    read, or only once, such as a pipe, counts as an object; its error comes when it is read.
    """
    return CARD if any(map(_has_listing, files)) else SERVER


def _has_listing(file: str) -> bool:
    if not os.path.isfile(file):
        return False
    try:
        with open(file, "rb") as opened:
            return is_listing(opened.read(HEAD))
    except OSError:
        return False
