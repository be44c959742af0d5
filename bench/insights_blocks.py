#!/usr/bin/env python3
"""Learns the instruction counts of blocks from generated programs, and judges them by real programs.

    insights_blocks.py pairs OUT.jsonl --made-up 140            # generated programs, guided
    insights_blocks.py pairs OUT.jsonl --manifest MANIFEST.json # sources at hand
    insights_blocks.py learn TRAIN.jsonl [-o FOLDER]
    insights_blocks.py judge TRAIN.jsonl TEST.jsonl ...         # all learners, on the same split

A manifest is a list of {"name", "file", "flags"}: sources of XDP programs. They are not part of this
repository; the resulting names and figures are in
docs/explanation/insights-accuracy.md. Needs scikit-learn.
"""

import argparse
import json
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TextIO

import numpy as np
from blocks.generator import program
from blocks.guided import distances, guided, made_up, opcodes
from blocks.learners import LEARNERS, Numbers, fitted, scattered, with_errors
from blocks.pairs import Pair, Slot, pairs
from blocks.trees import grown

from slowpath.core.errors import InputError
from slowpath.insights.blocks.lowering import Described
from slowpath.insights.blocks.predicted import AdditiveModel, Costs, TreeModel

ROOT = Path(__file__).parent.parent
MODELS = ROOT / "python/slowpath/insights/models"
PROGRAMS = 8  # in a generated source
HELD_OUT = 5  # a fifth of the sources determines the model's error
Row = tuple[str, Pair]
Key = tuple[str, str]
Programs = dict[Key, list[Pair]]


def main() -> None:
    """Run the subcommand that the command line names: `pairs`, `learn` or `judge`."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    commands = parser.add_subparsers(required=True)
    made = commands.add_parser("pairs")
    made.add_argument("out", type=Path)
    made.add_argument("--made-up", type=int, default=0, metavar="SOURCES")
    made.add_argument("--manifest", type=Path)
    made.set_defaults(run=_pairs)
    learn = commands.add_parser("learn")
    learn.add_argument("train", type=Path)
    learn.add_argument("-o", "--output", type=Path, default=MODELS)
    learn.set_defaults(run=_learn)
    judge = commands.add_parser("judge")
    judge.add_argument("train", type=Path)
    judge.add_argument("test", type=Path, nargs="+")
    judge.add_argument("--least", type=int, default=3, help="blocks that a program has at least")
    judge.add_argument("--tables", type=Path, help="write the programs of each into this folder")
    judge.add_argument("--alone", action="store_true", help="only what is shipped")
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
                for found in pairs(file, flags):
                    for pair in found.pairs:
                        stream.write(json.dumps([name, "block", *pair]) + "\n")
                    for slot in found.slots:
                        stream.write(json.dumps([name, "instruction", *slot]) + "\n")
            except InputError as problem:
                print(f"{name}: {problem.reason[:200]}", file=sys.stderr)


def _read(file: Path) -> tuple[list[Row], list[tuple[str, Slot]]]:
    """Read the blocks and instructions in a file, each with the name of its source."""
    rows, slots = list[Row](), list[tuple[str, Slot]]()
    for line in file.read_text().splitlines():
        name, kind, *rest = json.loads(line)
        if kind == "block":
            pair = Pair(*rest)
            if pair.machine is not None:
                made = [Described(block, tuple(w), *other) for block, w, *other in pair.machine]
                pair = pair._replace(machine=made)
            rows.append((str(name), pair))
        else:
            slots.append((str(name), Slot(*rest)))
    return rows, slots


def _learn(given: argparse.Namespace) -> None:
    rows, slots = _read(given.train)
    names = sorted({name for name, _ in rows})
    kept = set(names[::HELD_OUT])
    learnt, left = ([r for n, r in rows if (n in kept) == out] for out in (False, True))
    first = fitted([one.words for one in learnt], _targets(learnt))
    judged = with_errors(first, [one.words for one in left], _targets(left))
    model = fitted([one.words for _, one in rows], _targets([one for _, one in rows]))
    model["errors"] = judged["errors"]
    _save(given.output / "additive.json", model)
    partial = grown(one for name, one in slots if name not in kept)
    guesses = _guesses(Models(TreeModel(partial), AdditiveModel(first)), left)
    print(f"left out: {_share(guesses, _targets(left)):.1%}")
    tree = grown(one for _, one in slots)
    tree["errors"] = scattered(guesses, _targets(left))
    _save(given.output / "tree.json", tree)


def _save(file: Path, model: dict[str, Any]) -> None:
    file.write_text(json.dumps(model, separators=(",", ":")) + "\n")
    print(f"{file}: {file.stat().st_size} bytes")


class Models(NamedTuple):
    """Models of instruction counts: one for BPF instructions, and one for LLVM tokens."""

    tree: TreeModel
    words: AdditiveModel

    def taken(self, one: Pair) -> Costs:
        """Predict the costs of a block from its BPF instructions or, without these, its tokens."""
        if one.machine is not None:
            return self.tree.block(one.machine)
        guess = self.words.predict(one.words).instructions
        return Costs(guess, one.predicted_packet, one.predicted_state, 0)


def _guesses(models: Models, rows: list[Pair]) -> Numbers:
    return np.array([models.taken(one).instructions for one in rows])


def _share(guesses: Numbers, targets: Numbers) -> float:
    return float(np.abs(guesses - targets).sum() / targets.sum())


def _targets(rows: list[Pair]) -> Numbers:
    return np.array([float(one.instructions) for one in rows])


def _judge(given: argparse.Namespace) -> None:
    train, slots = _read(given.train)
    sets = [_programs(file, given.least) for file in given.test]
    blocks, targets = [one.words for _, one in train], _targets([one for _, one in train])
    counts = ", ".join(
        f"{file.stem}: {len(one)}" for file, one in zip(given.test, sets, strict=True)
    )
    print(f"{len(slots)} instructions, {len(blocks)} blocks learnt; programs judged: {counts}")
    models = Models(
        TreeModel(grown(one for _, one in slots)), AdditiveModel(fitted(blocks, targets))
    )
    _line("shipped: a tree for instructions of BPF", sets, lambda rows: _guesses(models, rows))
    for name, learn in LEARNERS.items() if not given.alone else ():
        begun = time.monotonic()
        predict = learn(blocks, targets)
        took = time.monotonic() - begun
        _line(name, sets, lambda rows, known=predict: known([one.words for one in rows]))  # type: ignore[misc]
        print(f"  {took:.0f} s", file=sys.stderr)
    for file, programs in zip(given.test, sets, strict=True):
        if given.tables:
            with (given.tables / f"{file.stem}.tsv").open("w") as stream:
                _table(stream, models, programs)
        _print_accesses(file.stem, models, programs)


def _programs(file: Path, least: int) -> Programs:
    """Group the blocks of a file by program; leave out programs with fewer than `least` blocks."""
    found = defaultdict[Key, list[Pair]](list)
    for name, one in _read(file)[0]:
        found[name, one.program].append(one)
    return {key: rows for key, rows in sorted(found.items()) if len(rows) >= least}


def _line(name: str, sets: list[Programs], guess: Callable[[list[Pair]], Numbers]) -> None:
    cells = [name]
    for programs in sets:
        guesses = {key: guess(rows) for key, rows in programs.items()}
        shares = sorted(_share(guesses[key], _targets(rows)) for key, rows in programs.items())
        everything = [one for rows in programs.values() for one in rows]
        all_ = _share(np.concatenate(list(guesses.values())), _targets(everything))
        middle = shares[len(shares) // 2]
        cells += [f"{all_:.1%}", f"{middle:.1%}", f"{shares[0]:.1%} to {shares[-1]:.1%}"]
    print(f"| {' | '.join(cells)} |", flush=True)


def _print_accesses(name: str, models: Models, programs: Programs) -> None:
    wrong, total = Counter[str](), Counter[str]()
    for one in (one for rows in programs.values() for one in rows):
        for kind, (counted, predicted) in _accesses(models, one).items():
            total[kind] += counted
            wrong[kind] += abs(counted - predicted)
    details = ", ".join(f"{kind}: {wrong[kind]} of {total[kind]} wrong" for kind in total)
    print(f"{name}: {1 - wrong.total() / max(1, total.total()):.1%} of accesses right ({details})")


def _table(stream: TextIO, models: Models, programs: Programs) -> None:
    columns = "source program blocks instructions error accesses packet_wrong state_wrong"
    stream.write("\t".join(columns.split()) + "\n")
    for key, rows in sorted(programs.items()):
        found = [_accesses(models, one) for one in rows]
        total = sum(one.packet + one.state + one.unknown for one in rows)
        wrong = [
            str(sum(abs(a - b) for a, b in (one[kind] for one in found)))
            for kind in ("packet", "state")
        ]
        targets = _targets(rows)
        cells = [
            *(*key, str(len(rows)), f"{targets.sum():.0f}"),
            *(f"{_share(_guesses(models, rows), targets):.1%}", str(total), *wrong),
        ]
        stream.write("\t".join(cells) + "\n")


def _accesses(models: Models, one: Pair) -> dict[str, tuple[int, int]]:
    """Return the exact and the predicted number of accesses of a block, by kind.

    The kinds are packet, state and unknown.
    """
    taken = models.taken(one)
    return {
        "packet": (one.packet, round(taken.packet)),
        "state": (one.state, round(taken.state)),
        "unknown": (one.unknown, round(taken.unknown)),
    }


if __name__ == "__main__":
    main()
