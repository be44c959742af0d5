"""Fused programs compared with the same programs chained by tail calls, in the running kernel.

Both get the packets that pass all programs, with their own maps, and must have the same effects. Then
both are timed in turns, on the packet that takes the slowest path through the whole chain. The
kernel repeats each in a loop (`slowpath_rehearsal::Rate` tells what this time contains).
"""

import json
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from figures import Column, Row

from chains import tail_calls
from chains.description import median, slowpath, write
from slowpath.core.engine import kernel, objects
from slowpath.core.engine.report_types import RehearsalReport
from slowpath.core.jobs import Stopping
from slowpath.core.programs.packet import wire_bytes
from slowpath.core.schema.results import Witness

CHAINS = (
    ("counter", "blocklist"),
    ("firewall", "load_balancer"),
    ("counter", "blocklist", "port_filter"),
    ("port_filter", "firewall", "load_balancer"),
    ("counter", "blocklist", "port_filter", "firewall", "load_balancer"),
)
PACKETS = 20_000
COLUMNS = [
    Column("programs", "programs"),
    Column("instructions, tail calls", "instructions"),
    Column("fused", "fused_instructions"),
    Column("ns, tail calls", "tail_calls_ns", 1),
    Column("ns, fused", "fused_ns", 1),
    Column("ns, empty program", "empty_ns", 1),
    Column("ratio", "ratio", 2),
    Column("from", "least_ratio", 2),
    Column("to", "greatest_ratio", 2),
    Column("without the empty program", "program_ratio", 2),
    Column("tail calls once more", "copy_ratio", 2),
]


def rows(python: Path, clang: str, repeat: int, rounds: int) -> Iterator[Row]:
    """Yield a table row for each chain: sizes and times of the fused program and of tail calls.

    Times are medians of several measurements.
    """
    with tempfile.TemporaryDirectory() as temporary:
        for programs in CHAINS:
            yield _row(python, clang, programs, (repeat, rounds), Path(temporary))


def _row(
    python: Path, clang: str, programs: Sequence[str], counts: tuple[int, int], folder: Path
) -> Row:
    repeat, rounds = counts
    name = "_".join(program[:2] for program in programs)
    chain = write(folder, name, programs)
    fusing = ["chain", "optimize", chain, "--fuse", "--packets", "0", "-o", folder / name]
    report = slowpath(python, *fusing).report
    if not report["fused"] or not report["fused"]["proved"]:
        raise SystemExit(f"error: {', '.join(programs)}: not fused: {report['not_fused']}")
    found = slowpath(python, "chain", "bound", chain, "--target", "ebpf").report["results"][0]
    witness = found["paths"][0]["witness"]
    chained = tail_calls.build(clang, programs, folder)
    fused = (folder / name / f"{name}.bpf.o").read_bytes()
    reports = [_rehearse(chained, fused, witness, rounds) for _ in range(repeat)]
    rates = [one["rate"] for one in reports]
    alone = [rate["ratio_without_frame"] for rate in rates]
    return {
        "programs": ", ".join(programs),
        "instructions": _instructions(python, chained, len(programs)),
        "fused_instructions": report["fused"]["instructions_after"],
        "tail_calls_ns": median(rate["original_ns"] for rate in rates),
        "fused_ns": median(rate["rewritten_ns"] for rate in rates),
        "empty_ns": median(rate["frame_ns"] for rate in rates),
        "ratio": median(1 / rate["ratio"] for rate in rates),
        "program_ratio": median(1 / one for one in alone if one) if any(alone) else None,
        "copy_ratio": median(1 / rate["copy_ratio"] for rate in rates),
        "restored": str(rates[0]["restored"]),
        "packets": min(one["compared"] for one in reports),
        "packet_bytes": witness["length"],
        "least_ratio": min(1 / rate["ratio_quartiles"][1] for rate in rates),
        "greatest_ratio": max(1 / rate["ratio_quartiles"][0] for rate in rates),
    }


def _rehearse(chained: Path, fused: bytes, witness: Witness, rounds: int) -> RehearsalReport:
    """Compare the fused program with the chain of tail calls in the kernel; return the report.

    Raises:
        SystemExit: when their effects on packets or maps differ, or when they are not timed.
    """
    read = objects.read_object(str(chained), chained.read_bytes())
    (first,) = [p for p in objects.programs(read) or [] if p.name == f"{tail_calls.STEP}_0"]
    # Names of maps are unique, so the name of the program in front is not needed.
    maps = {name.rsplit(":", 1)[-1]: content for name, content in witness["maps"].items()}
    both = kernel.Rehearsed(
        [], (read, first.number), fused, [wire_bytes(witness)], json.dumps(maps)
    )
    options = kernel.Rehearsing(PACKETS, arbitrary=True, rounds=rounds)
    report = kernel.rehearse(kernel.open_kernel(), both, options, Stopping())
    if report["difference"] or report["undetermined"] or not report["rate"]:
        raise SystemExit(f"error: {chained.name}: {json.dumps(report)}")
    return report


def _instructions(python: Path, chained: Path, programs: int) -> int:
    """Return the total size of the programs that are chained by tail calls, in slots of 8 bytes.

    `programs` is the number of programs in the object `chained`.
    """
    (shown,) = slowpath(python, "show", chained).report["results"]
    steps = {f"{tail_calls.STEP}_{place}" for place in range(programs)}
    return sum(one["instructions"] for one in shown["programs"] if one["name"] in steps)
