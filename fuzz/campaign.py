"""Runs the installed command on damaged objects, listings and chains of objects.

The command must not abort, hang, or write output that affects a terminal.

A process gets many files, so that the engine takes most of the time. It writes each result at once;
the time between two results is that of one program.
"""

import argparse
import json
import os
import random
import re
import resource
import selectors
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from damaged_chains import GRACE, Case, cases
from mutants import damaged_listing, damaged_object

ROOT = Path(__file__).parent.parent
ADDRESS_SPACE = 4_000_000 << 10
"""Limit of a process's address space in bytes, as with `ulimit -v 4000000`."""
CODES = {0, 3, 4}
ALLOWED = 0.5
"""Seconds by which a program may exceed its deadline."""
STARTING = 3.0
"""Seconds until the first result, in which the interpreter starts and reads all files."""
FORMATS = ("json", "csv", "table")
_ACTING = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def object_seeds() -> list[bytes]:
    patterns = ("examples/*.bpf.o", "tests/objects/*.o", "crates/*/tests/**/*.o")
    files = sorted({path for pattern in patterns for path in ROOT.glob(pattern)})
    return [path.read_bytes() for path in files if path.stat().st_size < 100_000]


def listing_seeds() -> list[str]:
    files = sorted([*ROOT.glob("examples/*.asm"), *ROOT.glob("crates/nfp/tests/**/*.asm")])
    return [path.read_text(errors="replace") for path in files]


class Finding(Exception):  # noqa: N818 - a result of the campaign
    """A defect of the command that the campaign has found."""


def watched(command: Sequence[str], longest: float) -> tuple[str, str, int, list[float]]:
    """Run a command; return its outputs, its exit code, and the seconds between its outputs.

    Raises:
        Finding: if the command writes nothing for `longest` seconds, or has another defect.
    """
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE)),
    )
    assert process.stdout is not None
    assert process.stderr is not None
    written, gaps = {"stdout": bytearray(), "stderr": bytearray()}, list[float]()
    waiting = selectors.DefaultSelector()
    waiting.register(process.stdout, selectors.EVENT_READ, "stdout")
    waiting.register(process.stderr, selectors.EVENT_READ, "stderr")
    last = time.monotonic()
    while waiting.get_map():
        ready = waiting.select(timeout=longest)
        if not ready:
            process.kill()
            raise Finding("it hangs")
        for key, _ in ready:
            data = os.read(key.fd, 1 << 20)
            if not data:
                waiting.unregister(key.fileobj)
            written[key.data] += data
            if key.data == "stdout" and data:
                gaps.append(time.monotonic() - last)
                last = time.monotonic()
    code = process.wait()
    out, errors = (bytes(written[name]).decode() for name in ("stdout", "stderr"))
    if code not in CODES:
        raise Finding(f"exit code {code}: {errors[-500:]}")
    if "internal error" in errors or "internal error" in out:
        text = errors + out
        raise Finding(text[text.index("internal error") :][:500])
    for text in (out, errors):
        acting = _ACTING.search(text)
        if acting is not None:
            raise Finding(f"{acting[0]!r} in {text[max(0, acting.start() - 80) :][:160]!r}")
    return out, errors, code, gaps


def run(files: Sequence[str], form: str, options: Sequence[str], deadline: float) -> list[float]:
    """Analyse files with `slowpath bound`, and return the seconds between two results.

    Raises:
        Finding: if the command has a defect.
    """
    command = ["slowpath", "bound", *files, "--format", form, "--deadline", str(deadline), *options]
    out, _, _, gaps = watched(command, STARTING + 60 * (deadline + ALLOWED))
    if form == "json":
        results = json.loads(out)["results"]
        named = {result["file"] for result in results}
        if len(named) < len(set(files)):
            raise Finding(f"{len(files)} files, results of {len(named)}")
    return gaps


def withheld(report: dict[str, Any]) -> None:
    """Check the report of a command for faults of rewritten programs in the kernel.

    Raises:
        Finding: if the kernel rejected a program, or it behaves differently than the original.
    """
    for program in report.get("programs", ()):
        rehearsal = program.get("rehearsal") or {}
        if rehearsal.get("differs"):
            raise Finding(f"{program['name']} differs in the kernel: {rehearsal['difference']}")
        if rehearsal.get("refused"):
            raise Finding(f"the kernel refuses {program['name']}: {rehearsal['why_not']}")


def run_case(case: Case, deadline: float) -> tuple[float, int]:
    """Run a command on a chain of programs, and return its duration in seconds and its exit code.

    Raises:
        Finding: if the command hangs, or writes neither a result nor one error that names a file.
    """
    started = time.monotonic()
    out, errors, code, _ = watched(case.words, 60 * (deadline + ALLOWED))
    lines = [line for line in errors.splitlines() if line.startswith("error: ")]
    if code == 3 and (len(lines) != 1 or not any(str(file) in lines[0] for file in case.files)):
        raise Finding(f"no error of one line that names a file: {errors[-500:]!r}")
    if out:
        withheld(json.loads(out))
    elif not lines:
        raise Finding("neither a result nor an error")
    return time.monotonic() - started, code


def chains(
    count: int, seed: int, deadline: float, keep: Path
) -> tuple[list[str], float, Counter[int]]:
    """Run commands on chains of damaged objects, and copy the files of findings to `keep`.

    Returns:
        Findings, seconds of the slowest command, and counts of exit codes.
    """
    chance = random.Random(f"{seed} chain")
    findings, slowest, codes = list[str](), 0.0, Counter[int]()
    with tempfile.TemporaryDirectory() as folder:
        for case in cases(count, chance, Path(folder), deadline):
            try:
                seconds, code = run_case(case, deadline)
                codes[code] += 1
                if seconds > deadline + GRACE + ALLOWED + STARTING:
                    # Repeat a slow command, because other work may have delayed it.
                    seconds = min(run_case(case, deadline)[0] for _ in range(3))
                    if seconds > deadline + GRACE + ALLOWED + STARTING:
                        raise Finding(f"{seconds:.1f} s")
                slowest = max(slowest, seconds)
            except Finding as finding:
                for file in case.files:
                    (keep / file.name).write_bytes(file.read_bytes())
                findings.append(f"{keep}: {' '.join(case.words)}: {finding}")
                print(findings[-1], file=sys.stderr)
            for file in case.files:
                file.unlink()
    return findings, slowest, codes


def batches(
    count: int, size: int, chance: random.Random, folder: Path, kind: str
) -> Iterator[list[str]]:
    """Yield lists of `size` damaged files, `count` files in total; delete these files after use."""
    objects, listings = object_seeds(), listing_seeds()
    for first in range(0, count, size):
        files = []
        for number in range(first, min(first + size, count)):
            if kind == "object":
                path = folder / f"{number}.bpf.o"
                path.write_bytes(damaged_object(chance, objects))
            else:
                path = folder / f"{number}.asm"
                path.write_text(damaged_listing(chance, listings), errors="replace", newline="")
            files.append(str(path))
        yield files
        for file in files:
            Path(file).unlink()


def narrowed(
    files: Sequence[str], form: str, options: Sequence[str], deadline: float, keep: Path
) -> Iterator[str]:
    """Analyse each file of a batch alone, yield defects found, and copy their files to `keep`."""
    for file in files:
        try:
            gaps = run([file], form, options, deadline)
            # Repeat a slow analysis, because other work may have delayed it.
            if max(gaps, default=0.0) > deadline + ALLOWED + STARTING:
                again = [run([file], form, options, deadline) for _ in range(3)]
                slow = min(max(gaps, default=0.0) for gaps in again)
                if slow > deadline + ALLOWED + STARTING:
                    raise Finding(f"{slow:.1f} s")
        except Finding as finding:
            kept = keep / Path(file).name
            kept.write_bytes(Path(file).read_bytes())
            yield f"{kept} {form} {' '.join(options)}: {finding}"


def main() -> int:
    """Run the campaign, and return 1 if it found defects of the command, otherwise 0."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--objects", type=int, default=10_000)
    arguments.add_argument("--listings", type=int, default=5_000)
    arguments.add_argument("--chains", type=int, default=1_000)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--deadline", type=float, default=0.3, help="seconds a program")
    arguments.add_argument("--batch", type=int, default=50, help="files of one process")
    arguments.add_argument("--keep", type=Path, default=Path(tempfile.gettempdir()) / "findings")
    args = arguments.parse_args()
    args.keep.mkdir(parents=True, exist_ok=True)
    counted, findings, slowest = Counter[str](), list[str](), 0.0
    start = time.monotonic()
    for kind, count in (("object", args.objects), ("listing", args.listings)):
        chance = random.Random(f"{args.seed} {kind}")
        with tempfile.TemporaryDirectory() as folder:
            for number, files in enumerate(batches(count, args.batch, chance, Path(folder), kind)):
                form = FORMATS[number % len(FORMATS)]
                on_card = kind == "listing" or number % 2
                options = ("--target", "agilio-cx-2x40" if on_card else "ebpf")
                counted[kind] += len(files)
                try:
                    gaps = run(files, form, options, args.deadline)
                    longest = max(gaps[1:], default=0.0)
                    slowest = max(slowest, longest)
                    if longest <= args.deadline + ALLOWED:
                        continue
                except Finding as finding:
                    print(f"batch {number} of {kind}s: {finding}", file=sys.stderr)
                findings += narrowed(files, form, options, args.deadline, args.keep)
    found, longest, codes = chains(args.chains, args.seed, args.deadline, args.keep)
    findings += found
    for finding in findings:
        print(finding)
    print(
        f"{counted['object']} objects, {counted['listing']} listings, {args.chains} chains "
        f"({codes[0] + codes[4]} of them with a result), "
        f"seed {args.seed}: "
        f"{len(findings)} findings; the slowest program took {slowest:.2f} s with a deadline of "
        f"{args.deadline:g} s, the slowest command about a chain {longest:.2f} s; {time.monotonic() - start:.0f} s"
    )
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
