"""Tables of what functions did in mixes; errors name file, row and column.

Columns: `mix`, the functions of a NIC with plus signs between them; `function`, one of them;
`throughput` of that. A function by itself is a mix of one, and has to be there.
"""

from collections import Counter
from collections.abc import Iterable

from slowpath.cli.errors import InputError
from slowpath.contention.placement.known.fleet import Fleet
from slowpath.contention.placement.known.measured import Measured, measured
from slowpath.contention.placement.known.reading import (
    FUNCTION,
    check_device,
    far_from,
    function_of,
    known_function,
)
from slowpath.contention.placement.known.truth import Mix, Truth
from slowpath.contention.tables.cells import Table, read_cells
from slowpath.contention.tables.columns import THROUGHPUT
from slowpath.contention.tables.values import column_of

MIX = "mix"
BETWEEN = "+"
"""Between the functions of a mix."""

_Rows = dict[Mix, dict[int, list[float]]]
"""Throughputs by mix and function, in the order of the rows."""


def read_truth(file: str, fleet: Fleet) -> Truth:
    """Throughput of mixes as it was measured or simulated: one row for each function of a mix.

    Raises:
        InputError: when the file cannot be used, a row is of another fleet, or one is missing.
    """
    found = read_cells(file)
    rows = _rows(found, fleet, several=False)
    _check_alone(file, rows, range(len(fleet.functions)), fleet)
    return Truth(
        file, {mix: {at: one for at, (one,) in values.items()} for mix, values in rows.items()}
    )


def read_measured(file: str, fleet: Fleet, noise: float | None = None) -> Measured:
    """Throughput of mixes as it was measured, with as many rows as there were measurements.

    `noise` is the standard deviation of one measurement, as a share; without it, it is learnt from
    those that were repeated.

    Raises:
        InputError: when the file cannot be used, a row is of another fleet, is far from what the
            model of the function is of, or one is missing.
    """
    found = read_cells(file)
    rows = _rows(found, fleet, several=True)
    if not rows:
        raise InputError(file, "has no rows")
    _check_alone(file, rows, sorted({at for mix in rows for at in mix}), fleet)
    return measured(file, rows, noise)


def _rows(found: Table, fleet: Fleet, *, several: bool) -> _Rows:
    throughput = column_of(found, THROUGHPUT)
    if MIX not in found.header:
        reason = f"has no column {MIX!r} (functions of a NIC, as in nat{BETWEEN}acl)"
        raise InputError(found.file, reason)
    _check_remarks(found, fleet)
    known: _Rows = {}
    for at in range(len(found.rows)):
        parts = [part.strip() for part in found.text(at, MIX).split(BETWEEN)]
        mix = tuple(sorted(known_function(found, at, MIX, part, fleet) for part in parts))
        function = function_of(found, at, fleet)
        if function not in mix:
            raise found.error(at, FUNCTION, f"{fleet.names[function]!r} is not in the mix")
        values = known.setdefault(mix, {})
        if function in values and not several:
            raise found.error(at, FUNCTION, "there is a row for the same function of the same mix")
        far = far_from(fleet.functions[function].kind.model, float(throughput[at]))
        if several and far is not None:
            raise found.error(at, THROUGHPUT.name, far)
        values.setdefault(function, []).append(float(throughput[at]))
    for mix, values in known.items():
        missing = next((one for one in mix if one not in values), None)
        if missing is not None:
            reason = f"there is no row for {fleet.names[missing]!r}"
            raise InputError(found.file, f"mix {mix_text(mix, fleet)}: {reason}")
    return known


def _check_alone(file: str, rows: _Rows, functions: Iterable[int], fleet: Fleet) -> None:
    """Finds out whether functions were measured by themselves."""
    for at in functions:
        if (at,) not in rows:
            name = fleet.names[at]
            raise InputError(
                file, f"has no row for {name!r} by itself, which promises are shares of"
            )


def _check_remarks(found: Table, fleet: Fleet) -> None:
    check_device(found, fleet)
    units = Counter(one.kind.model.memory.origin.unit for one in fleet.functions)
    unit = found.remarks.get("unit throughput")
    if unit is not None and None not in units and unit not in units:
        known = ", ".join(sorted(map(str, units)))
        raise found.remark_error("unit throughput", f"is {unit!r}; models have it in {known}")


def mix_text(mix: Mix, fleet: Fleet) -> str:
    """A mix as tables have it."""
    return BETWEEN.join(fleet.names[at] for at in mix)
