#!/usr/bin/env python3
"""Compare sums over the instructions of a pipeline's path with measurements in DPDK's interpreter.

    pipelines.py take OUT.jsonl [--paths K] [--seconds S] PIPELINE.spec...
    pipelines.py compare OUT.jsonl

`take` runs `slowpath measure` on each pipeline, and appends a line with its paths. Pipelines in the
file are not measured again, unless the machine was disturbed. An argument `@FILE` names a file with one pipeline per line. `compare`
fits models to nine tenths of the pipelines, and prints their errors for the paths of the others.

The models are sums. The first one has a price for each instruction and each lookup. The second one
has a price for each kind of instruction and of table. The third one also has prices for hits, and
for bytes of keys. DPDK runs some instructions together with the one before (`instr_optimize` in
lib/pipeline/rte_swx_pipeline.c of DPDK 22.11); these have prices of their own.
"""

import argparse
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import nnls

FOLDS = 10
TOGETHER = 8  # maximum number of extractions or emissions that DPDK runs together
LONGEST = 64  # bytes of the longest key of an exact table
PASSES = 6  # maximum number of measurements of a pipeline
QUIET = 1.12  # ratio to the least time of receiving and sending up to which nothing disturbed
BATCH = 16  # number of pipelines that a command measures
COVERED = 0.9  # share of paths that an interval should contain


class Table(NamedTuple):
    """A table: the kind of its lookups, and the bytes from the first to the last field of its key."""

    kind: str
    key_bytes: int


class Pipeline:
    """Instructions by line, and tables by name."""

    def __init__(self, text: str) -> None:
        """Read a pipeline that slowpath or p4c-dpdk printed."""
        lines = [re.split(r"//|;|#", line)[0].split() for line in text.splitlines()]
        self.opcodes: dict[int, str] = {}
        self.looked_up: dict[int, str] = {}
        self.tables: dict[str, Table] = {}
        structs: dict[str, dict[str, tuple[int, int]]] = {}
        types: dict[str, str] = {}
        at = 0
        while at < len(lines):
            words = lines[at]
            block, end = self._block(lines, at) if "{" in words else ([], at)
            if words[:1] == ["struct"]:
                structs[words[1]] = fields = {}
                offset = 0
                for _, (width, name) in block:
                    bits = int(re.sub(r"\D", "", width))
                    fields[name] = (offset // 8, bits // 8)
                    offset += bits
            elif words[:1] == ["header"]:
                types[f"h.{words[1]}"] = words[3]
            elif words[:1] == ["metadata"]:
                types["m"] = words[2]
            elif words[:1] in (["action"], ["apply"]):
                self._read_body(block)
            elif words[:1] == ["table"] and block:
                self.tables[words[1]] = self._table(block, structs, types)
            at = end + 1

    @staticmethod
    def _block(lines: list[list[str]], at: int) -> tuple[list[tuple[int, list[str]]], int]:
        """Return the lines with words of a block, numbered from 1, and the index of its last line."""
        found, depth = list[tuple[int, list[str]]](), 1
        for number, words in enumerate(lines[at + 1 :], at + 2):
            depth += words.count("{") - words.count("}")
            if depth == 0:
                return found, number - 1
            if words:
                found.append((number, words))
        return found, len(lines)

    def _read_body(self, block: list[tuple[int, list[str]]]) -> None:
        body = [(number, words) for number, words in block if words]
        targets = {words[-3:][0] for _, words in body if "jmp" in words}
        targets |= {
            words[words.index(op) + 1] for _, words in body for op in words if op[:3] == "jmp"
        }
        labels = [words[0] if words[1:2] == [":"] else "" for _, words in body]
        plain = [
            words[2:] if label else words for label, (_, words) in zip(labels, body, strict=True)
        ]
        joined = [label not in targets for label in labels]
        previous = list[str]()
        for (number, _), words, joins in zip(body, plain, joined, strict=True):
            opcode = words[0]
            same = opcode == "extract" and len(words) == 2  # noqa: PLR2004 - without a length
            run = previous if joins else []
            if (same or opcode == "emit") and run[-1:] == [opcode] and len(run) < TOGETHER:
                previous = [*run, opcode]
                opcode += ".next"
            elif opcode == "tx" and run[-1:] == ["emit"] and not words[1][0].isdigit():
                previous, opcode = [], "tx.next"
            else:
                previous = [opcode] if same or opcode == "emit" else []
            self.opcodes[number] = opcode
            if opcode == "table":
                self.looked_up[number] = words[1]

    @staticmethod
    def _table(
        block: list[tuple[int, list[str]]],
        structs: Mapping[str, Mapping[str, tuple[int, int]]],
        types: Mapping[str, str],
    ) -> Table:
        kinds, first, last, total = set[str](), 1 << 30, 0, 0
        for _, words in block:
            if len(words) >= 2 and words[1] in ("exact", "lpm", "wildcard"):  # noqa: PLR2004
                owner, _, name = words[0].rpartition(".")
                offset, count = structs[types[owner]][name]
                first, last = min(first, offset), max(last, offset + count)
                total += count
                kinds.add(words[1])
        # DPDK looks up keys with a gap in a wildcard table (table_match_type_resolve).
        is_exact = kinds == {"exact"} and total == last - first
        kind = "none" if not kinds else "exact" if is_exact else "wildcard"
        return Table(kind, max(last - first, 0))


class Run(NamedTuple):
    """A measured path: its pipeline, its executed opcodes and lookups, and its time in ns."""

    pipeline: str
    opcodes: list[str]
    lookups: list[tuple[Table, bool, bool]]  # table, hit, and whether the table has entries
    measured: float


def read(file: Path) -> list[Run]:
    """Return all undisturbed paths of a file."""
    found = list[Run]()
    for record in undisturbed(file):
        pipeline = Pipeline(record["text"])
        for path in record["paths"]:
            hits = {entry.split(" ", 1)[0] for entry in path["entries"] if " match " in entry}
            numbers = [number for _, number in path["source"]]
            looked_up = [pipeline.looked_up[one] for one in numbers if one in pipeline.looked_up]
            lookups = [
                (pipeline.tables[name], name in hits, name in hits)
                for name in looked_up
                if name in pipeline.tables
            ]
            opcodes = [pipeline.opcodes[one] for one in numbers]
            found.append(Run(record["file"], opcodes, lookups, path["measured_ns"]))
    return found


def by_number(path: Run) -> Counter[str]:
    """Count instructions and lookups."""
    return Counter(packet=1, instruction=len(path.opcodes), lookup=len(path.lookups))


def by_kind(path: Run) -> Counter[str]:
    """Count instructions by opcode, and lookups by the kind of the table."""
    found = Counter(one for one in path.opcodes if one != "table")
    found["packet"] = 1
    for table, _, has_entries in path.lookups:
        empty = table.kind == "wildcard" and not has_entries
        found["empty" if empty else f"table {table.kind}"] += 1
    return found


def by_outcome(path: Run) -> Counter[str]:
    """Count also hits, and bytes of keys, for each kind of table."""
    found = by_kind(path)
    for table, hit, has_entries in path.lookups:
        if table.kind == "none" or (table.kind == "wildcard" and not has_entries):
            continue
        count = min(table.key_bytes, LONGEST)
        found[f"bytes {table.kind}"] += count
        found[f"hits {table.kind}"] += hit
        found[f"hit bytes {table.kind}"] += count * hit
    return found


def compare(paths: list[Run]) -> None:
    """Print the errors of all models for pipelines that they were not fitted to."""
    names = sorted({path.pipeline for path in paths})
    np.random.default_rng(1).shuffle(names)
    fold = {name: number % FOLDS for number, name in enumerate(names)}
    print(f"{len(paths)} paths of {len(names)} pipelines")
    print("prices per             mean error   median   90th percentile   in the interval")
    models: list[tuple[str, Callable[[Run], Counter[str]]]] = [
        ("instruction, lookup", by_number),
        ("kind", by_kind),
        ("kind, hit, key byte", by_outcome),
    ]
    folds = np.array([fold[path.pipeline] for path in paths])
    times = np.array([path.measured for path in paths])
    for label, counts in models:
        each = [counts(path) for path in paths]
        kinds = sorted(set().union(*each))
        table = np.array([[one[kind] for kind in kinds] for one in each], float)
        errors, inside = np.zeros(len(paths)), np.zeros(len(paths), bool)
        for number in range(FOLDS):
            test, train = folds == number, folds != number
            prices = fitted(table[train], times[train])
            estimates = table @ prices
            # Pipelines that the interval is not checked with: their errors set its ends.
            low, high = ends(table, times, folds, number)
            ratio = times / estimates
            errors[test] = (estimates / times - 1)[test]
            inside[test] = ((ratio >= low) & (ratio <= high))[test]
        size = np.abs(errors)
        print(
            f"{label:22} {size.mean():10.1%} {np.median(size):8.1%} {np.quantile(size, 0.9):17.1%}"
            f" {inside.mean():17.1%}"
        )


def fitted(table: Any, times: Any) -> Any:  # noqa: ANN401 - arrays
    """Return prices with small relative errors; errors far above 6 % count less."""
    relative = table / times[:, None]
    prices, weights = None, np.ones(len(times))
    for _ in range(5):
        prices = nnls(relative * weights[:, None], weights)[0]
        weights = 1 / np.sqrt(1 + ((relative @ prices - 1) / 0.06) ** 2)
    return prices


def ends(table: Any, times: Any, folds: Any, left_out: int) -> tuple[float, float]:  # noqa: ANN401
    """Return the ends of an interval, as shares of an estimate, without the paths of a fold."""
    ratios = []
    for number in range(FOLDS):
        if number == left_out:
            continue
        inner = (folds != number) & (folds != left_out)
        test = folds == number
        ratios.append(times[test] / (table[test] @ fitted(table[inner], times[inner])))
    found = np.concatenate(ratios)
    return float(np.quantile(found, (1 - COVERED) / 2)), float(
        np.quantile(found, (1 + COVERED) / 2)
    )


def take(given: argparse.Namespace) -> None:
    """Measure pipelines, and append their paths to the file, until all times are undisturbed."""
    out = Path(given.out)
    files = list[str]()
    for name in given.pipelines:
        files += Path(name[1:]).read_text().split() if name.startswith("@") else [name]
    without_paths = set[str]()
    for _ in range(PASSES):
        known = {record["file"] for record in undisturbed(out)} | without_paths
        left = [file for file in files if Path(file).name not in known]
        # The command compiles its program once for all files.
        for start in range(0, len(left), BATCH):
            words = [sys.executable, "-m", "slowpath", "measure", *left[start : start + BATCH]]
            words += ["--format", "json", "--paths", str(given.paths)]
            words += ["--seconds", str(given.seconds)]
            done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=False)
            for result in json.loads(done.stdout or '{"results": []}')["results"]:
                file = Path(result["file"])
                paths = [path for path in result["paths"] if path["program_ns"] is not None]
                print(f"{file}: {len(paths)} paths", file=sys.stderr)
                if not paths:
                    without_paths.add(file.name)
                    continue
                record = {"file": file.name, "text": file.read_text(), "paths": paths}
                with out.open("a") as stream:
                    stream.write(json.dumps(record) + "\n")


def undisturbed(file: Path) -> list[Any]:
    """Return the last undisturbed record of each pipeline.

    The host of a virtual machine slows all pipelines, also the one that only receives and sends.
    """
    if not file.exists():
        return []
    records = [json.loads(line) for line in file.read_text().splitlines()]
    bases = [[path["baseline_ns"] for path in one["paths"] if path["port"] == 0] for one in records]
    least = min((min(base) for base in bases if base), default=0.0)
    quiet = zip(records, bases, strict=True)
    return list(
        {one["file"]: one for one, base in quiet if base and max(base) <= QUIET * least}.values()
    )


def main() -> None:
    """Run the script."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    commands = parser.add_subparsers(required=True, dest="command")
    taking = commands.add_parser("take")
    taking.add_argument("out")
    taking.add_argument("--paths", type=int, default=10)
    taking.add_argument("--seconds", type=float, default=2)
    taking.add_argument("pipelines", nargs="+")
    comparing = commands.add_parser("compare")
    comparing.add_argument("out")
    given = parser.parse_args()
    if given.command == "take":
        take(given)
    else:
        compare(read(Path(given.out)))


if __name__ == "__main__":
    main()
