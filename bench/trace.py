#!/usr/bin/env python3
"""The bounds of one analysis over time, as JSON on standard output.

Takes a file and those options of `slowpath bound` that the benchmarks use. Runs in the interpreter
that slowpath is installed for; anytime.py calls it.
"""

import argparse
import json
from pathlib import Path

from slowpath import engine


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("file", type=Path)
    arguments.add_argument("--target", default="agilio-cx-2x40")
    arguments.add_argument("--cores", type=int)
    arguments.add_argument("--unroll", action="append", default=[])
    arguments.add_argument("--deadline", type=float)
    given = arguments.parse_args()
    metrics = engine.target_counters(given.target, is_text=False)
    options = engine.Options(
        target=given.target,
        target_is_text=False,
        metric=metrics[0] if metrics else "bitrate",
        cores=given.cores,
        unroll=given.unroll,
        paths=1,
        mtu=1500,
        deadline_seconds=given.deadline,
        memory_bytes=None,
        assume=None,
        maps=None,
        map_abi=None,
    )
    bounds: list[tuple[float, float]] = []

    def note(news: engine.Progress) -> None:
        if not news.paths:
            bounds.append((news.seconds, news.value))

    outcome = engine.analyse(str(given.file), given.file.read_bytes(), options, note)
    print(json.dumps({"bounds": bounds, "seconds": outcome.result["stats"]["seconds"]}))


if __name__ == "__main__":
    main()
