"""Computes the cycles that llvm-mca, a simulator of CPU pipelines, predicts for machine code.

The machine code of a path is given as the bytes of each BPF instruction, without calls of the
kernel. It is disassembled, cut at calls, and simulated as one straight sequence that includes
jumps. This module knows nothing about the kernel.
"""

import json
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import NamedTuple

Code = Sequence[str | None]
"""Machine code of a path: the bytes of each BPF instruction in hexadecimal; None for a kernel call.
"""

VERSIONS = (19, 20, 21)
"""Accepted versions of LLVM. Older ones have no model of Zen 4."""
DROPPED = {"lock", "callq", "retq", "int3", "hlt"}
"""Instructions that are left out of simulations: llvm-mca cannot model calls, and assumes 34 cycles
for `lock`."""
REGISTERS = ("eax", "edi", "esi", "edx", "ecx", "r8d", "ebx", "r13d", "r14d", "r15d")
"""The registers that BPF uses. The simulated code clears them, so that an iteration does not wait
for results of the previous one."""
SEPARATOR, SEPARATED = "f4", "hlt"
"""A byte that separates pieces of code in the disassembly, and its instruction.

The kernel never generates this instruction.
"""
FEW, MANY = 3, 8
"""Two numbers of simulated iterations.

The throughput follows from the difference in cycles.
"""
AT_ONCE = 200_000
"""Maximum number of instructions in one run of llvm-mca."""


class Cycles(NamedTuple):
    """Cycles that llvm-mca predicts for a sequence of instructions."""

    latency: float
    """Cycles until the last instruction of a single iteration retires, on an idle core."""
    throughput: float
    """Cycles that each further iteration adds."""


class PathCycles(NamedTuple):
    """Cycles that llvm-mca predicts for a path, in total and for each piece between calls."""

    whole: Cycles
    parts: list[Cycles]
    """Cycles of each piece of code between calls, in order."""


class MissingError(Exception):
    """No supported version of llvm-mca is installed."""


def tool(name: str) -> str:
    """Find an LLVM tool in PATH whose version is accepted, such as `llvm-mca-19`.

    Raises:
        MissingError: if there is none.
    """
    for version in VERSIONS:
        found = shutil.which(f"{name}-{version}")
        if found is not None:
            return found
    reason = f"needs {name} of LLVM {VERSIONS[0]} or newer: apt install llvm-{VERSIONS[0]}"
    raise MissingError(reason)


def run(words: Sequence[str], text: str) -> str:
    """Run a program with `text` as its standard input, and return its output."""
    done = subprocess.run(words, input=text, capture_output=True, text=True, check=False)
    if done.returncode:
        raise MissingError(f"{words[0]}: {done.stderr.strip().splitlines()[0]}")
    return done.stdout


def disassembled(pieces: Iterable[str]) -> dict[str, list[str]]:
    """Disassemble pieces of machine code, given in hexadecimal; return their instructions."""
    known = sorted({piece for piece in pieces if piece})
    if not known:
        return {}
    words = [tool("llvm-mc"), "--disassemble", "--triple=x86_64"]
    return dict(zip(known, separated(run(words, separate(known))), strict=True))


def separate(pieces: Iterable[str]) -> str:
    """Format pieces of machine code as input for llvm-mc, with separators between them."""
    lines = (bytes.fromhex(piece + SEPARATOR) for piece in pieces)
    return "\n".join(" ".join(f"0x{byte:02x}" for byte in line) for line in lines)


def separated(text: str) -> list[list[str]]:
    """Parse the output of llvm-mc, and return the instructions of each separated piece."""
    pieces: list[list[str]] = [[]]
    for line in text.splitlines():
        instruction = " ".join(line.partition("#")[0].split())
        if instruction == SEPARATED:
            pieces.append([])
        elif instruction and not instruction.startswith("."):
            pieces[-1].append(instruction)
    return pieces[:-1]


def parts(code: Code, meaning: dict[str, list[str]]) -> list[tuple[str, ...]]:
    """Split a path at calls; return the x86 instructions of each part.

    `meaning` has the instructions of each piece of machine code.
    """
    found: list[list[str]] = [[]]
    for piece in code:
        if piece is None:
            found.append([])
            continue
        for instruction in meaning.get(piece, ()):
            name = instruction.split()[0]
            if name == "callq":
                found.append([])
            if name not in DROPPED:
                found[-1].append(instruction)
    return [tuple(part) for part in found if part]


def regions(sequences: Sequence[Sequence[str]]) -> str:
    """Format instruction sequences as input for llvm-mca. | The name of a sequence is its index."""
    lines = list[str]()
    for number, sequence in enumerate(sequences):
        lines += [f"# LLVM-MCA-BEGIN {number}", *sequence, "# LLVM-MCA-END"]
    return "\n".join(lines) + "\n"


def totals(text: str, count: int) -> list[int]:
    """Parse the output of llvm-mca; return the cycles of each of `count` sequences."""
    regions = json.loads(text)["CodeRegions"]
    found = {int(one["Name"]): one["SummaryView"]["TotalCycles"] for one in regions}
    return [found[number] for number in range(count)]


def simulated(
    sequences: Sequence[Sequence[str]], cpu: str, turns: int, options: Sequence[str]
) -> list[int]:
    """Simulate `turns` iterations of each instruction sequence; return the cycles of each.

    `cpu` is LLVM's name of the CPU.
    """
    words = [tool("llvm-mca"), f"-mcpu={cpu}", "-mtriple=x86_64", f"-iterations={turns}"]
    words += ["--all-views=false", "--summary-view", "--json", *options]
    found, waiting, size = list[int](), list[Sequence[str]](), 0
    for sequence in sequences:
        waiting.append(sequence)
        size += len(sequence)
        if size * turns > AT_ONCE:
            found += totals(run(words, regions(waiting)), len(waiting))
            waiting, size = [], 0
    return found + (totals(run(words, regions(waiting)), len(waiting)) if waiting else [])


def cycles(paths: Sequence[Code], cpu: str, options: Sequence[str] = ()) -> list[PathCycles]:
    """Return the cycles that llvm-mca predicts for each path."""
    meaning = disassembled(piece for path in paths for piece in path if piece)
    cut = [parts(path, meaning) for path in paths]
    whole = [tuple(chain(*path)) for path in cut]
    known = sorted({*whole, *chain(*cut)} - {()})
    latency = simulated(known, cpu, 1, options)
    apart = [f"xorl %{register}, %{register}" for register in REGISTERS]
    few, many = (
        simulated([(*apart, *one) for one in known], cpu, turns, options) for turns in (FEW, MANY)
    )
    of = {
        one: Cycles(once, (after - before) / (MANY - FEW))
        for one, once, before, after in zip(known, latency, few, many, strict=True)
    }
    of[()] = Cycles(0, 0)
    return [
        PathCycles(of[all_of_it], [of[part] for part in path])
        for all_of_it, path in zip(whole, cut, strict=True)
    ]
