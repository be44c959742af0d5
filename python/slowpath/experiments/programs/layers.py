"""The headers that a P4 program takes apart in front of what its component looks at."""

from typing import NamedTuple

from slowpath.experiments.programs.packet import headers_end, key_offset
from slowpath.experiments.specification.documents import Experiment
from slowpath.experiments.specification.reading import HEADERS

TABLES = ("table-exact", "table-lpm", "table-ternary")
_KEYED = (*TABLES, "state")


class Layers(NamedTuple):
    """What the parser takes apart, in order."""

    headers: list[tuple[str, str]]  # type and name of each
    split: int  # bytes of the header that the key cuts, in front of the key; 0: none
    keyed: bool  # whether the last one is the key


def layers_of(experiment: Experiment) -> Layers:
    """The headers that are in front of the key, or all of them where nothing is looked for."""
    keyed = experiment["component"]["kind"] in _KEYED
    end = key_offset(experiment) if keyed else headers_end(experiment)
    headers, at = list[tuple[str, str]](), 0
    for header in experiment["traffic"]["headers"]:
        if at + HEADERS[header] > end:
            break
        number = sum(1 for known, _ in headers if known == f"{header}_t")
        headers.append((f"{header}_t", f"{header}{number}"))
        at += HEADERS[header]
    split = end - at
    if split:
        headers.append(("before_t", "before"))
    if keyed:
        headers.append(("key_t", "key"))
    return Layers(headers, split, keyed)
