#!/usr/bin/env python3
"""Checks that nothing stays behind if `slowpath measure` is killed at any moment.

Runs as root, with the interpreter that has slowpath and its test tools. Each kind of measurement first
runs to its end, which shows how long it takes. Then measurements are killed at random moments, most by
SIGKILL. Before and after each, programs, maps, links, network namespaces, devices, pins, processes and
files are listed, by bpf(2) and /proc. After SIGINT and SIGTERM, the exit code must be a documented one,
and the output complete.
"""

import argparse
import csv
import json
import os
import random
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jsonschema
from leftovers import MARK, Thing, held, namespaces_in_memory

from slowpath.core.errors import ExitCode
from slowpath.core.programs.packet import pcap_bytes
from slowpath.core.schema.validation import schema

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
LONGEST = 60
"""Seconds within which a measurement must end after a signal."""
SETTLING = 20
"""Maximum seconds for the kernel to release resources in the background."""
_PROGRESS = 10
"""Number of tries after which a line of progress is printed."""
SIGNALS = (signal.SIGKILL, signal.SIGINT, signal.SIGTERM)
SHARES = (3, 1, 1)
KINDS: dict[str, tuple[Sequence[str], Sequence[str]]] = {
    "hot": (("firewall", "flow_monitor", "tunnel"), ("--cache", "hot", "--no-stretches")),
    "cold": (("flow_monitor", "dns_cache"), ("--cache", "both", "--no-stretches")),
    "stretches": (("firewall", "header_parser"), ("--cache", "hot")),
    "live": (("firewall", "header_parser", "ddos_filter"), ("--mode", "live")),
    "trace": (("header_parser", "flow_monitor"), ("--pcap", "TRACE")),
    "versions": (("alaw2ulaw alaw2ulaw_opt", "firewall firewall"), ()),
}
"""For each kind of measurement, the example objects and the options."""


class Try(NamedTuple):
    """A measurement that was killed, with the resources that it left behind and its faults."""

    kind: str
    files: str
    signal: str
    after: float  # seconds
    code: int
    ending: float  # seconds from the signal to the end
    settled: float  # seconds until nothing was left, or the check gave up
    left: tuple[Thing, ...]
    wrong: str | None


class Killer:
    """Starts measurements, kills them, and checks that nothing is left behind."""

    def __init__(self, folder: Path, seconds: float) -> None:
        """Create a killer that writes files to a folder. Each program is measured for `seconds`."""
        self._trace = folder / "trace.pcap"
        self._trace.write_bytes(pcap_bytes([_packet(number) for number in range(20_000)]))
        self._out = folder / "out.json"
        self._temporary = folder / "temporary"
        self._temporary.mkdir()
        self._seconds = seconds
        self._mark = folder.name

    def usual(self, kind: str, files: str) -> float:
        """Run a measurement to its end without killing it, and return its seconds.

        Fail if it leaves anything behind.
        """
        begin = time.monotonic()
        done = self._killed(kind, files, None, 0.0)
        if done.wrong is not None or done.left:
            raise SystemExit(f"{kind} {files}, not killed: {_problems(done)}")
        return time.monotonic() - begin - done.settled

    def kill(self, kind: str, files: str, number: signal.Signals, after: float) -> Try:
        """Start a measurement, and send a signal to it after `after` seconds."""
        return self._killed(kind, files, number, after)

    def _killed(self, kind: str, files: str, number: signal.Signals | None, after: float) -> Try:
        before = held(self._mark, self._temporary).things
        sent = None
        with self._out.open("wb") as out:
            process = subprocess.Popen(
                self._words(kind, files),
                stdout=out,
                stderr=subprocess.DEVNULL,
                env=os.environ | {MARK: self._mark, "TMPDIR": str(self._temporary)},
                preexec_fn=_heed_interrupts,  # noqa: PLW1509 - no threads here
            )
            try:
                if number is not None:
                    time.sleep(after)
                    if process.poll() is None:
                        process.send_signal(number)
                        sent = number
                begin = time.monotonic()
                code = process.wait(LONGEST)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                code = -signal.SIGALRM
        ending = time.monotonic() - begin
        left, settled = self._left(before)
        wrong = self._wrong(files, sent, code)
        name = "none" if sent is None else sent.name
        return Try(kind, files, name, after, code, ending, settled, left, wrong)

    def _words(self, kind: str, files: str) -> list[str]:
        options = [str(self._trace) if word == "TRACE" else word for word in KINDS[kind][1]]
        paths = [str(EXAMPLES / f"{file}.bpf.o") for file in files.split()]
        words = [sys.executable, "-m", "slowpath", "measure", *paths, *options]
        return [*words, "--seconds", str(self._seconds), "--format", "json"]

    def _left(self, before: frozenset[Thing]) -> tuple[tuple[Thing, ...], float]:
        """Return the resources that a measurement has left behind, and the seconds of this check.

        `before` are the resources before the measurement.
        """
        begin = time.monotonic()
        candidates: set[Thing] | None = None
        while True:
            things, others = held(self._mark, self._temporary)
            # Other processes may also create objects. Those are open in these processes, or
            # disappear.
            new = things - before - others
            candidates = set(new) if candidates is None else candidates & new
            taken = time.monotonic() - begin
            if not candidates or taken > SETTLING:
                return tuple(sorted(candidates)), taken
            time.sleep(0.1)

    def _wrong(self, files: str, number: signal.Signals | None, code: int) -> str | None:
        """Return a description of the fault if a measurement ended wrongly, else None.

        `number` is the signal that was sent, and `code` the exit code.
        """
        if number == signal.SIGKILL:
            return None if code == -signal.SIGKILL else f"exit code {code}"
        text = self._out.read_text()
        if number is not None and code in {-signal.SIGTERM, ExitCode.INTERRUPTED}:
            # The signal killed the process during imports, before it could end properly, or after
            # the output.
            return _fault(text, files, code) if text else None
        if code != ExitCode.FINE and (number is None or code != ExitCode.UNDECIDED):
            return f"exit code {code}"
        return _fault(text, files, code)


def _fault(text: str, files: str, code: int) -> str | None:
    """Return a description of the fault in a measurement's output, else None.

    The output must contain all programs, each measured or refused.
    """
    try:
        document: Any = json.loads(text)
        jsonschema.validate(document, schema("measure"))
    except (ValueError, jsonschema.ValidationError) as fault:
        return f"exit code {code}, output: {str(fault).splitlines()[0]}"
    results = document["results"]
    if len(results) != len(files.split()):
        return f"{len(results)} results"
    for result in results:
        measured = [path for path in result["paths"] if path["error"] is None]
        if result["error"] is None and not measured:
            return "a program without error and without times"
    return None


def _heed_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _packet(number: int) -> bytes:
    """Return an IPv4 packet with one of many flows, which `number` selects."""
    ip = struct.pack(
        ">BBHHHBBHII", 0x45, 0, 54, 0, 0, 64, 6 if number % 4 else 17, 0, number % 500, 0x0A0000FF
    )
    transport = struct.pack(">HHIIBBHHH", 1000 + number % 7, 443, 0, 0, 0x50, 2, 512, 0, 0)
    return bytes(12) + b"\x08\x00" + ip + transport + bytes(14)


def _problems(one: Try) -> str:
    left = ", ".join(f"{kind} {name}" for kind, name in one.left[:6])
    return "; ".join(filter(None, (one.wrong, f"stayed: {left}" if left else None)))


def main() -> int:
    """Kill measurements many times; return 1 if anything was left behind or went wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tries", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=1.0, help="of each measurement")
    parser.add_argument("--csv", type=Path, help="write every try to this file")
    given = parser.parse_args()
    if os.geteuid() != 0:
        raise SystemExit("to be run as root")
    chance = random.Random(given.seed)  # noqa: S311 - no secret
    spaces = namespaces_in_memory()
    tries = list[Try]()
    with tempfile.TemporaryDirectory(prefix="kills-") as folder:
        killer = Killer(Path(folder), given.seconds)
        usual = {
            (kind, files): killer.usual(kind, files) for kind in KINDS for files in KINDS[kind][0]
        }
        for (kind, files), seconds in usual.items():
            print(f"{kind:9} {files:24} usually {seconds:.1f} s", flush=True)
        kinds = list(KINDS)
        for number in range(given.tries):
            kind = kinds[number % len(kinds)]
            files = chance.choice(KINDS[kind][0])
            sent = chance.choices(SIGNALS, SHARES)[0]
            one = killer.kill(kind, files, sent, chance.uniform(0, usual[kind, files]))
            tries.append(one)
            if one.wrong is not None or one.left:
                print(f"try {number}, {one.kind} {one.files}, {one.signal} after {one.after:.3f} s: "
                      f"{_problems(one)}", flush=True)  # fmt: skip
            elif (number + 1) % _PROGRESS == 0:
                print(f"{number + 1} of {given.tries}", flush=True)
    _summary(tries, given.seed)
    now = namespaces_in_memory()
    if spaces is not None and now is not None:
        print(f"network namespaces in the kernel's memory: {spaces} before, {now} after")
    if given.csv is not None:
        with given.csv.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(Try._fields)
            writer.writerows((*one[:-2], len(one.left), one.wrong) for one in tries)
    return int(any(one.left or one.wrong is not None for one in tries))


def _summary(tries: Sequence[Try], seed: int) -> None:
    print(f"\n{len(tries)} tries, seed {seed}")
    print(f"{'':9} {'signal':8} {'tries':>5} {'codes':>16} {'s to end':>9} {'s to clear':>10} "
          f"{'stayed':>6} {'wrong':>5}")  # fmt: skip
    for kind in KINDS:
        for name in (*(number.name for number in SIGNALS), "none"):
            rows = [one for one in tries if (one.kind, one.signal) == (kind, name)]
            if not rows:
                continue
            codes = ",".join(str(code) for code in sorted({one.code for one in rows}))
            print(f"{kind:9} {name:8} {len(rows):5} {codes:>16} {max(o.ending for o in rows):9.1f} "
                  f"{max(o.settled for o in rows):10.1f} {sum(bool(o.left) for o in rows):6} "
                  f"{sum(o.wrong is not None for o in rows):5}")  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
