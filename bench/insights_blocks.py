#!/usr/bin/env python3
"""Learns instructions of blocks from programs that are made up, and judges by programs that are not.

    insights_blocks.py pairs OUT.jsonl --made-up 140            # programs that are made up, guided
    insights_blocks.py pairs OUT.jsonl --manifest MANIFEST.json # sources at hand
    insights_blocks.py learn TRAIN.jsonl [-o model.json]
    insights_blocks.py judge TRAIN.jsonl TEST.jsonl             # all learners, on the same split

A manifest is a list of {"name", "file", "flags"}: sources of XDP programs. They are not part of this
repository; what is made of them, names and figures, is in docs/insights.md. Needs scikit-learn.
"""

import argparse
import json
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from blocks.generator import program
from blocks.guided import distances, guided, made_up, opcodes
from blocks.learners import LEARNERS, fitted, with_errors
from blocks.pairs import Pair, pairs

from slowpath.cli.errors import InputError

ROOT = Path(__file__).parent.parent
MODEL = ROOT / "python/slowpath/insights/blocks/learnt/model.json"
PROGRAMS = 8  # in a source that is made up
HELD_OUT = 5  # a fifth of the sources says how far off the model is
Row = tuple[str, Pair]


def main() -> None:
    """Does what the command line says."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    commands = parser.add_subparsers(required=True)
    made = commands.add_parser("pairs")
    made.add_argument("out", type=Path)
    made.add_argument("--made-up", type=int, default=0, metavar="SOURCES")
    made.add_argument("--manifest", type=Path)
    made.set_defaults(run=_pairs)
    learn = commands.add_parser("learn")
    learn.add_argument("train", type=Path)
    learn.add_argument("-o", "--output", type=Path, default=MODEL)
    learn.set_defaults(run=_learn)
    judge = commands.add_parser("judge")
    judge.add_argument("train", type=Path)
    judge.add_argument("test", type=Path)
    judge.add_argument("--least", type=int, default=3, help="blocks that a program has at least")
    judge.set_defaults(run=_judge)
    given = parser.parse_args()
    given.run(given)


def _pairs(given: argparse.Namespace) -> None:
    if given.manifest:
        sources = [
            (one["name"], one["file"], tuple(one["flags"]))
            for one in json.loads(given.manifest.read_text())
        ]
        _write(given.out, sources)
        return
    guide = opcodes(map(str, sorted((ROOT / "examples").glob("*.bpf.c"))))
    weights = guided(guide)
    print("weights:", weights)
    for name, of in (("guided", weights), ("all alike", dict.fromkeys(weights, 1.0))):
        print(name, distances(guide, made_up(of, range(2 * 10**6, 2 * 10**6 + 8))))
    sources = []
    for seed in range(given.made_up):
        path = given.out.with_suffix(f".{seed}.bpf.c")
        path.write_text(program(seed, weights, PROGRAMS))
        sources.append((str(seed), str(path), ()))
    _write(given.out, sources)
    for _, path, _ in sources:
        Path(path).unlink()


def _write(out: Path, sources: list[tuple[str, str, tuple[str, ...]]]) -> None:
    with out.open("w") as stream:
        for name, file, flags in sources:
            try:
                for pair in pairs(file, flags):
                    stream.write(json.dumps([name, *pair]) + "\n")
            except InputError as problem:
                print(f"{name}: {problem.reason[:200]}", file=sys.stderr)


def _read(file: Path) -> list[Row]:
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    return [(str(name), Pair(*rest)) for name, *rest in rows]


def _learn(given: argparse.Namespace) -> None:
    rows = _read(given.train)
    names = sorted({name for name, _ in rows})
    kept = set(names[::HELD_OUT])
    learnt, left = ([r for n, r in rows if (n in kept) == out] for out in (False, True))
    first = fitted([one.words for one in learnt], _targets(learnt))
    judged = with_errors(first, [one.words for one in left], _targets(left))
    model = fitted([one.words for _, one in rows], _targets([one for _, one in rows]))
    model["errors"] = judged["errors"]
    given.output.write_text(json.dumps(model, separators=(",", ":")) + "\n")
    print(f"{given.output}: {given.output.stat().st_size} bytes, {len(model['weights'])} words")


def _targets(rows: list[Pair]) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.array([float(one.instructions) for one in rows])


def _judge(given: argparse.Namespace) -> None:
    train, test = _read(given.train), _read(given.test)
    programs = defaultdict[tuple[str, str], list[Pair]](list)
    for name, one in test:
        programs[name, one.program].append(one)
    programs = {key: rows for key, rows in programs.items() if len(rows) >= given.least}  # type: ignore[assignment]
    blocks = [one.words for _, one in train]
    targets = _targets([one for _, one in train])
    print(f"{len(blocks)} blocks learnt, {len(programs)} programs judged")
    errors = {}
    for name, learn in LEARNERS.items():
        begun = time.monotonic()
        predict = learn(blocks, targets)
        took = time.monotonic() - begun
        errors[name] = {
            key: np.abs(predict([one.words for one in rows]) - _targets(rows)).sum()
            for key, rows in programs.items()
        }
        total = sum(_targets(rows).sum() for rows in programs.values())
        shares = sorted(errors[name][key] / _targets(rows).sum() for key, rows in programs.items())
        of_all = sum(errors[name].values()) / total
        middle = shares[len(shares) // 2]
        print(
            f"| {name} | {of_all:.1%} | {middle:.1%} | {shares[0]:.1%} to {shares[-1]:.1%} | {took:.0f} s |"
        )
    print()
    best = errors[next(iter(LEARNERS))]
    for key, rows in sorted(programs.items()):
        packet = sum(abs(one.packet - one.predicted_packet) for one in rows)
        state = sum(abs(one.state - one.predicted_state) for one in rows)
        total = sum(one.packet + one.state + one.unknown for one in rows)
        print(
            f"| {key[0]} | {key[1]} | {len(rows)} | {_targets(rows).sum():.0f} "
            f"| {best[key] / _targets(rows).sum():.1%} | {total} | {packet} | {state} |"
        )
    for what in ("packet", "state"):
        truth = [
            (getattr(o, what), getattr(o, f"predicted_{what}"))
            for r in programs.values()
            for o in r
        ]
        wrong = sum(abs(a - b) for a, b in truth)
        print(f"{what}: {sum(a for a, _ in truth)} accesses, {wrong} wrong")


if __name__ == "__main__":
    main()
