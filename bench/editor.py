#!/usr/bin/env python3
"""Measures the time from a save in an editor to the costs of the lines.

A scripted editor opens each source, changes and saves it several times, and asks for its hints. The
server analyses edited text at once, so that the time has no part of the delay after edits. Each
change moves the program, so that nothing can come from an earlier analysis.

The CPU time of the server and its processes, per save, does not depend on other load of the machine.
"""

import argparse
import os
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests/lsp")]

from editor import Editor  # noqa: E402 - the path comes first


def cpu_seconds(editor: Editor) -> float:
    """Return the CPU seconds of the language server and its processes.

    Ended processes, such as clang, are included.
    """
    ticks = 0
    for process in (editor.process.pid, *editor.children()):
        # Fields after the name in parentheses: state is field 3 of proc_pid_stat(5), times are 14
        # to 17.
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", nargs="*", type=Path, help="[default: examples/*.bpf.c]")
    parser.add_argument("--times", type=int, default=15, help="saves of each source [default: 15]")
    parser.add_argument("--target", default="linux-xdp")
    args = parser.parse_args()
    sources = args.source or sorted(ROOT.glob("examples/*.bpf.c"))
    medians = []
    print(f"{'source':<28}  hints  median ms  slowest ms  CPU ms")
    with tempfile.TemporaryDirectory() as folder:
        copied = Path(folder)
        for near in {one.parent for one in sources}:
            for header in near.glob("*.h"):
                shutil.copy(header, copied)
        words = ("--target", args.target, "--on-save")
        with Editor(copied, *words) as editor:
            editor.initialize()
            for source in sources:
                file = Path(shutil.copy(source, copied))
                editor.open(file)
                editor.hints(file)
                seconds, hints, used = [], 0, cpu_seconds(editor)
                for number in range(1, args.times + 1):
                    text = "\n" * number + source.read_text()
                    editor.change(file, text)
                    begin = time.perf_counter()
                    editor.save(file, text)
                    hints = len(editor.hints(file))
                    seconds.append(time.perf_counter() - begin)
                used = (cpu_seconds(editor) - used) / args.times
                editor.close(file)
                medians.append(statistics.median(seconds))
                print(
                    f"{source.name:<28}  {hints:>5}  {1000 * medians[-1]:9.0f}"
                    f"  {1000 * max(seconds):10.0f}  {1000 * used:6.0f}",
                    flush=True,
                )
            editor.end()
    print(f"median of all sources: {1000 * statistics.median(medians):.0f} ms", end=", ")
    print(f"slowest median: {1000 * max(medians):.0f} ms")


if __name__ == "__main__":
    main()
