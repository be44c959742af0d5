"""Fleets from YAML, and arrivals from tables; errors name file, row and key."""

import os
import re

import numpy as np

from slowpath.cli.errors import InputError
from slowpath.cli.inputs import read_text
from slowpath.contention import saved
from slowpath.contention.beside import check_together, contention_of
from slowpath.contention.mixes import Kind
from slowpath.contention.model import FunctionModel
from slowpath.contention.placement.known.fleet import Arrivals, Fleet, Function
from slowpath.contention.tables.cells import Table, read_cells
from slowpath.contention.tables.columns import ATTRIBUTES, THROUGHPUT, Column
from slowpath.contention.tables.values import column_of, has
from slowpath.described.marked import Marked, Place, read_marked
from slowpath.described.values import decimal, table, text, words_of

_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,63}")
_MOST_CORES, _MOST_NICS = 1024, 10**6
_FAR = 100.0
"""Throughputs that are so many times apart are in different units."""
SLA = Column(
    "sla", "1", "share of the throughput alone that the function is promised", 1.0, least=1e-6
)
FUNCTION = "function"


def read_fleet(file: str) -> Fleet:
    """The fleet in a file.

    Raises:
        InputError: when something in it, or in a model that it names, cannot be used.
        UnavailableError: when PyYAML is not installed.
    """
    whole = table(read_marked(file, read_text(file)), ("nics", "functions"))
    nics = table(whole["nics"], ("cores",), ("device", "count"))
    cores = _whole(nics["cores"], _MOST_CORES)
    device = text(nics["device"]) if "device" in nics else None
    models = dict[str, FunctionModel]()
    functions = [_function(name, one, models) for name, one in words_of(whole["functions"]).items()]
    if not functions:
        whole["functions"].place.refuse("has no function")
    for one in functions:
        place = words_of(whole["functions"])[one.name].place
        _check(one, functions[0], device, place)
        if one.cores > cores:
            place.refuse(f"takes {one.cores} cores, and a NIC has {cores}")
    count = _whole(nics["count"], _MOST_NICS) if "count" in nics else None
    return Fleet(file, device, cores, count, tuple(functions))


def _function(name: str, found: Marked, models: dict[str, FunctionModel]) -> Function:
    if not _NAME.fullmatch(name):
        found.place.refuse("is no name; use letters, digits, dots, hyphens and underscores")
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
        part["traffic"].place.refuse(f"lacks mtbr: {written} uses an accelerator")
    kind = Kind(path, models[path], traffic["flows"], traffic["size"], mtbr)
    solo = _solo(part["solo"], models[path]) if "solo" in part else None
    return Function(name, kind, _whole(part["cores"], _MOST_CORES), _promises(part["sla"]), solo)


def _solo(found: Marked, model: FunctionModel) -> float:
    """Throughput alone, in the unit of the model."""
    value = decimal(found, THROUGHPUT.least, THROUGHPUT.most)
    far = far_from(model, value)
    if far is not None:
        found.place.refuse(far)
    return value


def far_from(model: FunctionModel, throughput: float) -> str | None:
    """Why a throughput is too far from all that a model was learnt from; None where it is not."""
    rows, unit = model.memory.throughput, model.memory.origin.unit
    if rows.min() / _FAR <= throughput <= rows.max() * _FAR:
        return None
    seen = f"{rows.min():g} to {rows.max():g}{f' {unit}' if unit else ''}"
    return f"{throughput:g} is far from what the model is of, {seen}; is it in another unit?"


def _promises(found: Marked) -> tuple[float, ...]:
    """One share, or several of which one is drawn."""
    each = found.value if isinstance(found.value, list) else [found]
    if not each:
        found.place.refuse("is empty; it has one share or several")
    shares = tuple(decimal(one, SLA.least, SLA.most) for one in each)
    if len({*shares}) < len(shares):
        found.place.refuse("has a share twice")
    return shares


def _whole(found: Marked, most: int) -> int:
    value = decimal(found, 1, most)
    if not value.is_integer():
        found.place.refuse(f"{value:g} is no whole number")
    return int(value)


def _check(one: Function, first: Function, device: str | None, place: Place) -> None:
    """Finds out whether a model goes with the NICs and with the first one."""
    of = one.kind.model.memory.origin.device
    if None not in (device, of) and device != of:
        place.refuse(f"{one.kind.file} is of device {of!r}; the NICs are {device!r}")
    try:
        contention_of(one.kind.model, one.kind.file)
        check_together(first.kind.file, first.kind.model, one.kind.file, one.kind.model)
    except InputError as problem:
        place.refuse(f"{problem.file} {problem.reason}")


def read_arrivals(file: str, fleet: Fleet) -> Arrivals:
    """What arrives, in the order of the rows.

    Columns: `function`; `sla` where the fleet promises several shares, or another one is meant;
    `row` may name them.

    Raises:
        InputError: when the file cannot be used, has no rows, or names a function that the fleet
            does not have.
    """
    found = read_cells(file)
    if not found.rows:
        raise InputError(file, "has no rows")
    check_device(found, fleet)
    function = np.array([function_of(found, at, fleet) for at in range(len(found.rows))])
    if has(found, SLA):
        return Arrivals(function, column_of(found, SLA), found.names())
    several = next((at for at in function if len(fleet.functions[at].sla) > 1), None)
    if several is not None:
        name = fleet.functions[several].name
        reason = (
            f"{fleet.file} has several promises for {name}; say with each arrival which is meant"
        )
        raise InputError(file, f"has no column {SLA.name!r}: {reason}")
    return Arrivals(
        function, np.array([fleet.functions[at].sla[0] for at in function]), found.names()
    )


def function_of(found: Table, at: int, fleet: Fleet) -> int:
    """Which function of the fleet a row names.

    Raises:
        InputError: when it names none.
    """
    if FUNCTION not in found.header:
        have = ", ".join(name for name in found.header if name) or "no names"
        raise InputError(found.file, f"has no column {FUNCTION!r}; it has {have}")
    return known_function(found, at, FUNCTION, found.text(at, FUNCTION), fleet)


def known_function(found: Table, at: int, column: str, name: str, fleet: Fleet) -> int:
    """The place of a function in the fleet, by the name in a cell.

    Raises:
        InputError: when the fleet has none of that name.
    """
    if name not in fleet.names:
        known = ", ".join(fleet.names)
        raise found.error(at, column, f"{name[:40]!r} is no function of {fleet.file}: {known}")
    return fleet.names.index(name)


def check_device(found: Table, fleet: Fleet) -> None:
    """Finds out whether a table is of the NICs that the fleet has.

    Raises:
        InputError: when it says that it is of others.
    """
    of = {one.kind.model.memory.origin.device for one in fleet.functions}
    known = {fleet.device} if fleet.device is not None else of
    device = found.remarks.get("device")
    if device is not None and None not in known and device not in known:
        names = ", ".join(repr(one) for one in sorted(map(str, known)))
        raise found.remark_error("device", f"is {device!r}; the NICs are {names}")
