"""A whole page: one file that needs nothing else, and runs nothing."""

from slowpath.html.elements import Content, Html, element, join
from slowpath.html.theme import STYLE

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
"""Whatever is in the page, a browser loads nothing for it, and runs nothing in it."""


def page(title: str, *content: Content, broad: bool = False) -> str:
    """The text of the file; a broad one takes the whole width of large screens."""
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", title),
        Html(f"<style>{STYLE}</style>"),
    )
    body = element("body", element("main", *content, class_="broad" if broad else None))
    return join(Html("<!doctype html>\n"), element("html", head, body, lang="en"), "\n")


def facts(*pairs: tuple[str, str | None]) -> Html:
    """Names with what they are; those that are not known are left out."""
    known = [(name, value) for name, value in pairs if value is not None]
    rows = (element("div", element("dt", name), element("dd", value)) for name, value in known)
    return element("dl", *rows, class_="facts")


def download(text: str, file: str, words: str) -> Html:
    """A link to data that are in the page themselves; `file` is the name to save them by."""
    from urllib.parse import quote

    address = f"data:text/csv;charset=utf-8,{quote(text)}"
    return element("a", words, href=address, download=file)
