"""Guarantees of programs before and after rewriting.

A guarantee counts the work of one program for packets that reach it in the chain. On targets that
count components, the whole chain is analysed and only the work of this program counts. On targets
that compile, the program is analysed alone, under the facts about packets that arrive. If packets
are assumed or map content is given, both guarantees hold for such packets and, where maps are
frozen, for this content.
"""

import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from slowpath.bounds.analyst import Analyst, RunContext
from slowpath.bounds.options import WrittenOptions, choose_target, read_request
from slowpath.bounds.plan import Task
from slowpath.bounds.progress import PartWatcher, WorkWatch
from slowpath.chain.documents import ChainProgram, Guarantee
from slowpath.chain.facts import maps_text
from slowpath.chain.loading import LoadedChain, compiled_of, targets_of
from slowpath.core.engine import chains
from slowpath.core.engine.errors import MapsFile
from slowpath.core.engine.objects import Object, ProgramInfo, programs, read_object
from slowpath.core.engine.targets import Target
from slowpath.core.errors import InputError
from slowpath.core.jobs.stopping import Stopping
from slowpath.core.printable import aligned_line, one_line
from slowpath.core.programs.loading import KernelBtf
from slowpath.core.schema.derived import counted, metric_rate, metric_words
from slowpath.core.schema.rates import METRICS, Metric, as_metric, format_rate
from slowpath.core.schema.results import Result

_UNITS = {"bitrate": "bit/s", "packetrate": "packets/s"}


class GuaranteeRequest(NamedTuple):
    """A chain with rewritten programs, and the analysis requested for it."""

    subject: chains.ChainSubject
    loaded: LoadedChain
    objects: Sequence[bytes | None]  # of rewritten programs; None: not rewritten
    targets: Sequence[str]
    seconds: float | None  # for all analyses together
    memory: int | None  # in bytes
    btf: KernelBtf
    known: chains.ChainKnowledge  # applies to the original programs
    watch: WorkWatch
    receive: str | None = None  # delivery of packets; None: as on any device

    @property
    def said(self) -> list[str]:
        """Restrictions of the guarantees, in words."""
        members = self.loaded.chain.members
        names = [
            name if len(members) == 1 else f"{members[member][0]}:{name}"
            for member, name in sorted(self.known.frozen)
        ]
        return [
            *(["packets as assumed"] if self.known.assumed else []),
            *([f"{maps_text(names)} as given"] if names else []),
            *(["generation zero"] if self.known.generations else []),
            *([f"packets as {self.receive} delivers them"] if self.receive else []),
        ]


def known_facts(
    programs: Sequence[ChainProgram], assumed: Sequence[str], maps: MapsFile | None
) -> chains.ChainKnowledge:
    """Return the facts known before runs: assumptions about packets, and frozen maps."""
    frozen, generations = set[tuple[int, str]](), list[tuple[int, str]]()
    for member, program in enumerate(programs):
        frozen |= {(member, one["map"]) for one in program["frozen"] if one["why_not"] is None}
        guard = program["guard"]
        if guard and guard["generation"]:
            generations.append((member, guard["generation"]))
    return chains.ChainKnowledge(assumed, maps, frozenset(frozen), generations)


def find_guarantees(about: GuaranteeRequest, stopping: Stopping) -> list[list[Guarantee]]:
    """Return the guarantees of each program; empty for programs that stay unchanged.

    Raises:
        InputError: if the description names an invalid target.
    """
    found = list[list[Guarantee]]([] for _ in about.objects)
    if not about.targets:
        return found
    own = targets_of(about.loaded)
    asked = [
        (member, target)
        for member, data in enumerate(about.objects)
        if data is not None
        for target in _targets(about, own, member)
    ]
    until = None if about.seconds is None else time.monotonic() + about.seconds
    for number, (member, target) in enumerate(asked):
        # Divide the remaining time evenly among the remaining analyses.
        left = None if until is None else max(until - time.monotonic(), 0)
        share = None if left is None else left / (len(asked) - number)
        found[member] += _on_target(about, member, target, share, stopping)
    return found


def _targets(about: GuaranteeRequest, own: dict[str, str], member: int) -> Sequence[str]:
    """Return the targets of a program: its device's target if the description names one."""
    chain = about.loaded.chain
    for device in chain.devices:
        if device in own and member in chain.on_device(device):
            return [own[device]]
    return about.targets


def _on_target(
    about: GuaranteeRequest, member: int, name: str, seconds: float | None, stopping: Stopping
) -> Iterator[Guarantee]:
    """Yield the guarantees, and the estimate if any, of a program on a target."""
    file = about.loaded.file
    written = WrittenOptions(target=name, memory=about.memory)
    if choose_target(name).counters is not None:
        written = written._replace(receive=about.receive)
    request = read_request([file], written)
    target = request.target
    metrics = target.counters or METRICS
    try:
        both = [_object(about, member, target, rewritten=rewritten) for rewritten in (False, True)]
    except InputError as problem:
        yield _unknown(target.name, metrics[0], problem.reason, about.said)
        return
    tasks = [
        Task(file, found, about.loaded.size, entry, target.name, metric)
        for metric in metrics
        for found, entry in both
    ]
    (called, _, _) = about.loaded.chain.members[member]
    looking = PartWatcher(about.watch, f"{called} on {target.name}")
    audience = RunContext(stopping, lambda *_: looking)
    until = None if seconds is None else time.monotonic() + seconds
    results = list[Result]()
    with Analyst(tasks, target, request.options, about.btf, audience) as analyst:
        for number in range(len(tasks)):
            left = None if until is None else max(until - time.monotonic(), 0)
            share = None if left is None else left / (len(tasks) - number)
            results.append(analyst.analyse(number, share).result)
    for number, metric in enumerate(metrics):
        before, after = results[2 * number : 2 * number + 2]
        yield _guarantee(target.name, metric, before, after, about.said)
        if number == 0 and target.machine is not None:
            yield _estimate(target.name, before, after, about.said)


def _object(
    about: GuaranteeRequest, member: int, target: Target, *, rewritten: bool
) -> tuple[Object, ProgramInfo]:
    """Return the object to analyse: the original chain, or the chain with rewritten programs.

    Raises:
        InputError: if the programs do not fit together.
    """
    subject = about.subject
    (name, _, _) = about.loaded.chain.members[member]
    known = about.known if rewritten else about.known._replace(generations=())
    start = chains.known_start(subject, known)
    if rewritten:
        pairs = zip(subject.objects, about.objects, strict=True)
        objects = [_replaced(subject.file, pair, data) for pair, data in pairs]
        subject = subject._replace(objects=objects)
    make = chains.with_arriving_packets if target.compiles else chains.combine_for
    found = make(subject, name, member, compiled_of(about.loaded), start)
    (entry,) = programs(found) or []
    return found, entry


def _replaced(file: str, original: tuple[Object, int], data: bytes | None) -> tuple[Object, int]:
    """Return the object to load instead of the original, with the program's number in it.

    Raises:
        InputError: if the rewritten object cannot be read.
    """
    if data is None:
        return original
    found, number = original
    (name,) = [one.name for one in programs(found) or [] if one.number == number]
    read = read_object(file, data)
    (same,) = [one.number for one in programs(read) or [] if one.name == name]
    return read, same


def _guarantee(
    target: str, metric: str, before: Result, after: Result, about: list[str]
) -> Guarantee:
    values = [_value(result, metric) for result in (before, after)]
    known = [result["guarantee"] for result in (before, after)]
    return {
        "target": target,
        "unit": _UNITS.get(metric, metric),
        "guaranteed": True,
        "before": values[0],
        "after": values[1],
        "exact": all(one is not None and one["exact"] for one in known),
        "bottlenecks": [None if one is None else one["bottleneck"] for one in known],
        "reasons": _reasons(before, after),
        "about": about,
        "assumptions": _assumptions(before, after),
    }


def _value(result: Result, metric: str) -> float | None:
    """Return the guaranteed number, if any."""
    guarantee = result["guarantee"]
    if guarantee is None:
        return None
    rate = as_metric(metric)
    if rate is not None:
        return metric_rate(guarantee, rate)
    return counted(guarantee["counts"] or {}, metric)[1]


def _estimate(target: str, before: Result, after: Result, said: list[str]) -> Guarantee:
    """Return the estimated time of the slowest path in the program."""
    both = [result["estimate"] for result in (before, after)]
    why = [note for result in (before, after) for note in result["notes"] or []]
    about = [note.removeprefix("estimates: ") for note in why if note.startswith("estimates:")]
    return {
        "target": target,
        "unit": "ns",
        "guaranteed": False,
        "before": both[0]["program_ns"] if both[0] else None,
        "after": both[1]["program_ns"] if both[1] else None,
        "exact": False,
        "bottlenecks": [None, None],
        "reasons": list(dict.fromkeys([*_reasons(before, after), *about])),
        "about": said,
        "assumptions": _assumptions(before, after),
    }


def _reasons(before: Result, after: Result) -> list[str]:
    """Return the reasons why a value is not known."""
    first, second = (_why_not(result) for result in (before, after))
    if first == second:
        return [] if first is None else [first]
    pairs = (("before", first), ("after", second))
    return [f"{when}: {reason}" for when, reason in pairs if reason is not None]


def _why_not(result: Result) -> str | None:
    """Return the reason why a result has no guarantee, or none known to be exact."""
    guarantee = result["guarantee"]
    return result["error"] if guarantee is None else guarantee["stopped"]


def _assumptions(before: Result, after: Result) -> list[str]:
    return list(dict.fromkeys([*before["assumptions"], *after["assumptions"]]))


def _unknown(target: str, metric: str, why: str, about: list[str]) -> Guarantee:
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
        reasons[f"before and after are for {'; '.join(about)}"] = None
    yield from (aligned_line(f"{program['name']}: {one_line(reason)}") for reason in reasons)


def _sentence(one: Guarantee) -> str:
    """Format: `on ebpf, at most 941 instructions before, 57 instructions after (exact)`."""
    if one["before"] is None and one["after"] is None:
        return f"on {one['target']}, {metric_words(one['unit'])} unknown before and after"
    values = zip((one["before"], one["after"]), one["bottlenecks"], strict=True)
    before, after = (_text(one, value, bottleneck) for value, bottleneck in values)
    return f"on {one['target']}, {_which(one)}{before} before, {after} after{_how(one)}"


def _which(one: Guarantee) -> str:
    if not one["guaranteed"]:
        return "estimated "
    return "at least " if one["unit"] in _RATES else "at most "


def _how(one: Guarantee) -> str:
    if one["exact"]:
        return " (exact)"
    return " (under conditions)" if one["assumptions"] else ""


def how(one: Guarantee) -> str:
    """Describe how certain the numbers are: `at most, exact`; `estimated`."""
    words = "exact" if one["exact"] else "under conditions" if one["assumptions"] else ""
    return ", ".join(filter(None, (_which(one).strip(), words)))


def unit_words(one: Guarantee) -> str:
    """Return the quantity that the numbers measure: `memory accesses`, `time in the program`."""
    if one["unit"] == "ns":
        return "time in the program"
    return one["unit"] if one["unit"] in _RATES else metric_words(one["unit"])


def _text(one: Guarantee, value: float | None, bottleneck: str | None) -> str:
    counted = value is not None and one["unit"] not in _RATES and one["unit"] != "ns"
    words = f" {metric_words(one['unit'])}" if counted else ""
    return f"{value_text(one, value, bottleneck)}{words}"


def value_text(one: Guarantee, value: float | None, bottleneck: str | None) -> str:
    """Format a number with its unit, and a rate with its bottleneck: `20.9 Gbit/s (dram)`."""
    if value is None:
        return "unknown"
    unit = one["unit"]
    if unit in _RATES:
        by = f" ({bottleneck})" if bottleneck else ""
        return f"{format_rate(value, _RATES[unit])}{by}"
    return f"{value:.1f} ns" if unit == "ns" else f"{value:.0f}"
