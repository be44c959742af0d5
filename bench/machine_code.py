"""Are estimates better that take the machine code of a path, as llvm-mca sees it?

    machine_code.py cycles OUT.jsonl CYCLES.json [--calibration DIR] [--cpu NAME] [--option O]
    machine_code.py compare OUT.jsonl CYCLES.json --calibration DIR [--target T] [--limit X]

`cycles` has the kernel compile the programs of OUT.jsonl, which `estimates.py take` has measured, and
those of the experiments of a calibration. It cuts out the machine code along each path, asks llvm-mca,
and adds what it says to CYCLES.json. It needs root, a kernel that tells the machine code of programs,
llvm-mca 19 (`apt install llvm-19`), and the program that cuts (`cargo build --release -p
machine-code`). `compare` needs none of them: it fits models to the experiments, as `estimates.py
compare` does, and says how far off they are, all of them on the paths whose machine code is known.
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
from slowpath.calibrate.programs.xdp import ENTRY
from slowpath.calibrate.testbeds.xdp_files import FLAGS
from slowpath.core.programs.clang import compile_c
from slowpath.core.programs.sources import Clang

CUTTER = Path(__file__).parent.parent / "target" / "release" / "machine-code"
HIDDEN = (0, 10, 20, 40, 60, 80)
"""Cycles of a part that what follows may hide: the one that explains experiments best is taken."""
OWN = "own"


class Wanted(NamedTuple):
    """A path whose machine code is wanted."""

    key: str
    file: str
    program: str
    flow: str


def key(file: str, program: str, flow: str) -> str:
    """What a path is known by."""
    return sha256("\n".join((file, program, flow)).encode()).hexdigest()[:24]


def measured_paths(measured: Sequence[dict[str, Any]]) -> Iterator[Wanted]:
    """The paths of programs that were measured."""
    for one in measured:
        for path in one["paths"]:
            if path["flow"] is not None:
                known = key(one["file"], one["program"], path["flow"])
                yield Wanted(known, one["file"], one["program"], path["flow"])


class Experimented(NamedTuple):
    """A program of an experiment."""

    source: str  # its name in the run's directory
    flow: str
    ns: float

    @property
    def key(self) -> str:
        """What its path is known by."""
        return key(self.source, ENTRY, self.flow)


def experimented(run: RunFolder) -> Iterator[Experimented]:
    """The programs of experiments whose paths are known."""
    folders = {name: run.of(name) for name in run.settings()["experiments"]}
    folders = {name: folder for name, folder in folders.items() if folder.measured}
    sources = {name: sources_of(folder) for name, folder in folders.items()}
    for one in observations(folders):
        text = one.flow.text()
        source = sources[one.experiment].get(text)
        if source is not None:
            yield Experimented(f"{one.experiment}/{source}", text, one.ns)


def sources_of(folder: ExperimentFolder) -> dict[str, str]:
    """The names of sources by the paths that their programs take."""
    experiment = folder.experiment()
    parameter = experiment["component"]["sweep"]["parameter"]
    other = ".empty" if experiment["baseline"] == "empty" else ".without"
    found = dict[str, str]()
    for name, flow in folder.flows().items():
        which, _, value = name.partition("-")
        source = f"{parameter}-{value}{'' if which == 'component' else other}.bpf.c"
        # A program that is the same as one before has no source of its own.
        if flow not in found and (folder.programs / source).exists():
            found[flow] = source
    return found


def compiled(run: RunFolder, known: Container[str], into: Path) -> Iterator[Wanted]:
    """The programs of experiments that are not known, compiled into a folder."""
    missing = (one for one in experimented(run) if one.key not in known)
    for number, one in enumerate(missing):
        name, _, source = one.source.partition("/")
        file = into / f"{number}.o"
        file.write_bytes(compile_c(str(run.of(name).programs / source), Clang(FLAGS)))
        yield Wanted(one.key, str(file), ENTRY, one.flow)


def cut(cutter: Path, wanted: Sequence[Wanted]) -> list[dict[str, Any]]:
    """The machine code of paths, or why there is none."""
    asked = ({name: getattr(one, name) for name in ("file", "program", "flow")} for one in wanted)
    text = "".join(json.dumps(one) + "\n" for one in asked)
    if not cutter.exists():
        sys.exit(f"{cutter}: is missing; cargo build --release -p machine-code")
    done = subprocess.run([cutter], input=text, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.exit(done.returncode)
    return [json.loads(line) for line in done.stdout.splitlines()]


def ask(given: argparse.Namespace) -> None:
    """Adds what llvm-mca says to the file."""
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
        told = llvm_mca.cycles([code for _, code in found], given.cpu, given.option)
    except llvm_mca.MissingError as problem:
        sys.exit(str(problem))
    known |= {one.key: cycles._asdict() for (one, _), cycles in zip(found, told, strict=True)}
    kept.write_text(json.dumps(known) + "\n")
    print(f"{len(found)} paths added, {len(known)} known")


def machine(cycles: Callable[[Any], Mapping[str, float]]) -> simpler.Counts:
    """What a model of machine code adds up: cycles, calls, and what llvm-mca leaves out."""

    def counts(flow: simpler.Stored) -> dict[str, float]:
        found: dict[str, float] = {**simpler.calls(flow)}
        steps = flow["steps"]
        found["taken"] = sum(jumps for _, _, _, jumps, _, _ in steps)
        for unknown in ("atomic", "function"):
            found[unknown] = sum(work == unknown for work, *_ in steps)
        return found | dict(cycles(flow["cycles"]))

    return counts


def hiding(hidden: int) -> Callable[[Any], Mapping[str, float]]:
    """Cycles of parts, of whose latency what follows hides so much."""
    return lambda told: {
        "cycles": sum(max(throughput, latency - hidden) for latency, throughput in told["parts"])
    }


WAYS: dict[str, Callable[[Any], Mapping[str, float]]] = {
    "latency": lambda told: {"cycles": told["whole"][0]},
    "throughput": lambda told: {"cycles": told["whole"][1]},
    "latency between calls": lambda told: {"cycles": sum(one[0] for one in told["parts"])},
    "throughput between calls": lambda told: {"cycles": sum(one[1] for one in told["parts"])},
    "both between calls": lambda told: {
        name: sum(one[which] for one in told["parts"])
        for which, name in enumerate(("latency", "throughput"))
    },
}


def machine_models(flows: Sequence[str], times: Sequence[float]) -> dict[str, simpler.Model]:
    """Models of machine code, of these paths and what they take."""
    models: dict[str, simpler.Model] = {
        f"llvm-mca, {name}": simpler.Sum(flows, times, machine(way)) for name, way in WAYS.items()
    }
    tried = {hidden: simpler.Sum(flows, times, machine(hiding(hidden))) for hidden in HIDDEN}

    def error(hidden: int) -> float:
        model = tried[hidden]
        return mean(abs(model(flow) / ns - 1) for flow, ns in zip(flows, times, strict=True))

    best = min(HIDDEN, key=error)
    models[f"llvm-mca, of whose latency {best} cycles are hidden"] = tried[best]
    mixed = machine(lambda told: {OWN: told[OWN], **hiding(best)(told)})
    models["linux-xdp with that"] = simpler.Sum(flows, times, mixed)
    return models


def with_cycles(flow: str, cycles: dict[str, float]) -> str:
    """A path as text, with what was said of it."""
    return json.dumps({**json.loads(flow), "cycles": cycles})


def with_known(
    measured: Sequence[dict[str, Any]], known: dict[str, Any], own: simpler.Model
) -> tuple[list[dict[str, Any]], int]:
    """Programs with those of their paths whose machine code is known; how many are not."""
    found, left = list[dict[str, Any]](), 0
    for one in measured:
        paths = list[dict[str, Any]]()
        for path in one["paths"]:
            flow = path["flow"]
            told = None if flow is None else known.get(key(one["file"], one["program"], flow))
            if told is None:
                left += 1
            else:
                paths.append({**path, "flow": with_cycles(flow, told | {OWN: own(flow)})})
        if paths:
            found.append({**one, "paths": paths})
    return found, left


def compare(given: argparse.Namespace) -> None:
    """Prints how far off models are."""
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
        estimates.told(measured, cache(model))


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
