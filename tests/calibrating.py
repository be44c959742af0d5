"""Helpers for tests that run calibration experiments."""

import json
from collections import Counter
from functools import cache
from pathlib import Path
from unittest.mock import patch

import oracles
from slowpath.calibrate.experiments.documents import CalibratedExperiment
from slowpath.calibrate.experiments.evaluation import evaluate
from slowpath.calibrate.experiments.folder import RunFolder
from slowpath.calibrate.experiments.running import Limits, RunCallbacks, TestBed, run, run_settings
from slowpath.calibrate.experiments.specification import Experiment
from slowpath.calibrate.testbeds import TESTBEDS
from slowpath.calibrate.testbeds.xdp_programs import ENTRY, XdpProgram
from slowpath.core import inputs
from slowpath.core.command import load
from slowpath.core.engine import kernel, objects
from slowpath.core.jobs import Stopping
from slowpath.core.programs.clang import compile_c
from slowpath.core.programs.sources import Clang
from slowpath.measure.dpdk import missing

LIMITS = Limits(0.05, 0.3, None)


def bed_of(name: str) -> TestBed:
    bed: TestBed = load(TESTBEDS[name])
    return bed


def calibrated(
    folder: Path, bed_name: str, experiment: Experiment, stopping: Stopping | None = None
) -> CalibratedExperiment:
    """Run an experiment on the test bed `bed_name`, and return its evaluation."""
    bed = bed_of(bed_name)
    into, name = RunFolder(folder), experiment["name"]
    into.begin(run_settings(bed_name, LIMITS, [name]), [experiment])
    audience = RunCallbacks(stopping or Stopping(), lambda _name, _text: None)
    with patch.object(inputs, "_sync"):  # files need not survive a power failure
        assert list(run(into, bed, [experiment], LIMITS, audience)) == [name] * bed.blocks
        return evaluate(into.of(name))


def prepared(folder: Path, program: XdpProgram, maps: str) -> kernel.Case:
    """Run a program once in the kernel; return its execution path, ready to be timed."""
    file = folder / "program.bpf.c"
    file.write_text(program.text)
    found = objects.read_object(str(file), compile_c(str(file), Clang(("-mcpu=v3",))))
    number = next(each.number for each in objects.programs(found) or [] if each.name == ENTRY)
    witness = {
        "packet": program.packet.hex(),
        "length": len(program.packet),
        "maps": json.loads(maps),
        "unknowns": [],
        "environment": [],
    }
    subject = objects.Subject(str(file), found, number, None)
    return kernel.prepare_case(_station(), subject, json.dumps(witness), None)


@cache
def _station() -> kernel.Station:
    return kernel.open_station(kernel.open_kernel(), None)


def fewest_samples(folder: Path, name: str) -> int:
    """Return the smallest number of samples, with outliers, at any value of an experiment."""
    samples = RunFolder(folder).of(name).samples()
    return min(Counter(one.value for one in samples).values())


def needs_dpdk() -> None:
    """Skip the test if DPDK is not installed; the reason names the missing packages."""
    lacking = missing("the test bed dpdk")
    if lacking is not None:
        oracles.missing("dpdk", lacking)
