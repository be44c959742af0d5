"""Runs the command `slowpath insights graph`."""

from argparse import Namespace
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from slowpath.core import codes
from slowpath.core.errors import Coded, ExitCode, OptionError, StoppedError, stopped_code
from slowpath.core.formats import Reporter
from slowpath.core.inputs import check_output, check_page, write_text
from slowpath.core.jobs import Message, Stopping, heeding_signals
from slowpath.core.terminal import first_few
from slowpath.insights.options import Limits, read_limits
from slowpath.insights.output import SHOWN
from slowpath.insights.source.unit import UnitWorker, require_llvmlite, require_numpy

if TYPE_CHECKING:  # these modules import packages of extras
    from slowpath.insights.click.reporting import Ran
    from slowpath.insights.click.running import Compiled, Configured, GraphSettings


def run(given: Namespace, reporter: Reporter) -> ExitCode:
    """Run packets through a configuration, and print counts and advice for all its elements.

    Raises:
        InputError: when a file cannot be read, used or written, or a connection is wrong.
        OptionError: when an option is invalid or missing.
        StoppedError: when the time was too short for a result.
        UnavailableError: when a package is missing.
    """
    files = [text.rpartition("=")[2] for text in given.pcap or ()]
    check_page(given.html)
    check_output("--html", given.html, [given.file, *files])
    require_llvmlite()
    require_numpy()
    from slowpath.insights.click.classes import ClickTree
    from slowpath.insights.click.elaboration import read_graph
    from slowpath.insights.click.reporting import report_on
    from slowpath.insights.click.running import GraphSettings, compile_classes, configure

    limits = read_limits(given)
    graph = read_graph(given.file)
    if given.click is None:
        reason = "name the Click or FastClick tree with the sources of the elements"
        raise OptionError(codes.MISSING_ARGUMENT, "--click", reason)
    configured = configure(graph, ClickTree(given.click))
    names = [one.name for one in graph.elements]
    sources = [at for at, one in configured.models.items() if one.role in ("source", "device")]
    traffic = _traffic(given.pcap or (), names, sources)
    settings = GraphSettings(traffic, given.packets, given.blocks)
    with heeding_signals() as stopping:
        ran = _run(
            configured, compile_classes(configured, limits.clang), settings, limits, stopping
        )
    report = report_on(configured, given.click, ran, left_of(limits))
    if given.html is not None:
        from slowpath.insights.click.page import graph_page

        write_text(given.html, graph_page(report))
    missing = [one["element"] for one in report["missing"]]
    warnings = []
    if missing:
        lost = f"{len(missing)} elements do not run ({first_few(missing, SHOWN)})"
        text = f"{given.file}: {lost}, so the part behind them has no counts"
        warnings.append(Coded(codes.TRACE_REMARK, text))
    reporter.write(report, warnings=warnings)
    return ExitCode.FINE


def _traffic(
    given: Sequence[str], names: Sequence[str], sources: Sequence[int]
) -> Mapping[int, str]:
    """Return the capture file of each source element, from the values of `--pcap`.

    Raises:
        OptionError: when a name is not that of a source element, or the configuration has none.
    """
    if not given:
        return {}
    known = [names[at] for at in sources]
    if not sources:
        reason = "the configuration has no element that delivers packets, such as FromDevice"
        raise OptionError(codes.OPTION_WITHOUT_EFFECT, "--pcap", reason)
    every, found = None, dict[int, str]()
    for text in given:
        name, equals, file = text.partition("=")
        if not equals or (name not in known and Path(text).exists()):
            every = text
        elif name not in known:
            reason = f"{name} does not deliver packets; choose one of {', '.join(known)}"
            raise OptionError(codes.UNKNOWN_NAME, "--pcap", reason)
        else:
            found[sources[known.index(name)]] = file
    if every is not None:
        found = {at: found.get(at, every) for at in sources}
    return found


def _run(
    configured: "Configured",
    compiled: "Compiled",
    settings: "GraphSettings",
    limits: Limits,
    stopping: Stopping,
) -> "Ran":
    """Run packets in a worker process.

    Raises:
        InputError: when packets circle, or a capture file cannot be used.
        StoppedError: when the time or memory is too short.
    """
    from slowpath.insights.click.reporting import ElementRun, Ran
    from slowpath.insights.click.running import run_graph

    elements, missing = dict[int, ElementRun](), dict[int, str]()
    passed = list[Mapping[str, Any]]()

    def take(message: Message) -> None:
        match message:
            case ("missing", at, reason):
                missing[at] = reason
            case ("counted", at, report, coalescing):
                elements[at] = ElementRun(report, coalescing)
            case ("passed", facts):
                passed.append(facts)

    file = configured.graph.file
    work = partial(run_graph, configured, compiled, settings)
    with UnitWorker(file, limits.memory, stopping, work) as worker:
        stopped = worker.run(work, left_of(limits), take)
    if stopped is not None:
        reason = f"{stopped} before the last packet; allow more time with --deadline"
        raise StoppedError(stopped_code(stopped), file, reason)
    facts = passed[0] if passed else None
    more = facts is not None and bool(facts["more"])
    return Ran(elements, missing, facts, settings.traffic, more)


def left_of(limits: Limits) -> float | None:
    """Return the seconds until the deadline; None without one."""
    until = limits.clang.until
    return None if until is None else max(until - monotonic(), 0.1)
