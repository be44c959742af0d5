"""Builds the parts of HTML pages about programs: cards, the choice of a path, code, graphs.

The reader chooses a path by radio buttons, without scripts. The CSS class `k` marks elements of
single paths, and `k1`, `k2` and so on mark those of one path.
"""

from collections.abc import Sequence

from slowpath.core.html import Content, Html, element
from slowpath.core.html.flow import Flow, picture, shape

PATHS = 8
"""Maximum number of paths on the page of a program."""
_MANY = 20
"""Maximum number of programs whose articles are printed on paper.

With more programs, a printed page has only the table of programs.
"""
_HEIGHT = 640.0
"""Maximum height of a graph in pixels, unless its scale is `_SMALLEST`."""
_SMALLEST = 0.4

_RULES = """
:root { --hot: #f3a536; --read: #0b5a2b; } .onpath { --fate: var(--c1); }
.offpath { --fate: var(--faint); }
.calls { --fate: var(--c0); }
@media (prefers-color-scheme: dark) { :root { --hot: #8f4a12; --read: #7ddf9f; } }
.hero { display: grid; grid-template-columns: repeat(3, minmax(0, 1fr));
  gap: 1rem; margin: .75rem 0; }
.hero > section { margin: 0; }
.hero h2 { font-size: .8rem; font-weight: 500; color: var(--soft); }
.hero .value { font-size: 1.3rem; font-weight: 600; line-height: 1.3; margin: .1rem 0;
  overflow-wrap: anywhere; }
.hero p { margin: .15rem 0; }
.hero dl { display: grid; grid-template-columns: fit-content(45%) minmax(0, 1fr); gap: .1rem .75rem;
  margin: .3rem 0 0;
  font-size: .85rem; }
.hero dt { color: var(--soft); } .hero dd { margin: 0; overflow-wrap: anywhere; }
fieldset.switch { position: sticky; top: 0; z-index: 2; display: flex; flex-wrap: wrap;
  gap: .35rem .5rem;
  border: 1px solid var(--line); border-radius: 10px; background: var(--card); margin: 1rem 0;
  padding: .35rem .75rem .5rem; min-width: 0; }
fieldset.switch legend { color: var(--soft); font-size: .8rem; padding: 0 .3rem; }
fieldset.switch label { display: flex; gap: .35rem; align-items: center; min-height: 1.75rem;
  font-size: .875rem; padding: 0 .5rem; border-radius: 6px; cursor: pointer; }
fieldset.switch label:has(:checked) { background: var(--paper); font-weight: 600; }
fieldset.switch label:focus-within { outline: 2px solid var(--accent); }
.halves { display: grid; grid-template-columns: minmax(0, 5fr) minmax(0, 4fr); gap: 0 1.25rem;
  align-items: start; }
.halves > div > section:first-child { margin-top: .25rem; }
.pane.graph { max-height: 75vh; }
svg.flow .lit { fill: none; stroke: var(--c1); stroke-width: 2.2; }
svg.flow rect.box { fill: var(--faint); }
table.dense td, table.dense th { padding: .1rem .5rem; border: 0; }
table.dense thead th { white-space: nowrap; }
table.dense .n, .at, .hot { text-align: right; white-space: nowrap; }
.at { color: var(--soft); font-variant-numeric: tabular-nums; }
td.hot { background: color-mix(in srgb, var(--hot) var(--h), transparent); }
td.gap { color: var(--soft); text-align: center; }
th[scope=rowgroup] { text-align: left; padding-top: .6rem; color: var(--text); font-weight: 600;
  overflow-wrap: anywhere; }
table.dense tr:target td { box-shadow:
  inset 0 0 0 99em color-mix(in srgb, var(--accent) 18%, transparent); }
table.heat code { font-size: .85em; }
.overview td:first-child a { overflow-wrap: anywhere; }
.overview td:first-child { min-width: 8rem; }
code.name { white-space: nowrap; }
table.dense .at { width: 1%; }
td.src { padding-top: .5rem !important; color: var(--soft); font-size: .8rem; }
span.hot { display: inline-block; min-width: 3.2rem; padding: 0 .3rem; border-radius: 3px;
  background: color-mix(in srgb, var(--hot) var(--h), transparent); }
.reads { font-size: .78rem; color: var(--read); white-space: nowrap; }
.scroll:focus-visible, .pane:focus-visible { outline: 2px solid var(--accent); }
tr { scroll-margin-top: 5rem; }
@media screen and (max-width: 960px) { .halves, .hero { grid-template-columns: minmax(0, 1fr); }
  /* One line, which hides little of the page while it stays at the top. */
  fieldset.switch { flex-wrap: nowrap; overflow-x: auto; } .switch label { white-space: nowrap; }
  .hero { gap: .5rem; } .hero > section { padding: .6rem .8rem; }
  .hero .value { font-size: 1.1rem; } }
@media print { body { font-size: 9.5pt; } main { padding: 0; }
  h1 { font-size: 14pt; } section { margin: .4rem 0; padding: .2rem 0; break-inside: auto; }
  .switch { display: none; }
  .halves { display: block; } .hero { grid-template-columns: repeat(3, minmax(0, 1fr)); }
  .pane.graph { max-height: none; overflow: visible; border: 0; padding: 0; }
  svg.flow { width: auto !important; height: auto !important; max-width: 100%; max-height: 7cm; }
  table { font-size: 8pt; }
  th, td { padding: .05rem .4rem; } table.dense td { padding: 0 .4rem; }
  .several article > :not(h2, p, .hero) { display: none; }
  .several article:nth-child(n+5) { display: none; } }
"""


def style() -> str:
    """Return the style sheet, with rules that show only the elements of the chosen path.

    The selectors name each element from the article down to a button. A descendant selector would
    be slow: for each hidden element whose style a script queries (axe-core does), browsers would
    search the whole article.
    """
    rules = list[str]()
    for number in range(1, PATHS + 1):
        chosen = f"article:has(> fieldset > label > .s{number}:checked)"
        rules.append(f"{chosen} .k:not(.k{number}) {{ display: none; }}")
        rules.append(f"{chosen} rect.l{number} {{ fill: var(--c1); }}")
    # A page about a single path has no switch between paths.
    rules.append("article.single rect.l1 { fill: var(--c1); }")
    return _RULES + "\n".join(rules) + "\n"


def path_classes(number: int) -> str:
    """Return the CSS classes of elements that belong to one path; the first has number 1."""
    return f"k k{number}"


def switch(name: str, labels: Sequence[str], rest: str | None = None) -> Html:
    """Return radio buttons that choose the path to show; the first path is chosen initially.

    `name` is the id of the article, `labels` are the texts of the buttons, and `rest` is a remark
    beside them.
    """
    buttons = (
        element(
            "label",
            element(
                "input",
                type="radio",
                name=f"{name}-path",
                class_=f"s{number}",
                checked="" if number == 1 else None,
            ),
            label,
        )
        for number, label in enumerate(labels, 1)
    )
    remark = None if rest is None else element("span", rest, class_="soft small")
    return element("fieldset", element("legend", "Path"), *buttons, remark, class_="switch")


def card(title: str, *content: Content) -> Html:
    """Return a box with a title, for the top of an article."""
    return element("section", element("h2", title), *content)


def value(words: Content) -> Html:
    """Return the large text of a box, which states the main result."""
    return element("p", words, class_="value")


def hero(*cards: Html) -> Html:
    """Return the top of an article: up to three boxes side by side."""
    return element("div", *cards, class_="hero")


def several(*articles: Html) -> Html:
    """Combine the articles of several programs.

    On paper, only the tops of the first four articles appear; with more than `_MANY` articles, only
    the table of programs.
    """
    kind = "several unprinted" if len(articles) > _MANY else "several"
    return element("div", *articles, class_=kind)


def pairs(known: Sequence[tuple[str, Content]]) -> Html:
    """Return a list of names with values, as HTML for a box; empty values are left out."""
    cells = [(element("dt", name), element("dd", content)) for name, content in known if content]
    return element("dl", *(one for pair in cells for one in pair))


def region(label: str, *content: Content, class_: str = "scroll") -> Html:
    """Return a box that scrolls if its content is too large, by mouse or keyboard.

    The box is not an ARIA landmark: labels of landmarks must differ, but articles of several
    programs repeat them.
    """
    return element("div", *content, class_=class_, tabindex=0, role="group", aria_label=label)


def graph(flow: Flow, label: str = "control-flow graph") -> Html:
    """Return the picture of a control-flow graph, in a box that scrolls."""
    shaped = shape(flow)
    scale = min(1.0, max(_SMALLEST, _HEIGHT / max(shaped.size[1], 1)))
    return region(label, picture(shaped, label, scale=scale), class_="pane graph")
