#!/usr/bin/env python3
"""Compares `slowpath measure --mode live` with plain virtual Ethernet and XDP_DROP.

Runs as root on a quiet machine, with the interpreter that has slowpath. The counterpart does not use
slowpath: `ip link` makes two devices in a separate namespace, bpf(2) is called directly, and
/proc/net/dev counts the packets that arrived. Both send the same number of packets of the same length
on the same CPU, in turns.
"""

import argparse
import csv
import ctypes
import json
import os
import random
import shutil
import statistics
import struct
import subprocess
import sys
import time
from pathlib import Path

from slowpath.core.engine import kernel, objects

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = ROOT / "examples/ddos_filter.bpf.o"
BATCH = 64
DROP, TX = 1, 3
RECEIVER_DROP = 3  # of `slowpath.measure.live.LiveSubject`

# Numbers of `uapi/linux/bpf.h`, and of the system call bpf(2) on x86-64 and arm64.
SYS_BPF = {"x86_64": 321, "aarch64": 280}
PROG_LOAD, TEST_RUN, LINK_CREATE = 5, 10, 28
PROG_TYPE_XDP, ATTACH_XDP = 6, 37
GENERIC, NATIVE = 2, 4
LIVE_FRAMES = 2
CLONE_NEWNET = 0x40000000


class Plain:
    """Sends packets to a program without the help of slowpath, for comparison.

    It has pairs of virtual Ethernet devices in a network namespace, which this process enters.
    """

    def __init__(self, length: int) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._kept: list[object] = []
        self._check(self._libc.unshare(CLONE_NEWNET))
        for pair in (("sender", "receiver"), ("idle", "idle_peer")):
            self._ip("link", "add", pair[0], "type", "veth", "peer", "name", pair[1])
            for device in pair:
                self._ip("link", "set", device, "addrgenmode", "none", "up")
        self._dropping, self._sending = self._load(DROP), self._load(TX)
        self._attach(self._dropping, "receiver", NATIVE)
        # Without an attached program, each call would cost two RCU grace periods.
        self._attach(self._sending, "idle", GENERIC)
        self._packet = bytes(length)

    def run(self, frames: int) -> tuple[float, int]:
        """Send `frames` packets; return the nanoseconds per packet, and the number that arrived."""
        length = len(self._packet)
        context = struct.pack("<6I", 0, length, 0, self._index("sender"), 0, 0)
        attributes = struct.pack("<4I2Q4I", self._sending, 0, length, 0, self._at(self._packet), 0,
                                 frames, 0, len(context), 0)  # fmt: skip
        attributes += struct.pack("<2Q4I", self._at(context), 0, LIVE_FRAMES, 0, BATCH, 0)
        before = self._received()
        start = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
        self._bpf(TEST_RUN, attributes)
        taken = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW) - start
        time.sleep(0.002)  # the kernel finishes in a thread
        del self._kept[-2:]
        return taken / frames, self._received() - before

    def _load(self, action: int) -> int:
        code = struct.pack("<BBhi", 0xB7, 0, 0, action) + struct.pack("<BBhi", 0x95, 0, 0, 0)
        at, name = self._at(code), self._at(b"GPL\0")
        attributes = struct.pack("<2I2Q2IQ2I", PROG_TYPE_XDP, 2, at, name, 0, 0, 0, 0, 0)
        return self._bpf(PROG_LOAD, attributes + bytes(16) + struct.pack("<2I", 0, ATTACH_XDP))

    def _attach(self, program: int, device: str, mode: int) -> None:
        target = (program, self._index(device), ATTACH_XDP, mode)
        self._bpf(LINK_CREATE, struct.pack("<4I", *target))

    def _received(self) -> int:
        rows = Path("/proc/thread-self/net/dev").read_text().splitlines()
        row = next(row for row in rows if row.strip().startswith("receiver:"))
        return int(row.split(":")[1].split()[1])

    def _bpf(self, command: int, attributes: bytes) -> int:
        number = SYS_BPF[os.uname().machine]
        buffer = ctypes.create_string_buffer(attributes, len(attributes))
        return self._check(self._libc.syscall(number, command, buffer, len(attributes)))

    def _at(self, data: bytes) -> int:
        buffer = ctypes.create_string_buffer(data, len(data))
        self._kept.append(buffer)
        return ctypes.addressof(buffer)

    def _index(self, device: str) -> int:
        return int(json.loads(self._ip("-json", "link", "show", device))[0]["ifindex"])

    def _ip(self, *words: str) -> bytes:
        tool = shutil.which("ip")
        if tool is None:
            raise SystemExit("there is no ip(8); install iproute2")
        return subprocess.run([tool, *words], capture_output=True, check=True).stdout

    def _check(self, result: int) -> int:
        if result < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        return result


def serve(length: int, frames: int, cpu: int) -> None:
    """Measure without slowpath in this process; each line of standard input starts one run."""
    plain = Plain(length)
    os.sched_setaffinity(0, {cpu})
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    for _ in sys.stdin:
        print(*plain.run(frames), flush=True)


class Ours:
    """Measures a program that drops all packets, as `slowpath measure --mode live` does."""

    def __init__(self, cpu: int) -> None:
        words = ["bound", str(PROGRAM), "--target", "ebpf", "--metric", "instructions"]
        answer = subprocess.run(
            [sys.executable, "-m", "slowpath", *words, "--format", "json"],
            capture_output=True,
            check=True,
        )
        path = json.loads(answer.stdout)["results"][0]["paths"][0]
        self.length = len(path["witness"]["packet"]) // 2
        self._station = kernel.open_station(kernel.open_kernel(), cpu)
        found = objects.read_object(str(PROGRAM), PROGRAM.read_bytes())
        subject = objects.Subject(str(PROGRAM), found, 0, None)
        witness = json.dumps(path["witness"])
        case = kernel.prepare_case(self._station, subject, witness, None)
        live = kernel.prepare_live_case(self._station, str(PROGRAM), case, BATCH)
        self._load = kernel.load_live_cases(self._station, [live])

    def run(self, frames: int) -> tuple[float, int]:
        """Send `frames` packets; return the nanoseconds per packet, and the number that arrived."""
        arguments = (self._station, self._load, (0, RECEIVER_DROP), frames, BATCH)
        taken, sent, arrived, _ = kernel.sample_live(*arguments)
        return taken / sent, arrived


def main() -> None:
    """Measure with and without slowpath in turns; print medians and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--frames", type=int, default=200_000)
    parser.add_argument("--cpu", type=int, default=max(os.sched_getaffinity(0)))
    parser.add_argument("--csv", type=Path, help="write every sample to this file")
    parser.add_argument("--plain", type=int, metavar="LENGTH", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.plain is not None:
        serve(given.plain, given.frames, given.cpu)
        return
    ours = Ours(given.cpu)
    words = ["--plain", str(ours.length), "--frames", str(given.frames), "--cpu", str(given.cpu)]
    pipe = subprocess.PIPE
    samples: dict[str, list[float]] = {"plain": [], "slowpath": []}
    rows = []
    with subprocess.Popen(
        [sys.executable, __file__, *words], stdin=pipe, stdout=pipe, text=True
    ) as plain:
        if plain.stdin is None or plain.stdout is None:
            raise SystemExit("the counterpart has no pipes")
        order = list(samples)
        for number in range(given.rounds):
            random.shuffle(order)
            for name in order:
                if name == "slowpath":
                    taken, came = ours.run(given.frames)
                else:
                    plain.stdin.write("\n")
                    plain.stdin.flush()
                    answer = plain.stdout.readline().split()
                    taken, came = float(answer[0]), int(answer[1])
                samples[name].append(taken)
                rows.append((number, name, taken, came, given.frames))
        plain.stdin.close()
    for name, values in samples.items():
        deciles = statistics.quantiles(values, n=10)
        median = statistics.median(values)
        came = sum(row[3] for row in rows if row[1] == name)
        print(
            f"{name:9} median {median:7.1f} ns ({1e3 / median:.3f} Mpps), "
            f"{deciles[0]:.1f} to {deciles[-1]:.1f} in 8 of 10; "
            f"{came:,} of {given.frames * given.rounds:,} packets came"
        )
    pairs = zip(samples["slowpath"], samples["plain"], strict=True)
    ratios = [one / other for one, other in pairs]
    print(f"slowpath / plain: median of rounds {statistics.median(ratios):.3f}")
    if given.csv is not None:
        with given.csv.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(("round", "side", "ns_per_packet", "received", "sent"))
            writer.writerows(rows)


if __name__ == "__main__":
    main()
