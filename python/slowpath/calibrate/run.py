"""Runs the command `slowpath calibrate`."""

import time
from collections.abc import Collection, Sequence
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from slowpath.bounds.default_target import (
    CALIBRATED,
    calibration,
    calibration_file,
    keep_calibration,
)
from slowpath.bounds.options import check_valid
from slowpath.calibrate.derivation import Derived, derive, nearest_base
from slowpath.calibrate.description import is_quick
from slowpath.calibrate.experiments.documents import IMPRECISE, CalibratedExperiment
from slowpath.calibrate.experiments.evaluation import evaluate_all
from slowpath.calibrate.experiments.folder import write
from slowpath.calibrate.experiments.running import RunCallbacks, blocks_left, run, run_settings
from slowpath.calibrate.settings import Settings
from slowpath.core import codes, engine, terminal
from slowpath.core.engine import targets
from slowpath.core.errors import Coded, ExitCode, worst
from slowpath.core.extras import need_models
from slowpath.core.formats import Reporter, codes_of
from slowpath.core.jobs import heeding_signals
from slowpath.core.terminal import error, note, note_progress

if TYPE_CHECKING:
    from slowpath.calibrate.documents import CalibrateDocument

_PAUSE = 30.0
"""Time in seconds between two progress lines if standard error is not a terminal."""


class LiveLine(terminal.LiveLine):
    """Line that shows the progress of measuring.

    Without a terminal, a line for each measured block.
    """

    def __init__(self, count: int, then: str = "") -> None:
        """Create the line.

        Args:
            count: Number of blocks (periods of measuring an experiment).
            then: Work after the experiments, of unknown duration.
        """
        super().__init__()
        self._count = count
        self._then = f", then {then}" if then else ""
        self._done = 0
        self._started = time.monotonic()

    def show(self, name: str, text: str) -> None:
        """Show the current step `text` of measuring the experiment `name`."""
        self.draw(f"{self._done + 1} of {self._count}, {name}: {text}{self._left()}")

    def done(self, name: str) -> None:
        """Count a measured block of the experiment `name`."""
        self._done += 1
        if not self.live:
            note_progress(f"{self._done} of {self._count}: {name}{self._left()}")

    def _left(self) -> str:
        """Return a text with the estimated time left, from the mean time of the blocks so far."""
        if not self._done or self._done == self._count:
            return ""
        each = (time.monotonic() - self._started) / self._done
        return f"; {terminal.about_left(each * (self._count - self._done))}{self._then}"


class StageLine(terminal.LiveLine):
    """Line that shows the progress of a stage; without a terminal, a line every 30 s."""

    def __init__(self, stage: str) -> None:
        super().__init__()
        self._stage = stage
        self._started = time.monotonic()
        self._noted = self._started  # time of the last line without a terminal
        self._share = 0.0
        self.draw(stage)
        if not self.live:
            note_progress(stage)

    def show(self, share: float, text: str = "") -> None:
        """Show the finished share of the stage and the estimated time left.

        The shown share never decreases, even if the reported `share` does.
        """
        share = self._share = min(max(share, self._share), 1.0)
        now = time.monotonic()
        took = now - self._started
        left = f"; {terminal.about_left(took * (1 - share) / share)}" if 0 < share < 1 else ""
        words = f"{self._stage}: {share:.0%}{f', {text}' if text else ''}{left}"
        self.draw(words)
        if not self.live and now - self._noted >= _PAUSE:
            self._noted = now
            note_progress(words)


_FEW = 3  # maximum number of experiments that a note names
_PACKAGES = ("numpy", "scipy")


def calibrate(settings: Settings, reporter: Reporter) -> ExitCode:
    """Measure experiments, evaluate them, derive the target of this machine, and print the report.

    Raises:
        OptionError: when an option is invalid.
        InputError: when the extra is missing, this machine lacks something else, or a directory
            cannot be read or written.
    """
    need_models(_PACKAGES)
    found, stopped = _measure(settings)
    derived = None if stopped else _derive(settings, found)
    # A run that was only evaluated may come from another machine, so it sets no default.
    warnings = [] if derived is None or settings.bed is None else _keep(derived)
    # Write the page first: the reader of the report may close the pipe early.
    if settings.html is not None:
        _write_page(settings.html, settings, found, warnings)
    code = _report(settings, found, derived, reporter, warnings)
    return worst([code, ExitCode.UNDECIDED if stopped else ExitCode.FINE])


def _keep(derived: Derived) -> list[Coded]:
    """Save the derived target as this machine's default, or return a warning with the reason."""
    check_valid(targets.described_target(CALIBRATED, derived.text), derived.file)
    doubt = derived.quality.doubt
    kept = calibration()
    if derived.quality.base is not None and kept is not None and not is_quick(kept):
        return [
            Coded(
                codes.TARGET_NOT_KEPT,
                f"{derived.file}: this quick calibration does not become the default target "
                f"{CALIBRATED}, because the full calibration {calibration_file()} exists; delete "
                f"that file, or use the quick one with --target {derived.file}",
            )
        ]
    if doubt is None:
        # Commands without --target use this file from now on.
        note(
            f"kept as the default target {CALIBRATED} of this machine: "
            f"{keep_calibration(derived.text)}"
        )
        return []
    stays = (
        f"the previous default stays: {calibration_file()}"
        if kept
        else "there is no previous default"
    )
    return [
        Coded(
            codes.TARGET_NOT_KEPT,
            f"{derived.file}: this calibration does not become the default target "
            f"{CALIBRATED} ({stays}): {doubt}; calibrate on a quiet machine with more "
            f"--seconds, or use this one with --target {derived.file}",
        )
    ]


def _measure(settings: Settings) -> tuple[list[CalibratedExperiment], bool]:
    """Measure and evaluate the experiments of a run.

    Return all experiments measured so far, and true if a stop was requested.
    """
    folder, bed = settings.folder, settings.bed
    stopped = False
    if bed is not None:
        limits = settings.limits
        known = run_settings(bed.name, limits, settings.names, quick=settings.quick)
        folder.begin(known, settings.experiments)
        left = blocks_left(folder, bed, settings.experiments)
        with heeding_signals() as stopping, LiveLine(left, "models are fitted") as line:
            done = run(folder, bed, settings.experiments, limits, RunCallbacks(stopping, line.show))
            for name in done:
                line.done(name)
            stopped = stopping.asked
    measured = [name for name in settings.names if folder.of(name).measured]
    evaluated = count(1)
    with StageLine("fitting models to experiments") as stage:
        found = evaluate_all(
            [folder.of(name) for name in measured],
            lambda name: stage.show(next(evaluated) / len(measured), name),
        )
    return found, stopped


def _derive(settings: Settings, found: Sequence[CalibratedExperiment]) -> Derived | None:
    """Derive this machine's target from the measured experiments.

    Return None unless the test bed linux-xdp has measured all experiments completely.
    """
    if {each["measurement"]["testbed"] for each in found} != {CALIBRATED}:
        return None
    if any(each["measurement"]["state"] == "partial" for each in found):
        return None
    with heeding_signals() as stopping, StageLine("fitting the model of the core") as line:
        documents = [each["result"] for each in found]
        base = nearest_base() if settings.quick else None
        derived = derive(
            settings.folder, documents, lambda _: not stopping.asked, line.show, base=base
        )
        return None if stopping.asked else derived


def _write_page(
    file: str, settings: Settings, found: list[CalibratedExperiment], warnings: list[Coded]
) -> None:
    from slowpath.calibrate.page import environments_of, run_page

    where = [environments_of(settings.folder.of(one["name"])) for one in found]
    write(Path(file), run_page(str(settings.folder.path), found, where, warnings))


def _report(
    settings: Settings,
    found: list[CalibratedExperiment],
    derived: Derived | None,
    reporter: Reporter,
    warnings: list[Coded],
) -> ExitCode:
    document: CalibrateDocument = {
        **engine.head("calibrate", "calibrate"),
        "warnings": [*warnings],
        "warning_codes": codes_of(warnings),
        "directory": str(settings.folder.path),
        "target_file": None if derived is None else derived.file,
        "results": found,
    }
    reporter.write(document, derived, warnings=warnings)
    code = ExitCode.FINE
    for each in found:
        name, measurement = each["name"], each["measurement"]
        errors = measurement["errors"]
        for reason in dict.fromkeys(one["reason"] for one in errors):
            values = [one["value"] for one in errors if one["reason"] == reason]
            points = f"{each['result']['parameter']} = {', '.join(f'{one:,}' for one in values)}"
            error(codes.TESTBED_FAILED, name, f"{points}: {reason}")
            code = ExitCode.INPUT
    # A quick calibration trades precision for time, so omit the notes about missed precision.
    _print_notes(found, {IMPRECISE} if settings.quick else set())
    return code


def _print_notes(found: Sequence[CalibratedExperiment], hidden: Collection[str]) -> None:
    """Print each note of the experiments once, with the names of the experiments that have it.

    Notes in `hidden` are skipped.
    """
    experiments = dict[str, list[str]]()
    for each in found:
        for text in each["measurement"]["notes"]:
            if text in hidden:
                continue
            experiments.setdefault(text, []).append(each["name"])
    for text, names in experiments.items():
        subject = ", ".join(names) if len(names) <= _FEW else f"{len(names)} experiments"
        note(f"note: {subject}: {text}")
