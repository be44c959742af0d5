"""What arguments of functions on a table of routes may mean: all ways that are tried."""

from collections.abc import Iterator, Sequence
from itertools import permutations, product
from typing import NamedTuple

from slowpath.insights.accelerators.harness.bench import Bench
from slowpath.insights.accelerators.harness.stage import kinds
from slowpath.insights.accelerators.proofs.routing.entries import Layout, layouts
from slowpath.insights.preparation.functions import Function

PLENTY = 1 << 10
"""What functions that make a table take for its size: entries."""
_EXPONENT = 20
"""... or a power of two."""


class Roles(NamedTuple):
    """The functions of a table; each but the two that count may be missing."""

    make: str | None  # returns a table
    begin: str | None  # prepares one in memory
    add: str
    look: str


class Way(NamedTuple):
    """What arguments mean."""

    entry: Layout | None  # of what is added as a whole, in memory; None: numbers are
    added: tuple[str, ...]  # of the numbers that are added
    looked: tuple[str, ...]
    root: str  # where the table is: `memory`, `made`, `returned`, `nowhere`
    swapped: bool  # addresses in network order
    mask: bool  # lengths as masks
    result: str  # where a next hop comes out: `value`, `memory`, `pointed`
    behind: bool = False  # addresses are in memory, and pointers to them are passed
    amount: int = PLENTY  # the size of a table that is made
    ascending: bool = False  # routes are added from the shortest prefix to the longest


def ways(bench: Bench, roles: Roles) -> Iterator[Way]:
    """All of them, likely ones first."""
    layout = entry_layout(bench.functions[roles.add])
    found = (
        _by_entry(bench, roles, layout)
        if layout is not None
        else (*_by_number(bench, roles), *_by_address(bench, roles))
    )
    maker = roles.make or roles.begin
    sized = maker is not None and "i" in kinds(bench, maker)
    amounts = (PLENTY, _EXPONENT) if sized else (PLENTY,)
    for ascending, amount, way in product((False, True), amounts, tuple(found)):
        yield way._replace(amount=amount, ascending=ascending)


def entry_layout(function: Function) -> Layout | None:
    """How a route is described in memory that a function takes, if it takes one so."""
    if any(one.kind == "integer" and one.bits > 1 for one in function.parameters):
        return None
    return next((one for one in layouts(function) if one.hop is not None), None)


def _by_entry(bench: Bench, roles: Roles, layout: Layout) -> Iterator[Way]:
    add, look = kinds(bench, roles.add), kinds(bench, roles.look)
    if not 1 <= look.count("i") <= 2:  # noqa: PLR2004
        return
    root = "nowhere" if add.count("p") == 1 else "made" if roles.make else "memory"
    places = _results(bench, roles, before=int(add.count("p") > 1))
    for swapped, one in product((False, True), places):
        for looked in permutations(("address", "zero")[: look.count("i")]):
            yield Way(layout, (), looked, root, swapped, mask=False, result=one)


def _by_number(bench: Bench, roles: Roles) -> Iterator[Way]:
    """Prefixes and addresses are numbers."""
    add, look = kinds(bench, roles.add), kinds(bench, roles.look)
    if not 2 <= add.count("i") <= 4 or not 1 <= look.count("i") <= 2:  # noqa: PLR2004
        return
    names = ("prefix", "length", "hop", "zero")[: add.count("i")]
    orders = [one for one in permutations(names) if _natural(one)]
    for root in _roots(bench, roles, "p" in add):
        results = _results(bench, roles, before=int(root != "nowhere"))
        for added, swapped, mask, result in product(orders, (False, True), (False, True), results):
            for looked in permutations(("address", "zero")[: look.count("i")]):
                yield Way(None, added, looked, root, swapped, mask, result)


def _by_address(bench: Bench, roles: Roles) -> Iterator[Way]:
    """Prefixes and addresses are in memory; their own length, in bytes, may be passed, too."""
    add, look = kinds(bench, roles.add), kinds(bench, roles.look)
    numbers = {0: ((),), 1: (("four",), ("bits",), ("zero",))}
    looked: tuple[tuple[str, ...], ...] = numbers.get(look.count("i"), ())
    for root in _roots(bench, roles, add.count("p") > 1):
        before = 0 if root == "nowhere" else 1
        pointed = add.count("p") - before - 1  # the next hop, as a pointer
        if pointed not in (0, 1) or look.count("p") <= before:
            continue
        results = _results(bench, roles, before=before + 1)
        for swapped, added, each, result in product(
            (True, False), _added(add.count("i"), pointed=bool(pointed)), looked, results
        ):
            yield Way(None, added, each, root, swapped, False, result, behind=True)


def _added(count: int, *, pointed: bool) -> Sequence[tuple[str, ...]]:
    """What numbers may be beside an address in memory; `pointed`: the next hop is none of them."""
    if pointed:
        names = {1: ("length",), 2: ("four", "length"), 3: ("four", "length", "zero")}
    else:
        names = {2: ("length", "hop"), 3: ("four", "length", "hop")}
    return list(permutations(names[count])) if count in names else []


def _roots(bench: Bench, roles: Roles, pointer: bool) -> list[str]:
    """Where a table may be; `pointer`: what adds a route takes one that may be the table."""
    if roles.make:
        return ["made"] if pointer else []
    found = ["memory"] if pointer else ["nowhere"]
    if pointer and bench.functions[roles.add].result == "pointer":
        found.append("returned")
    shared = bench.changeable(roles.add) & bench.changeable(roles.look)
    if pointer and shared and roles.begin is None:
        found.append("nowhere")
    return found


def _results(bench: Bench, roles: Roles, *, before: int) -> list[str]:
    """Where a next hop may come out; `before`: so many pointers are for something else."""
    function = bench.functions[roles.look]
    results = ["value"] if function.result.startswith("i") else []
    results += ["memory"] if kinds(bench, roles.look).count("p") > before else []
    return results + (["pointed"] if function.result == "pointer" else [])


def _natural(order: Sequence[str]) -> bool:
    """Prefixes come before lengths: nobody does it the other way round."""
    return order.index("prefix") < order.index("length") if "length" in order else True
