"""Replaces sections of a Markdown page. A section is the text between two HTML comments."""

import re
from pathlib import Path

_SECTION = re.compile(r"(<!-- figures: (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)


def names(page: Path) -> list[str]:
    """Return the names of a page's sections, in order."""
    return [name for _, name, _ in _SECTION.findall(page.read_text())]


def renew(page: Path, name: str, text: str) -> None:
    """Replace the text of a named section in a Markdown page, and print the new text."""
    print(f"{name}\n{text}\n", flush=True)

    def renewed(found: re.Match[str]) -> str:
        return f"{found[1]}{text}\n{found[3]}" if found[2] == name else found[0]

    page.write_text(_SECTION.sub(renewed, page.read_text()))
