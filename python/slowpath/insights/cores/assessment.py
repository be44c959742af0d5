"""Predicts how well a network function would run on a SmartNIC, from its work per packet.

The result, called an assessment, states the useful number of cores. It also states the throughput
that the function keeps beside others: typical functions, and those of the user.

There is one typical function for each resource, such as a memory. Candidates are all chains of
published elements with the largest measured parameters, and the chain without elements. The typical
function is the chain that uses its resource much and other resources little: the difference of the
two utilisations is largest.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import product
from typing import NamedTuple

import numpy as np

from slowpath.core import codes
from slowpath.core.errors import InputError
from slowpath.insights.cores import pairs
from slowpath.insights.cores.assessment_documents import (
    CardCores,
    CardNeighbour,
    CardPart,
    CardPrice,
    CardUse,
    CardWork,
)
from slowpath.insights.cores.curves import (
    CORES,
    Advice,
    knees,
    median_interval,
    read_query,
    scattered,
)
from slowpath.insights.cores.functions import (
    COMPUTE,
    ELEMENTS,
    USUAL,
    Array,
    Functions,
    flag,
    functions_of,
)
from slowpath.insights.cores.groups import FUNCTIONS, GROUP_CORES, groups_of
from slowpath.insights.cores.network import amounts, demands, works
from slowpath.insights.cores.prices import (
    DRAWS,
    PLACES,
    Draws,
    Price,
    Prices,
    chain,
    drawn,
    interval,
    one_of,
    packets_of,
    prices_of,
    repeated,
    shipped_fits,
    throughput,
    used,
)
from slowpath.insights.cores.queueing import Demands, solve
from slowpath.insights.output import percent, rounded
from slowpath.insights.rows import read_json_lines

_CALLED = {"line": "the line"}
"""Names of resources in sentences, where they differ from the usual names."""


class Neighbour(NamedTuple):
    """A function that may share the SmartNIC with the assessed function."""

    name: str
    about: str
    typical: bool
    draws: Draws  # demands of this function alone


def typical(parameters: Array, draws: int) -> list[Neighbour]:
    """Return one typical function for each resource in PLACES: one that this resource limits.

    `parameters` are those of the queueing network. The demands of a typical function are not
    random, but they are repeated `draws` times to match the shape of random draws.
    """
    rows = _chains()
    every = of_columns(parameters, functions_of(rows))
    (busy,) = used(every, float(GROUP_CORES), throughput(every, (GROUP_CORES,))[..., 0])
    found = []
    for place, name in enumerate(PLACES):
        # Prefer a chain that uses other resources little.
        best = int((busy[:, place] - np.delete(busy, place, -1).sum(-1)).argmax())
        about = f"{_elements(rows[best])}: {name} {percent(busy[best, place], 0)} busy"
        called = f"a function bound by {_CALLED.get(name, name)}"
        found.append(Neighbour(called, about, True, repeated(one_of(every, best), draws)))
    return found


def of_columns(parameters: Array, functions: Functions) -> Draws:
    """Return the time that a packet needs on each resource, for chains of published elements.

    `parameters` are those of the queueing network. These demands are not random, so the result
    contains a single draw.
    """
    needed = demands(parameters, amounts(works(functions)))
    return Draws(
        np.zeros(1, np.intp),
        needed.waiting.T,
        needed.computing.T,
        needed.shared[:, 0][None],
        needed.queueing[None],
    )


def _chains() -> list[dict[str, int]]:
    """Return all chains of published elements, each with and without blocks of computation.

    A chain is a row of the table that describes functions. Its parameters, such as hash table
    slots, have the largest measured values.
    """
    parameters = {name: largest for name, (_, largest) in USUAL.items()}
    found = []
    for present in product((0, 1), repeat=len(ELEMENTS)):
        flags = dict(zip(ELEMENTS, present, strict=True))
        for computing in (0, 1):
            blocks = dict.fromkeys(COMPUTE, computing)
            found.append(chain(**parameters, **flags, **blocks))
    return found


def _elements(row: dict[str, int]) -> str:
    names = [name for name in (*ELEMENTS, *COMPUTE) if row[flag(name)]]
    return ", ".join(names) or "no element"


# --- useful cores and shared throughput -----------------------------------------------------------

ALL_CORES = CORES[-1]
CORE_COUNTS = tuple(range(1, ALL_CORES + 1))
_GIGA = 1e9
_KNEES = 2.73
"""Exponent on the confidence level of knee intervals. Around the median, knees of random draws
spread more than measured knees. So a 90 % interval is the inner 75 % of draws, 0.9 to this power
(docs/explanation/insights-advice.md).
"""
_FULL = 0.8
"""Utilisation from which on a resource counts as a bottleneck."""
WAITING = "waiting for memory"
LIMITS = (*PLACES, WAITING)
"""Possible bottlenecks on 60 cores: the busiest resource, or WAITING if no resource is nearly
full."""


class Scaled(NamedTuple):
    """Advised numbers of cores for several functions, and their bottlenecks on 60 cores."""

    advice: Advice
    limits: list[Mapping[str, float]]  # share of draws by bottleneck


def advise(draws: Draws, noise: Array, confidence: float) -> Scaled:
    """Return the advised number of cores for each function, with a confidence interval.

    It is the median knee of throughput curves over random draws of the packets' demands. The knee
    is the number of cores beyond which more cores add little throughput.

    Args:
        draws: random demands of packets on the SmartNIC's resources.
        noise: error of the queueing network for known demands: covariance of log(measured /
            predicted) at CORES, shape (7, 7).
        confidence: probability that the interval contains the measured knee, between 0 and 1.
    """
    rates = throughput(draws, CORES)
    found = knees(rates * np.exp(scattered(noise, len(rates)))[:, None, :])
    return Scaled(median_interval(found, confidence**_KNEES), limits_of(draws, rates[..., -1]))


def limits_of(draws: Draws, rates: Array) -> list[Mapping[str, float]]:
    """Return the likely bottlenecks of each function on 60 cores.

    A bottleneck is given by its name, and by the share of random draws in which it limits the
    throughput. `rates` are the throughputs on 60 cores in packets/ns, shape (draws, functions).
    """
    busy = used(draws, float(ALL_CORES), rates)
    bottlenecks = np.where(busy.max(-1) >= _FULL, busy.argmax(-1), len(PLACES))
    return [
        {name: float((bottlenecks[:, one] == at).mean()) for at, name in enumerate(LIMITS)}
        for one in range(bottlenecks.shape[1])
    ]


def curve(draws: Draws, confidence: float) -> Array:
    """Return the predicted throughput on 1 to 60 cores, with a confidence interval, in packets/s.

    The shape is (3, functions, 60); the first dimension is lower end, median and upper end. `draws`
    are random demands of packets.
    """
    return np.stack(interval(throughput(draws, CORE_COUNTS), confidence)) * _GIGA


class Kept(NamedTuple):
    """Shares of solo throughput that two functions keep if they share the SmartNIC.

    The shape of both arrays is (draws, functions).
    """

    own: Array
    others: Array  # shares of the neighbours


def beside(own: Draws, others: Draws) -> Kept:
    """Predict the shares of solo throughput that functions keep in pairs, on 30 cores each.

    Function i of `own` runs next to function i of `others`. In each random draw, both use the same
    fitted queueing network.
    """
    alone = [_rates([one])[..., 0] for one in (own, others)]
    both = _rates([own, others])
    return Kept(both[..., 0] / alone[0], both[..., 1] / alone[1])


def _rates(classes: list[Draws]) -> Array:
    """Return the throughputs of functions that share the SmartNIC, in packets/ns.

    The functions with the same index in each entry of `classes` run together. The shape is (draws,
    functions, classes).
    """
    first = classes[0]
    found = np.zeros((*first.waiting.shape, len(classes)))
    for one, queueing in enumerate(first.queueing):
        selected = np.flatnonzero(first.fit == one)
        if not len(selected):
            continue
        waiting = np.stack([part.waiting[selected] for part in classes], 2)
        computing = np.stack([part.computing[selected] for part in classes], 2)
        shared = np.stack([part.shared[selected] for part in classes], 2)
        needed = Demands(
            waiting.reshape(-1, len(classes)),
            computing.reshape(-1, len(classes)),
            shared.reshape(-1, len(classes), shared.shape[-1]),
            queueing,
        )
        rates = solve(needed, np.full(needed.waiting.shape, float(GROUP_CORES)))
        found[selected] = rates.reshape(len(selected), -1, len(classes))
    return found


# --- assessment -----------------------------------------------------------------------------------

CONFIDENCE = 0.9
_few = partial(rounded, digits=4)
"""Function that rounds a number to four significant digits, the precision of estimates."""
_ITSELF = "itself"


class Card(NamedTuple):
    """Properties of the SmartNIC from published measurements, such as prices of instructions."""

    alone: Prices  # prices from fits to curves, for both kinds of traffic
    noise: Array  # covariance of measured curves around the network's predictions
    paired: Prices  # prices from the fit to pairs
    parameters: Array  # network parameters of the fit to pairs


def card() -> Card:
    """Return the SmartNIC's properties, derived from the models that are shipped with slowpath."""
    fits, parameters = shipped_fits(), pairs.shipped().parameters
    return Card(prices_of(fits.parameters), fits.noise, prices_of([parameters]), parameters)


def assess(known: Card, work: CardWork, others: Sequence[Neighbour] = ()) -> CardUse:
    """Predict a function's useful number of cores, and its throughput next to other functions.

    The other functions are a typical one for each resource, a copy of the assessed function, and
    `others`.

    Args:
        known: properties of the SmartNIC.
        work: work of the function for one packet.
        others: additional functions to share the SmartNIC with, such as those that the user names.
    """
    packets = packets_of(work)
    own = drawn(known.paired, packets)
    itself = Neighbour(_ITSELF, "a second copy of the function", False, own)
    neighbours = [*typical(known.parameters, DRAWS), itself, *others]
    found = [_beside(own, one) for one in neighbours]
    return {
        "work": work,
        "prices": _prices(known.alone),
        "confidence": CONFIDENCE,
        "cores": _cores(drawn(known.alone, packets), known.noise),
        "neighbours": sorted(found, key=lambda one: -one["kept"]),
    }


def neighbour_of(known: Card, name: str, about: str, work: CardWork) -> Neighbour:
    """Return a function that may share the SmartNIC with the assessed one.

    `name` and `about` describe it in the report, and `work` is its work per packet.
    """
    # With another seed, its prices are independent of the assessed function's prices.
    return Neighbour(name, about, False, drawn(known.paired, packets_of(work), seed=1))


def _cores(draws: Draws, noise: Array) -> CardCores:
    advice, limited = advise(draws, noise, CONFIDENCE)
    low, middle, high = curve(draws, CONFIDENCE)[:, 0]
    knee = int(advice.cores[0])
    at = CORE_COUNTS.index(knee)
    limits = sorted(limited[0].items(), key=lambda one: -one[1])
    return {
        "knee_cores": knee,
        "knee_low": int(advice.low[0]),
        "knee_high": int(advice.high[0]),
        "throughput_pps": _few(middle[at]),
        "low_pps": _few(low[at]),
        "high_pps": _few(high[at]),
        "share": _few(middle[at] / middle[-1]),
        "limits": [{"limit": name, "share": share} for name, share in limits if share],
        "points": [
            {
                "cores": cores,
                "throughput_pps": _few(middle[index]),
                "low_pps": _few(low[index]),
                "high_pps": _few(high[index]),
                "outside": cores < CORES[0],
            }
            for index, cores in enumerate(CORE_COUNTS)
        ],
    }


def _beside(own: Draws, other: Neighbour) -> CardNeighbour:
    kept = beside(own, other.draws)
    low, middle, high = (float(one[0]) for one in interval(kept.own, CONFIDENCE))
    return {
        "neighbour": other.name,
        "about": other.about,
        "typical": other.typical,
        "kept": _few(middle),
        "low": _few(low),
        "high": _few(high),
        "others": _few(float(np.median(kept.others))),
    }


def _prices(prices: Prices) -> list[CardPrice]:
    near, far = "internal memory", "external memory"
    base = prices.base
    return [
        _price(
            "a packet on a core, without instructions and accesses",
            Price(base.computing, float(base.computing.std() / base.computing.mean())),
        ),
        _price("an LLVM instruction", prices.instruction),
        _price(f"wait for an access to {near}", prices.waiting[0]),
        _price(f"wait for an access to {far}", prices.waiting[1]),
        _price(f"time that an access occupies {near}", prices.service[0]),
        _price(f"time that an access occupies {far}", prices.service[1]),
    ]


def _price(what: str, price: Price) -> CardPrice:
    return {"what": what, "ns": _few(price.each.mean()), "spread": _few(price.spread)}


# --- descriptions of neighbours -------------------------------------------------------------------

_MOST = 100
"""Maximum number of functions in a file."""
_LARGEST = 1e9
_CSV = (".csv", ".csv.gz")
_ABOUT = "as {file} describes it"


def read_neighbours(known: Card, file: str) -> list[Neighbour]:
    """Read functions that may share the SmartNIC with the assessed one from a file.

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
    """Make the names of functions unique: append a number from the second use of a name on."""
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
    """Read the work per packet of a function from a report's entry `card`.

    `place` is the location in the file, for error messages.
    """
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
