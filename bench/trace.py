#!/usr/bin/env python3
"""The bounds of one analysis over time, as JSON on standard output.

Takes a file and those options of `slowpath bound` that the benchmarks use. Runs in the interpreter
that slowpath is installed for; anytime.py calls it.
"""

import argparse
import json
from pathlib import Path

from slowpath import engine
from slowpath.work.stopping import Stopping


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("file", type=Path)
    arguments.add_argument("--target", default="agilio-cx-2x40")
    arguments.add_argument("--cores", type=int)
    arguments.add_argument("--unroll", action="append", default=[])
    arguments.add_argument("--deadline", type=float)
    given = arguments.parse_args()
    options = engine.Options(
        cores=given.cores, unroll=given.unroll, deadline_seconds=given.deadline
    )
    name = str(given.file)
    subject = engine.Subject(name, engine.read_object(name, given.file.read_bytes()), 0, None)
    run, bounds = engine.Run(), list[tuple[float, float]]()
    for message in engine.messages(subject, _target(given.target), options, Stopping()):
        found = run.take(message)
        if message[0] == "bound" and not run.news.paths:
            bounds.append((run.news.seconds, run.news.value))
        if found is not None:
            seconds = engine.outcome(*found).result["stats"]["seconds"]
            print(json.dumps({"bounds": bounds, "seconds": seconds}))


def _target(name: str) -> engine.Target:
    if name in engine.target_names():
        return engine.builtin_target(name)
    return engine.described_target(name, Path(name).read_text())


if __name__ == "__main__":
    main()
