"""Runs `slowpath insights counts`."""

import json
from argparse import Namespace

from slowpath.cli.errors import OptionError
from slowpath.cli.exit_codes import ExitCode
from slowpath.cli.inputs import check_output, write_text
from slowpath.commands.insights.compiling import read_work
from slowpath.commands.insights.traces import read_maps, setting_of
from slowpath.commands.insights.writing import show, warn
from slowpath.insights.packages import need_compiler, need_numbers
from slowpath.work.stopping import heeding_signals


def run(given: Namespace) -> ExitCode:
    """Runs the function and reports.

    Raises:
        InputError: when a file cannot be read, compiled or used, or the function does not end.
        OptionError: when an option makes no sense.
        StoppedError: when there was not enough time.
        UnavailableError: when llvmlite or numpy is missing.
    """
    need_compiler()
    need_numbers()
    _check(given)
    maps = read_maps(given)
    work = read_work(given, runs=True)
    from slowpath.insights.porting.running import run_source
    from slowpath.insights.porting.setting import Allowance

    setting = setting_of(given, maps)
    allowed = Allowance(work.seconds, work.memory)
    with heeding_signals() as stopping:
        found = run_source(work.source, given.traffic, setting, allowed, stopping)
    if given.placement_out is not None:
        _write(given.placement_out, found.placement)
    if given.coalescing_out is not None:
        if found.coalescing is None:
            warn(given.file, f"no two variables to order; {given.coalescing_out} is not written")
        else:
            _write(given.coalescing_out, found.coalescing)
    report = found.report
    from slowpath.commands.insights.counts.report import counts_csv, counts_text

    show(given, {"csv": counts_csv, "table": counts_text}, report)
    for note in report["notes"]:
        warn(given.file, note)
    return ExitCode.FINE


def _check(given: Namespace) -> None:
    """Finds out whether what is written replaces what is read.

    Raises:
        OptionError: when it does, or both files are one.
    """
    outputs = {"--placement-out": given.placement_out, "--coalescing-out": given.coalescing_out}
    for name, file in outputs.items():
        read = (given.file, given.traffic, given.maps)
        check_output(name, file, [one for one in read if one is not None])
    if given.placement_out is not None and given.placement_out == given.coalescing_out:
        raise OptionError("--coalescing-out", f"{given.coalescing_out} is that of --placement-out")


def _write(file: str, problem: dict[str, object]) -> None:
    write_text(file, f"{json.dumps(problem, indent=1)}\n")
