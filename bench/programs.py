"""Lists the programs that benchmarks analyse: the examples, or programs in given folders."""

from pathlib import Path

import published

from measure import ROOT, Program

CARD = ("--target", "agilio-cx-2x40")
COUNTING = ("--target", "ebpf")


def examples() -> list[Program]:
    """Return the listings and objects of examples/.

    Each object is listed once for each target.
    """
    folder = ROOT / "examples"
    listings = sorted(folder.glob("*.asm"))
    objects = sorted(folder.glob("*.bpf.o"))
    return [
        *(Program(path.stem, path) for path in listings),
        *(Program(_stem(path), path, CARD) for path in objects),
        *(Program(f"{_stem(path)} (ebpf)", path, COUNTING) for path in objects),
    ]


def of_paths(paths: list[Path]) -> list[Program]:
    """Return the programs in files and folders, with published options if their names are known.

    The target of objects counts instructions. A folder stands for its listings, or for its objects
    if it has none.
    """
    programs = []
    for path in paths:
        files = [path]
        if path.is_dir():
            files = sorted(path.glob("*.asm")) or sorted(path.glob("*.o"))
        for file in files:
            if file.suffix == ".o":
                programs.append(Program(_stem(file), file, COUNTING))
            else:
                programs.append(published.program(file))
    return programs


def _stem(path: Path) -> str:
    return path.name.removesuffix(".o").removesuffix(".bpf")
