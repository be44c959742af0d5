"""Writes the HTML page of `slowpath show`: programs, maps, helpers, control flow and instructions.

The page consists of one article for each program. It needs neither scripts nor other files. Blocks
of the control flow come from listings in the verifier's notation.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count
from pathlib import PurePath
from typing import NamedTuple

from slowpath.bounds.default_target import CARD
from slowpath.bounds.report_path import count_of
from slowpath.core.html import Column, Content, Html, element, join, page, problem, table
from slowpath.core.html.explorer import card, graph, hero, pairs, region, several, style, value
from slowpath.core.html.flow import Arrow, Box, Flow, key
from slowpath.core.programs.sources import is_p4
from slowpath.core.schema.derived import refusal_text
from slowpath.core.schema.shown import BpfObject, Call, Instruction, Loop, Map, Program
from slowpath.show.report import PROGRAM_COLUMNS, analysis_verdict, program_row

_JUMP = re.compile(r"(?:^|\s)(may_goto|gotol?) pc([+-]\d+)$")
_CALL = re.compile(r"^call ([\w.]+)#-?\d+$")
_MAP = re.compile(r"\bmap\[([^\]]+)\]")
_ALWAYS = re.compile(r"^gotol? pc")
_END = "exit"


class Block(NamedTuple):
    """A basic block: instructions that always run one after the other, and the blocks after it."""

    instructions: Sequence[Instruction]
    next: Sequence[int]  # first instructions of the blocks that may follow

    @property
    def first(self) -> int:
        """Index of the first instruction."""
        return self.instructions[0]["instruction"]


class Function(NamedTuple):
    """A function of a program with its basic blocks, in the order of their instructions."""

    name: str
    blocks: Sequence[Block]


def called(text: str) -> str | None:
    """Return the helper or kernel function that an instruction calls; None if it calls none."""
    found = _CALL.match(text)
    return None if found is None else found[1]


def referenced_map(text: str) -> str | None:
    """Return the map whose address an instruction loads; None if it loads none."""
    found = _MAP.search(text)
    return None if found is None else found[1]


def functions(program: Program) -> list[Function]:
    """Return the functions of a program with their basic blocks; none without a listing."""
    listing = program["listing"] or []
    if not listing:
        return []
    starts = {one["first"]: one["name"] for one in program["subprograms"]}
    starts.setdefault(listing[0]["instruction"], program["name"])
    parts = dict[int, list[Instruction]]()
    at = listing[0]["instruction"]
    for one in listing:
        at = one["instruction"] if one["instruction"] in starts else at
        parts.setdefault(at, []).append(one)
    return [Function(starts[first], _blocks(part)) for first, part in parts.items()]


def _target(one: Instruction) -> int | None:
    """Return the index of the instruction to which `one` jumps; None if it is not a jump."""
    found = _JUMP.search(one["text"])
    return None if found is None else one["instruction"] + 1 + int(found[2])


def _blocks(part: Sequence[Instruction]) -> list[Block]:
    known = {one["instruction"] for one in part}
    targets = set(_known(map(_target, part), known))
    groups, ended = list[list[Instruction]](), True
    for one in part:
        if ended or one["instruction"] in targets:
            groups.append([])
        groups[-1].append(one)
        ended = one["text"] == _END or _target(one) is not None
    made = list[Block]()
    for at, group in enumerate(groups):
        last, following = group[-1], list[int | None]()
        if last["text"] != _END and not _ALWAYS.match(last["text"]) and at + 1 < len(groups):
            following.append(groups[at + 1][0]["instruction"])
        following.append(_target(last))
        made.append(Block(group, list(dict.fromkeys(_known(following, known)))))
    return made


def _known(numbers: Iterable[int | None], known: set[int]) -> list[int]:
    """Return the numbers that are in `known`.

    The targets of jumps in damaged programs may not be.
    """
    return [one for one in numbers if one is not None and one in known]


# --- page -----------------------------------------------------------------------------------------

_LISTED = 20_000
"""Maximum number of instructions on a page, to limit its size."""
_LINKS = 12
"""Maximum number of instructions that a row of a map or helper links to."""
_FIRST = 6
"""Maximum number of maps that the first screen names."""


class _Subject(NamedTuple):
    """A program to describe, with the HTML ids of its parts of the page."""

    id: str
    object: BpfObject
    program: Program
    listed: bool  # the page has the program's instructions

    def instruction(self, number: int) -> str:
        """Return the HTML id of the instruction with this index."""
        return f"{self.id}-i{number}"

    @property
    def maps(self) -> Mapping[str, str]:
        """HTML ids of the table rows of the program's maps, by map name."""
        return {use["name"]: f"{self.id}-m{at}" for at, use in enumerate(self.program["maps"])}

    @property
    def calls(self) -> Mapping[str, str]:
        """HTML ids of the table rows of called helpers and kernel functions, by name."""
        known = [*self.program["helpers"], *self.program["kernel_functions"]]
        return {one["name"]: f"{self.id}-h{at}" for at, one in enumerate(known)}

    def users(self, *, maps: bool) -> Mapping[str, list[int]]:
        """Return the instructions that refer to each map or, without `maps`, call each function.

        They are given by their indices.
        """
        found = dict[str, list[int]]()
        for one in self.program["listing"] or () if self.listed else ():
            name = referenced_map(one["text"]) if maps else called(one["text"])
            if name is not None:
                found.setdefault(name, []).append(one["instruction"])
        return found


def show_page(objects: Sequence[BpfObject], head: Mapping[str, object]) -> str:
    """Return the HTML page about all programs.

    `head` has the versions of slowpath and of the compiler.
    """
    numbers, left = count(1), _LISTED
    subjects = list[list[_Subject]]()
    for shown in objects:
        subjects.append([])
        for program in shown["programs"]:
            left -= program["instructions"]
            subjects[-1].append(_Subject(f"p{next(numbers)}", shown, program, left >= 0))
    everything = [one for some in subjects for one in some]
    names = dict.fromkeys(PurePath(shown["file"]).name for shown in objects)
    title = f"Content of {', '.join(list(names)[:3])}{' and others' if len(names) > 3 else ''}"  # noqa: PLR2004
    alone = len(everything) == len(objects) == 1
    parts: list[Content] = []
    if alone:
        title = f"{next(iter(names))}: {everything[0].program['name']}"
    else:
        parts += [element("h1", title), _overview(everything)]
    parts += (_failed(shown) for shown in objects if shown["error"] is not None)
    maps = [
        _object_maps(number, shown, some)
        for number, (shown, some) in enumerate(zip(objects, subjects, strict=True), 1)
        if shown["maps"]
    ]
    if alone:
        parts.append(_article(everything[0], "h1", *maps))
    else:
        parts += [*maps, several(*(_article(one, "h2") for one in everything))]
    compiler = f" Compiled by {head['compiler']}." if "compiler" in head else ""
    about = f"Written by slowpath {head['slowpath']}.{compiler} The page needs no network."
    return page(title, *parts, element("footer", about), broad=True, style=style())


def _failed(shown: BpfObject) -> Html:
    return problem(f"{shown['file']}: {shown['error']}", shown["code"])


def _overview(subjects: Sequence[_Subject]) -> Html:
    files = len({one.object["file"] for one in subjects}) > 1
    numbers, narrow = {"instructions", "subprograms"}, {"program", "instructions", "target ebpf"}
    named = [PROGRAM_COLUMNS[1], PROGRAM_COLUMNS[0], *PROGRAM_COLUMNS[2:]]
    columns = [Column(name, name in numbers, wide=name not in narrow) for name in named]
    columns += [Column("file", wide=True)] if files else []
    rows = list[list[Content]]()
    for one in subjects:
        section, name, *rest = program_row(one.program)
        link = element("a", name, href=f"#{one.id}")
        file = [PurePath(one.object["file"]).name] if files else []
        rows.append([link, section, *rest, *file])
    made = table(columns, rows)
    return element("section", element("h2", "Programs"), made, class_="overview")


def _article(subject: _Subject, heading: str, *maps: Html) -> Html:
    """Return the article about a program; `maps` is put in front of its instructions.

    `heading` is the tag of the title.
    """
    shown, program = subject.object, subject.program
    file = PurePath(shown["file"]).name
    license_ = "no license" if shown["license"] is None else f"license {shown['license']}"
    words = f"{shown['file']}, section {program['section']}"
    words += "" if is_p4(shown["file"]) else f"; {license_}"
    head = [
        element(heading, f"{file}: {program['name']}"),
        element("p", words, class_="soft small"),
    ]
    if program["error"] is not None:
        reason = problem(f"Cannot be linked: {program['error']}", program["code"])
        return element("article", *head, reason, id=subject.id)
    flows = functions(program) if subject.listed else []
    cards = [_size_card(program), _verdict_card(program), _uses_card(subject)]
    return element(
        "article",
        *head,
        hero(*cards),
        element(
            "div",
            element("div", *_uses(subject), *_loops(subject), *_remarks(program)),
            element("div", *_graphs(subject, flows)),
            class_="halves",
        ),
        *maps,
        _listing(subject, flows),
        id=subject.id,
    )


# --- the first screen ----------------------------------------------------------------------------


def _size_card(program: Program) -> Html:
    total, known = program["instructions"], program["instructions_with_source"]
    stack = program["stack"]
    deepest = None if stack is None else f"{stack['bytes']} of 512 bytes"
    if stack is not None and len(stack["deepest"]) > 1:
        deepest = f"{deepest}, {' > '.join(stack['deepest'])}"
    return card(
        "Program",
        value(count_of(total, "instruction")),
        pairs(
            [
                ("kind", program["kind"]),
                ("with source line", f"{known:,}" if known else "none: no debug information"),
                ("functions", f"{1 + len(program['subprograms'])}"),
                ("loops", f"{len(program['loops'])}"),
                ("stack", deepest),
            ]
        ),
    )


_VERDICTS = {
    "yes": "can be analysed",
    "no": "cannot be analysed",
    "--unroll": "needs --unroll",
}


def _verdict_card(program: Program) -> Html:
    verdict = analysis_verdict(program)
    known: list[tuple[str, Content]] = [("slowpath bound", program["unsupported"])]
    open_ = sum(loop["iterations"] is None for loop in program["loops"])
    if open_:
        known.append(("loops", f"{open_} without a known number of iterations"))
    card_ = program["card"]
    if card_ is not None:
        refusals = len(card_["refusals"])
        fits = f"yes, {card_['instructions']:,} instructions" if card_["instructions"] else "yes"
        known.append((CARD, f"no, {count_of(refusals, 'reason')}" if refusals else fits))
    if program["not_loadable"]:
        known.append(("kernel", "no kernel loads it"))
    return card("Analysis", value(_VERDICTS[verdict]), pairs(known))


def _uses_card(subject: _Subject) -> Html:
    used, maps = subject.maps, {one["name"]: one for one in subject.object["maps"]}
    known = list[tuple[str, Content]]()
    for name, target in list(used.items())[:_FIRST]:
        kind = maps[name]["kind"] if name in maps else ""
        known.append((kind, element("a", name, href=f"#{target}")))
    if len(used) > _FIRST:
        known.append(("and", f"{len(used) - _FIRST} more"))
    calls = sum(one["calls"] for one in subject.program["helpers"])
    known.append(("helper calls", f"{calls:,}"))
    words = count_of(len(used), "map") if used else "no maps"
    return card("Maps", value(words), pairs(known))


# --- maps, helpers, loops ------------------------------------------------------------------------


def _object_maps(number: int, shown: BpfObject, subjects: Sequence[_Subject]) -> Html:
    """Return the page section with all maps of an object, and the programs that use each map."""
    sizes = [Column(name, number=True, wide=True) for name in ("key bytes", "value bytes")]
    columns = [Column("map"), Column("kind"), *sizes, Column("max entries", number=True)]
    columns += [Column("bytes if full", number=True, wide=True), Column("used by")]
    rows = (_map_row(one, subjects) for one in shown["maps"])
    words = "Bytes if full are those of keys and values, without the kernel's own data."
    return element(
        "section",
        element("h2", f"Maps of {PurePath(shown['file']).name}"),
        element("p", words, class_="soft small"),
        table(columns, rows),
        id=f"o{number}",
    )


def _map_row(one: Map, subjects: Sequence[_Subject]) -> list[Content]:
    users = list[Content]()
    for subject in subjects:
        target = subject.maps.get(one["name"])
        if target is not None:
            link = element("a", subject.program["name"], href=f"#{target}")
            users += [", " if users else None, link]
    entries = one["max_entries"]
    each = one["key_size"] + one["value_size"]
    return [
        element("code", one["name"], class_="name"),
        one["kind"],
        f"{one['key_size']:,}",
        f"{one['value_size']:,}",
        f"{entries:,}" if entries else "set by the loader",
        f"{entries * each:,}" if entries else "",
        join(*users) if users else "no program",
    ]


def _uses(subject: _Subject) -> Iterator[Html]:
    """Yield the page sections with the maps and helpers that a program uses, linked to its code."""
    program = subject.program
    if program["maps"]:
        columns = [Column("map"), Column("uses"), Column("instructions")]
        users, ids = subject.users(maps=True), subject.maps
        rows = [
            [
                element("code", use["name"], id=ids[use["name"]], class_="name"),
                ", ".join(use["uses"]) or "address taken",
                _links(subject, users.get(use["name"], [])),
            ]
            for use in program["maps"]
        ]
        yield element("section", element("h2", "Maps used"), table(columns, rows, stack=True))
    for title, calls in (
        ("Helpers", program["helpers"]),
        ("Kernel functions", program["kernel_functions"]),
    ):
        if calls:
            yield element("section", element("h2", title), _calls(subject, calls))


def _calls(subject: _Subject, calls: Sequence[Call]) -> Html:
    columns = [Column("name"), Column("calls", number=True), Column("instructions")]
    users, ids = subject.users(maps=False), subject.calls
    rows = (
        [
            element("code", one["name"], id=ids[one["name"]], class_="name"),
            f"{one['calls']:,}",
            _links(subject, users.get(one["name"], [])),
        ]
        for one in calls
    )
    return table(columns, rows, stack=True)


def _links(subject: _Subject, numbers: Sequence[int]) -> Html:
    parts = list[Content]()
    for number in numbers[:_LINKS]:
        target = f"#{subject.instruction(number)}"
        link = element("a", f".{number}", href=target) if subject.listed else f".{number}"
        parts += [" " if parts else None, link]
    if len(numbers) > _LINKS:
        parts.append(f" and {len(numbers) - _LINKS} more")
    return join(*parts)


def _loops(subject: _Subject) -> Iterator[Html]:
    loops = subject.program["loops"]
    if not loops:
        return
    columns = [Column("loop"), Column("iterations, at most", number=True), Column("source")]
    rows = (
        [
            element(
                "a", f".{loop['instruction']}", href=f"#{subject.instruction(loop['instruction'])}"
            )
            if subject.listed
            else f".{loop['instruction']}",
            "unknown" if loop["iterations"] is None else f"{loop['iterations']:,}",
            join(_place(loop), None if loop["reason"] is None else f" {loop['reason']}"),
        ]
        for loop in loops
    )
    yield element("section", element("h2", "Loops"), table(columns, rows, stack=True))


def _place(loop: Loop) -> Html:
    if loop["file"] is None:
        return element("span", "no source line")
    place = f"{PurePath(loop['file']).name}:{loop['line']} "
    return join(place, element("code", loop["text"].strip()))


def _remarks(program: Program) -> Iterator[Html]:
    """Yield the page section with assumptions about a program and its problems, if any."""
    items = [f"No kernel loads this program: {one}" for one in program["not_loadable"] or ()]
    if program["unsupported"] is not None:
        items.append(f"Not supported: {program['unsupported']}")
    items += (
        f"Unresolved: .{one['instruction']}: {one['reason']}" for one in program["unresolved"]
    )
    items += (f"Assuming: {one}" for one in program["assumptions"])
    parts = list[Html]()
    if items:
        parts.append(element("ul", *(element("li", text) for text in items)))
    refusals = [] if program["card"] is None else program["card"]["refusals"]
    if refusals:
        reasons = element("ul", *(element("li", refusal_text(one)) for one in refusals))
        summary = element("summary", f"{count_of(len(refusals), 'reason')} against {CARD}")
        parts.append(element("details", summary, reasons))
    if parts:
        yield element("section", element("h2", "Remarks"), *parts)


# --- control flow and instructions ---------------------------------------------------------------


def _graphs(subject: _Subject, flows: Sequence[Function]) -> Iterator[Html]:
    """Yield the control-flow graph of the program's entry function.

    Graphs of other functions follow, folded.
    """
    if not flows:
        return
    blocks = sum(len(one.blocks) for one in flows)
    words = (
        f"{blocks:,} basic blocks. The height of a box is its number of instructions; "
        "consecutive blocks share a box. Click a box to go to its instructions."
    )
    first, *others = flows
    parts = [graph(_flow(subject, first), f"control-flow graph of {first.name}")]
    for one in others:
        inside = graph(_flow(subject, one), f"control-flow graph of {one.name}")
        parts.append(element("details", element("summary", f"Function {one.name}"), inside))
    yield element(
        "section",
        element("h2", "Control flow"),
        element("p", key("calls", "calls a helper or function"), key("offpath", "other blocks")),
        element("p", words, class_="soft small"),
        *parts,
    )


def _flow(subject: _Subject, function: Function) -> Flow:
    numbers = {block.first: at for at, block in enumerate(function.blocks)}
    boxes, arrows = list[Box](), list[Arrow]()
    for at, block in enumerate(function.blocks):
        head = block.instructions[0]
        calls = any(one["text"].startswith("call ") for one in block.instructions)
        source = head["source"]
        place = f".{block.first}"
        if source is not None:
            place += f" ({PurePath(source['file']).name}:{source['line']})"
        title = f"block {place}, {len(block.instructions)} instructions"
        link = f"#{subject.instruction(block.first)}"
        boxes.append(Box(len(block.instructions), "calls" if calls else "box", title, link))
        arrows += (Arrow(at, numbers[following]) for following in block.next)
    return Flow(boxes, arrows)


def _listing(subject: _Subject, flows: Sequence[Function]) -> Html | None:
    program = subject.program
    if not subject.listed:
        words = (
            f"The page has at most {_LISTED:,} instructions, so it lacks those of this program. "
            "Select it with --prog-name."
        )
        return element("section", element("h2", "Instructions"), element("p", words))
    if not flows:
        return None
    names = (("instruction", "n"), ("code", None))
    head = element("tr", *(element("th", name, class_=kind, scope="col") for name, kind in names))
    rows = list[Html]()
    for function in flows:
        if len(flows) > 1:
            name = element("th", f"function {function.name}", colspan=2, scope="rowgroup")
            rows.append(element("tr", name))
        rows += _rows(subject, function)
    title = "Instructions by source line" if program["instructions_with_source"] else "Instructions"
    if not program["instructions_with_source"]:
        title += " (no debug information)"
    made = element("table", element("thead", head), element("tbody", *rows), class_="dense heat")
    # Do not print the listing, which would fill many sheets of paper.
    return element("section", element("h2", title), region("code", made), class_="unprinted")


def _rows(subject: _Subject, function: Function) -> Iterator[Html]:
    before = None
    maps, calls = subject.maps, subject.calls
    for block in function.blocks:
        for one in block.instructions:
            source = one["source"]
            if source is not None and source != before:
                place = f"{PurePath(source['file']).name}:{source['line']}"
                text = element("code", source["text"].strip(), class_="line")
                cells = element("td", class_="at"), element("td", f"{place} ", text, class_="src")
                yield element("tr", *cells)
            before = source
            yield element(
                "tr",
                element("td", f"{one['instruction']}", class_="at"),
                element("td", element("code", _linked(one, maps, calls), class_="line")),
                id=subject.instruction(one["instruction"]),
            )


def _linked(one: Instruction, maps: Mapping[str, str], calls: Mapping[str, str]) -> Html:
    """Format an instruction; names of maps and helpers are links to their table rows."""
    text = one["text"]
    for name, ids in ((referenced_map(text), maps), (called(text), calls)):
        if name is not None and name in ids:
            start, _, end = text.partition(name)
            return join(start, element("a", name, href=f"#{ids[name]}"), end)
    return join(text)
