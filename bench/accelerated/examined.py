"""Turns a source file into training data: the tokens of its functions, and proofs about them.

A proof shows that a function computes the same as an accelerator.
"""

import json
import sys
import time
from collections.abc import Collection
from pathlib import Path
from typing import Any

from slowpath.core.errors import InputError
from slowpath.core.programs.sources import Clang
from slowpath.insights.accelerators.candidates import does_work, user_functions
from slowpath.insights.accelerators.classifier import features, sequences
from slowpath.insights.accelerators.identify import Identification
from slowpath.insights.source.calls import reachable_functions
from slowpath.insights.source.sources import load_source
from slowpath.insights.source.unit import CompiledUnit
from slowpath.insights.trials import leave_network

_SECONDS = 420.0


class Labelled(Identification):
    """Identification of accelerator functions that tries proofs only for functions of interest."""

    def __init__(self, unit: CompiledUnit, until: float, only: Collection[str]) -> None:
        super().__init__(unit, until)
        self._only = only

    def _computes(self, name: str) -> bool:
        return self.functions[name].shown in self._only and super()._computes(name)


def examined(
    file: str, flags: tuple[str, ...], *, only: Collection[str] | None, seconds: float
) -> dict[str, Any]:
    """Return the tokens of each function in a file, and proofs that it matches an accelerator.

    If the file cannot be analysed, return the error instead. Proofs are tried only for functions in
    `only`, for at most `seconds`; for None, no proofs are tried.
    """
    started = time.monotonic()
    try:
        unit = CompiledUnit(load_source(file, Clang(flags)), crc_loops=False)
        functions = unit.functions
    except InputError as problem:
        return {"error": problem.reason}
    names = user_functions(functions)
    rows = {
        name: {
            "shown": functions[name].shown,
            "file": functions[name].line.file if functions[name].line else "",
            "line": functions[name].line.line if functions[name].line else 0,
            "computes": any(
                does_work(functions[one]) for one in reachable_functions(functions, name)
            ),
            "sequences": [list(one) for one in sequences(functions[name])],
            "plain": features(functions[name], ()),
            "found": None,
        }
        for name in names
    }
    stopped = False
    if only is not None:
        leave_network()
        until = time.monotonic() + seconds
        identification = Labelled(unit, until, only)
        for found in identification.run():
            row = rows.get(found["function"])  # None for functions of headers
            if row is not None and row["found"] is None:
                row["found"] = found
        for name, row in rows.items():
            row["why"] = None if row["found"] else identification.why(name)
        stopped = time.monotonic() >= until
    return {"functions": rows, "seconds": time.monotonic() - started, "stopped": stopped}


def main() -> None:
    """Analyse one file, in a process that may crash.

    Usage: `examined.py FILE --only=NAME,... [FLAG...]`.
    """
    file, only, *flags = sys.argv[1:]
    names = frozenset(only.removeprefix("--only=").split(","))
    sys.stdout.write(json.dumps(examined(file, tuple(flags), only=names, seconds=_SECONDS)))


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    main()
