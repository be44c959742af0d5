"""`slowpath measure` beside `bpftool prog run`: the same program, the same packet, the same minute.

    measure_bpftool.py [OBJECT...]      all examples by default

Both run the very same loaded program with the same maps: slowpath holds it, bpftool runs it by its
number. Left out are paths that a repetition does not take by itself: bpftool restores nothing, and
would run another path. bpftool tells whole nanoseconds, the least of a few runs is compared.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from slowpath import engine
from slowpath.analysis.analyst import Audience
from slowpath.analysis.options import WrittenOptions, read_request
from slowpath.analysis.session import Session
from slowpath.measurements.paths import slowest_to_fastest
from slowpath.measurements.programs import prepare_program
from slowpath.measurements.timing.bench import KernelBench
from slowpath.measurements.timing.sampling import Reference
from slowpath.work.stopping import Stopping

ROOT = Path(__file__).resolve().parent.parent
TIMES = 7
"""How often each path is run by either, in turns."""
REPEAT = 100_000
SHARE, MORE = 0.03, 1.0
"""By which share, and nanoseconds besides, the two may differ."""


def loaded(name: str) -> list[int]:
    """Numbers of the programs of a name that the kernel has, in the order in which they came."""
    shown = subprocess.run(["bpftool", "-j", "prog", "show"], capture_output=True, check=True)  # noqa: S607
    programs: list[dict[str, Any]] = json.loads(shown.stdout)
    return sorted(each["id"] for each in programs if each.get("name") == name[:15])


def by_bpftool(number: int, packet: Path, cpu: int) -> float:
    """Nanoseconds of one run, as bpftool tells."""
    words = ["taskset", "-c", str(cpu), "bpftool", "-j", "prog", "run", "id", str(number)]
    words += ["data_in", str(packet), "repeat", str(REPEAT)]
    run = subprocess.run(words, capture_output=True, check=True)
    return float(json.loads(run.stdout)["duration"])


def compare(file: Path, kernel: engine.Kernel, folder: Path) -> list[tuple[float, float]]:
    """Ours and bpftool's times of the paths of an object."""
    cpu = max(os.sched_getaffinity(0))
    written = WrittenOptions(target="ebpf", metric="instructions", paths="all", deadline=3.0)
    found = []
    for analysed in Session(read_request([str(file)], written)).analyse(Audience(Stopping())):
        station = engine.open_station(kernel, cpu)
        program = prepare_program(station, analysed, slowest_to_fastest, lambda *_: True)
        load = KernelBench(station, program.cases).load(range(len(program.cases)))
        numbers = loaded(analysed.result["program"] or "")
        if len(numbers) != len(program.cases):
            print(f"{file.name}: other programs of that name are loaded", file=sys.stderr)
            continue
        call = statistics.median(load.sample(Reference.EMPTY, 1).nanoseconds for _ in range(9))
        for case, number in enumerate(numbers):
            path = program.record["paths"][program.numbers[case]]
            if path["arrangement"] != "repeated":
                continue
            packet = folder / "packet"
            packet.write_bytes(bytes.fromhex(path["packet"]))
            ours, theirs = [], []
            for _ in range(TIMES):
                sample = load.sample(case, REPEAT)
                ours.append((sample.nanoseconds - call) / sample.runs)
                theirs.append(by_bpftool(number, packet, cpu))
            a, b = min(ours), min(theirs)
            fits = abs(a - b) <= SHARE * b + MORE
            print(
                f"{file.name:24} {path['instructions']:5} instructions {a:8.1f} {b:8.0f} ns "
                f"{a / b - 1:+6.1%} {'' if fits else 'APART'}"
            )
            found.append((a, b))
    return found


def main() -> None:
    files = [Path(word) for word in sys.argv[1:]] or sorted((ROOT / "examples").glob("*.bpf.o"))
    kernel, found = engine.open_kernel(), list[tuple[float, float]]()
    with tempfile.TemporaryDirectory() as folder:
        for file in files:
            found += compare(file, kernel, Path(folder))
    fit = sum(abs(a - b) <= SHARE * b + MORE for a, b in found)
    differences = sorted(abs(a / b - 1) for a, b in found)
    print(
        f"{fit} of {len(found)} paths within {SHARE:.0%} + {MORE:g} ns; "
        f"median difference {statistics.median(differences):.1%}, most {differences[-1]:.1%}"
    )


if __name__ == "__main__":
    main()
