"""Runs `slowpath contention profile`."""

import time
from argparse import Namespace
from collections.abc import Sequence
from functools import partial

from slowpath.cli.errors import OptionError
from slowpath.cli.exit_codes import ExitCode
from slowpath.cli.live_line import LiveLine
from slowpath.cli.printable import json_line
from slowpath.cli.terminal import note, out, out_lines
from slowpath.commands.contention.profile.reading import load_setup
from slowpath.commands.contention.profile.report import profile_text
from slowpath.contention.host import mixes
from slowpath.contention.host.documents import BubbleLevel, ProfileRecord
from slowpath.contention.host.machine import Machine, this_machine
from slowpath.contention.host.profiling import Audience, Found, Profiling
from slowpath.contention.host.score import Level
from slowpath.contention.host.setup import ASKING, NOTHING_TO_CHOOSE, Setup
from slowpath.contention.host.writing import check_folder, write_profile
from slowpath.contention.packages import need
from slowpath.engine import identity, neighbours
from slowpath.measurements import disturbances, environment
from slowpath.work.stopping import heeding_signals


def run(given: Namespace) -> ExitCode:
    """Measures, writes the folder, and reports.

    Raises:
        InputError: when the description cannot be used, the machine lacks something, or the folder
            cannot be written.
        OptionError: when the description has nothing that `--plan` could choose.
    """
    until = None if given.deadline is None else time.monotonic() + given.deadline
    need()
    from slowpath.contention.host.plans import planner

    setup = _setup(given)
    check_folder(given.output)
    machine = this_machine(setup)
    function = setup.function
    memory, client = setup.memory is not None, setup.client is not None
    kinds = mixes.kinds_of_mixes(function, machine.places, memory=memory, client=client)
    left_out = []
    if memory and client and "both" not in kinds:
        left_out.append(
            "a pipeline beside competitors for memory and at the accelerator at once takes 3 CPUs; "
            f"there are {len(machine.places.cpus)}"
        )
    watch = environment.begin(machine.places.function)
    with heeding_signals() as stopping, LiveLine() as line:
        audience = Audience(stopping, line.draw, until)
        found = Profiling(setup, machine, audience).run(partial(planner, setup, kinds))
    where = watch.end()
    record = _record(setup, machine, found, left_out)
    files = write_profile(given.output, setup, machine, found, (record, where))
    if given.format == "json":
        out(json_line(record))
    else:
        out_lines(profile_text(record, files))
    for reason in left_out:
        note(f"not measured: {reason}")
    for each in disturbances.of(where):
        if each["severity"] == "warning":
            note(f"warning: {each['what']} {each['advice']}")
    return ExitCode.UNDECIDED if found.stopped else ExitCode.FINE


def _setup(given: Namespace) -> Setup:
    """What is to be profiled, by the file and what options say instead."""
    setup = load_setup(given.file)
    effort = setup.effort
    if given.mixes is not None:
        effort = effort._replace(mixes=given.mixes)
    if given.plan is not None:
        effort = effort._replace(plan=given.plan)
        if given.plan in ASKING and setup.memory is None:
            raise OptionError("--plan", f"{given.plan} {NOTHING_TO_CHOOSE}")
    return setup._replace(effort=effort)


def _record(setup: Setup, machine: Machine, found: Found, left_out: list[str]) -> ProfileRecord:
    probed, noise = found.probed, found.noise
    return {
        "slowpath": identity.version(),
        "function": setup.function.name,
        "pattern": setup.function.pattern,
        "device": machine.name,
        "cpus": list(machine.places.cpus),
        "cache_bytes": machine.cache_bytes,
        "mixes": len(found.points),
        "wanted": setup.effort.mixes,
        "plan": found.plan,
        "left_out": left_out,
        "counters": neighbours.why_no_counters(),
        "probe": {
            "bytes": machine.probe_bytes,
            "measured": _levels(probed.measured),
            "curve": _levels(probed.calibration.levels),
            "largest_shift": probed.largest_shift,
        },
        "noise": {
            "repetitions": noise.repetitions,
            "spread": noise.spread,
            "within": noise.within,
        },
        "disturbed_blocks": found.disturbed,
        "elsewhere": found.elsewhere,
    }


def _levels(levels: Sequence[Level]) -> list[BubbleLevel]:
    return [{"megabytes": one.megabytes, "slowdown": one.slowdown} for one in levels]
