"""Builds self-contained HTML pages, with a common style sheet, from elements and tables.

Pages show names of files, experiments and machines. Each text is escaped when it becomes part of an
element. Characters that hide or reorder text become escapes (`slowpath.core.printable`).
"""

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import NamedTuple

from slowpath.core.errors import Coded
from slowpath.core.printable import one_line

_VOID = {"meta", "line", "circle", "polyline", "polygon", "path", "input"}
"""Elements that never have content."""
_BLOCKS = {"section", "table", "tr", "div", "svg", "figure", "details", "ul", "li", "p", "dl"}


class Html(str):
    """A text that is HTML and must not be escaped again. Only this package creates instances."""

    __slots__ = ()


Content = str | None
"""Content of an element: a text to escape, `Html` as it is, or None for no content."""


def element(tag: str, *content: Content, **attributes: str | float | None) -> Html:
    """Return an HTML element.

    In names of attributes, `_` becomes `-`, and `class_` becomes `class`. Attributes with the value
    None are left out.
    """
    text = "".join(
        f' {_name(name)}="{escape(_written(value), quote=True)}"'
        for name, value in attributes.items()
        if value is not None
    )
    if tag in _VOID:
        return Html(f"<{tag}{text}/>")
    end = "\n" if tag in _BLOCKS else ""
    return Html(f"<{tag}{text}>{join(*content)}</{tag}>{end}")


def prose(text: str) -> Html:
    """Convert a sentence to HTML; text between backticks becomes code."""
    pieces = text.split("`")
    if len(pieces) % 2 == 0:
        return join(text)
    marked = (element("code", one) if at % 2 else one for at, one in enumerate(pieces))
    return join(*marked)


def join(*content: Content) -> Html:
    """Concatenate pieces of HTML and plain texts, which are escaped."""
    return Html("".join(map(_safe, content)))


def _safe(piece: Content) -> str:
    if piece is None:
        return ""
    return str(piece) if isinstance(piece, Html) else escape(one_line(piece), quote=True)


def _name(name: str) -> str:
    return name.rstrip("_").replace("_", "-")


def _written(value: str | float) -> str:
    """Format the value of an attribute; fractions get one decimal, enough for coordinates."""
    if isinstance(value, float):
        return f"{value:.1f}".removesuffix(".0")
    return one_line(str(value))


class Column(NamedTuple):
    """A column of an HTML table."""

    heading: str
    number: bool = False  # aligned to the right
    wide: bool = False  # true: phones omit the column

    @property
    def style(self) -> str | None:
        """CSS classes of the cells in this column, separated by spaces; None without classes."""
        words = ["number" if self.number else "text", *(["wide"] if self.wide else [])]
        return " ".join(words)


def table(
    columns: Sequence[Column], rows: Iterable[Sequence[Content]], *, stack: bool = False
) -> Html:
    """Return an HTML table, in a box that scrolls sideways if the table is too wide.

    With `stack`, for long texts, narrow screens show each row as lines of names and values.
    """
    head = element("tr", *(element("th", one.heading, class_=one.style) for one in columns))
    body = join(*(_row(columns, row) for row in rows))
    style = "stack" if stack else None
    inside = element("table", element("thead", head), element("tbody", body), class_=style)
    # A box with the focus can be scrolled by keys.
    return element("div", inside, class_="scroll", tabindex=0)


def _row(columns: Sequence[Column], cells: Sequence[Content]) -> Html:
    pairs = zip(columns, cells, strict=True)
    return element(
        "tr",
        *(
            element("td", element("span", cell), class_=one.style, data_name=one.heading)
            for one, cell in pairs
        ),
    )


def preformatted(text: str) -> str:
    """Return a text as HTML that keeps its line breaks and columns."""
    return f"<pre>{escape(text)}</pre>"


STYLE = """
:root { color-scheme: light dark; --paper: #f6f7f9; --card: #fff; --text: #1c2128; --soft: #5b6470;
  --line: #d9dee5; --faint: #a9b2bd; --accent: #0b62c4; --warn: #9a5b00; --warn-card: #fff6e5;
  --c0: #0b62c4; --c1: #b44a05; --c2: #157a3c; --c3: #7b42c9; --c4: #a3123f; --c5: #0c7c86; }
@media (prefers-color-scheme: dark) { :root { --paper: #101317; --card: #181c22; --text: #e4e8ed;
  --soft: #9aa5b1; --line: #313841; --faint: #606b78; --accent: #6db1ff; --warn: #f0b860;
  --warn-card: #2a2215;
  --c0: #6db1ff; --c1: #ff9d5c; --c2: #5fce86; --c3: #c39bff; --c4: #ff86a8; --c5: #52cdd6; } }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; scroll-behavior: smooth; }
body { margin: 0; background: var(--paper); color: var(--text);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
main { max-width: 1120px; margin: 0 auto; padding: 1.5rem 1rem 4rem; }
h1 { font-size: 1.7rem; line-height: 1.25; margin: .5rem 0 .25rem; overflow-wrap: anywhere; }
h2 { font-size: 1.25rem; margin: 0 0 .25rem; overflow-wrap: anywhere; }
h3 { font-size: 1rem; margin: 1.25rem 0 .4rem; }
p { margin: .4rem 0; max-width: 75ch; overflow-wrap: anywhere; }
a { color: var(--accent); text-underline-offset: .15em; }
a:focus-visible, summary:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
.soft { color: var(--soft); }
.small { font-size: .875rem; }
section { background: var(--card); border: 1px solid var(--line); border-radius: 10px;
  padding: 1.1rem 1.25rem; margin: 1.25rem 0; scroll-margin-top: .5rem; }
.facts { display: flex; flex-wrap: wrap; gap: .35rem 2rem; margin: .75rem 0; padding: 0; }
.facts div { min-width: 7rem; }
.facts dt { color: var(--soft); font-size: .8rem; }
.facts dd { margin: 0; font-weight: 500; font-variant-numeric: tabular-nums;
  overflow-wrap: anywhere; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .9rem;
  font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .35rem .6rem; border-bottom: 1px solid var(--line);
  vertical-align: top; }
th { color: var(--soft); font-weight: 500; font-size: .8rem; }
td.number, th.number { text-align: right; white-space: nowrap; }
td.text { overflow-wrap: break-word; }
tr:last-child td { border-bottom: 0; }
code { font: .92em/1.4 ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace;
  overflow-wrap: anywhere; }
code.line { white-space: pre-wrap; }
.figures { display: grid; grid-template-columns: 1fr 1fr; gap: 1rem 1.5rem; margin-top: .75rem; }
figure { margin: 0; min-width: 0; }
figcaption { font-size: .85rem; color: var(--soft); margin-bottom: .25rem; }
figcaption a { white-space: nowrap; }
svg { display: block; width: 100%; height: auto; }
figure { container-type: inline-size; }
/* Labels keep their size on the screen: charts are 460 units wide (core/html/chart.py). */
svg text { fill: var(--soft); font-family: inherit;
  font-size: clamp(5px, calc(11.5px * tan(atan2(460px, 100cqw))), 15.5px); }
svg .axis { stroke: var(--soft); stroke-width: 1; }
svg .rule { stroke: var(--line); stroke-width: 1; }
svg .change { stroke: var(--soft); stroke-width: 1; stroke-dasharray: 3 3; }
svg .bar { stroke: var(--text); stroke-width: 1; opacity: .45; }
svg .point { fill: var(--text); }
svg .curve { fill: none; stroke-width: 2.25; stroke-linejoin: round; stroke-linecap: round; }
svg .band { opacity: .16; stroke: none; }
svg .dots { fill: none; stroke: var(--c0); stroke-width: 7; stroke-linecap: round; opacity: .3; }
svg .interval { stroke: var(--text); stroke-width: 3; opacity: .6; }
svg .mean { stroke: var(--text); stroke-width: 2; }
svg .reference { fill: none; stroke: var(--c1); stroke-width: 2; }
svg.spark { width: 5.5rem; height: 1.5rem; }
.key { display: inline-block; width: .8em; height: .8em; border-radius: 2px;
  vertical-align: -.05em; margin-right: .45em; }
.warn { background: var(--warn-card); border-left: 3px solid var(--warn); border-radius: 4px;
  padding: .5rem .75rem; margin: .6rem 0; font-size: .9rem; overflow-wrap: anywhere; }
main.broad { max-width: 1800px; }
.panes { display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); gap: .75rem 1.25rem;
  margin-top: .5rem; }
.panes > div { min-width: 0; }
.panes h4 { margin: 0 0 .35rem; font-size: .9rem; font-weight: 600; }
.pane { border: 1px solid var(--line); border-radius: 8px; padding: .6rem; overflow: auto;
  overscroll-behavior: contain; }
.beside { display: grid; grid-template-columns: auto minmax(0, 1fr); gap: .5rem; }
.beside > .pane { max-height: 85vh; }
.beside > .pane:first-child { max-width: 16rem; }
.meaning { display: inline-block; margin-right: 1.1rem; font-size: .85rem; color: var(--soft); }
.swatch { display: inline-block; width: .85em; height: .85em; border-radius: 2px;
  vertical-align: -.08em; margin-right: .4em; background: var(--fate); }
.kept { --fate: var(--c0); } .changed { --fate: var(--c1); } .gone { --fate: var(--faint); }
.unreached { --fate: var(--line); } .guard { --fate: var(--c3); } .original { --fate: var(--c5); }
svg.flow { max-width: none; margin: 0 auto; }
svg.flow rect { fill: var(--fate); }
svg.flow rect.unreached { stroke: var(--faint); stroke-width: .7; stroke-dasharray: 2 1.5; }
svg.flow a:hover rect { stroke: var(--text); stroke-width: 1.5; }
svg.flow .way { fill: none; stroke: var(--soft); stroke-width: .8; }
svg.flow .way.never { stroke: var(--line); }
.column { font-size: .8125rem; line-height: 1.4; min-width: 24rem; }
.row { display: flex; position: relative; }
.cell { flex: 1; min-width: 0; position: relative; padding-bottom: 8px; }
.gutter { flex: none; position: relative; }
.gutter i { position: absolute; top: 0; bottom: 0; border: 0 solid var(--soft);
  border-left-width: 1px; }
.gutter i.a { bottom: auto; height: 13px; } .gutter i.m { bottom: 16px; }
.gutter i.z { top: 13px; } .gutter i.e { top: auto; height: 16px; }
.gutter i.s { top: 13px; bottom: 16px; }
.gutter i.i, .gutter i.o { top: 13px; bottom: auto; right: 0; border-width: 1px 0 0; }
.gutter i.o { top: auto; bottom: 16px; }
.gutter i.i::after { content: ""; position: absolute; right: 0; top: -5px; border: 4.5px solid
  transparent; border-left: 6px solid var(--soft); border-right: 0; }
.gutter i.n, .cell > b.n { border-color: var(--line); }
.gutter i.n::after { border-left-color: var(--line); }
.cell > b { position: absolute; left: 18px; bottom: 0; height: 8px; border-left: 1.5px solid
  var(--soft); }
.block { margin: 0; border: 1px solid var(--line); border-left: 5px solid var(--fate);
  border-radius: 4px; background: var(--paper); overflow: hidden; }
.block.unreached { border-left-style: dashed; }
.block:target { outline: 2px solid var(--accent); }
.block > details { margin: 0; }
.block summary, .block > p { color: var(--text); font-size: inherit; padding: .2rem .5rem;
  margin: 0; max-width: none; }
.block.gone summary, .block.unreached summary { color: var(--soft); }
.block b { font-variant-numeric: tabular-nums; }
.block .end { display: block; margin-left: 1rem; padding: 0 .5rem .2rem; }
.block .why { color: var(--c1); }
.block .src { font-size: .75rem; color: var(--soft); padding: .3rem .5rem 0; margin: 0;
  max-width: none; white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
.block pre { margin: 0; padding: 0 .5rem .25rem; white-space: pre-wrap; overflow-wrap: anywhere;
  color: var(--text);
  font: .75rem/1.45 ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; }
.block pre s { color: var(--soft); } .block pre u { text-decoration: none; color: var(--c1); }
.block pre i { color: var(--soft); font-style: normal; }
details { margin-top: .75rem; }
summary { cursor: pointer; color: var(--accent); font-size: .9rem; }
footer { color: var(--soft); font-size: .85rem; }
/* Paper is as narrow as a phone, but has no need for its layout. */
@media screen and (max-width: 760px) {
  main { padding: .75rem .6rem 3rem; }
  section { padding: .9rem .8rem; border-radius: 8px; margin: .8rem 0; }
  h1 { font-size: 1.35rem; }
  .figures, .panes { grid-template-columns: minmax(0, 1fr); }
  .beside > .pane:first-child { max-width: 6rem; }
  .wide { display: none; }
  th, td { padding: .35rem .4rem; }
  .facts { display: block; }
  .facts div { display: grid; grid-template-columns: 7.5rem 1fr; gap: .5rem; padding: .1rem 0; }
  .facts dt { padding-top: .15rem; }
  .stack thead { display: none; }
  .stack tr { display: block; padding: .4rem 0; border-bottom: 1px solid var(--line); }
  .stack tr:last-child { border-bottom: 0; }
  .stack td, .stack td.number { display: grid; grid-template-columns: 7.5rem 1fr; gap: .5rem;
    border: 0; padding: .1rem 0; text-align: left; white-space: normal; }
  .stack td::before { content: attr(data-name); color: var(--soft); font-size: .8rem; }
  .stack td > span { min-width: 0; }
}
@media print { @page { size: A4; margin: 12mm; }
  body { background: none; font-size: 10pt; } main { padding: 0; }
  section { break-inside: avoid; border: 0; margin: .3rem 0; padding: .3rem 0; }
  table { font-size: 8.5pt; } th, td { padding: .1rem .4rem; }
  .unprinted, details:not([open]) { display: none !important; }
  .brief tbody tr:nth-child(n+13), .overview tbody tr:nth-child(n+101) { display: none; }
  .scroll { overflow: visible; } tr { break-inside: avoid; }
  a { color: inherit; text-decoration: none; } }
"""
COLOURS = 6
"""Number of colours (`--c0`, `--c1`, ...) for different series."""


_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
"""Content security policy, so that the browser loads no resources and runs no scripts."""


def page(title: str, *content: Content, broad: bool = False, style: str = "") -> str:
    """Return the text of an HTML file with a title and content.

    With `broad`, the page uses the width of large screens. `style` is added to the common style
    sheet.
    """
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", title),
        Html(f"<style>{STYLE}{style}</style>"),
    )
    body = element("body", element("main", *content, class_="broad" if broad else None))
    return join(Html("<!doctype html>\n"), element("html", head, body, lang="en"), "\n")


def facts(*pairs: tuple[str, str | None]) -> Html:
    """Return a list of names with values, as HTML; names without a value are left out."""
    known = [(name, value) for name, value in pairs if value is not None]
    rows = (element("div", element("dt", name), element("dd", value)) for name, value in known)
    return element("dl", *rows, class_="facts")


def problem(text: str, code: str | None = None, class_: str = "warn") -> Html:
    """Return an HTML paragraph about an error or a warning, with its code.

    The code is that of a `Coded` text, unless `code` is given.
    """
    if code is None and isinstance(text, Coded):
        code = text.code
    return element("p", prose(text.strip()), *coded_end(code), class_=class_)


def coded_end(code: str | None) -> Iterator[Content]:
    """Yield HTML for the end of an error or warning: its code, and the command that explains it."""
    if code is not None:
        yield " "
        yield element("span", f"[{code}]", title=f"slowpath explain {code}", class_="code")


def warning_boxes(warnings: Sequence[str]) -> Html:
    """Return paragraphs with warnings about the result, for the start of a page."""
    return join(
        *(
            element("p", f"Warning: {text}", *coded_end(getattr(text, "code", None)), class_="warn")
            for text in warnings
        )
    )


def download(text: str, file: str, words: str) -> Html:
    """Return a link that saves `text` as a CSV file named `file`; `words` is the text of the link.

    The link itself contains the CSV text.
    """
    from urllib.parse import quote

    address = f"data:text/csv;charset=utf-8,{quote(text)}"
    return element("a", words, href=address, download=file)
