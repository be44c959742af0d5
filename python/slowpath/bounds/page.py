"""Writes the HTML page of `slowpath bound`: bounds, costs by source line, graph, paths and packets.

The page consists of one article for each program. It needs neither scripts nor other files.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import NamedTuple

from slowpath.bounds.analyst import CORES, ENTRIES, LENGTH, Alternative
from slowpath.bounds.page_packet import header_list, packet_section
from slowpath.bounds.page_paths import Anchors, Place, Way, ways_of
from slowpath.bounds.page_source import source_section
from slowpath.bounds.report_path import count_of, exactness, format_counts, format_ns, format_time
from slowpath.bounds.report_rates import format_cycles
from slowpath.core.html import (
    Column,
    Content,
    Html,
    element,
    facts,
    join,
    page,
    problem,
    prose,
    table,
)
from slowpath.core.html.explorer import card, graph, hero, pairs, several, style, switch, value
from slowpath.core.html.flow import Arrow, Box, Flow, key
from slowpath.core.programs.packet import witness_bytes
from slowpath.core.quantities import significant
from slowpath.core.schema.derived import (
    COLD_NS,
    TIMES,
    WARM_NS,
    cost_words,
    counted,
    is_count,
    is_found,
    metric_rate,
    program_label,
    rate_metric,
)
from slowpath.core.schema.rates import format_packetrate, format_rate
from slowpath.core.schema.results import Bound, Detail, PathResult, Result


class Explored(NamedTuple):
    """A program with its result, and results for other settings, such as fewer cores."""

    result: Result
    detail: Detail
    alternatives: Sequence[Alternative]


def bound_page(programs: Sequence[Explored], head: Mapping[str, object]) -> str:
    """Return the HTML page; `head` has the version of slowpath and of the compiler."""
    names = dict.fromkeys(PurePath(one.result["file"]).name for one in programs)
    title = f"Bounds of {', '.join(list(names)[:3])}{' and others' if len(names) > 3 else ''}"  # noqa: PLR2004
    parts: list[Content] = []
    if len(programs) != 1:
        parts += [element("h1", title), _overview(programs)]
    else:
        title = f"Bound of {program_label(programs[0].result)}"
    heading = "h1" if len(programs) == 1 else "h2"
    articles = [_article(f"p{at}", one, heading=heading) for at, one in enumerate(programs, 1)]
    parts += articles if len(programs) == 1 else [several(*articles)]
    compiler = f" Compiled by {head['compiler']}." if "compiler" in head else ""
    about = f"Written by slowpath {head['slowpath']}.{compiler} The page needs no network."
    return page(title, *parts, element("footer", about), broad=True, style=style())


def _overview(programs: Sequence[Explored]) -> Html:
    columns = [Column("program"), Column("target"), Column("bound"), Column("exact")]
    rows = list[list[Content]]()
    for number, (result, _, _) in enumerate(programs, 1):
        guarantee = result["guarantee"]
        rows.append(
            [
                element("a", program_label(result), href=f"#p{number}"),
                result["target"],
                "not analysed" if guarantee is None else bound_words(result, guarantee),
                "" if guarantee is None else guarantee["verdict"] or "",
            ]
        )
    made = table(columns, rows, stack=True)
    return element("section", element("h2", "Programs"), made, class_="overview")


def bound_words(result: Result, bound: Bound) -> str:
    """Format a bound: `133 instructions` or `24.7 Gbit/s`."""
    if is_count(result):
        name, count = counted(bound["counts"] or {}, result["metric"])
        return format_counts({name: count})
    metric = rate_metric(result)
    return format_rate(metric_rate(bound, metric), metric)


def _article(name: str, one: Explored, *, heading: str) -> Html:
    result, detail, others = one
    section = f", section {result['section']}" if result["section"] else ""
    file = PurePath(result["file"]).name
    named = f"{file}: {result['program']}" if program_label(result) != result["file"] else file
    words = f"{result['file']}{section}; target {result['target']}"
    head = [element(heading, named), element("p", words, class_="soft small")]
    guarantee, ways = result["guarantee"], ways_of(result, detail)
    if guarantee is None:
        failed = problem(f"Not analysed: {result['error']}", result["code"])
        return element("article", *head, failed, id=name)
    if not ways:
        lines = _bound_card(name, result, guarantee)
        return element("article", *head, lines, *_conditions(name, result), id=name)
    anchors = Anchors(name, detail, ways, result["kind"])
    texts = {code["instruction"]: code["text"] for code in detail["code"]}
    cards = [_bound_card(name, result, guarantee), _line_card(result, detail, ways, anchors)]
    cards.append(_packet_card(ways, anchors))
    graph = graph_section(detail, ways, anchors)
    source = source_section(result, detail, ways, anchors)
    packet = packet_section(ways, anchors, texts)
    return element(
        "article",
        *head,
        hero(*cards),
        _switch(name, result, ways) if len(ways) > 1 else None,
        element("div", element("div", source), element("div", graph, packet), class_="halves"),
        _costs(result, guarantee, ways),
        *_what_if(result, others),
        *_conditions(name, result),
        class_="single" if len(ways) == 1 else None,
        id=name,
    )


# --- the first screen ----------------------------------------------------------------------------


def _bound_card(name: str, result: Result, guarantee: Bound) -> Html:
    words = bound_words(result, guarantee)
    found = is_found(guarantee)
    if is_count(result):
        answer = f"at most {words} per packet"
    else:
        answer = f"{'' if found else 'at least '}{words}"
    certainty: Content = f"not exact; stopped: {guarantee['stopped']}"
    if found:
        certainty = _certainty(result, f"{name}-assumptions")
    known: list[tuple[str, Content]] = [("certainty", certainty)]
    if is_count(result):
        main, _ = counted(guarantee["counts"] or {}, result["metric"])
        rest = {key: n for key, n in (guarantee["counts"] or {}).items() if key != main}
        known += [("on its path", format_counts(rest))] if rest else []
    else:
        known.append(("bottleneck", guarantee["bottleneck"]))
        known.append(("cores", str(result["cores"])))
    interleaved = result.get("interleaved")
    if interleaved is not None:
        known.append(("while other CPUs write", bound_words(result, interleaved)))
    estimate = result["estimate"]
    if estimate is not None:
        known.append(("estimated, warm", format_time(estimate["warm"])))
        known.append(("estimated, cold", format_time(estimate["cold"])))
    if result["naive"] is not None:
        known.append(("naive bound", bound_words(result, result["naive"])))
    return card("Bound", value(answer), pairs(known))


_LONG = 80
"""Maximum length of the first assumption in a card, in letters; longer ones become a link."""


def _certainty(result: Result, target: str) -> Content:
    words = exactness(result)
    if len(words) <= _LONG:
        return words
    count = count_of(len(result["assumptions"]), "assumption")
    return join("exact under ", element("a", count, href=f"#{target}"))


def _line_card(result: Result, detail: Detail, ways: Sequence[Way], anchors: Anchors) -> Html:
    texts = _texts(detail)
    inside = (
        element("div", *_hottest(result, way, anchors, texts), class_=way.classes) for way in ways
    )
    kind = "line" if anchors.by_line else "instruction"
    return card(f"Most expensive {kind}", *inside)


def _texts(detail: Detail) -> dict[Place | int, str]:
    texts = dict[Place | int, str]()
    for code in detail["code"]:
        texts[code["instruction"]] = code["text"]
        if code["source"] is not None:
            source = code["source"]
            texts[source["file"], source["line"]] = source["text"].strip()
    return texts


_TIMED = {WARM_NS: "the time with warm caches", COLD_NS: "the time with cold caches"}


def _hottest(
    result: Result, way: Way, anchors: Anchors, texts: Mapping[Place | int, str]
) -> Iterator[Html]:
    rows: list[tuple[float, str, str, str]] = []
    unit = _TIMED.get(way.component) or cost_words(way.component, result["metric"])
    if anchors.by_line:
        for place, cost in way.lines().items():
            name = f"{PurePath(place[0]).name}:{place[1]}"
            rows.append((cost.share, name, anchors.of_line(place), texts.get(place, "")))
    else:
        for number, cost in way.instructions().items():
            target = anchors.of_instruction(number) or ""
            rows.append((cost.share, f".{number}", target, texts.get(number, "")))
    rows.sort(key=lambda row: -row[0])
    for at, (share, name, target, text) in enumerate(rows[:3]):
        link = element("a", name, href=f"#{target}")
        words = f" {100 * share:.1f} %" + (f" of {unit}" if not at else "")
        yield element("p", link, words, class_="value" if not at else "small")
        yield element("p", element("code", text), class_=None if not at else "small")


def _packet_card(ways: Sequence[Way], anchors: Anchors) -> Html:
    inside = (element("div", *_packet_summary(way, anchors), class_=way.classes) for way in ways)
    return card("Packet", *inside)


def _packet_summary(way: Way, anchors: Anchors) -> Iterator[Html]:
    if way.path is None:
        yield value("none is known")
        return
    witness = way.path["witness"]
    yield value(f"{witness['length']} bytes")
    packet = witness_bytes(witness)
    yield header_list(packet, lambda byte: anchors.of_field(way, byte), anchors.kind)


# --- paths, costs, other settings ----------------------------------------------------------------


def _switch(name: str, result: Result, ways: Sequence[Way]) -> Html:
    labels = [_way_words(result, way) for way in ways]
    more = len(result["paths"]) - sum(way.path is not None for way in ways)
    return switch(name, labels, f"{more} more are not on this page" if more > 0 else None)


def _way_words(result: Result, way: Way) -> str:
    if way.path is None:
        return "path of the bound"
    return f"{way.number}: {path_words(result, way.path)}"


def path_words(result: Result, path: PathResult) -> str:
    """Format the cost by which the page sorts paths: an estimated time, a rate, or a count."""
    if path["estimate"] is not None:
        return f"estimated {format_ns(path['estimate']['cold']['ns'])}"
    if is_count(result):
        name, count = counted(path["cost"], result["metric"])
        return format_counts({name: count})
    metric = rate_metric(result)
    return format_rate(metric_rate(path, metric), metric)


_COSTS = [
    Column("component"),
    Column("cost on the path", number=True),
    Column("of this, overhead", number=True),
    Column("limit of the rate", number=True),
]


def _costs(result: Result, guarantee: Bound, ways: Sequence[Way]) -> Html:
    columns = _COSTS if guarantee["components"] is not None else _COSTS[:-1]
    parts = list[Html]()
    for way in ways:
        rows = list[list[Content]]()
        for name, cost in way.profile["cost"].items():
            overhead = way.profile["overhead"].get(name, 0)
            words = cost_words(name, result["metric"])
            rows.append([words, _amount(name, cost), _amount(name, overhead)])
            if guarantee["components"] is not None:
                rate = guarantee["components"].get(name) if way.number == 1 else None
                rows[-1].append("" if rate is None else format_packetrate(rate))
        if way.number == 1:
            fixed = guarantee["components"] or {}
            rows += [
                [f"{name} (fixed limit)", "", "", format_packetrate(rate)]
                for name, rate in fixed.items()
                if name not in way.profile["cost"] and rate is not None
            ]
        parts.append(
            element("div", table(columns, rows), *_programs(result, way), class_=way.classes)
        )
    return element("section", element("h2", "Cost by component"), *parts)


def _programs(result: Result, way: Way) -> Iterator[Html]:
    """Yield a table with the cost of each program in a chain; nothing for a single program."""
    if not way.profile["programs"]:
        return
    names = list(way.profile["cost"])
    columns = [
        Column("program of the chain"),
        *(Column(cost_words(name, result["metric"]), number=True) for name in names),
    ]
    rows = (
        [one["program"], *(_amount(name, one["cost"].get(name, 0)) for name in names)]
        for one in way.profile["programs"]
    )
    yield table(columns, rows)


def _amount(component: str, cost: float) -> str:
    return f"{significant(cost)} ns" if component in TIMES and cost else format_cycles(cost)


_TITLES = {
    CORES: "Number of cores",
    LENGTH: "Longest packet",
    ENTRIES: "Entries in each map",
}


def _what_if(result: Result, alternatives: Sequence[Alternative]) -> Iterator[Html]:
    """Yield the tables that show results for other settings, such as fewer cores."""
    made = list[Html]()
    for setting, title in _TITLES.items():
        known = [one for one in alternatives if one.setting == setting]
        if known:
            made.append(element("h3", title))
            made.append(_what_if_table(result, setting, known))
    if made:
        words = "Each row is the result of an analysis of its own. The first row is that above."
        yield element(
            "section", element("h2", "What if"), element("p", words, class_="soft small"), *made
        )


def _what_if_table(result: Result, setting: str, known: Sequence[Alternative]) -> Html:
    timed = result["estimate"] is not None
    columns = [Column(_setting_words(setting)), Column("bound", number=True), Column("exact")]
    if timed:
        columns += [
            Column("warm caches (ns)", number=True),
            Column("cold caches (ns)", number=True),
        ]
    as_given = {CORES: str(result["cores"]), LENGTH: "as above", ENTRIES: "as above"}[setting]
    rows = [_what_if_row(as_given, result, timed=timed)]
    rows += [_what_if_row(f"{one.value:,}", one.result, timed=timed) for one in known]
    # A limit on packets is an assumption, so verdicts differ even where bounds are equal.
    shown = [[*row[:2], *row[3:]] for row in rows]
    if all(row[1:] == shown[0][1:] for row in shown) and not any(map(_is_open, known)):
        values = ", ".join(str(row[0]) for row in rows[1:])
        return element("p", f"No difference with {values}.")
    return table(columns, rows)


def _is_open(one: Alternative) -> bool:
    guarantee = one.result["guarantee"]
    return guarantee is None or not is_found(guarantee)


def _setting_words(setting: str) -> str:
    return "longest packet (bytes)" if setting == LENGTH else setting


def _what_if_row(name: str, result: Result, *, timed: bool) -> list[Content]:
    guarantee, estimate = result["guarantee"], result["estimate"]
    if guarantee is None:
        return [name, "", "", *(["", ""] if timed else [])]
    row: list[Content] = [name, bound_words(result, guarantee), guarantee["verdict"] or ""]
    if timed:
        row += (
            ["", ""] if estimate is None else _times(estimate["warm"]["ns"], estimate["cold"]["ns"])
        )
    return row


def _times(warm: float, cold: float) -> list[Content]:
    return [significant(warm), significant(cold)]


def _conditions(name: str, result: Result) -> Iterator[Html]:
    """Yield the assumptions and notes of a result, and statistics of the search.

    `name` is the prefix of HTML ids.
    """
    if result["assumptions"]:
        items = (element("li", prose(text)) for text in result["assumptions"])
        listed = element("ul", *items)
        target = f"{name}-assumptions"
        yield element("section", element("h2", "Assumptions"), listed, id=target)
    if result["notes"]:
        items = (element("li", prose(text)) for text in result["notes"])
        yield element("section", element("h2", "Notes"), element("ul", *items))
    stats = result["stats"]
    known = facts(
        ("paths checked", f"{stats['candidates']:,}"),
        ("satisfiable", f"{stats['sat']:,}"),
        ("unsatisfiable", f"{stats['unsat']:,}"),
        ("conflicts", f"{stats['nogoods']:,}"),
        ("calls of the solver", f"{stats['solver_checks']:,}"),
        ("paths reported", count_of(len(result["paths"]), "path")),
    )
    yield element("details", element("summary", "Effort of the search"), known)


def graph_section(detail: Detail, ways: Sequence[Way], anchors: Anchors) -> Html | None:
    """Return the page section with the control-flow graph; None without basic blocks."""
    if not detail["blocks"]:
        return None
    blocks = len(detail["blocks"])
    words = (
        f"{blocks:,} basic blocks. The height of a box is its number of instructions; "
        "consecutive blocks share a box. Click a box to go to its code."
    )
    return element(
        "section",
        element("h2", "Control flow"),
        element("p", key("onpath", "on the chosen path"), key("offpath", "not on it")),
        element("p", words, class_="soft small"),
        graph(_flow(detail, ways, anchors)),
        id=f"{anchors.name}-graph",
    )


def _flow(detail: Detail, ways: Sequence[Way], anchors: Anchors) -> Flow:
    blocks = detail["blocks"]
    numbers = {block["first"]: at for at, block in enumerate(blocks)}
    run = {way.number: set(way.instructions()) for way in ways}
    taken = {way.number: set(_edges(way)) for way in ways}
    boxes, arrows = list[Box](), list[Arrow]()
    for at, block in enumerate(blocks):
        own = block["instructions"] or [block["first"]]
        lit = " ".join(f"l{number}" for number, known in run.items() if known & set(own))
        link = next(filter(None, map(anchors.of_instruction, own)), None)
        title = f"block {anchors.place_text(own[0])}, {len(own)} instructions"
        boxes.append(
            Box(len(own), f"box {lit}".strip(), title, None if link is None else f"#{link}")
        )
        for following in block["next"]:
            edge = (block["first"], following)
            classes = tuple(f"k k{number}" for number, known in taken.items() if edge in known)
            arrows.append(Arrow(at, numbers[following], lit=classes))
    return Flow(boxes, arrows)


def _edges(way: Way) -> Sequence[tuple[int, int]]:
    if way.path is None:
        return []
    return [(start, end) for start, end in way.path["edges"]]
