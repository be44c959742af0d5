"""Tests that links in Markdown pages lead to files and headings that exist."""

import re
from collections.abc import Iterator
from functools import cache
from itertools import chain
from pathlib import Path

import pytest

from support import ROOT

PAGES = sorted(
    chain(ROOT.glob("*.md"), *((ROOT / top).rglob("*.md") for top in ("docs", "examples")))
)
OTHERS = (ROOT / "bench/README.md", ROOT / "fuzz/README.md")

_FENCE = re.compile(r"^ *(`{3,}|~{3,}).*?^ *\1`*$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"(`+)[^`].*?\1")
_LINK = re.compile(r"\]\(<?([^)\s>]+)")
_HEADING = re.compile(r"^#{1,6} +(.+?)(?: +#+)?$", re.MULTILINE)
_TARGET = re.compile(r"<[^>]+ (?:id|name)=[\"']([^\"']+)[\"']")


def prose(text: str) -> str:
    """Remove the code blocks from the text of a page."""
    return _FENCE.sub("", text)


def links(text: str) -> Iterator[str]:
    """Yield the targets of links and pictures of a page, except for addresses of web sites."""
    for link in _LINK.findall(_CODE.sub("", prose(text))):
        if not re.match(r"[a-z][a-z0-9+.-]*:", link):
            yield link


def anchors(text: str) -> set[str]:
    """Return the anchors of a page's headings, as GitHub derives them."""
    found: set[str] = set()
    for heading in _HEADING.findall(prose(text)):
        shown = re.sub(r"!?\[([^]]*)\]\([^)]*\)", r"\1", heading)
        slug = re.sub(r"[^\w\- ]", "", shown.strip().lower()).replace(" ", "-")
        number = 0
        while (name := f"{slug}-{number}" if number else slug) in found:
            number += 1
        found.add(name)
    return found | set(_TARGET.findall(text))


@cache
def _anchors(page: Path) -> set[str]:
    return anchors(page.read_text())


def broken(page: Path, text: str) -> list[str]:
    """Return the links of a page that do not lead to a file or heading; `text` is its content."""
    found = []
    for link in links(text):
        path, _, anchor = link.partition("#")
        if not path:
            known = anchors(text)
        elif not (target := page.parent / path).exists():
            found.append(link)
            continue
        else:
            known = _anchors(target.resolve()) if target.suffix == ".md" else {anchor}
        if anchor and anchor not in known:
            found.append(link)
    return found


@pytest.mark.parametrize("page", [*PAGES, *OTHERS], ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files_and_headings(page: Path) -> None:
    assert not broken(page, page.read_text())


def test_broken_links_are_found() -> None:
    text = """# Title
## A `b --c`, d
## A `b --c`, d

[1](#title) [2](#a-b---c-d) [3](#a-b---c-d-1) [4](GLOSSARY.md) [5](../layers.toml) [6](https://a.b)

[x](#a-b---c-d-2) [y](GLOSSARY.md#no-heading) ![z](no-page.svg) `[code](no-page.md)`

```
## In code
[code](no-page.md)
```

[w](#in-code)
"""
    page = ROOT / "docs/page.md"
    assert broken(page, text) == [
        "#a-b---c-d-2",
        "GLOSSARY.md#no-heading",
        "no-page.svg",
        "#in-code",
    ]
