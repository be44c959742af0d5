"""Reads the inputs of placements: fleets from YAML files, and arrivals and mixes from tables.

In tables of mixes, the column `mix` has the functions of a NIC, separated by plus signs. `function`
is one of these functions, and `throughput` its throughput. The tables must also contain each
function alone, as a mix of one function.
"""

import os
import re
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress

import numpy as np

from slowpath.contention import saved
from slowpath.contention.cells import Table, read_cells
from slowpath.contention.columns import ATTRIBUTES, THROUGHPUT, Column, column_of, has
from slowpath.contention.mixes import Kind
from slowpath.contention.model import FunctionModel
from slowpath.contention.placement.fleet import Arrivals, Fleet, Function, GroundTruth, Mix
from slowpath.contention.placement.shares import Measured, measured
from slowpath.contention.prediction import check_compatible, contention_of
from slowpath.core import codes
from slowpath.core.arrays import Floats
from slowpath.core.errors import InputError
from slowpath.core.inputs import read_text
from slowpath.core.spanned import Place, Spanned, decimal, mapping, read_spanned, table, text

_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,63}")
_MOST_CORES, _MOST_NICS = 1024, 10**6
_FAR = 100.0
"""Ratio of two throughputs above which they are probably in different units."""
_PERCENT = 100
SLA = Column("sla", "1", "promised share of the solo throughput, as 0.9 or 90%", 1.0, least=1e-6)
FUNCTION = "function"


def read_fleet(file: str) -> Fleet:
    """Read a fleet (NICs and functions) from a YAML file.

    Raises:
        InputError: if the file, or a model that it names, cannot be used.
        UnavailableError: if PyYAML is not installed.
    """
    content = table(read_spanned(file, read_text(file)), ("nics", "functions"))
    nics = table(content["nics"], ("cores",), ("device", "count"))
    cores = _whole(nics["cores"], _MOST_CORES)
    device = text(nics["device"]) if "device" in nics else None
    models = dict[str, FunctionModel]()
    entries = mapping(content["functions"])
    functions = [_function(name, one, models) for name, one in entries.items()]
    if not functions:
        content["functions"].place.refuse("the list of functions is empty; add one")
    for one in functions:
        place = entries[one.name].place
        _check(one, functions[0], device, place)
        if one.cores > cores:
            place.refuse(f"the function needs {one.cores} cores, but a NIC has {cores}")
    count = _whole(nics["count"], _MOST_NICS) if "count" in nics else None
    return Fleet(file, device, cores, count, tuple(functions))


def _function(name: str, found: Spanned, models: dict[str, FunctionModel]) -> Function:
    if not _NAME.fullmatch(name):
        found.place.refuse(
            "the key is not a name of a function; use letters, digits, dots, "
            "hyphens and underscores"
        )
    part = table(found, ("model", "cores", "traffic", "sla"), ("solo",))
    written = text(part["model"])
    path = os.path.join(os.path.dirname(found.place.file), written)  # noqa: PTH118, PTH120 - as it was written
    if path not in models:
        try:
            models[path] = saved.read(path)
        except InputError as problem:
            part["model"].place.refuse(f"{written}: {problem.reason}")
    traffic = {
        key: decimal(one, ATTRIBUTES[key].least, ATTRIBUTES[key].most)
        for key, one in table(part["traffic"], ("flows", "size"), ("mtbr",)).items()
    }
    mtbr = traffic.get("mtbr")
    if mtbr is None and models[path].request_time is not None:
        part["traffic"].place.refuse(
            "the traffic lacks mtbr (matches per MB), because the "
            f"model {written} has an accelerator"
        )
    kind = Kind(path, models[path], traffic["flows"], traffic["size"], mtbr)
    solo = _solo(part["solo"], models[path]) if "solo" in part else None
    return Function(name, kind, _whole(part["cores"], _MOST_CORES), _promises(part["sla"]), solo)


def _solo(found: Spanned, model: FunctionModel) -> float:
    """Read a function's solo throughput from a fleet file, in the unit of the function's model."""
    value = decimal(found, THROUGHPUT.least, THROUGHPUT.most)
    far = far_from(model, value)
    if far is not None:
        found.place.refuse(far)
    return value


def far_from(model: FunctionModel, throughput: float) -> str | None:
    """Return an error text if a throughput is far from those in the model's training rows.

    Otherwise, return None. Such a throughput is probably in another unit.
    """
    rows, unit = model.memory.throughput, model.memory.origin.unit
    if rows.min() / _FAR <= throughput <= rows.max() * _FAR:
        return None
    measured = f"{rows.min():g} to {rows.max():g}{f' {unit}' if unit else ''}"
    return (
        f"the throughput {throughput:g} is far from the measurements of the model, "
        f"{measured}; check its unit"
    )


def _promises(found: Spanned) -> tuple[float, ...]:
    """Read the shares of solo throughput promised to a function: a single share or a list."""
    each = found.value if isinstance(found.value, list) else [found]
    if not each:
        found.place.refuse("the list of promised shares is empty; write one or more, such as 0.9")
    shares = tuple(_share(one) for one in each)
    if len({*shares}) < len(shares):
        found.place.refuse("the list has a promised share twice; remove one")
    return shares


def _share(found: Spanned) -> float:
    """Read a share from a fleet file, such as `0.9` or `90%`."""
    written = text(found)
    if written.endswith("%"):
        number = Spanned(found.place, written.removesuffix("%").strip())
        return decimal(number, _PERCENT * SLA.least, _PERCENT * SLA.most) / _PERCENT
    try:
        return decimal(found, SLA.least, SLA.most)
    except InputError as wrong:
        raise InputError(
            codes.INVALID_CELL, wrong.file, f"{wrong.reason}; write 0.9 or 90%"
        ) from None


def _whole(found: Spanned, most: int) -> int:
    value = decimal(found, 1, most)
    if not value.is_integer():
        found.place.refuse(f"{value:g} is not a whole number")
    return int(value)


def _check(one: Function, first: Function, device: str | None, place: Place) -> None:
    """Check that a function's model fits the NICs and the model of another function.

    `device` is the device of the NICs, `first` the first function, `place` the location for errors.
    """
    of = one.kind.model.memory.origin.device
    if None not in (device, of) and device != of:
        place.refuse(
            f"the model {one.kind.file} is of the device {of!r}, but the NICs are "
            f"{device!r}; use a model of this device"
        )
    try:
        contention_of(one.kind.model, one.kind.file)
        check_compatible(first.kind.file, first.kind.model, one.kind.file, one.kind.model)
    except InputError as problem:
        place.refuse(f"{problem.file}: {problem.reason}")


def read_arrivals(file: str, fleet: Fleet) -> Arrivals:
    """Read the functions that arrive from a table, whose rows are in order of arrival.

    The column `function` is required. The column `sla` overrides the promises of the fleet; it is
    required if the fleet has several promises for a function. The optional column `row` has names.

    Raises:
        InputError: if the file cannot be used, has no rows, or names a function that the fleet does
            not have.
    """
    found = read_cells(file)
    if not found.rows:
        raise InputError(codes.TOO_FEW_ROWS, file, "the table of arrivals has no rows")
    check_device(found, fleet)
    function = np.array([function_of(found, at, fleet) for at in range(len(found.rows))])
    if has(found, SLA):
        return Arrivals(function, _shares(found), found.names())
    several = next((at for at in function if len(fleet.functions[at].sla) > 1), None)
    if several is not None:
        name = fleet.functions[several].name
        reason = (
            f"{fleet.file} has several promised shares for {name}, so each arrival must name one"
        )
        raise InputError(
            codes.MISSING_COLUMN, file, f"the table lacks the column {SLA.name!r}: {reason}"
        )
    return Arrivals(
        function, np.array([fleet.functions[at].sla[0] for at in function]), found.names()
    )


def _shares(found: Table) -> Floats:
    """Return the promised share of each arrival, from cells such as `0.9` or `90%`.

    Raises:
        InputError: if a cell is not a share.
    """
    rows = []
    for row in found.rows:
        cell = row.get(SLA.name)
        number, percent, rest = str(cell or "").strip().partition("%")
        value: object = cell
        if percent and not rest:
            with suppress(ValueError):
                value = float(number) / _PERCENT
        rows.append({**row, SLA.name: value})
    return column_of(found._replace(rows=tuple(rows)), SLA)


def function_of(found: Table, at: int, fleet: Fleet) -> int:
    """Return the index in the fleet of the function that row `at` of a table names.

    Raises:
        InputError: if the column is missing, or the fleet does not have the function.
    """
    if FUNCTION not in found.header:
        have = ", ".join(name for name in found.header if name) or "no names"
        raise InputError(
            codes.MISSING_COLUMN,
            found.file,
            f"the table lacks the column {FUNCTION!r}; it has {have}",
        )
    return known_function(found, at, FUNCTION, found.text(at, FUNCTION), fleet)


def known_function(found: Table, at: int, column: str, name: str, fleet: Fleet) -> int:
    """Return the index in the fleet of function `name`, which is in cell `column` of row `at`.

    Raises:
        InputError: if the fleet does not have the function.
    """
    if name not in fleet.names:
        known = ", ".join(fleet.names)
        raise found.error(
            at, column, f"{name[:40]!r} is not a function of {fleet.file}, which has {known}"
        )
    return fleet.names.index(name)


def check_device(found: Table, fleet: Fleet) -> None:
    """Check that a table is about the same device as the fleet's NICs.

    Raises:
        InputError: if the table states another device.
    """
    of = {one.kind.model.memory.origin.device for one in fleet.functions}
    known = {fleet.device} if fleet.device is not None else of
    device = found.remarks.get("device")
    if device is not None and None not in known and device not in known:
        names = ", ".join(repr(one) for one in sorted(map(str, known)))
        raise found.remark_error("device", f"the device is {device!r}, but the NICs are {names}")


MIX = "mix"
BETWEEN = "+"
"""Text between the functions of a mix in tables."""

_Rows = dict[Mix, dict[int, list[float]]]
"""Measured throughputs by mix and function, in the order of the table's rows."""


def read_truth(file: str, fleet: Fleet) -> GroundTruth:
    """Read a table of true throughputs, which has one row for each function of each mix.

    Raises:
        InputError: if the file cannot be used, a row does not fit the fleet, or a row is missing.
    """
    found = read_cells(file)
    rows = _rows(found, fleet, repeated=False)
    _check_alone(file, rows, range(len(fleet.functions)), fleet)
    return GroundTruth(
        file, {mix: {at: one for at, (one,) in values.items()} for mix, values in rows.items()}
    )


def read_measured(file: str, fleet: Fleet, noise: float | None = None) -> Measured:
    """Read measured throughputs of mixes from a table with a row for each measurement.

    `noise` is the standard deviation of one measurement, as a share; by default it is learnt from
    repeated measurements.

    Raises:
        InputError: if the file cannot be used, a row does not fit the fleet, a throughput is far
            from those of the function's model, or a row is missing.
    """
    found = read_cells(file)
    rows = _rows(found, fleet, repeated=True)
    if not rows:
        raise InputError(codes.TOO_FEW_ROWS, file, "the table of measured mixes has no rows")
    _check_alone(file, rows, sorted({at for mix in rows for at in mix}), fleet)
    return measured(file, rows, noise)


def _rows(found: Table, fleet: Fleet, *, repeated: bool) -> _Rows:
    throughput = column_of(found, THROUGHPUT)
    if MIX not in found.header:
        reason = (
            f"the table lacks the column {MIX!r}, which lists the functions of a NIC: "
            f"nat{BETWEEN}acl"
        )
        raise InputError(codes.MISSING_COLUMN, found.file, reason)
    _check_remarks(found, fleet)
    known: _Rows = {}
    for at in range(len(found.rows)):
        parts = [part.strip() for part in found.text(at, MIX).split(BETWEEN)]
        mix = tuple(sorted(known_function(found, at, MIX, part, fleet) for part in parts))
        function = function_of(found, at, fleet)
        if function not in mix:
            raise found.error(
                at,
                FUNCTION,
                f"the function {fleet.names[function]!r} is not in the mix of this row",
            )
        values = known.setdefault(mix, {})
        if function in values and not repeated:
            raise found.error(at, FUNCTION, "the row repeats this function and mix; remove one row")
        far = far_from(fleet.functions[function].kind.model, float(throughput[at]))
        if repeated and far is not None:
            raise found.error(at, THROUGHPUT.name, far)
        values.setdefault(function, []).append(float(throughput[at]))
    for mix, values in known.items():
        missing = next((one for one in mix if one not in values), None)
        if missing is not None:
            reason = f"the table lacks a row for the function {fleet.names[missing]!r}"
            raise InputError(
                codes.MIX_NOT_MEASURED, found.file, f"mix {mix_text(mix, fleet)}: {reason}"
            )
    return known


def _check_alone(file: str, rows: _Rows, functions: Iterable[int], fleet: Fleet) -> None:
    """Check that a table of mixes has the throughput of each of these functions alone.

    Raises:
        InputError: if a function has no such row.
    """
    for at in functions:
        if (at,) not in rows:
            name = fleet.names[at]
            raise InputError(
                codes.MIX_NOT_MEASURED,
                file,
                f"the table lacks a row for {name!r} alone, to which promises refer; measure it",
            )


def _check_remarks(found: Table, fleet: Fleet) -> None:
    check_device(found, fleet)
    units = Counter(one.kind.model.memory.origin.unit for one in fleet.functions)
    unit = found.remarks.get("unit throughput")
    if unit is not None and None not in units and unit not in units:
        known = ", ".join(sorted(map(str, units)))
        raise found.remark_error(
            "unit throughput", f"the unit is {unit!r}, but the models use {known}"
        )


def mix_text(mix: Mix, fleet: Fleet) -> str:
    """Return a mix as in tables: the names of its functions, joined by plus signs."""
    return BETWEEN.join(fleet.names[at] for at in mix)
