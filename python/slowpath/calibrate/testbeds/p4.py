"""Test bed that writes P4 programs for experiments (architecture v1model), without running them.

The templates are in `templates/p4/`, one for each component. The programs parse all headers before
the key. If the key begins inside a header, the parser splits this header there. If the compiler
`p4c` is in the PATH, it checks the programs.
"""

import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from slowpath.calibrate.experiments.components import SIZE, YES
from slowpath.calibrate.experiments.folder import write
from slowpath.calibrate.experiments.running import BlockResult, Job, Limits, TestBed
from slowpath.calibrate.experiments.specification import (
    HEADERS,
    Experiment,
    ParameterValues,
    numeric_value,
    settings_at,
    swept_values,
)
from slowpath.calibrate.testbeds.generation import (
    SPREAD,
    TYPE,
    check_parameters,
    expand,
    fixed_key_bytes,
    key_offset,
    packet_of,
    payload_offset,
    prefix_of,
    prefix_shape,
    reject,
)
from slowpath.core import codes
from slowpath.core.errors import InputError
from slowpath.core.jobs import Stopping

TABLES = ("table-exact", "table-lpm", "table-ternary")
_KEYED = (*TABLES, "state", "hash", "meter")


class Layers(NamedTuple):
    """The packet headers that a P4 program extracts, in order."""

    headers: list[tuple[str, str]]  # type and name of each header
    split: int  # bytes before the key in the header that contains the key; 0: it starts a header
    keyed: bool  # true if the last header is the key


def layers_of(experiment: Experiment) -> Layers:
    """Return the headers before the table key; all headers if the component has no key."""
    keyed = experiment["component"]["kind"] in _KEYED
    end = key_offset(experiment) if keyed else payload_offset(experiment)
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


FOLDER = Path(__file__).parent / "templates/p4"
_INDENT = " " * 8
_OWN = ("parser", "push")
_EXPRESSIONS = {
    "add": "meta.sum + meta.operand",
    "xor": "meta.sum ^ meta.operand",
    "shift": "meta.sum << 1",
    "multiply": "meta.sum * meta.operand",
}
_HIGH = 1 << 31


class P4Program(NamedTuple):
    """A P4 program with its table entries and its packet, for one value of the swept parameter."""

    text: str  # P4
    entries: str  # `table_add` commands for the switch's command line
    packet: bytes


def p4_program(experiment: Experiment, value: int, *, component: bool) -> P4Program:
    """Return the P4 program of an experiment at one value of its swept parameter.

    If `component` is false, the program lacks the measured component.

    Raises:
        InputError: when parameters do not fit together, or v1model has no equivalent.
    """
    part, settings = experiment["component"], settings_at(experiment, value)
    check_parameters(experiment, settings)
    _check(experiment, settings)
    role = f"{part['sweep']['parameter']} = {value}"
    names = {**settings, **_names(experiment, settings), "component": int(component)}
    names["role"] = role if component else f"{role}, without the component"
    text = expand(FOLDER, f"{part['kind']}.p4", names)
    shape = numeric_value(settings, "headers"), numeric_value(settings, "header_bytes")
    parser = shape if part["kind"] == "parser" else None
    entries = _entries(experiment, settings) if component else ""
    return P4Program(text, entries, packet_of(experiment, numeric_value(settings, SIZE), parser))


def _check(experiment: Experiment, settings: ParameterValues) -> None:
    """Check that v1model supports the parameters of an experiment.

    Raises:
        InputError: if it does not.
    """
    if settings.get("map", "hash") != "hash":
        reject(experiment, f"the P4 architecture v1model has no tables like {settings['map']}")
    if numeric_value(settings, "repeats") > 1:
        reject(experiment, "the P4 architecture v1model applies a table only once")
    if settings.get("method") == "jhash":
        reject(experiment, "the P4 architecture v1model has no hash jhash; it has crc32")
    operation = settings.get("operation")
    if experiment["component"]["kind"] == "arithmetic" and operation not in _EXPRESSIONS:
        reject(
            experiment,
            f"the P4 architecture v1model has no operation {operation}; it has "
            f"{', '.join(_EXPRESSIONS)}",
        )


def _names(experiment: Experiment, settings: ParameterValues) -> dict[str, int | str]:
    """Return the values of placeholders that are not parameters of the experiment."""
    kind, layers = experiment["component"]["kind"], layers_of(experiment)
    headers, size = numeric_value(settings, "headers"), numeric_value(settings, "header_bytes")
    fields = numeric_value(settings, "fields")
    own = headers if kind in _OWN else 0
    if kind == "field-writes" and settings["where"] == "header":
        own, size = numeric_value(settings, "writes"), 2
    key = numeric_value(settings, "key_bytes") or 4
    shape = prefix_shape(numeric_value(settings, "prefix_bits"))
    taken_off = [f"packet.extract(h.own[{number}]);" for number in range(own)]
    extracted = [f"packet.extract(h.{name});" for _, name in layers.headers]
    if kind == "field-writes":
        extracted += taken_off
    following: dict[str, int | str] = {
        f"next{number}": f"own{number + 1}" for number in range(headers)
    }
    return following | {
        f"next{headers - 1}": "accept",
        "title": experiment["description"],
        "experiment": experiment["name"],
        "layers": "\n".join(f"    {one} {name};" for one, name in layers.headers),
        "extractions": "\n".join(_INDENT + line for line in extracted),
        "keyed": int(layers.keyed),
        "key_bits": 8 * key,
        "split": int(layers.split > 0),
        "split_bits": 8 * layers.split,
        "own": own,
        "front": int(kind == "push"),
        "fields": fields,
        "words": numeric_value(settings, "bytes") // 8,
        "rest_bits": max(8 * size - 16 - 16 * fields, 0),
        "metadata": numeric_value(settings, "writes") if settings.get("where") == "metadata" else 0,
        "recirculated": int(kind == "recirculate"),
        "value_bits": 8 * numeric_value(settings, "value_bytes") or 64,
        "entries": numeric_value(settings, "entries") or 1,
        "tables": numeric_value(settings, "tables"),
        "miss_bit": 8 * key - 25,
        "number": " ++ ".join(_key_bits(8 * at + 8, 8 * at) for at in range(key - 4, key)),
        "own_bits": shape.bits,
        "shared": shape.front,
        "first_bit": 8 * key - 1,
        "address": _address(8 * (key - 4), 8 * shape.front),
        "spread": SPREAD,
        "hit": settings.get("hit", YES),
        "type": f"0x{int.from_bytes(TYPE.to_bytes(2, 'little'), 'big'):04x}",
        "expression": _EXPRESSIONS.get(str(settings.get("operation")), ""),
    }


def _key_bits(end: int, start: int) -> str:
    return f"h.key.bits[{end - 1}:{start}]"


def _address(others: int, front: int) -> str:
    """Return a P4 expression for an address: `number`, with other bits of the key around it.

    Args:
        others: number of key bits that do not depend on `number`.
        front: number of these bits in front of `number`.
    """
    before = [_key_bits(others, others - front)] if front else []
    behind = [_key_bits(others - front, 0)] if others > front else []
    return " ++ ".join([*before, "number", *behind])


def _entries(experiment: Experiment, settings: ParameterValues) -> str:
    """Return the commands that fill the tables of the switch, one for each entry."""
    kind = experiment["component"]["kind"]
    if kind not in TABLES:
        return ""
    numbers, lines = range(numeric_value(settings, "entries")), list[str]()
    rest = fixed_key_bytes(
        experiment, numeric_value(settings, SIZE), numeric_value(settings, "key_bytes")
    )
    for table in range(numeric_value(settings, "tables")):
        command = f"table_add Ingress.table{table} Ingress.hit"
        for number in numbers:
            last = number == numbers[-1]
            lines.append(f"{command} {_entry(kind, settings, rest, number, last=last)}")
    return "\n".join([*lines, ""])


def _entry(kind: str, settings: ParameterValues, rest: bytes, number: int, *, last: bool) -> str:
    if kind == "table-lpm":
        bits = numeric_value(settings, "prefix_bits")
        return f"0x{prefix_of(number, bits, rest).hex()}/{bits} => 1"
    if kind == "table-ternary":
        # The first bit of a packet's key is always zero, so only the last entry matches.
        width = 4 + len(rest)
        value = bytes(width) if last else (_HIGH | number).to_bytes(4, "big") + rest
        mask = _HIGH.to_bytes(4, "big") + bytes(len(rest)) if last else b"\xff" * width
        return f"0x{value.hex()}&&&0x{mask.hex()} => 1 {number + 1}"
    return f"0x{(number.to_bytes(4, 'little') + rest).hex()} => 1"


_COMPILER = "p4c"
_CHECK = ("--target", "bmv2", "--arch", "v1model", "--parse-only")


class P4(TestBed):
    """The test bed `p4`, which writes P4 programs and measures nothing."""

    name = target = "p4"
    says = "Writes P4_16 programs for the architecture v1model; measures nothing"
    templates, ending = FOLDER, ".p4"

    def check(self, experiment: Experiment) -> None:
        """Check that programs can be written for an experiment, as described in `TestBed.check`."""
        p4_program(experiment, swept_values(experiment)[0], component=True)

    @contextmanager
    def open(self, limits: Limits, stopping: Stopping) -> Iterator["_Writer"]:
        """Prepare the test bed, as described in `TestBed.open`."""
        del limits  # nothing is measured
        yield _Writer(stopping)


BED = P4()


class _Writer:
    def __init__(self, stopping: Stopping) -> None:
        self._stopping = stopping
        self._compiler = shutil.which(_COMPILER)

    def measure(self, job: Job) -> BlockResult:
        """Write the P4 programs for all values of the swept parameter; there are no samples."""
        errors = dict[int, str]()
        parameter = job.experiment["component"]["sweep"]["parameter"]
        for value in job.points:
            if self._stopping.asked:
                return BlockResult([], errors, complete=False)
            job.say(f"writing {parameter} = {value:,}")
            try:
                for component in (True, False):
                    name = f"{parameter}-{value}{'' if component else '.without'}"
                    self._write(job, value, name, component=component)
            except InputError as problem:
                errors[value] = problem.reason
        checked = self._verdict(len(job.points) - len(errors), errors)
        return BlockResult([], errors, complete=True, notes=[f"Programs were written; {checked}."])

    def _verdict(self, accepted: int, errors: Mapping[int, str]) -> str:
        if self._compiler is None:
            return f"{_COMPILER} is not installed"
        return f"{_COMPILER} accepts " + (f"those of {accepted} values" if errors else "them")

    def _write(self, job: Job, value: int, name: str, *, component: bool) -> None:
        program = p4_program(job.experiment, value, component=component)
        source = job.folder / f"{name}.p4"
        write(source, program.text)
        write(job.folder / f"{name}.packet", program.packet.hex() + "\n")
        if component:
            write(job.folder / f"{name}.entries", program.entries)
        if self._compiler is not None:
            _checked(self._compiler, source)


def _checked(compiler: str, source: Path) -> None:
    words = [compiler, *_CHECK, str(source)]
    made = subprocess.run(words, capture_output=True, text=True, check=False)  # noqa: S603
    if made.returncode:
        first = next(iter(made.stderr.splitlines()), "the compiler failed without a message")
        raise InputError(codes.TESTBED_FAILED, str(source), f"{_COMPILER}: {first}")
