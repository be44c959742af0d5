"""Settings of the documentation site that `make docs` builds with Sphinx from the pages in docs/.

Pages stay plain Markdown, as GitHub shows it. The navigation is therefore here, and so are the
pages from outside docs/ that the site shows.
"""

import os
import re
import tomllib
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"

NAVIGATION = {
    "Tutorials": ["tutorials/xdp", "tutorials/*"],
    "How-to": [
        *(
            f"how-to/{name}"
            for name in (
                *("install", "bound", "compare", "editor", "cookbook", "ci", "sweep"),
                "many-programs",
            )
        ),
        "how-to/*",
    ],
    "Reference": ["reference/cli", "reference/exit-codes", "reference/json", "reference/*"],
    "Explanation": ["explanation/search", "explanation/*"],
    "Project": [
        *("GLOSSARY", "ARCHITECTURE", "EXTENDING"),
        *("changelog", "contributing", "examples", "benchmarks"),
    ],
}
"""Pages of the navigation by section.

A pattern stands for all remaining pages that match it.
"""

OUTSIDE = {
    "changelog": "CHANGELOG.md",
    "contributing": "CONTRIBUTING.md",
    "examples": "examples/README.md",
    "benchmarks": "bench/README.md",
}
"""Files outside docs/ that the site shows, each in place of the page of this name in docs/."""

project = "slowpath"
version = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
extensions = ["myst_parser"]
exclude_patterns = ["site"]
# Users type the quotes and dashes on pages, so do not replace them by typographic ones.
smartquotes = False
myst_heading_anchors = 4

html_theme = "furo"
html_title = f"slowpath {version}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_copyright = False
html_show_sphinx = False

_PAGE_OF = {(ROOT / file).resolve(): DOCS / f"{page}.md" for page, file in OUTSIDE.items()}
_LINK = re.compile(r"(?<!!)\[([^][]*)\]\((?![a-z][a-z0-9+.-]*:|#)([^)#\s]+)(#[^)\s]*)?\)")


def relocated(text: str, source: Path, page: Path) -> str:
    """Return the text of a source file with links as its page in docs/ needs them.

    A link to a folder, or to Markdown that the site does not show, becomes plain text.
    """

    def link(found: re.Match[str]) -> str:
        shown, path, anchor = found.groups(default="")
        target = (source.parent / path).resolve()
        target = _PAGE_OF.get(target, target)
        outside = target.suffix == ".md" and DOCS not in target.parents
        if target.is_dir() or (outside and target.exists()):
            return shown
        return f"[{shown}]({PurePath(os.path.relpath(target, page.parent)).as_posix()}{anchor})"

    return _LINK.sub(link, text)


def navigation() -> str:
    """Return the lists of pages that the side bar shows."""
    parts = []
    for section, pages in NAVIGATION.items():
        lines = ["", "```{toctree}", ":hidden:", ":glob:", f":caption: {section}", "", *pages]
        parts.append("\n".join([*lines, "```", ""]))
    return "".join(parts)


def read(app: "Sphinx", name: str, content: list[str]) -> None:
    """Replace the text of a page (`content[0]`) before Sphinx parses it."""
    page = source = DOCS / f"{name}.md"
    if name in OUTSIDE:
        source = ROOT / OUTSIDE[name]
        app.env.note_dependency(str(source))
        content[0] = source.read_text()
    content[0] = relocated(content[0], source, page)
    if name == "index":
        content[0] += navigation()


def setup(app: "Sphinx") -> None:
    """Register the handlers of this file with Sphinx."""
    app.connect("source-read", read)
