"""Programs as one beside the same programs chained by tail calls, in the running kernel.

Both get the packets that get through all programs, with maps of their own, and have to do the same;
then both are timed in turns, on the packet that takes the slowest path through the whole chain, each
run behind another in the kernel's loop (`slowpath_rehearsal::Rate` says what that time contains).
"""

import json
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from figures import Column, Row

from chains import tail_calls
from chains.description import median, slowpath, write
from slowpath.core.engine import kernel, objects, rehearsals
from slowpath.core.engine.report_types import RehearsalReport
from slowpath.core.jobs.stopping import Stopping
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
    """The figures of each chain: medians of several measurements."""
    with tempfile.TemporaryDirectory() as temporary:
        for programs in CHAINS:
            yield _row(python, clang, programs, (repeat, rounds), Path(temporary))


def _row(
    python: Path, clang: str, programs: Sequence[str], often: tuple[int, int], folder: Path
) -> Row:
    repeat, rounds = often
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
    said = [_rehearse(chained, fused, witness, rounds) for _ in range(repeat)]
    rates = [one["rate"] for one in said]
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
        "packets": min(one["compared"] for one in said),
        "packet_bytes": witness["length"],
        "least_ratio": min(1 / rate["ratio_quartiles"][1] for rate in rates),
        "greatest_ratio": max(1 / rate["ratio_quartiles"][0] for rate in rates),
    }


def _rehearse(chained: Path, fused: bytes, witness: Witness, rounds: int) -> RehearsalReport:
    """What the kernel says of both.

    Raises:
        SystemExit: when they do not do the same, or are not timed.
    """
    read = objects.read_object(str(chained), chained.read_bytes())
    (first,) = [p for p in objects.programs(read) or [] if p.name == f"{tail_calls.STEP}_0"]
    # What maps are called does not tell of which program they are: no two have the same name.
    maps = {name.rsplit(":", 1)[-1]: content for name, content in witness["maps"].items()}
    both = rehearsals.Rehearsed(
        [], (read, first.number), fused, [wire_bytes(witness)], json.dumps(maps)
    )
    how = rehearsals.Rehearsing(PACKETS, arbitrary=True, rounds=rounds)
    said = rehearsals.rehearse(kernel.open_kernel(), both, how, Stopping())
    if said["difference"] or said["undetermined"] or not said["rate"]:
        raise SystemExit(f"error: {chained.name}: {json.dumps(said)}")
    return said


def _instructions(python: Path, chained: Path, programs: int) -> int:
    """Those of all programs that tail calls chain, in slots of 8 bytes."""
    (shown,) = slowpath(python, "show", chained).report["objects"]
    steps = {f"{tail_calls.STEP}_{place}" for place in range(programs)}
    return sum(one["instructions"] for one in shown["programs"] if one["name"] in steps)
