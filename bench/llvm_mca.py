"""Cycles of machine code, by llvm-mca: what it is given, and what it says.

Machine code of a path comes as the bytes of each BPF instruction, none for calls of the kernel. It
is disassembled, cut where calls are, and given to llvm-mca in one straight sequence, jumps among it.
Nothing here knows the kernel.
"""

import json
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import NamedTuple

Code = Sequence[str | None]
"""Of each BPF instruction of a path, the bytes as digits; None of a call of the kernel."""

VERSIONS = (19, 20, 21)
"""Older ones know no model of Zen 4."""
DROPPED = {"lock", "callq", "retq", "int3", "hlt"}
"""Of calls of functions it knows nothing, and it takes `lock` for 34 cycles."""
REGISTERS = ("eax", "edi", "esi", "edx", "ecx", "r8d", "ebx", "r13d", "r14d", "r15d")
"""Those of BPF. The next turn does not wait for what the one before has left in them."""
SEPARATOR, SEPARATED = "f4", "hlt"
"""Stands between instructions that are disassembled together; the kernel makes none of it."""
FEW, MANY = 3, 8
"""Turns whose difference is the throughput."""
AT_ONCE = 200_000
"""Instructions that llvm-mca is given together."""


class Cycles(NamedTuple):
    """What llvm-mca says of a sequence of instructions."""

    latency: float
    """Until the last one retires, of one turn from an idle core."""
    throughput: float
    """What another turn takes among others."""


class PathCycles(NamedTuple):
    """What it says of a path."""

    whole: Cycles
    parts: list[Cycles]
    """Of what is between calls, in order."""


class MissingError(Exception):
    """There is no llvm-mca that would do."""


def tool(name: str) -> str:
    """The program of LLVM that is installed with its version.

    Raises:
        MissingError: when there is none.
    """
    for version in VERSIONS:
        found = shutil.which(f"{name}-{version}")
        if found is not None:
            return found
    reason = f"needs {name} of LLVM {VERSIONS[0]} or newer: apt install llvm-{VERSIONS[0]}"
    raise MissingError(reason)


def run(words: Sequence[str], text: str) -> str:
    """What a program writes that is given a text."""
    done = subprocess.run(words, input=text, capture_output=True, text=True, check=False)
    if done.returncode:
        raise MissingError(f"{words[0]}: {done.stderr.strip().splitlines()[0]}")
    return done.stdout


def disassembled(pieces: Iterable[str]) -> dict[str, list[str]]:
    """The instructions that bytes are, of each piece by itself."""
    known = sorted({piece for piece in pieces if piece})
    if not known:
        return {}
    words = [tool("llvm-mc"), "--disassemble", "--triple=x86_64"]
    return dict(zip(known, separated(run(words, separate(known))), strict=True))


def separate(pieces: Iterable[str]) -> str:
    """Bytes as llvm-mc reads them, with something between the pieces."""
    lines = (bytes.fromhex(piece + SEPARATOR) for piece in pieces)
    return "\n".join(" ".join(f"0x{byte:02x}" for byte in line) for line in lines)


def separated(text: str) -> list[list[str]]:
    """The instructions of each piece, of what llvm-mc writes."""
    pieces: list[list[str]] = [[]]
    for line in text.splitlines():
        instruction = " ".join(line.partition("#")[0].split())
        if instruction == SEPARATED:
            pieces.append([])
        elif instruction and not instruction.startswith("."):
            pieces[-1].append(instruction)
    return pieces[:-1]


def parts(code: Code, meaning: dict[str, list[str]]) -> list[tuple[str, ...]]:
    """The instructions of a path between calls of the kernel and of functions."""
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
    """Sequences as llvm-mca reads them, each by itself, named by its number."""
    lines = list[str]()
    for number, sequence in enumerate(sequences):
        lines += [f"# LLVM-MCA-BEGIN {number}", *sequence, "# LLVM-MCA-END"]
    return "\n".join(lines) + "\n"


def totals(text: str, count: int) -> list[int]:
    """The cycles of each sequence, of what llvm-mca writes."""
    told = json.loads(text)["CodeRegions"]
    found = {int(one["Name"]): one["SummaryView"]["TotalCycles"] for one in told}
    return [found[number] for number in range(count)]


def simulated(
    sequences: Sequence[Sequence[str]], cpu: str, turns: int, options: Sequence[str]
) -> list[int]:
    """The cycles of so many turns of each sequence."""
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
    """What llvm-mca says of paths."""
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
