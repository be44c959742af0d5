"""Reads the published predictions and measurements of NFP programs (Krude et al., CoNEXT 2021).

Two forms are known. The authors' repository has a report for each program
(`data-paper/predictions/NAME.k.ereport`, compressed with bzip2) and logs of the measurements
(`data-paper/measured-throughput`). Folders of converted data have `summary.json` and, for all
paths, `NAME.jsonl.gz`. Runs at fixed packet rates (`measure-xdp-ereport-workaround-*`) are not
read.
"""

import bz2
import gzip
import json
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from slowpath.core import codes
from slowpath.core.errors import InputError
from slowpath.core.inputs import read_program, text_of

UNROLL = {"xdp-alaw2ulaw": 160, "xdp-alaw2ulaw-opt": 160, "xdp-quic-lb-ipv6-options": 10}
"""Loop limits of the published analyses, by program; reports do not state them."""
_BZIP2 = b"BZh"
_PATH = "#### ->"
_BLOCK = "####"
_BYTES = re.compile(r"\|0x([0-9a-fA-F]+)\|((?: (?:--|[0-9a-fA-F]{2}) \|)+)")
_WORD = re.compile(r"\[0x([0-9a-fA-F]+)\]=((?: [0-9a-fA-F]{2})+)")
_SECONDS = re.compile(r"-?\d+: ([0-9.]+) s")
_KEY = re.compile(r"Measuring ([0-9a-f]{16})")
_MEAN = re.compile(r"\S+ mean: +([0-9.]+)")


class PublishedPath(NamedTuple):
    """A path that packets can take, with its published costs for a packet."""

    cycles: float  # of one core
    dram: float  # cycles of the memory engine
    size: int  # bytes of the shortest packet
    measured: float | None  # mean measured cycles; None: not measured


class PublishedProgram(NamedTuple):
    """Published results of analysing a program."""

    cores: int
    naive_per_byte: float  # cycles of one core per byte on the slowest path, possible or not
    naive_seconds: float
    seconds: float | None  # until the slowest satisfiable path; None: none found
    slowest: PublishedPath | None  # by cost per byte
    paths: Sequence[PublishedPath]  # all that were published; empty if not read
    listing: str | None = None  # SHA-256 of the analysed listing; None: not stated


class PublishedFiles(NamedTuple):
    """Files with the published results of one program."""

    report: str | Mapping[str, Any]  # file of the report, or entry of summary.json
    paths: str | None = None  # file with all paths of an entry
    log: str | None = None  # log of measurements beside a report


def per_byte(cycles: float, dram: float, size: int, cores: int) -> float:
    """Return the cycles of one core per byte, for the component that limits the rate.

    `cycles` are those of one core for a packet, `dram` those of the memory engine, `size` is the
    packet size. Either the cores or the memory are the limit.
    """
    return max(cycles, dram * cores) / size


def read_published(files: PublishedFiles) -> PublishedProgram:
    """Read the published results of a program from its files.

    Raises:
        InputError: if a file is damaged.
    """
    if isinstance(files.report, str):
        return _of_report(files.report, files.log)
    record = files.report
    ssp, cores = record["ssp"], record["cores"]
    slowest = _path(ssp)
    naive = max(record["naive_cycles_per_byte"], record["naive_dram_cycles_per_byte"] * cores)
    paths = [] if files.paths is None else _records(files.paths)
    return PublishedProgram(cores, naive, record["naive_seconds"], ssp["seconds"], slowest, paths)


def _path(record: Mapping[str, Any]) -> PublishedPath:
    size = record["min_packet_size"]
    return PublishedPath(record["cycles"], record["dram_cycles"], size, record["measured_cycles"])


def read_summary(file: Path) -> Mapping[str, Any]:
    """Read `summary.json`, which has a record of published results for each program.

    Raises:
        InputError: if it is not such a summary.
    """
    try:
        found: dict[str, dict[str, Any]] = json.loads(text_of(str(file), read_program(str(file))))
        for record in found.values():
            _check(record)
    except (ValueError, KeyError, TypeError, AttributeError):
        raise InputError(
            codes.ARTEFACT_DAMAGED, str(file), "is not a summary of published results"
        ) from None
    return found


def _check(record: Mapping[str, Any]) -> None:
    """Check that a record has all numbers that are read from it.

    Raises:
        KeyError, TypeError: if it does not.
    """
    numbers = ("cores", "naive_cycles_per_byte", "naive_dram_cycles_per_byte", "naive_seconds")
    ssp = ("cycles", "dram_cycles", "min_packet_size", "seconds")
    for value in (*(record[key] for key in numbers), *(record["ssp"][key] for key in ssp)):
        if not isinstance(value, int | float):
            raise TypeError
    measured = record["ssp"]["measured_cycles"]
    if not isinstance(measured, int | float | None):
        raise TypeError


def _records(file: str) -> list[PublishedPath]:
    try:
        text = gzip.decompress(read_program(file)).decode()
        return [_path(json.loads(line)) for line in text.splitlines()]
    except (OSError, EOFError, zlib.error, ValueError, KeyError, TypeError):
        raise InputError(
            codes.ARTEFACT_DAMAGED, file, "is not a compressed list of paths"
        ) from None


def _of_report(file: str, log: str | None) -> PublishedProgram:
    measured = {} if log is None else _measured(log)
    lines = _text(file).splitlines()
    head, *blocks = _blocks(lines)
    try:
        cores = int(_value(head, "bpf-workers"))
        naive, known = _Block(blocks[0]), [_Block(one) for one in blocks]
        found = [(block.seconds, block.path(measured)) for block in known if block.is_path]
        seconds, slowest = max(
            found,
            key=lambda one: per_byte(one[1].cycles, one[1].dram, one[1].size, cores),
            default=(None, None),
        )
        return PublishedProgram(
            cores,
            max(naive.number("max cycles/b"), naive.number("DRAM cycles/b") * cores),
            naive.seconds,
            seconds,
            slowest,
            [path for _, path in found],
            _value(head, "input"),
        )
    except (KeyError, ValueError, IndexError, StopIteration):
        raise InputError(
            codes.ARTEFACT_DAMAGED, file, "is not a report of the published tool"
        ) from None


def _text(file: str) -> str:
    data = read_program(file)
    try:
        return (bz2.decompress(data) if data.startswith(_BZIP2) else data).decode()
    except (OSError, ValueError, EOFError):
        raise InputError(codes.ARTEFACT_DAMAGED, file, "is not a readable report") from None


def _blocks(lines: Sequence[str]) -> Iterator[list[str]]:
    """Yield the head of a report as lines, and then each of its blocks."""
    block = list[str]()
    for line in lines:
        if line.startswith(_BLOCK):
            yield block
            block = []
        block.append(line)
    yield block


def _value(lines: Sequence[str], key: str) -> str:
    start = f"{key}: "
    found = next((line for line in lines if line.startswith(start)), None)
    if found is None:
        raise KeyError(key)
    return found.removeprefix(start).strip()


class _Block:
    """A block of a report: the results for a path, or a bound for a set of paths."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self.is_path = lines[0].startswith(_PATH)

    def number(self, key: str) -> float:
        return float(_value(self._lines, key))

    @property
    def seconds(self) -> float:
        """Time in seconds from the start of the analysis to this block of the report."""
        found = (_SECONDS.match(line) for line in self._lines)
        return float(next(one[1] for one in found if one))

    def path(self, measured: Mapping[str, float]) -> PublishedPath:
        cycles = self.number("cycles")
        size = int(self.number("min packet size"))
        return PublishedPath(
            int(cycles),
            self.number("DRAM cycles"),
            size,
            measured.get(self._key(size)) if measured else None,
        )

    def _key(self, size: int) -> str:
        """Return the name by which logs call this path: a digest of its packet and map content.

        `size` is the size of the packet.
        """
        known, words = dict[int, str](), dict[int, str]()
        for line in self._lines:
            if match := _BYTES.match(line):
                at = int(match[1], 16)
                for byte in match[2].replace("|", " ").split():
                    if byte != "--":
                        known[at] = byte.lower()
                    at += 1
                    size = max(size, at)
            elif line.startswith("map["):
                for word in _WORD.finditer(line):
                    start = int(word[1], 16)
                    words |= {start + at: one.lower() for at, one in enumerate(word[2].split())}
        packet = "".join(f" {known.get(at, '--')} |" for at in range(size)) if known else ""
        text = (f"|0x0000|{packet}" if packet else "") + _map_text(words)
        return sha256(text.encode()).hexdigest()[:16]


def _map_text(words: Mapping[int, str]) -> str:
    """Return map content as the published tool writes it; consecutive bytes form one text.

    `words` has the bytes by address.
    """
    runs = list[tuple[int, list[str]]]()
    for at, byte in sorted(words.items()):
        if runs and runs[-1][0] + len(runs[-1][1]) == at:
            runs[-1][1].append(byte)
        else:
            runs.append((at, [byte]))
    texts = (f"[0x{at:08x}]= {' '.join(content)}" for at, content in runs)
    return f"map{'; '.join(texts)}" if runs else ""


def _measured(log: str) -> dict[str, float]:
    """Return the mean measured cycles of each path in a log, by the name of the path."""
    found = dict[str, float]()
    key = None
    for line in _text(log).splitlines():
        if match := _KEY.match(line):
            key = match[1]
        elif key is not None and (match := _MEAN.match(line)):
            found[key] = float(match[1])
    return found
