"""Does the machine code of a path, as simulated by llvm-mca, improve estimates?

    machine_code.py cycles OUT.jsonl CYCLES.json [--calibration DIR] [--cpu NAME] [--option O]
    machine_code.py compare OUT.jsonl CYCLES.json --calibration DIR [--target T] [--limit X]

`cycles` lets the kernel compile the programs of OUT.jsonl, which `estimates.py take` has measured, and
those of the experiments of a calibration. It extracts the machine code of each path, runs llvm-mca,
and adds the cycles to CYCLES.json. It needs root, a kernel that shows the machine code of programs,
llvm-mca 19 (`apt install llvm-19`), and the program that extracts machine code (`cargo build --release
-p machine-code`). `compare` needs none of them: it fits models to the experiments, like `estimates.py
compare`, and prints their errors, all for the paths whose machine code is known.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple

import estimates
import llvm_mca
from estimation import simpler, stored

from slowpath.calibrate.experiments.folder import ExperimentFolder, RunFolder
from slowpath.calibrate.observations import observations
from slowpath.calibrate.testbeds.xdp_files import FLAGS
from slowpath.calibrate.testbeds.xdp_programs import ENTRY
from slowpath.core.programs.clang import compile_c
from slowpath.core.programs.sources import Clang

CUTTER = Path(__file__).parent.parent / "target" / "release" / "machine-code"
HIDDEN = (0, 10, 20, 40, 60, 80)
"""Candidates for the number of cycles by which later code hides a part's latency.

The candidate that explains the experiments best is used.
"""
OWN = "own"


class Wanted(NamedTuple):
    """An executed path whose machine code is to be extracted."""

    key: str
    file: str
    program: str
    flow: str


def key(file: str, program: str, flow: str) -> str:
    """Return the key of a path in the file of predicted cycles."""
    return sha256("\n".join((file, program, flow)).encode()).hexdigest()[:24]


def measured_paths(measured: Sequence[dict[str, Any]]) -> Iterator[Wanted]:
    """Yield those paths of measured programs whose executed instructions are known."""
    for one in measured:
        for path in one["paths"]:
            if path["flow"] is not None:
                known = key(one["file"], one["program"], path["flow"])
                yield Wanted(known, one["file"], one["program"], path["flow"])


class Experimented(NamedTuple):
    """A generated program of a calibration, with its measured time."""

    source: str  # its name in the run's directory
    flow: str
    ns: float

    @property
    def key(self) -> str:
        """Key of the program's path in the file of predicted cycles."""
        return key(self.source, ENTRY, self.flow)


def experimented(run: RunFolder) -> Iterator[Experimented]:
    """Yield the programs of a calibration whose executed instructions are known."""
    folders = {name: run.of(name) for name in run.settings()["experiments"]}
    folders = {name: folder for name, folder in folders.items() if folder.measured}
    sources = {name: sources_of(folder) for name, folder in folders.items()}
    for one in observations(folders):
        text = one.flow.text()
        source = sources[one.experiment].get(text)
        if source is not None:
            yield Experimented(f"{one.experiment}/{source}", text, one.ns)


def sources_of(folder: ExperimentFolder) -> dict[str, str]:
    """Return the source file of each program in an experiment, by its executed instructions."""
    experiment = folder.experiment()
    parameter = experiment["component"]["sweep"]["parameter"]
    other = ".empty" if experiment["baseline"] == "empty" else ".without"
    found = dict[str, str]()
    for name, flow in folder.flows().items():
        kind, _, value = name.partition("-")
        source = f"{parameter}-{value}{'' if kind == 'component' else other}.bpf.c"
        # A program that equals an earlier program has no source file of its own.
        if flow not in found and (folder.programs / source).exists():
            found[flow] = source
    return found


def compiled(run: RunFolder, known: Container[str], into: Path) -> Iterator[Wanted]:
    """Compile the programs of a calibration whose keys are not in `known`, to files in `into`.

    Yield their paths.
    """
    missing = (one for one in experimented(run) if one.key not in known)
    for number, one in enumerate(missing):
        name, _, source = one.source.partition("/")
        file = into / f"{number}.o"
        file.write_bytes(compile_c(str(run.of(name).programs / source), Clang(FLAGS)))
        yield Wanted(one.key, str(file), ENTRY, one.flow)


def cut(cutter: Path, wanted: Sequence[Wanted]) -> list[dict[str, Any]]:
    """Extract the machine code of each path with the program `cutter`.

    Paths for which this fails have an error instead.
    """
    requests = (
        {name: getattr(one, name) for name in ("file", "program", "flow")} for one in wanted
    )
    text = "".join(json.dumps(one) + "\n" for one in requests)
    if not cutter.exists():
        sys.exit(f"{cutter}: is missing; cargo build --release -p machine-code")
    done = subprocess.run([cutter], input=text, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.exit(done.returncode)
    return [json.loads(line) for line in done.stdout.splitlines()]


def ask(given: argparse.Namespace) -> None:
    """Run llvm-mca on the machine code of paths, and store the predicted cycles."""
    kept = Path(given.cycles)
    known: dict[str, Any] = json.loads(kept.read_text()) if kept.exists() else {}
    measured = stored.read(Path(given.out), given.limit)
    with tempfile.TemporaryDirectory(prefix="slowpath-") as folder:
        wanted = list(measured_paths(measured))
        if given.calibration:
            wanted += compiled(RunFolder(Path(given.calibration)), known, Path(folder))
        wanted = list({one.key: one for one in wanted if one.key not in known}.values())
        answers = cut(given.cutter, wanted)
    for reason, count in Counter(one["error"] for one in answers if "error" in one).items():
        print(f"left out: {count} paths: {reason}")
    found = [
        (one, answer["code"])
        for one, answer in zip(wanted, answers, strict=True)
        if "code" in answer
    ]
    try:
        results = llvm_mca.cycles([code for _, code in found], given.cpu, given.option)
    except llvm_mca.MissingError as problem:
        sys.exit(str(problem))
    known |= {one.key: cycles._asdict() for (one, _), cycles in zip(found, results, strict=True)}
    kept.write_text(json.dumps(known) + "\n")
    print(f"{len(found)} paths added, {len(known)} known")


def machine(cycles: Callable[[Any], Mapping[str, float]]) -> simpler.Counts:
    """Return a function that counts the properties of a path for a model.

    They are the cycles that `cycles` returns, calls, and instructions that llvm-mca leaves out.
    """

    def counts(flow: simpler.Stored) -> dict[str, float]:
        found: dict[str, float] = {**simpler.calls(flow)}
        steps = flow["steps"]
        found["taken"] = sum(jumps for _, _, _, jumps, _, _ in steps)
        for unknown in ("atomic", "function"):
            found[unknown] = sum(work == unknown for work, *_ in steps)
        return found | dict(cycles(flow["cycles"]))

    return counts


def hiding(hidden: int) -> Callable[[Any], Mapping[str, float]]:
    """Return a function that adds up the cycles of a path's pieces between calls.

    The code after a piece overlaps the piece, and thus hides up to `hidden` cycles of the piece's
    latency. A piece takes at least its throughput cycles.
    """
    return lambda path: {
        "cycles": sum(max(throughput, latency - hidden) for latency, throughput in path["parts"])
    }


METHODS: dict[str, Callable[[Any], Mapping[str, float]]] = {
    "latency": lambda path: {"cycles": path["whole"][0]},
    "throughput": lambda path: {"cycles": path["whole"][1]},
    "latency between calls": lambda path: {"cycles": sum(one[0] for one in path["parts"])},
    "throughput between calls": lambda path: {"cycles": sum(one[1] for one in path["parts"])},
    "both between calls": lambda path: {
        name: sum(one[column] for one in path["parts"])
        for column, name in enumerate(("latency", "throughput"))
    },
}


def machine_models(flows: Sequence[str], times: Sequence[float]) -> dict[str, simpler.Model]:
    """Fit models with llvm-mca's cycles to measured times of paths; return them by name."""
    models: dict[str, simpler.Model] = {
        f"llvm-mca, {name}": simpler.Sum(flows, times, machine(of)) for name, of in METHODS.items()
    }
    tried = {hidden: simpler.Sum(flows, times, machine(hiding(hidden))) for hidden in HIDDEN}

    def error(hidden: int) -> float:
        model = tried[hidden]
        return mean(abs(model(flow) / ns - 1) for flow, ns in zip(flows, times, strict=True))

    best = min(HIDDEN, key=error)
    models[f"llvm-mca, of whose latency {best} cycles are hidden"] = tried[best]
    mixed = machine(lambda path: {OWN: path[OWN], **hiding(best)(path)})
    models["linux-xdp with that"] = simpler.Sum(flows, times, mixed)
    return models


def with_cycles(flow: str, cycles: dict[str, float]) -> str:
    """Add the cycles that llvm-mca predicts to a path, which is given as JSON."""
    return json.dumps({**json.loads(flow), "cycles": cycles})


def with_known(
    measured: Sequence[dict[str, Any]], known: dict[str, Any], own: simpler.Model
) -> tuple[list[dict[str, Any]], int]:
    """Remove paths whose machine code is unknown from measured programs.

    Also return the number of removed paths.
    """
    found, left = list[dict[str, Any]](), 0
    for one in measured:
        paths = list[dict[str, Any]]()
        for path in one["paths"]:
            flow = path["flow"]
            cycles = None if flow is None else known.get(key(one["file"], one["program"], flow))
            if cycles is None:
                left += 1
            else:
                paths.append({**path, "flow": with_cycles(flow, cycles | {OWN: own(flow)})})
        if paths:
            found.append({**one, "paths": paths})
    return found, left


def compare(given: argparse.Namespace) -> None:
    """Print the errors of the estimates of all models for the measured paths."""
    known = json.loads(Path(given.cycles).read_text())
    own = estimates.estimating(given.target)
    measured, left = with_known(stored.read(Path(given.out), given.limit), known, own)
    if not measured:
        sys.exit(f"{given.cycles}: knows no path of {given.out}; `cycles` adds them")
    print(f"{left} paths are left out")
    seen = [one for one in experimented(RunFolder(Path(given.calibration))) if one.key in known]
    flows = [with_cycles(one.flow, known[one.key] | {OWN: own(one.flow)}) for one in seen]
    times = [one.ns for one in seen]
    models: dict[str, simpler.Model] = {given.target: lambda flow: json.loads(flow)["cycles"][OWN]}
    for name, counts in simpler.SIMPLER.items():
        models[name] = simpler.Sum(flows, times, counts)
    models |= machine_models(flows, times)
    for name, model in models.items():
        print(f"\n{name}")
        estimates.print_errors(measured, cache(model))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    commands = parser.add_subparsers(required=True)
    asking = commands.add_parser("cycles")
    asking.add_argument("--cpu", default="znver4", help="as llvm-mca names it")
    asking.add_argument(
        "--option", action="append", default=[], help="of llvm-mca, as --option=-noalias=false"
    )
    asking.add_argument("--cutter", type=Path, default=CUTTER)
    asking.set_defaults(run=ask)
    comparing = commands.add_parser("compare")
    comparing.add_argument("--target", default="linux-xdp")
    comparing.set_defaults(run=compare)
    for command, needed in ((asking, False), (comparing, True)):
        command.add_argument("out")
        command.add_argument("cycles")
        command.add_argument("--calibration", required=needed)
        command.add_argument("--limit", type=float, default=stored.QUIET)
    given = parser.parse_args()
    given.run(given)


if __name__ == "__main__":
    main()
