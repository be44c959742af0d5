"""Computes performance guarantees for the programs of a chain, before and after rewriting.

A guarantee counts the work of one program for packets that reach it in the chain. There are two
kinds of targets. If a target runs BPF instructions directly, the whole chain is analysed, and only
the work of this program counts. If programs are compiled for the target, the program is analysed
alone, under the facts about packets that arrive. If `--fact` or `--maps` is given, both guarantees
hold only for the assumed packets and the given content of maps.
"""

import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from slowpath.bounds.analyst import Analyst, RunContext
from slowpath.bounds.options import WrittenOptions, choose_target, read_request
from slowpath.bounds.p4_terms import add_conditions
from slowpath.bounds.plan import Task
from slowpath.bounds.progress import PartWatcher, WorkWatch
from slowpath.bounds.report_path import format_ns
from slowpath.chain.documents import ChainProgram, Guarantee
from slowpath.chain.facts import maps_text
from slowpath.chain.loading import LoadedChain, compiled_of, targets_of
from slowpath.core.engine import MapsFile, chains
from slowpath.core.engine.objects import Object, ProgramInfo, programs, read_object
from slowpath.core.engine.targets import Target
from slowpath.core.errors import InputError
from slowpath.core.jobs import Stopping
from slowpath.core.printable import aligned_line, one_line
from slowpath.core.programs.loading import KernelBtf
from slowpath.core.schema.derived import counted, metric_rate, metric_words
from slowpath.core.schema.rates import METRICS, Metric, as_metric, format_rate
from slowpath.core.schema.results import Result

_UNITS = {"bitrate": "bit/s", "packetrate": "packets/s"}


class GuaranteeRequest(NamedTuple):
    """Inputs of guarantees: a chain, its rewritten programs, and options of the analyses."""

    subject: chains.ChainSubject
    loaded: LoadedChain
    objects: Sequence[bytes | None]  # rewritten object of each program; None: not rewritten
    targets: Sequence[str]
    seconds: float | None  # time limit for all analyses together
    memory: int | None  # memory limit in bytes
    btf: KernelBtf
    known: chains.ChainKnowledge  # names maps as the original programs do
    watch: WorkWatch
    receive: str | None = None  # receiving environment; None: any device

    @property
    def restrictions(self) -> list[str]:
        """Assumptions about packets and map content under which the guarantees hold, as texts."""
        members = self.loaded.chain.members
        names = [
            name if len(members) == 1 else f"{members[member][0]}:{name}"
            for member, name in sorted(self.known.frozen)
        ]
        return [
            *(["the assumed facts about packets"] if self.known.assumed else []),
            *([f"the given content of {maps_text(names)}"] if names else []),
            *(["generation zero"] if self.known.generations else []),
            *([f"packets as {self.receive} delivers them"] if self.receive else []),
        ]


def known_facts(
    programs: Sequence[ChainProgram], assumed: Sequence[str], maps: MapsFile | None
) -> chains.ChainKnowledge:
    """Return what the analyses may assume: facts about packets, and given content of maps.

    `assumed` and `maps` are the arguments of `--fact` and `--maps`. The content is only that of
    maps on which rewritten programs may rely.
    """
    frozen, generations = set[tuple[int, str]](), list[tuple[int, str]]()
    for member, program in enumerate(programs):
        frozen |= {(member, one["map"]) for one in program["frozen"] if one["why_not"] is None}
        guard = program["guard"]
        if guard and guard["generation"]:
            generations.append((member, guard["generation"]))
    return chains.ChainKnowledge(assumed, maps, frozenset(frozen), generations)


def find_guarantees(request: GuaranteeRequest, stopping: Stopping) -> list[list[Guarantee]]:
    """Return the guarantees of each program; an empty list for a program that was not rewritten.

    Raises:
        InputError: if the description names an invalid target.
    """
    found = list[list[Guarantee]]([] for _ in request.objects)
    if not request.targets:
        return found
    device_targets = targets_of(request.loaded)
    pairs = [
        (member, target)
        for member, data in enumerate(request.objects)
        if data is not None
        for target in _targets(request, device_targets, member)
    ]
    for (member, target), seconds in zip(
        pairs, _time_shares(request.seconds, len(pairs)), strict=True
    ):
        found[member] += _on_target(request, member, target, seconds, stopping)
    return found


def _time_shares(seconds: float | None, analyses: int) -> Iterator[float | None]:
    """Yield the time limit of each analysis in seconds: an even share of the time that is left.

    `seconds` is the total time, which starts at the call; None: no limit. Each limit is computed
    when the iterator is advanced.
    """
    until = None if seconds is None else time.monotonic() + seconds
    return (
        None if until is None else max(until - time.monotonic(), 0) / remaining
        for remaining in range(analyses, 0, -1)
    )


def _targets(
    request: GuaranteeRequest, device_targets: dict[str, str], member: int
) -> Sequence[str]:
    """Return the targets for the guarantees of a program.

    This is the target that the description states for the program's device, else the requested
    targets.
    """
    chain = request.loaded.chain
    for device in chain.devices:
        if device in device_targets and member in chain.on_device(device):
            return [device_targets[device]]
    return request.targets


def _on_target(
    request: GuaranteeRequest, member: int, name: str, seconds: float | None, stopping: Stopping
) -> Iterator[Guarantee]:
    """Yield the guarantees of a program on the target `name`.

    Also yield its estimated times if the target has them.
    """
    loaded, about = request.loaded, request.restrictions
    written = WrittenOptions(target=name, memory=request.memory)
    if choose_target(name).counters is not None:
        written = written._replace(receive=request.receive)
    analysis = read_request([loaded.file], written)
    target = analysis.target
    metrics = target.counters or METRICS
    try:
        both = [_combine(request, member, target, rewritten=one) for one in (False, True)]
    except InputError as problem:
        yield _unknown(target.name, metrics[0], problem.reason, about)
        return
    tasks = [
        Task(loaded.file, found, loaded.size, entry, target.name, metric)
        for metric in metrics
        for found, entry in both
    ]
    watcher = PartWatcher(request.watch, f"{loaded.chain.members[member][0]} on {target.name}")
    context = RunContext(stopping, lambda *_: watcher)
    shares = _time_shares(seconds, len(tasks))
    with Analyst(tasks, target, analysis.options, request.btf, context) as analyst:
        results = [analyst.analyse(task, share).result for task, share in enumerate(shares)]
    for result in results:
        add_conditions(result, loaded.conditions)
    for number, metric in enumerate(metrics):
        before, after = results[2 * number : 2 * number + 2]
        yield _guarantee(target.name, metric, before, after, about)
        if number == 0 and target.machine is not None:
            yield _estimate(target.name, before, after, about)


def _combine(
    request: GuaranteeRequest, member: int, target: Target, *, rewritten: bool
) -> tuple[Object, ProgramInfo]:
    """Combine the programs of the chain, rewritten or original ones, into one object to analyse.

    Return the object and its only program, whose cost includes only the work of program `member`.

    Raises:
        InputError: if the programs do not fit together.
    """
    subject = request.subject
    (name, _, _) = request.loaded.chain.members[member]
    known = request.known if rewritten else request.known._replace(generations=())
    start = chains.known_start(subject, known)
    if rewritten:
        pairs = zip(subject.objects, request.objects, strict=True)
        objects = [_replaced(subject.file, pair, data) for pair, data in pairs]
        subject = subject._replace(objects=objects)
    combine = chains.with_arriving_packets if target.compiles else chains.combine_for
    found = combine(subject, name, member, compiled_of(request.loaded), start)
    (entry,) = programs(found) or []
    return found, entry


def _replaced(file: str, original: tuple[Object, int], data: bytes | None) -> tuple[Object, int]:
    """Return a program after rewriting: its object, and its index in the object.

    `data` is the rewritten object; None if the program stays unchanged.

    Raises:
        InputError: if the rewritten object cannot be read.
    """
    if data is None:
        return original
    found, number = original
    (name,) = [one.name for one in programs(found) or [] if one.number == number]
    rewritten = read_object(file, data)
    (new_number,) = [one.number for one in programs(rewritten) or [] if one.name == name]
    return rewritten, new_number


def _unknown(target: str, metric: str, why: str, about: list[str]) -> Guarantee:
    """Return a guarantee without values; `why` is the reason why they are unknown."""
    return {
        "target": target,
        "unit": _UNITS.get(metric, metric),
        "guaranteed": True,
        "before": None,
        "after": None,
        "exact": False,
        "bottlenecks": [None, None],
        "reasons": [why],
        "about": about,
        "assumptions": [],
    }


def _guarantee(
    target: str, metric: str, before: Result, after: Result, about: list[str]
) -> Guarantee:
    known = [result["guarantee"] for result in (before, after)]
    return {
        **_unknown(target, metric, "", about),
        "before": _value(before, metric),
        "after": _value(after, metric),
        "exact": all(one is not None and one["exact"] for one in known),
        "bottlenecks": [None if one is None else one["bottleneck"] for one in known],
        "reasons": _reasons(before, after),
        "assumptions": _assumptions(before, after),
    }


def _value(result: Result, metric: str) -> float | None:
    """Return the guaranteed value of a metric, such as a packet rate; None without a guarantee."""
    guarantee = result["guarantee"]
    if guarantee is None:
        return None
    rate = as_metric(metric)
    if rate is not None:
        return metric_rate(guarantee, rate)
    return counted(guarantee["counts"] or {}, metric)[1]


def _estimate(target: str, before: Result, after: Result, about: list[str]) -> Guarantee:
    """Return the estimated time of a program's slowest path, before and after rewriting."""
    both = [result["estimate"] for result in (before, after)]
    notes = [note for result in (before, after) for note in result["notes"] or []]
    why = [note.removeprefix("estimates: ") for note in notes if note.startswith("estimates:")]
    return {
        **_unknown(target, "ns", "", about),
        "guaranteed": False,
        "before": both[0]["warm"]["ns"] if both[0] else None,
        "after": both[1]["warm"]["ns"] if both[1] else None,
        "reasons": list(dict.fromkeys([*_reasons(before, after), *why])),
        "assumptions": _assumptions(before, after),
    }


def _reasons(before: Result, after: Result) -> list[str]:
    """Return the reasons why the guarantees before and after rewriting are unknown or not exact.

    A reason for both is returned once.
    """
    first, second = (_why_not(result) for result in (before, after))
    if first == second:
        return [] if first is None else [first]
    pairs = (("before", first), ("after", second))
    return [f"{when}: {reason}" for when, reason in pairs if reason is not None]


def _why_not(result: Result) -> str | None:
    guarantee = result["guarantee"]
    return result["error"] if guarantee is None else guarantee["stopped"]


def _assumptions(before: Result, after: Result) -> list[str]:
    return list(dict.fromkeys([*before["assumptions"], *after["assumptions"]]))


_RATES: dict[str, Metric] = {"bit/s": "bitrate", "packets/s": "packetrate"}


def guarantee_lines(program: ChainProgram) -> Iterator[str]:
    """Yield a line for each guarantee and estimate of a program, then reasons for unknown ones."""
    reasons = dict[str, None]()
    for one in program["guarantees"]:
        yield one_line(f"{program['name']}: {_sentence(one)}")
        reasons |= dict.fromkeys(f"on {one['target']}, {reason}" for reason in one["reasons"])
        more = (text for text in one["assumptions"] if text not in program["assumptions"])
        reasons |= dict.fromkeys(f"on {one['target']}, if {text}" for text in more)
    about = dict.fromkeys(text for one in program["guarantees"] for text in one["about"])
    if about:
        reasons[f"both values assume: {'; '.join(about)}"] = None
    yield from (aligned_line(f"{program['name']}: {one_line(reason)}") for reason in reasons)


def _sentence(one: Guarantee) -> str:
    """Format a guarantee: `on ebpf, at most 941 instructions before, 57 after (exact)`."""
    if one["before"] is None and one["after"] is None:
        return f"on {one['target']}, {metric_words(one['unit'])} unknown before and after"
    values = zip((one["before"], one["after"]), one["bottlenecks"], strict=True)
    before, after = (_value_with_unit(one, value, bottleneck) for value, bottleneck in values)
    relation, *certainty = certainty_words(one)
    suffix = f" ({certainty[0]})" if certainty else ""
    return f"on {one['target']}, {relation} {before} before, {after} after{suffix}"


def certainty_words(one: Guarantee) -> list[str]:
    """Return words for the certainty of a guarantee: `at most` and `exact`, or `estimated`."""
    relation = "at least" if one["unit"] in _RATES else "at most"
    certainty = "exact" if one["exact"] else "under conditions" if one["assumptions"] else ""
    return [relation if one["guaranteed"] else "estimated", *([certainty] if certainty else [])]


def unit_words(one: Guarantee) -> str:
    """Return the quantity that a guarantee is about, such as `memory accesses`."""
    if one["unit"] == "ns":
        return "time in the program"
    return one["unit"] if one["unit"] in _RATES else metric_words(one["unit"])


def _value_with_unit(one: Guarantee, value: float | None, bottleneck: str | None) -> str:
    is_count = value is not None and one["unit"] not in _RATES and one["unit"] != "ns"
    words = f" {metric_words(one['unit'])}" if is_count else ""
    return f"{value_text(one, value, bottleneck)}{words}"


def value_text(one: Guarantee, value: float | None, bottleneck: str | None) -> str:
    """Format a value of a guarantee, such as `57` or `20.9 Gbit/s (dram)`.

    `bottleneck` is the component of the target in brackets.
    """
    if value is None:
        return "unknown"
    unit = one["unit"]
    if unit in _RATES:
        limit = f" ({bottleneck})" if bottleneck else ""
        return f"{format_rate(value, _RATES[unit])}{limit}"
    return format_ns(value) if unit == "ns" else f"{value:.0f}"
