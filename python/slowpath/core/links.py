"""Turns `FILE:LINE` and codes in output into links for terminals (OSC 8).

The sequence is described at https://gist.github.com/egmontkob/eb114294efbcd5adb1944c9f3cb5feda. No
terminal reports that it supports links, so the environment tells, as for other programs. Only files
that exist become links.
"""

import os
import re

DOCS_VARIABLE = "SLOWPATH_DOCS"
"""Environment variable with the address of the repository's files, for links to `_CODES_PAGE`."""
_CODES_PAGE = "docs/reference/codes.md"
"""Page with a section for each code."""
_CODE = re.compile(r"\[(SP[0-9]{4})\]")
"""A code behind an error or a warning."""

_PROGRAMS = frozenset({"iTerm.app", "WezTerm", "vscode", "ghostty", "Hyper", "rio", "Tabby"})
"""Values of TERM_PROGRAM of terminals with links."""
_TERMINALS = ("xterm-kitty", "xterm-ghostty", "alacritty", "foot", "contour", "wezterm")
"""Beginnings of TERM of terminals with links."""
_VARIABLES = ("KONSOLE_VERSION", "WT_SESSION", "DOMTERM", "KITTY_WINDOW_ID")
"""Variables that only terminals with links set."""
_OLDEST_VTE = 5000
"""First version of VTE (GNOME Terminal and others) with links: 0.50."""
_PLACE = re.compile(r"(?<![\w/.~+-])([\w/.~+-]*[\w~+-]\.[A-Za-z]{1,4}):([1-9][0-9]{0,8})\b")
"""A file with an extension, and a line in it."""


def terminal_has_links() -> bool:
    """Return true if the environment is that of a terminal that supports links."""
    names = os.environ
    forced = names.get("FORCE_HYPERLINK")
    if forced is not None:
        return forced not in {"", "0"}
    if names.get("TERM", "").startswith(("screen", "tmux")):  # multiplexers may drop links
        return False
    version = names.get("VTE_VERSION", "0")
    return (
        (version.isdigit() and int(version) >= _OLDEST_VTE)
        or names.get("TERM_PROGRAM") in _PROGRAMS
        or names.get("TERM", "").startswith(_TERMINALS)
        or any(name in names for name in _VARIABLES)
    )


def with_links(text: str) -> str:
    """Return the text with links around codes, and around places in files that exist."""
    if os.environ.get(DOCS_VARIABLE) and "[SP" in text:
        text = _CODE.sub(_code_link, text)
    return _PLACE.sub(_link, text) if ":" in text else text


def address_of(code: str, name: str) -> str | None:
    """Return the address of the documentation of a code; None if the environment names none."""
    base = os.environ.get(DOCS_VARIABLE, "")
    if "://" not in base:
        return None
    return f"{base.rstrip('/')}/{_CODES_PAGE}#{code.lower()}-{name}"


def documentation_of(code: str) -> str | None:
    """Return the address of the documentation of a code; None without one."""
    from slowpath.core.code_texts import BY_CODE

    one = BY_CODE.get(code)
    return None if one is None else address_of(one.code, one.name)


def _code_link(found: re.Match[str]) -> str:
    address = documentation_of(found[1])
    return found[0] if address is None else f"[\x1b]8;;{address}\x1b\\{found[1]}\x1b]8;;\x1b\\]"


def _link(found: re.Match[str]) -> str:
    path = os.path.abspath(found[1])
    if not os.path.isfile(path):
        return found[0]
    from urllib.parse import quote

    return f"\x1b]8;;file://{os.uname().nodename}{quote(path)}\x1b\\{found[0]}\x1b]8;;\x1b\\"
