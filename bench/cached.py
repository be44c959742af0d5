#!/usr/bin/env python3
"""Time of `slowpath bound` over many programs, with an empty cache and again.

Takes program files, and compares the outputs of both runs byte by byte. Programs whose analysis
ends early are named and left out: their results are not kept, and differ between runs.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any, NamedTuple


class Run(NamedTuple):
    """Output of a run of the command, and its duration in seconds."""

    output: tuple[int, bytes, bytes]
    seconds: float


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("file", nargs="+")
    options.add_argument("--slowpath", default=".venv/bin/slowpath")
    options.add_argument("--target", default="linux-xdp")
    options.add_argument("--deadline", default="10s")
    options.add_argument("--repeat", type=int, default=3, help="turns (default: 3)")
    given = options.parse_args()
    command = [given.slowpath, "bound", "--target", given.target, "--deadline", given.deadline]
    command += ["--format", "json"]
    files: list[str] = given.file
    early = ended_early(run([*command, "--no-cache-dir", *files]))
    files = [file for file in files if file not in early]
    print(f"{len(files)} files; {len(early)} end early: {', '.join(sorted(early)) or 'none'}")
    first, again, one = [], [], []
    for _ in range(given.repeat):
        with tempfile.TemporaryDirectory() as folder:
            words = [*command, "--cache-dir", folder]
            runs = [run([*words, *files]) for _ in range(3)]
            if len({each.output for each in runs}) > 1:
                sys.exit("error: the output of a second run differs")
            first.append(runs[0].seconds)
            again += [each.seconds for each in runs[1:]]
            one.append(run([*words, files[0]]).seconds)
    medians = [statistics.median(seconds) for seconds in (first, again, one)]
    print("first {:.2f} s, again {:.3f} s, one file again {:.3f} s".format(*medians))
    print(f"ratio of first and again: {medians[0] / medians[1]:.0f}")


def run(words: list[str]) -> Run:
    """Run a command with the user's cache turned off."""
    environment = os.environ | {"SLOWPATH_NO_CACHE": "1"}
    started = time.perf_counter()
    done = subprocess.run(words, env=environment, capture_output=True, check=False)
    seconds = time.perf_counter() - started
    return Run((done.returncode, done.stdout, done.stderr), seconds)


def ended_early(done: Run) -> set[str]:
    """Return the files whose results were affected by a limit of time or memory."""
    results: list[dict[str, Any]] = json.loads(done.output[1])["results"]

    def is_early(result: dict[str, Any]) -> bool:
        parts = (result["guarantee"], result["estimate"], result.get("interleaved"))
        reasons = [part["stopped"] or "" for part in parts if part is not None]
        return any("deadline" in text or "memory" in text for text in [*reasons, *told(result)])

    return {result["file"] for result in results if is_early(result)}


def told(result: dict[str, Any]) -> list[str]:
    """Return the error and the notes of a result, one text each."""
    return [result["error"] or "", *result["notes"]]


if __name__ == "__main__":
    main()
