"""Evaluates the experiments of a run, in as many processes as there are CPUs.

Each experiment is evaluated by itself, so it comes to the same wherever that is.
"""

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

from slowpath.experiments.evaluation import evaluate, picture
from slowpath.experiments.results.documents import CalibratedExperiment
from slowpath.experiments.results.folder import ExperimentFolder

_FEW = 8
"""Experiments that one process evaluates before another one has begun to."""


def evaluate_all(
    folders: Sequence[ExperimentFolder], done: Callable[[str], None] = lambda _name: None
) -> list[CalibratedExperiment]:
    """Derives what experiments came to, each with its picture, and writes it to their directories.

    `done` is told the name of each that is evaluated, in order.

    Raises:
        InputError: when a directory lacks something, or its samples are not those measured.
        OptionError: when the extra `models` is not installed.
    """
    processes = len(os.sched_getaffinity(0))
    if processes > 1 and len(folders) > _FEW:
        # What they need is there before they are forked.
        import matplotlib.backends.backend_agg  # noqa: F401 - as said
        import scipy.optimize  # noqa: F401 - as said

        context = multiprocessing.get_context("fork")
        try:
            with ProcessPoolExecutor(processes, context, _leave_signals) as pool:
                return _told(pool.map(_evaluated, [folder.path for folder in folders]), done)
        except BrokenProcessPool:
            pass  # an error that does not pass from process to process: here it is raised again
    return _told((_evaluated(folder.path) for folder in folders), done)


def _told(
    found: Iterable[CalibratedExperiment], done: Callable[[str], None]
) -> list[CalibratedExperiment]:
    experiments = list[CalibratedExperiment]()
    for one in found:
        experiments.append(one)
        done(one["name"])
    return experiments


def _leave_signals() -> None:
    """Ctrl-C is for the process that waits."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _evaluated(path: Path) -> CalibratedExperiment:
    folder = ExperimentFolder(path)
    found = evaluate(folder)
    picture(folder, found["result"])
    return found
