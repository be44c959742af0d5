"""Helpers for tests of HTML pages: find parts of a page, and check links and external resources."""

import re
from pathlib import Path
from xml.etree import ElementTree

from test_html import parsed, texts

Element = ElementTree.Element


def check_links(root: Element) -> None:
    """Check that all ids of a page differ, and that each link leads to one of them."""
    ids = [one.attrib["id"] for one in root.iter() if "id" in one.attrib]
    assert len(ids) == len(set(ids))
    links = {one.attrib["href"] for one in root.iter("a")}
    assert links
    assert links <= {f"#{one}" for one in ids}


def check_contained(page: Path) -> None:
    """Check that a page has no scripts and loads no other files."""
    text = page.read_text()
    root = parsed(text)
    assert not {one.tag for one in root.iter()} & {"script", "link", "img", "iframe", "object"}
    values = [value for one in root.iter() for value in one.attrib.values()]
    assert not [value for value in values if re.match(r"\w+:/|//", value)]
    assert "@import" not in text
    assert "url(" not in text


def of_class(root: Element, name: str) -> list[Element]:
    """Return the elements of a page that have this CSS class."""
    return [one for one in root.iter() if name in one.attrib.get("class", "").split()]


def section(root: Element, title: str) -> Element:
    """Return the first section of a page whose heading begins with `title`."""
    return next(
        one
        for one in root.iter("section")
        if (head := one.find("h2")) is not None and texts(head).startswith(title)
    )
