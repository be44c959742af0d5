"""Reads descriptions of functions that run next to the assessed function."""

from collections import Counter
from collections.abc import Sequence

from slowpath.core import codes
from slowpath.core.errors import InputError
from slowpath.insights.cores.curves import read_query
from slowpath.insights.cores.functions import Functions
from slowpath.insights.cores.groups import FUNCTIONS, groups_of
from slowpath.insights.demands.assessment import Card, neighbour_of
from slowpath.insights.demands.documents import CardPart, CardWork
from slowpath.insights.demands.draws import DRAWS, one_of, repeated
from slowpath.insights.demands.neighbours import Neighbour, of_columns
from slowpath.insights.rows import read_json_lines

_MOST = 100
"""Maximum number of functions in a file."""
_LARGEST = 1e9
_CSV = (".csv", ".csv.gz")
_ABOUT = "as {file} describes it"


def read_neighbours(known: Card, file: str) -> list[Neighbour]:
    """Read the functions in a file as neighbours of the assessed function.

    A table (.csv) has the format of `slowpath insights cores --query`. Lines of JSON have the
    format of `slowpath insights colocation --query`, or are reports of `slowpath insights FILE`.

    Raises:
        InputError: if the file cannot be used.
    """
    if file.endswith(_CSV):
        query = read_query(file)
        return _described(known, file, query.names, query.functions)
    rows = read_json_lines(file)
    reports = [row for row in rows if "card" in row.values]
    if not reports:
        groups = groups_of(file, rows)
        names = [f"{group}, function {at + 1}" for group in groups.names for at in range(FUNCTIONS)]
        return _described(known, file, names, groups.functions)
    _check(file, len(reports))
    found = []
    for row in rows:
        if "card" not in row.values:
            reason = (
                "the row is not a report, unlike other rows; put descriptions into another file"
            )
            raise InputError(codes.INVALID_ROW, file, f"{row.place}: {reason}")
        work = _work(file, row.place, row.values["card"])
        name = str(row.values.get("file", row.place))
        traffic = row.values.get("traffic")
        if isinstance(traffic, dict) and "entry" in traffic:
            name = f"{traffic['entry']} of {name}"
        found.append(neighbour_of(known, name, f"as counted in {file}", work))
    return found


def numbered(neighbours: Sequence[Neighbour]) -> list[Neighbour]:
    """Make the names of neighbours unique: append a number from the second use of a name on."""
    uses = Counter[str]()
    found = []
    for one in neighbours:
        uses[one.name] += 1
        number = uses[one.name]
        found.append(one._replace(name=f"{one.name} ({number})") if number > 1 else one)
    return found


def _check(file: str, count: int) -> None:
    if count > _MOST:
        reason = f"the files have {count} functions; at most {_MOST} can be compared"
        raise InputError(codes.INVALID_ROW, file, reason)


def _described(
    known: Card, file: str, names: Sequence[str], functions: Functions
) -> list[Neighbour]:
    _check(file, len(names))
    about = _ABOUT.format(file=file)
    every = of_columns(known.parameters, functions)
    return [
        Neighbour(name, about, False, repeated(one_of(every, at), DRAWS))
        for at, name in enumerate(names)
    ]


def _work(file: str, place: str, card: object) -> CardWork:
    """Read the work per packet from the value of `card` in a report."""
    if card is None:
        reason = "the report lacks data about the card: the function uses floating-point numbers, "
        reason += "or the report was made without a trace (repeat it with --pcap)"
        raise InputError(codes.INVALID_ROW, file, f"{place}, card: {reason}")
    work = card.get("work") if isinstance(card, dict) else None
    if not isinstance(work, dict) or not isinstance(work.get("parts"), list):
        reason = "the file is not output of slowpath insights FILE --pcap TRACE --format json"
        raise InputError(codes.INVALID_ROW, file, f"{place}, card: {reason}")
    parts = [_part(file, f"{place}, part {at}", one) for at, one in enumerate(work["parts"], 1)]
    return {
        "instructions": _amount(file, f"{place}, instructions", work.get("instructions")),
        "parts": parts,
    }


def _part(file: str, place: str, one: object) -> CardPart:
    if not isinstance(one, dict) or one.get("memory") not in ("imem", "emem"):
        raise InputError(
            codes.INVALID_ROW, file, f"{place}: the value is not a structure in imem or emem"
        )
    fewest, most = (_amount(file, f"{place}, {end}", one.get(end)) for end in ("fewest", "most"))
    if fewest > most:
        raise InputError(
            codes.INVALID_ROW,
            file,
            f"{place}: the smallest value, {fewest:g}, is above the largest value, {most:g}",
        )
    memory = one["memory"]
    return {
        "structure": str(one.get("structure")),
        "memory": memory,
        "fewest": fewest,
        "most": most,
    }


def _amount(file: str, place: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _LARGEST:
        raise InputError(
            codes.INVALID_ROW, file, f"{place}: the value is not a number from 0 to {_LARGEST:g}"
        )
    return float(value)
