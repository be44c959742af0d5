"""Generates commands `slowpath chain` on chains and topologies of damaged objects, for fuzzing."""

import itertools
import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from mutants import damaged_code, damaged_object

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples/chain"
GRACE = 2.0
"""Seconds by which `plan` may exceed its budget, to write its results."""
_MODES = (
    ("facts",),
    ("optimize", "--trust"),
    ("optimize",),
    ("optimize", "--fuse", "--trust"),
    ("bound", "--target", "ebpf"),
    ("plan", "--no-cache"),
)
_ACTIONS = ("XDP_ABORTED", "XDP_DROP", "XDP_PASS", "XDP_TX", "XDP_REDIRECT")


class Case(NamedTuple):
    """A command to run, and the files that it reads."""

    words: list[str]
    files: list[Path]


def seeds() -> list[bytes]:
    """Return the contents of the undamaged objects, the programs of the chain examples."""
    return [path.read_bytes() for path in sorted(EXAMPLES.glob("*.bpf.o"))]


def cases(count: int, chance: random.Random, folder: Path, deadline: float) -> Iterator[Case]:
    """Yield `count` commands on chains of one to three programs, at least one of them damaged."""
    objects = seeds()
    for number in range(count):
        mode = _MODES[number % len(_MODES)]
        length = chance.choice((1, 2, 2, 2, 3))
        damaged = chance.randrange(length)
        names = [f"p{place}" for place in range(length)]
        files = []
        for place, name in enumerate(names):
            sound = place != damaged and chance.random() < 0.8
            damage = chance.choice((damaged_object, damaged_code, damaged_code))
            content = chance.choice(objects) if sound else damage(chance, objects)
            file = folder / f"{number}-{name}.bpf.o"
            file.write_bytes(content)
            files.append(file)
        describe = _topology if mode[0] == "plan" else _chain
        description = folder / f"{number}.yaml"
        description.write_text(json.dumps(describe(chance, names, [file.name for file in files])))
        limit = "--budget" if mode[0] == "plan" else "--deadline"
        options = [*mode[1:], limit, str(deadline), "--format", "json"]
        words = ["slowpath", "chain", mode[0], str(description), *options]
        yield Case(words, [description, *files])


def _on(chance: random.Random, mode: str) -> list[str]:
    sends = _ACTIONS if mode == "chain" else _ACTIONS[2:]
    return ["XDP_PASS"] if chance.random() < 0.7 else chance.sample(sends, chance.randint(1, 3))


def _programs(names: Sequence[str], files: Sequence[str]) -> list[dict[str, str]]:
    return [{"name": name, "object": file} for name, file in zip(names, files, strict=True)]


def _chain(chance: random.Random, names: Sequence[str], files: Sequence[str]) -> dict[str, object]:
    edges = [
        {"from": before, "on": _on(chance, "chain"), "to": behind}
        for before, behind in itertools.pairwise(names)
    ]
    return {"schema": 1, "programs": _programs(names, files), "edges": edges}


def _topology(
    chance: random.Random, names: Sequence[str], files: Sequence[str]
) -> dict[str, object]:
    nodes = [{"name": f"n-{name}", "program": name} for name in names]
    hops: list[dict[str, object]] = [
        {"node": f"n-{name}", "on": _on(chance, "topology")} for name in names[:-1]
    ]
    paths = [{"hops": [*hops, {"node": f"n-{names[-1]}"}]}]
    return {"schema": 1, "programs": _programs(names, files), "nodes": nodes, "paths": paths}
