"""Runs the command `slowpath insights FILE`."""

from argparse import Namespace

from slowpath.core import codes
from slowpath.core.errors import Coded, ExitCode, OptionError
from slowpath.core.formats import Reporter, warn
from slowpath.core.inputs import check_output, check_page, write_text
from slowpath.core.jobs import heeding_signals
from slowpath.insights.options import read_maps, read_work, require_trace, run_settings
from slowpath.insights.source.unit import require_llvmlite, require_numpy


def run(given: Namespace, reporter: Reporter) -> ExitCode:
    """Gather evidence about a source file, and print advice on porting it.

    Raises:
        InputError: when a file cannot be read, compiled, used or written.
        OptionError: when an option is invalid.
        StoppedError: when the time was too short for a result.
        UnavailableError: when a package is missing.
    """
    _check(given)
    require_llvmlite()
    require_numpy()
    maps = read_maps(given)
    work = read_work(given)
    from slowpath.insights.advice.gathering import AdviceRequest, gather
    from slowpath.insights.advice.ranking import report_on

    setting = run_settings(given, maps)
    request = AdviceRequest(
        work.source,
        work.clang,
        given.pcap,
        setting,
        work.seconds,
        work.memory,
        tuple(given.beside or ()),
        given.placement,
    )
    with heeding_signals() as stopping:
        evidence = gather(request, stopping)
    report = report_on(evidence, given.target)
    if given.html is not None:
        from slowpath.insights.advice.page import advice_page

        write_text(given.html, advice_page(report))
    reporter.write(report)
    # All formats except CSV have these notes as a part of the report.
    notes = [] if report["traffic"] is None else report["traffic"]["notes"]
    warnings = [Coded(codes.TRACE_REMARK, f"{given.file}: {note}") for note in notes]
    warn(warnings, in_table=reporter.for_people)
    return ExitCode.FINE


def _check(given: Namespace) -> None:
    """Check the combination of options.

    Raises:
        OptionError: when options conflict, or `--pcap` is missing.
    """
    check_page(given.html)
    beside = given.beside or ()
    files = (given.file, given.pcap, given.maps, given.placement, *beside)
    check_output("--html", given.html, [one for one in files if one is not None])
    require_trace(given)
    if given.pcap is None and given.placement is not None:
        raise OptionError(
            codes.OPTION_NEEDS_OPTION,
            "--placement",
            "the option changes the memory of counted structures; give a trace with --pcap",
        )
    if given.pcap is None and beside:
        raise OptionError(
            codes.OPTION_NEEDS_OPTION,
            "--beside",
            "the option needs the counts of a function; give a trace with --pcap",
        )
