"""Reads and writes the folder of a profile: tables of measurements, and a record about them."""

import json
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast, get_args

from slowpath.contention.profiling.machine import MEGABYTE, Machine
from slowpath.contention.profiling.mixes import Client, Measured
from slowpath.contention.profiling.profiler import Found, request_time
from slowpath.contention.profiling.setup import Pattern, ProfileRecord, Setup
from slowpath.core import codes
from slowpath.core.errors import InputError
from slowpath.core.inputs import read_text, replace_file, write_error
from slowpath.core.printable import csv_line
from slowpath.measure.environment import Environment

MIXES = "mixes.csv"
TABLES = ("memory.csv", "accelerator.csv", "contention.csv", MIXES)
"""Tables that `slowpath contention train` reads from a folder, if they exist."""
RECORD = "profile.json"
_TRAFFIC = ("flow_count", "packet_size_bytes")
_MIX_COLUMNS = (
    "row",
    *_TRAFFIC,
    "mtbr",
    "working_set_bytes",
    "touch",
    "rate",
    "score",
    "client_mtbr",
    "client_rate",
    "client_queues",
    "client_request_time",
    "inverse_throughput_sum",
    "alone",
    "alone_low",
    "alone_high",
    "throughput",
    "low",
    "high",
    "disturbed",
)

Row = Sequence[object]


def write_profile(
    folder: str,
    setup: Setup,
    machine: Machine,
    found: Found,
    records: tuple[ProfileRecord, Environment],
) -> list[str]:
    """Write the files of a profile to `folder`, and return their names.

    Tables of an earlier measurement in the folder are deleted.

    Raises:
        InputError: if a file cannot be written.
    """
    path = Path(folder)
    texts = {
        "memory.csv": _memory(setup, machine, found),
        "accelerator.csv": _accelerator(setup, machine, found),
        "contention.csv": _contention(setup, machine, found),
        MIXES: _mixes(setup, machine, found),
        RECORD: json.dumps(records[0], indent=2) + "\n",
        "environment.json": json.dumps(records[1], indent=2) + "\n",
    }
    written = []
    try:
        path.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            if text is None:
                (path / name).unlink(missing_ok=True)
            else:
                replace_file(str(path / name), text.encode())
                written.append(str(path / name))
    except OSError as problem:
        raise write_error(folder, problem) from None
    return written


def check_folder(folder: str) -> None:
    """Check before the measurement that the folder of a profile can be created.

    Raises:
        InputError: if the path is a file.
    """
    if Path(folder).exists() and not Path(folder).is_dir():
        raise InputError(
            codes.FOLDER_EXPECTED,
            folder,
            "the path is a file; name a folder for the tables of the profile",
        )


def _memory(setup: Setup, machine: Machine, found: Found) -> str | None:
    """Return the CSV table of throughput beside competitors for caches and memory.

    The score of a row says how strongly its competitor burdens caches; it is 0 without a
    competitor. Return None if there are no rows.
    """
    rows = list[Row]()
    for at, one in enumerate(found.points, 1):
        point = one.point
        if point.memory is None or point.client is not None:
            continue
        if f"mix-{at}" in found.plan["unused"]:
            continue
        traffic = point.traffic[:2]
        rows.append((f"mix-{at}", *traffic, found.scores[point.memory], *one.beside[:3]))
        rows.append((f"alone-{at}", *traffic, 0.0, *one.alone[:3]))
    if not rows:
        return None
    mtbr = setup.traffic.mtbr.least if setup.function.service else None
    columns = ("row", *_TRAFFIC, "score", "throughput", "low", "high")
    return _table(setup, machine, columns, rows, mtbr)


def _accelerator(setup: Setup, machine: Machine, found: Found) -> str | None:
    if len(found.requests) < 2:  # noqa: PLR2004 - a line takes two
        return None
    rows = [(f"mtbr-{one.mtbr:g}", one.mtbr, *one.seconds[:3]) for one in found.requests]
    columns = ("row", "mtbr", "inverse_throughput", "low", "high")
    return _table(setup, machine, columns, rows)


def _contention(setup: Setup, machine: Machine, found: Found) -> str | None:
    rows = [(f"own-{at}", *one.traffic[:2], one.score) for at, one in enumerate(found.own, 1)]
    return _table(setup, machine, ("row", *_TRAFFIC, "score"), rows) if rows else None


def _mixes(setup: Setup, machine: Machine, found: Found) -> str:
    rows = [_mix(f"mix-{at}", one, found) for at, one in enumerate(found.points, 1)]
    return _table(setup, machine, _MIX_COLUMNS, rows)


def _mix(name: str, one: Measured, found: Found) -> Row:
    traffic, memory, client = one.point
    size, touch, rate = memory if memory is not None else (None, None, None)
    score = 0.0 if memory is None else found.scores[memory]
    at_accelerator: Row = (None, None, None, None, 0.0)
    if client is not None and one.client is not None:
        request_seconds = 1 / one.client.value
        queued = queued_time(request_time(found.requests, traffic.mtbr), client, request_seconds)
        at_accelerator = (client.mtbr, client.rate, client.queues, request_seconds, queued)
    measured = (one.alone, one.beside, one.client)
    disturbed = sum(rate.disturbed for rate in measured if rate is not None)
    rates = (*one.alone[:3], *one.beside[:3])
    return (name, *traffic, size, touch, rate, score, *at_accelerator, *rates, disturbed)


def queued_time(own: float, client: Client, seconds: float) -> float:
    """Return how long an accelerator serves another client per request of the function.

    The function always has a request. `own` and `seconds` are the request times of the function and
    of the client. If the client has a limited rate, the result follows from the round-robin
    equilibrium (docs/explanation/contention.md).
    """
    from slowpath.contention.accelerators import throughputs

    if client.rate is None:
        return client.queues * seconds
    import numpy as np

    queues = np.array([1.0, float(client.queues)])
    served = throughputs(queues, np.array([own, seconds]), np.array([math.inf, client.rate]))[0]
    return float(max(1 / served - own, 0.0))


def _table(
    setup: Setup,
    machine: Machine,
    columns: Sequence[str],
    rows: Iterable[Row],
    mtbr: float | None = None,
) -> str:
    """Return a CSV table, which starts with comment lines about the measurement.

    `mtbr` is the match ratio of all rows; None if it varies.
    """
    remarks = {
        "function": setup.function.name,
        "device": machine.name,
        "source": "measured",
        "unit throughput": "packets/s",
        "unit flow_count": "flows",
        "unit packet_size_bytes": "bytes",
        "unit mtbr": "matches/MB",
        "unit score": "1",
        "unit inverse_throughput": "s/packet",
        "cache mb": str(machine.cache_bytes / MEGABYTE),
    }
    if mtbr is not None:
        remarks["mtbr"] = f"{mtbr:g}"
    unused = {f"unit {name}" for name in (*_MIX_COLUMNS, "inverse_throughput")}
    unused -= {f"unit {name}" for name in (*columns, "throughput")}
    head = [f"# {key}: {value}" for key, value in remarks.items() if key not in unused]
    return "\n".join([*head, csv_line(columns), *map(csv_line, rows)]) + "\n"


_PATTERNS = get_args(Pattern)


class Declared(NamedTuple):
    """An execution pattern, and the file of the profile's record that declares it."""

    file: str
    pattern: Pattern


def declared_by(names: Sequence[str]) -> Declared | None:
    """Return the execution pattern that the records of profiles in these folders declare.

    Return None if no record declares one.

    Raises:
        InputError: if a record cannot be used, or two contradict each other.
    """
    found: Declared | None = None
    for name in names:
        file = str(Path(name) / RECORD)
        pattern = _declared(file) if Path(file).is_file() else None
        if pattern is None:
            continue
        if found is not None and found.pattern != pattern:
            raise InputError(
                codes.PROFILES_CONTRADICT,
                file,
                f"the table declares the pattern {pattern}, but {found.file} declares "
                f"{found.pattern}; correct one of the two",
            )
        found = found or Declared(file, pattern)
    return found


def _declared(file: str) -> Pattern | None:
    """Return the execution pattern in a profile's record; None for records of older versions."""
    try:
        record: Any = json.loads(read_text(file))
    except (ValueError, RecursionError) as problem:
        raise InputError(codes.NOT_JSON, file, f"the file is not JSON: {problem}") from None
    if not isinstance(record, dict):
        raise InputError(
            codes.WRONG_DOCUMENT,
            file,
            "the file is not the record of a profile, which must be an object",
        )
    pattern = record.get("pattern")
    if pattern is not None and pattern not in _PATTERNS:
        raise InputError(
            codes.WRONG_DOCUMENT,
            file,
            f"the pattern {str(pattern)[:40]!r} is not one of {', '.join(_PATTERNS)}",
        )
    return cast("Pattern | None", pattern)
