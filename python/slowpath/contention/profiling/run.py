"""Runs the command `slowpath contention profile`."""

import time
from argparse import Namespace
from collections.abc import Iterator, Sequence
from functools import partial

from slowpath.contention.profiling import mixes
from slowpath.contention.profiling.bubble_score import Level
from slowpath.contention.profiling.folder import check_folder, write_profile
from slowpath.contention.profiling.machine import Machine, this_machine
from slowpath.contention.profiling.profiler import Audience, Found, Profiling
from slowpath.contention.profiling.reading import load_setup
from slowpath.contention.profiling.setup import (
    ASKING,
    NOTHING_TO_CHOOSE,
    BubbleLevel,
    PlanRecord,
    ProfileRecord,
    Setup,
)
from slowpath.core import codes, engine
from slowpath.core.engine import neighbours
from slowpath.core.errors import Coded, ExitCode, OptionError
from slowpath.core.extras import need_contention
from slowpath.core.formats import Reporter
from slowpath.core.jobs.stopping import heeding_signals
from slowpath.core.printable import one_line
from slowpath.core.result_warnings import codes_of
from slowpath.core.terminal import Line, LiveLine, grid
from slowpath.measure import disturbances, environment

_OFTEN = 0.01  # share of observations above which a report mentions misplaced CPUs


def profile_text(record: ProfileRecord, files: Sequence[str]) -> Iterator[Line]:
    """Yield a summary of the profile: numbers of mixes, noise floor, probe and files."""
    cpus = ", ".join(str(cpu) for cpu in record["cpus"])
    yield Line(one_line(f"{record['function']} on {record['device']}, CPUs {cpus}"), "bold")
    wanted = "" if record["mixes"] == record["wanted"] else f" of {record['wanted']}"
    yield Line(f"{record['mixes']}{wanted} mixes; {_noise(record)}")
    yield from _plan(record["plan"])
    if record["disturbed_blocks"]:
        yield Line(
            f"{record['disturbed_blocks']} blocks of time were disturbed: a thread waited for "
            "its CPU, or other programs used the processor."
        )
    if record["elsewhere"] >= _OFTEN:
        yield Line(
            f"In {100 * record['elsewhere']:.0f} % of checks, the CPUs shared a core, or had "
            "different last-level caches. This changes the effect of competitors."
        )
    if record["counters"] is not None:
        yield Line(
            one_line(
                "A probe measures contention, because counters cannot be used: "
                f"{record['counters']}."
            )
        )
    yield Line("")
    rows = [
        (f"{one['megabytes']:.2f}", f"{one['slowdown']:.2f}") for one in record["probe"]["measured"]
    ]
    yield from grid(
        ("bubble, MB", "slowdown of probe"), rows, right=("bubble, MB", "slowdown of probe")
    )
    yield Line("")
    shift = 100 * record["probe"]["largest_shift"]
    yield Line(
        f"Without competitors, the time of the probe deviated by at most {shift:.1f} % "
        "from its median."
    )
    for file in files:
        yield Line(one_line(file))


def _plan(record: PlanRecord) -> Iterator[Line]:
    """Yield the traffic attributes that an adaptive plan found to change throughput."""
    if record["relevant"] is None or record["threshold"] is None:
        return
    attributes = " and ".join(record["relevant"]) or "no traffic attribute"
    least = f"{100 * record['threshold']:.1f} %"
    yield Line(
        f"The solo throughput varies by {least} or more with {attributes}. Mixes vary "
        "these attributes."
    )


def _noise(record: ProfileRecord) -> str:
    noise = record["noise"]
    within = f"{100 * noise['within']:.1f} % between the medians of blocks of one run"
    if noise["spread"] is None:
        return f"noise: {within}"
    return f"Noise of a measurement: {100 * noise['spread']:.1f} % (standard deviation), {within}"


def run(given: Namespace, reporter: Reporter) -> ExitCode:
    """Run the command `slowpath contention profile`: measure, write the folder, and report.

    Raises:
        InputError: if the description cannot be used, the machine lacks something, or the folder
            cannot be written.
        OptionError: if the description has no competitors that the `--plan` could choose.
    """
    until = None if given.deadline is None else time.monotonic() + given.deadline
    need_contention()
    from slowpath.contention.profiling.plans import planner

    setup = _setup(given)
    check_folder(given.output)
    machine = this_machine(setup)
    function = setup.function
    memory, client = setup.memory is not None, setup.client is not None
    kinds = mixes.kinds_of_mixes(function, machine.places, memory=memory, client=client)
    left_out = []
    if memory and client and "both" not in kinds:
        left_out.append(
            "mixes of competitors for memory and accelerator need 3 CPUs; "
            f"{len(machine.places.cpus)} are available"
        )
    watch = environment.begin(machine.places.function)
    with heeding_signals() as stopping, LiveLine() as line:
        audience = Audience(stopping, line.draw, until)
        found = Profiling(setup, machine, audience).run(partial(planner, setup, kinds))
    where = watch.end()
    warnings = [
        Coded(codes.MIXES_LEFT_OUT, f"{given.file}: some mixes were not measured: {reason}")
        for reason in left_out
    ]
    warnings += disturbances.warnings(disturbances.of(where))
    record = _record(setup, machine, found, left_out, warnings)
    files = write_profile(given.output, setup, machine, found, (record, where))
    reporter.write(record, files, warnings=warnings)
    return ExitCode.UNDECIDED if found.stopped else ExitCode.FINE


def _setup(given: Namespace) -> Setup:
    """Read the setup of a profile from a file, and apply the options that change it."""
    setup = load_setup(given.file)
    effort = setup.effort
    if given.mixes is not None:
        effort = effort._replace(mixes=given.mixes)
    if given.plan is not None:
        effort = effort._replace(plan=given.plan)
        if given.plan in ASKING and setup.memory is None:
            raise OptionError(
                codes.OPTION_WITHOUT_EFFECT, "--plan", f"{given.plan} {NOTHING_TO_CHOOSE}"
            )
    return setup._replace(effort=effort)


def _record(
    setup: Setup, machine: Machine, found: Found, left_out: list[str], warnings: list[Coded]
) -> ProfileRecord:
    probed, noise = found.probed, found.noise
    return {
        **engine.head("contention profile", "profile"),
        "warnings": [*warnings],
        "warning_codes": codes_of(warnings),
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
        "elsewhere": found.misplaced,
    }


def _levels(levels: Sequence[Level]) -> list[BubbleLevel]:
    return [{"megabytes": one.megabytes, "slowdown": one.slowdown} for one in levels]
