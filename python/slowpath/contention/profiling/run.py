"""Runs the command `slowpath contention profile`, which reads a description of the profile.

Each error in the description names the file, the line and the key. The page
docs/reference/contention-files.md describes the format.
"""

import time
from argparse import Namespace
from collections.abc import Iterator, Sequence
from functools import partial
from ipaddress import IPv4Address
from pathlib import Path
from typing import cast

from slowpath.contention.profiling import mixes
from slowpath.contention.profiling.folder import check_folder, write_profile
from slowpath.contention.profiling.machine import Level, Machine, this_machine
from slowpath.contention.profiling.profiler import Audience, Found, Profiling
from slowpath.contention.profiling.setup import (
    ASKING,
    NOTHING_TO_CHOOSE,
    PLANS,
    BubbleLevel,
    ClientRange,
    Effort,
    Function,
    MemoryRange,
    Pattern,
    Plan,
    PlanRecord,
    ProfileRecord,
    Program,
    Service,
    Setup,
    Span,
    Stage,
    TrafficRange,
)
from slowpath.core import codes, engine
from slowpath.core.engine import neighbours, objects
from slowpath.core.errors import Coded, ExitCode, InputError, OptionError
from slowpath.core.extras import need_contention
from slowpath.core.formats import Reporter, codes_of
from slowpath.core.inputs import read_text
from slowpath.core.jobs import heeding_signals
from slowpath.core.printable import one_line
from slowpath.core.programs.loading import load_program
from slowpath.core.programs.selection import find_program
from slowpath.core.programs.sources import Clang
from slowpath.core.spanned import (
    Number,
    Spanned,
    items,
    name,
    number,
    read_spanned,
    table,
    text,
    word,
)
from slowpath.core.terminal import Line, LiveLine, grid
from slowpath.measure import disturbances, environment

_OFTEN = 0.01  # share of observations above which a report mentions misplaced CPUs


def profile_text(record: ProfileRecord, files: Sequence[str]) -> Iterator[Line]:
    """Yield a summary of the measured profile as text: mixes, noise floor, probe and `files`."""
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
    """Yield a line with the traffic attributes that an adaptive plan found to matter."""
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
        OptionError: if the plan of `--plan` needs competitors that the description lacks.
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
    """Read the description of a profile, and apply the options that override it."""
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


_PORT = Number("port", 0, 65_535, 53)


def read_program(found: Spanned, folder: Path) -> Program:
    """Read an XDP program of a description: a BPF object or C source, and the packets' destination.

    `folder` is the folder of the description.

    Raises:
        InputError: if there is no such program, or its address or port is invalid.
    """
    parts = table(found, ("object",), ("program", "destination", "destination_port"))
    wanted = text(parts["program"]) if "program" in parts else None
    path = str(folder / text(parts["object"]))
    try:
        data = load_program(path, Clang(()))
        read = objects.read_object(path, data)
    except InputError as problem:
        parts["object"].place.refuse(str(problem))
    meant = find_program(path, data, objects.programs(read), wanted)
    if isinstance(meant, str):
        parts.get("program", parts["object"]).place.refuse(meant)
    destination, port = parts.get("destination"), parts.get("destination_port")
    return Program(
        read,
        meant.number,
        None if destination is None else _address(destination),
        None if port is None else number(port, _PORT),
    )


def _address(found: Spanned) -> str:
    address = text(found)
    try:
        return str(IPv4Address(address))
    except ValueError:
        found.place.refuse(f"{address!r} is not an IPv4 address such as 192.0.2.1")


_SIMPLE = ("flow-statistics", "nat")
_SIZED = {
    "router": ("prefixes", Number("prefixes", 1, 1_000_000, 10_000)),
    "acl": ("rules", Number("rules", 1, 1_000_000, 1_000)),
}
_TOUCHES = ("updates", "copies")
_FLOWS = Number("flows", 1, 1 << 24, 16_384)
_SIZE = Number("bytes of a packet", 64, 9000, 1500)
_SIZE_IN_KERNEL = Number("bytes of a packet", 64, 3500, 1500)  # as in `crates/ingress`
_MTBR = Number("matches per MB", 0, 20_000, 600)
_QUEUE = Number("requests in a queue", 1, 65_536, 256)
_QUEUES = Number("queues", 1, 64, 1)
_WORKING_SET = Number("bytes", 4096, 1 << 36, 1 << 22)
_RATE = Number("per second", 1, 10**10, 10**6)
_CONFIGURATIONS = Number("configurations", 1, 1000, 12)
_MIXES = Number("mixes", 1, 100_000, 60)
_PAIRS = Number("pairs of blocks", 1, 1000, 5)
_BLOCK = Number("milliseconds", 5, 60_000, 100)
_WARM = Number("milliseconds", 0, 60_000, 50)
_REPETITIONS = Number("repetitions", 1, 1000, 5)
_SEED = Number("seed", 0, 1 << 32, 0)
_CPU = Number("CPU", 0, 65_535, 0)


def load_setup(file: str) -> Setup:
    """Read the description of a profile from a file.

    Raises:
        InputError: if the file cannot be read, or its content is invalid.
        UnavailableError: if PyYAML is not installed.
    """
    return read_setup(file, read_text(file))


def read_setup(file: str, content: str) -> Setup:
    """Read the description of a profile from a text; `file` is its name in errors.

    Raises:
        InputError: if its content is invalid.
        UnavailableError: if PyYAML is not installed.
    """
    if not content.strip():
        raise InputError(
            codes.FILE_EMPTY,
            f"{file}:1",
            "the description is empty; docs/reference/contention-files.md lists its keys",
        )
    content_table = table(
        read_spanned(file, content),
        ("schema", "name", "function", "traffic", "competitors"),
        ("effort", "cpus"),
    )
    number(content_table["schema"], Number("version", 1, 1, 1))
    function = _function(name(content_table["name"]), content_table["function"], Path(file).parent)
    traffic = _traffic(content_table["traffic"], function)
    memory, client = _competitors(content_table["competitors"], function)
    effort = content_table.get("effort")
    cpus = content_table.get("cpus")
    return Setup(
        function,
        traffic,
        memory,
        client,
        _effort({} if effort is None else table(effort, (), _EFFORT), memory),
        None if cpus is None else _cpus(cpus),
    )


def _cpus(found: Spanned) -> tuple[int, ...]:
    """Read a list of CPU numbers, and check that no number occurs twice."""
    cpus = tuple(number(one, _CPU) for one in items(found))
    if len({*cpus}) < len(cpus):
        found.place.refuse("the list has a CPU twice; each thread needs its own CPU")
    return cpus


def _function(function_name: str, found: Spanned, folder: Path) -> Function:
    if isinstance(found.value, dict) and "xdp" in found.value:
        program = read_program(table(found, ("xdp",))["xdp"], folder)
        return Function(function_name, (), None, "run-to-completion", _QUEUE.default, program)
    parts = table(found, ("pattern",), ("stages", "accelerator", "queue"))
    stages = parts.get("stages")
    all_stages = () if stages is None else tuple(_stage(one) for one in items(stages))
    accelerator = parts.get("accelerator")
    service = None if accelerator is None else word(accelerator, ("regex", "compression"))
    pattern = word(parts["pattern"], ("pipeline", "run-to-completion"))
    if service is None and pattern == "pipeline":
        parts["pattern"].place.refuse("a pipeline needs an `accelerator`")
    if not all_stages and pattern == "pipeline":
        parts["pattern"].place.refuse("a pipeline needs `stages` in front of its accelerator")
    if not all_stages and service is None:
        found.place.refuse("the function needs `stages` or an `accelerator`")
    queue = _optional(parts, "queue", _QUEUE)
    return Function(
        function_name, all_stages, cast("Service | None", service), cast("Pattern", pattern), queue
    )


def _stage(found: Spanned) -> Stage:
    if isinstance(found.value, str):
        stage = word(found, (*_SIMPLE, *_SIZED))
        if stage in _SIMPLE:
            return stage
        key, limits = _SIZED[stage]
        return {stage: {key: limits.default}}
    inside = table(found, (), tuple(_SIZED))
    if len(inside) != 1:
        found.place.refuse(f"the value must be one of {', '.join((*_SIMPLE, *_SIZED))}")
    stage, parameters = next(iter(inside.items()))
    key, limits = _SIZED[stage]
    return {stage: {key: _optional(table(parameters, (), (key,)), key, limits)}}


def _traffic(found: Spanned, function: Function) -> TrafficRange:
    parts = table(found, ("flow_count", "packet_size_bytes"), ("mtbr",))
    if function.service is None and "mtbr" in parts:
        parts["mtbr"].place.refuse("the function needs an `accelerator`, which searches payloads")
    return TrafficRange(
        _span(parts["flow_count"], _FLOWS),
        _span(parts["packet_size_bytes"], _SIZE if function.program is None else _SIZE_IN_KERNEL),
        _span(parts["mtbr"], _MTBR) if "mtbr" in parts else Span(0, 0),
    )


def _competitors(
    found: Spanned, function: Function
) -> tuple[MemoryRange | None, ClientRange | None]:
    parts = table(found, (), ("memory", "accelerator"))
    memory, client = parts.get("memory"), parts.get("accelerator")
    if memory is None and client is None:
        found.place.refuse("the competitors need `memory` or `accelerator`")
    if client is not None and function.service is None:
        client.place.refuse("the function does not use an accelerator that it could share")
    return (
        None if memory is None else _memory(memory),
        None if client is None else _client(client),
    )


def _memory(found: Spanned) -> MemoryRange:
    parts = table(found, ("working_set_bytes",), ("rate", "touch", "configurations"))
    touch = parts.get("touch")
    touches = _TOUCHES if touch is None else tuple(word(one, _TOUCHES) for one in items(touch))
    if not touches and touch is not None:
        touch.place.refuse(f"the list is empty; it can have {', '.join(_TOUCHES)}")
    return MemoryRange(
        _span(parts["working_set_bytes"], _WORKING_SET),
        _span(parts["rate"], _RATE) if "rate" in parts else None,
        touches,
        _optional(parts, "configurations", _CONFIGURATIONS),
    )


def _client(found: Spanned) -> ClientRange:
    parts = table(found, (), ("packet_size_bytes", "mtbr", "rate", "queues"))
    return ClientRange(
        _optional(parts, "packet_size_bytes", _SIZE),
        _span(parts["mtbr"], _MTBR) if "mtbr" in parts else Span(0, 1000),
        _span(parts["rate"], _RATE) if "rate" in parts else None,
        _optional(parts, "queues", _QUEUES),
    )


_EFFORT = ("mixes", "pairs", "block_ms", "warm_ms", "repetitions", "plan", "seed")


def _effort(parts: dict[str, Spanned], memory: MemoryRange | None) -> Effort:
    plan = parts.get("plan")
    plan_name = cast("Plan", PLANS[0] if plan is None else word(plan, PLANS))
    if plan is not None and plan_name in ASKING and memory is None:
        plan.place.refuse(f"{plan_name} {NOTHING_TO_CHOOSE}")
    return Effort(
        _optional(parts, "mixes", _MIXES),
        _optional(parts, "pairs", _PAIRS),
        _optional(parts, "block_ms", _BLOCK) / 1000,
        _optional(parts, "warm_ms", _WARM) / 1000,
        _optional(parts, "repetitions", _REPETITIONS),
        plan_name,
        _optional(parts, "seed", _SEED),
    )


def _span(found: Spanned, limits: Number) -> Span:
    """Read a range of numbers: a single number, or a list with the smallest and the largest one."""
    if not isinstance(found.value, list):
        value = number(found, limits)
        return Span(value, value)
    ends = [number(one, limits) for one in found.value]
    if len(ends) != 2 or ends[0] > ends[1]:  # noqa: PLR2004 - both ends
        found.place.refuse("the value is not a range; write one number, or [least, greatest]")
    return Span(ends[0], ends[1])


def _optional(parts: dict[str, Spanned], key: str, limits: Number) -> int:
    return number(parts[key], limits) if key in parts else limits.default
