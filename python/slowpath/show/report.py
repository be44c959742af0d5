"""Prints descriptions of BPF objects as text."""

from collections.abc import Iterator
from pathlib import PurePosixPath

from slowpath.bounds.default_target import CARD
from slowpath.core.errors import with_code
from slowpath.core.printable import one_line
from slowpath.core.programs.sources import is_p4
from slowpath.core.schema.derived import refusal_text
from slowpath.core.schema.shown import BpfObject, Call, Loop, Map, Program
from slowpath.core.terminal import Line, grid

PROGRAM_COLUMNS = (
    "section",
    "program",
    "kind",
    "instructions",
    "subprograms",
    "source lines",
    "target ebpf",
    CARD,
)
_MAP_COLUMNS = ("map", "kind", "key bytes", "value bytes", "max entries")


def object_report(shown: BpfObject, *, listing: bool) -> Iterator[Line]:
    """Yield the text report of a BPF object; with `listing`, it includes the instructions."""
    license_ = "none" if shown["license"] is None else one_line(shown["license"])
    stated = "" if is_p4(shown["file"]) else f"  (license: {license_})"
    yield Line(f"{one_line(shown['file'])}{stated}", "bold")
    rows = [program_row(program) for program in shown["programs"]]
    yield from grid(PROGRAM_COLUMNS, rows)
    if shown["maps"]:
        yield Line("")
        yield from grid(_MAP_COLUMNS, [_map_row(map_) for map_ in shown["maps"]])
    for program in shown["programs"]:
        remarks = list(_remarks(program))
        if remarks:
            yield Line("")
            yield Line(f"  {one_line(program['name'])}", "bold")
            yield from remarks
    if listing:
        for program in shown["programs"]:
            yield from _listing(program)


def program_row(program: Program) -> tuple[str, ...]:
    """Return the row of a program in the table with the columns `PROGRAM_COLUMNS`."""
    names = (program["section"], program["name"], program["kind"])
    if program["error"] is not None:
        return (*names, "-", "-", "-", "no", "no")
    count, known = program["instructions"], program["instructions_with_source"]
    source = "known" if known == count else f"{known} of {count}" if known else "unknown"
    functions, card = len(program["subprograms"]), program["card"]
    runs = "no" if card is None or card["refusals"] else "yes"
    return (*names, str(count), str(functions), source, analysis_verdict(program), runs)


def analysis_verdict(program: Program) -> str:
    """Return the table cell about analysis by `slowpath bound --target ebpf`.

    It is `yes`, `no`, or `--unroll` if the program needs this option.
    """
    if program["unsupported"] is not None:
        return "no"
    return "--unroll" if any(loop["iterations"] is None for loop in program["loops"]) else "yes"


def _map_row(map_: Map) -> tuple[str, ...]:
    sizes = (map_["key_size"], map_["value_size"], map_["max_entries"])
    return (map_["name"], map_["kind"], *map(str, sizes))


def _remarks(program: Program) -> Iterator[Line]:
    """Yield lines about the functions, maps, loops and problems of a program."""
    if program["error"] is not None:
        yield Line(f"    cannot be linked: {one_line(program['error'])}", "red")
    for title, calls in (
        ("helpers", program["helpers"]),
        ("kernel functions", program["kernel_functions"]),
    ):
        if calls:
            yield Line(f"    {title}: {', '.join(map(_call, calls))}")
    if program["subprograms"]:
        names = ", ".join(one_line(function["name"]) for function in program["subprograms"])
        yield Line(f"    subprograms: {names}")
    yield from _stack(program)
    for use in program["maps"]:
        how = ", ".join(map(one_line, use["uses"])) or "address taken"
        yield Line(f"    map {one_line(use['name'])}: {how}")
    for loop in program["loops"]:
        yield _loop(loop)
    for assumption in program["assumptions"]:
        yield Line(f"    assuming: {one_line(assumption)}")
    if program["unsupported"] is not None and program["error"] is None:
        yield Line(f"    not supported: {one_line(program['unsupported'])}", "yellow")
    for refusal in [] if program["card"] is None else program["card"]["refusals"]:
        if refusal["reason"] != program["unsupported"]:
            text = with_code(refusal_text(refusal), refusal["code"])
            yield Line(f"    not on {CARD}: {one_line(text)}", "yellow")
    for gap in program["unresolved"]:
        yield Line(f"    unresolved: {gap['instruction']}: {one_line(gap['reason'])}", "yellow")


def _stack(program: Program) -> Iterator[Line]:
    """Yield lines about stack sizes, and about the reasons why kernels would reject the program."""
    stack = program["stack"]
    if stack is not None and program["subprograms"]:
        own = [(program["name"], stack["own"])]
        others = program["subprograms"]
        own += [(one["name"], one["stack"]) for one in others if one["stack"] is not None]
        each = ", ".join(f"{one_line(name)} {count}" for name, count in own)
        calls = " > ".join(map(one_line, stack["deepest"]))
        yield Line(f"    stack in bytes: {each}; at most {stack['bytes']} of 512 along {calls}")
    for reason in program["not_loadable"] or ():
        yield Line(f"    no kernel loads this program: {one_line(reason)}", "red")


def _loop(loop: Loop) -> Line:
    place = f".{loop['instruction']}"
    if loop["file"] is not None:
        place = f"{PurePosixPath(loop['file']).name}:{loop['line']} ({place})"
    text = one_line(loop["text"].strip())
    start = f"    loop at {one_line(place)}: "
    if loop["iterations"] is None:
        return Line(start + one_line(loop["reason"] or "not known"), "yellow")
    count = loop["iterations"]
    times = "once" if count == 1 else f"{count} times"
    return Line(f"{start}at most {times}" + (f"   {text}" if text else ""))


def _call(call: Call) -> str:
    return f"{one_line(call['name'])} × {call['calls']}"  # noqa: RUF001 - the sign is meant


def _listing(program: Program) -> Iterator[Line]:
    """Yield the instructions of a program in the verifier's notation, below their source lines."""
    if not program["listing"]:
        return
    functions = {function["first"]: function["name"] for function in program["subprograms"]}
    functions[0] = program["name"]
    before = None
    for entry in program["listing"]:
        number = entry["instruction"]
        if number in functions:
            yield Line("")
            yield Line(f"{one_line(functions[number])}:", "bold")
            before = None
        source = entry["source"]
        if source is not None and source != before:
            place = f"{PurePosixPath(source['file']).name}:{source['line']}"
            yield Line(one_line(f"; {source['text'].strip()} @ {place}"), "dim")
        before = source
        yield Line(f"{number:4}: {one_line(entry['text'])}")
