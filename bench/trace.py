"""The bounds of one analysis over time, as JSON on standard output.

Takes a file and the options of `slowpath bound` that the benchmarks use. Runs in the interpreter with
slowpath; called by anytime.py.
"""

import argparse
import json
from pathlib import Path

from slowpath.core.engine import analyses, objects, targets
from slowpath.core.jobs import Stopping


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("file", type=Path)
    arguments.add_argument("--target", default="agilio-cx-2x40")
    arguments.add_argument("--cores", type=int)
    arguments.add_argument("--unroll", action="append", default=[])
    arguments.add_argument("--deadline", type=float)
    given = arguments.parse_args()
    options = analyses.Options(
        cores=given.cores, unroll=given.unroll, deadline_seconds=given.deadline
    )
    name = str(given.file)
    subject = objects.Subject(name, objects.read_object(name, given.file.read_bytes()), 0, None)
    run, bounds = analyses.Run(), list[tuple[float, float]]()
    for message in analyses.messages(subject, _target(given.target), options, Stopping()):
        found = run.take(message)
        if message[0] == "bound" and not run.progress.paths:
            bounds.append((run.progress.seconds, run.progress.value))
        if found is not None:
            seconds = analyses.outcome(found).result["stats"]["seconds"]
            print(json.dumps({"bounds": bounds, "seconds": seconds}))


def _target(name: str) -> targets.Target:
    if name in targets.target_names():
        return targets.builtin_target(name)
    return targets.described_target(name, Path(name).read_text())


if __name__ == "__main__":
    main()
