"""Describes the work per packet of sources and of published elements.

Each part of the work has its own prices. A part is a data structure of a source, or an element of a
published chain. Accesses of elements are published (docs/explanation/insights-advice.md): reads and
writes of each memory, in windows of 16 bytes (a record of 24 bytes is two). Instructions are of
LLVM's intermediate language, counted in re-implementations of the elements from their description
(`tests/advice/elements.c`; a test counts them again). The load of the published tables is unknown,
so a lookup that may visit several slots is assumed to visit half of the slots after the first.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from slowpath.insights.cores.functions import Array, Functions
from slowpath.insights.cores.network import works
from slowpath.insights.demands.documents import CardWork


class Packets(NamedTuple):
    """The work of a packet of each function: instructions, and accesses to memory.

    An access fetches up to about 16 bytes.
    """

    instructions: Array  # shape (functions,)
    imem: Array  # minimum accesses to internal memory, shape (functions, parts)
    imem_most: Array  # maximum accesses to internal memory, if none are fetched together
    emem: Array  # minimum accesses to external memory
    emem_most: Array  # maximum accesses to external memory, if none are fetched together


def packets_of(work: CardWork) -> Packets:
    """Convert the work of a packet of one function to arrays."""
    memories = [
        np.array([[one[end] if one["memory"] == memory else 0.0 for one in work["parts"]]])
        for memory in ("imem", "emem")
        for end in ("fewest", "most")
    ]
    return Packets(np.array([work["instructions"]]), *memories)


HALF = 0.5
"""Assumed share of the slots after the first that a lookup visits."""


class Element(NamedTuple):
    """Work of a published element for a packet.

    The fields `each_…` are the additional work for each filter rule, loop iteration or visited
    slot.
    """

    instructions: float
    imem: float
    emem: float
    each_instructions: float = 0.0
    each_imem: float = 0.0
    each_emem: float = 0.0
    known: bool = True
    """True if the element's computation is described in full. Otherwise, prices of instructions are
    not derived from it."""


ELEMENTS: Mapping[str, Element] = {
    "filter": Element(0, 0, 0, 30.75, 2),
    "average": Element(13, 5, 0),
    "counter": Element(13, 4, 0),
    "encap": Element(44, 1, 0),
    "rounds": Element(0, 0, 0, 8.75),
    "rewriter": Element(39.5, 0, 3, 24.75, 0, 1),
    "mapper": Element(79, 1, 4, 24.75, 0, 1, known=False),
    "webgen": Element(95, 4, 2, 24.75, 0, 1),
    "demux": Element(27, 0, 1, 24.75, 0, 1),
    "conn": Element(21, 0, 2, 24.75, 0, 1),
}
"""Work of published elements by name. The amount of an element counts rules, loop iterations, or
visited slots after the first."""


def published(functions: Functions) -> Packets:
    """Return the work of a packet in chains of published elements.

    Each element is a part, a column of the arrays of accesses.
    """
    amounts = dict(_amounts(functions))
    instructions = np.zeros(functions.size)
    imem, emem = list[Array](), list[Array]()
    for name, (present, amount) in amounts.items():
        one = ELEMENTS[name]
        instructions += present * one.instructions + amount * one.each_instructions
        imem.append(present * one.imem + amount * one.each_imem)
        emem.append(present * one.emem + amount * one.each_emem)
    imem_counts, emem_counts = np.stack(imem, -1), np.stack(emem, -1)
    return Packets(instructions, imem_counts, imem_counts, emem_counts, emem_counts)


def _amounts(functions: Functions) -> Mapping[str, tuple[Array, Array]]:
    """Return, by element, its number of occurrences and its repetitions in each chain.

    Repetitions are rules, loop iterations, or hash table slots that a lookup visits after the
    first.
    """
    known, slots = works(functions), functions.columns
    mapper = functions.has("ftpportmapper")
    flows = np.maximum(slots["tcpflow_slots"] - 1, 0) * HALF
    control = slots["ftpportmapper_control_slots"], slots["ftpportmapper_data_slots"]
    zeros = np.zeros(functions.size)
    return {
        "filter": (known["filter1"] + known["filter2"], known["rules"]),
        "average": (known["average"], zeros),
        "counter": (known["counter"], zeros),
        "encap": (known["encap"], zeros),
        "rounds": (known["blocks"], known["rounds"]),
        "rewriter": _look_up(functions, "iprewriter", "iprewriter_slots"),
        "mapper": (
            mapper,
            mapper * sum((np.maximum(one - 1, 0) * HALF for one in control), zeros),
        ),
        "webgen": _look_up(functions, "webgen", "webgen_slots"),
        "demux": (functions.has("tcpdemux"), functions.has("tcpdemux") * flows),
        "conn": (functions.has("tcpconn"), functions.has("tcpconn") * flows),
    }


def _look_up(functions: Functions, element: str, slots: str) -> tuple[Array, Array]:
    present = functions.has(element)
    return present, present * np.maximum(functions.columns[slots] - 1, 0) * HALF
