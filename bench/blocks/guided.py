"""Finds weights of statement kinds with which generated programs resemble real ones.

Each kind in turn gets a larger weight. Non-negative least squares then finds the mixture of the
resulting distributions of LLVM instructions that is nearest to that of real programs. Distances
between distributions are those of Table 1 of Clara (SOSP 2021).
"""

import math
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

import llvmlite.binding as llvm
import numpy as np
from scipy.optimize import nnls

from blocks.generator import KINDS, program
from slowpath.core.programs.sources import Clang
from slowpath.insights.source.bpf_steps import compile_to_ir
from slowpath.insights.source.functions import functions_of

_MORE = 8.0
_SOURCES = 2
_LEAST, _MOST = 0.3, 2.0
Distribution = Mapping[str, float]


def opcodes(
    files: Iterable[str], flags: Mapping[str, tuple[str, ...]] | None = None
) -> Counter[str]:
    """Compile source files, and count their LLVM instructions by opcode.

    `flags` are clang's flags for each file.
    """
    found = Counter[str]()
    for file in files:
        text = compile_to_ir(file, Clang((flags or {}).get(file, ())))
        for function in functions_of(llvm.parse_assembly(text)).values():
            for block in function.blocks:
                found.update(one.opcode for one in block.instructions if one.opcode != "phi")
    return found


def made_up(weights: Mapping[str, float], seeds: Iterable[int]) -> Counter[str]:
    """Generate programs with these weights, and count their LLVM instructions by opcode."""
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for seed in seeds:
            path = Path(folder, f"{seed}.bpf.c")
            path.write_text(program(seed, weights, 8))
            files.append(str(path))
        return opcodes(files)


def guided(guide: Counter[str]) -> dict[str, float]:
    """Return weights of statement kinds for a given distribution of LLVM opcodes.

    Programs generated with them have nearly the frequencies in `guide`.
    """
    names = sorted(guide)
    columns = []
    for number, kind in enumerate(KINDS):
        weights = dict.fromkeys(KINDS, 1.0) | {kind: _MORE}
        counts = made_up(weights, range(10**6 + number * _SOURCES, 10**6 + (number + 1) * _SOURCES))
        columns.append(_shares(counts, names))
    mixture, _ = nnls(np.array(columns).T, _shares(guide, names))
    mixture /= mixture.sum() or 1.0
    weights = {}
    for kind in KINDS:
        weights[kind] = sum(
            share * (_MORE if other == kind else 1.0)
            for other, share in zip(KINDS, mixture, strict=True)
        )
    return {
        kind: round(float(min(max(weight, _LEAST), _MOST)), 3) for kind, weight in weights.items()
    }


def _shares(counts: Counter[str], names: list[str]) -> np.ndarray:
    total = sum(counts.values())
    return np.array([counts[name] / total for name in names])


def distances(one: Counter[str], other: Counter[str]) -> dict[str, float]:
    """Return distances between two distributions of opcodes, as in Clara's Table 1.

    Renyi's divergence is of order 2.
    """
    names = sorted(set(one) | set(other))
    p, q = _shares(one, names), _shares(other, names)
    small = 1e-6
    p, q = (p + small) / (p + small).sum(), (q + small) / (q + small).sum()
    middle = (p + q) / 2
    return {
        "Jensen-Shannon": float((p * np.log2(p / middle)).sum() + (q * np.log2(q / middle)).sum())
        / 2,
        "Renyi": math.log((p**2 / q).sum()),
        "Bhattacharyya": -math.log(np.sqrt(p * q).sum()),
        "Cosine": 1 - float(p @ q / math.sqrt((p @ p) * (q @ q))),
        "Euclidean": float(np.sqrt(((p - q) ** 2).sum())),
        "Variational": float(np.abs(p - q).sum()),
    }
