"""Measures the example chain of docs/explanation/chains-accuracy.md before and after rewriting."""

import json
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from figures import Column, Row

from chains.description import EXAMPLES, ROOT, median, slowpath
from slowpath.core.engine import kernel, objects
from slowpath.core.jobs import Stopping
from slowpath.core.programs.packet import wire_bytes

VARIANTS = ("load_balancer", "load_balancer_rolled", "load_balancer_card")
MODES = {"guarded": [], "trusting": ["--trust"]}
XDP_PASS = 2
ROUNDS = 21  # number of timed turns
CARD = "load_balancer_card"  # variant that the SmartNIC can run
COLUMNS = [
    Column("load balancer", "variant"),
    Column("", "mode"),
    Column("instructions", "before"),
    Column("after", "after"),
    Column("left, %", "left", 1),
    Column("s in all", "seconds", 3),
    Column("ns", "original_ns", 1),
    Column("after", "rewritten_ns", 1),
    Column("empty", "frame_ns", 1),
    Column("rate", "rate_ratio", 2),
    Column("of the program alone", "program_ratio", 1),
    Column("rate, nothing put back", "repeating_ratio", 2),
]
BOUNDS = [
    Column("load balancer", "variant"),
    Column("", "mode"),
    Column("at most, instructions", "count"),
    Column("after", "count_after"),
    Column("estimated, ns", "estimate", 1),
    Column("after", "estimate_after", 1),
    Column("guaranteed on the card, Mpps", "card", 2),
    Column("after", "card_after", 2),
]
_MEGA = 1e6


def _chain(folder: Path, balancer: Path) -> Path:
    """Write the example's chain with `balancer` as its load balancer, and return the file."""
    text = (EXAMPLES / "chain.yaml").read_text()
    text = text.replace("firewall.bpf.o", str(EXAMPLES / "firewall.bpf.o"))
    text = text.replace("load_balancer.bpf.o", str(balancer))
    file = folder / f"{balancer.name.split('.')[0]}.yaml"
    file.write_text(text)
    return file


def rows(python: Path, repeat: int, packets: int) -> Iterator[Row]:
    """Yield a table row for each variant of the load balancer and each mode of rewriting.

    Values are medians of several runs.
    """
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for variant in VARIANTS:
            for mode, options in MODES.items():
                original = EXAMPLES / f"{variant}.bpf.o"
                chain, out = _chain(folder, original), folder / f"{variant}_{mode}"
                words = ["chain", "optimize", chain, *options, "--packets", packets, "-o", out]
                done = [slowpath(python, *words).report for _ in range(repeat)]
                row: Row = {"variant": variant, "mode": mode, **_optimized(done)}
                both = (original, out / "load_balancer.bpf.o")
                row |= _repeating(python, chain, both)
                yield row | _bounds(python, folder, both, variant == CARD)


def _optimized(done: list[dict[str, Any]]) -> Row:
    found = [report["programs"][1] for report in done]
    rehearsed = [program["rehearsal"] for program in found]
    first = found[0]
    guard = first["guard"]
    before = first["instructions_before"]
    after = guard["instructions"] if guard else first["instructions_after"]
    if not all(program["proved"] and program["rehearsal"]["agrees"] for program in found):
        raise SystemExit(f"error: {first['name']}: {first['remarks']}, {rehearsed[0]}")
    row: Row = {
        "before": before,
        "after": after,
        "left": 100 * after / before,
        "seconds": median(report["engine_seconds"] for report in done),
        "queries": first["queries"] + first["proof"]["queries"],
        "restored": str(rehearsed[0]["restored"]),
    }
    for key in ("original_ns", "rewritten_ns", "frame_ns", "rate_ratio", "program_ratio"):
        known = [one[key] for one in rehearsed if one[key] is not None]
        row[key] = median(known) if known else None
    row["rate_ratio_least"] = min(one["rate_ratio"] for one in rehearsed)
    row["rate_ratio_most"] = max(one["rate_ratio"] for one in rehearsed)
    return row


def _repeating(python: Path, chain: Path, both: tuple[Path, Path]) -> Row:
    """Return packet rates for a packet that the programs do not change.

    Such a packet need not be restored between runs. It takes the slowest path. All bytes of packet
    and maps that this path does not determine are zero. Therefore, backend, service and sender of
    the packet have the same address.
    """
    witness = _result(python, "chain", "bound", chain, "--target", "ebpf")["paths"][0]["witness"]
    maps = json.dumps(witness["maps"]).replace("--", "00")
    first, original = (
        objects.read_object(str(file), file.read_bytes())
        for file in (EXAMPLES / "firewall.bpf.o", both[0])
    )
    subject = kernel.Rehearsed(
        [kernel.Stage(first, 0, [XDP_PASS])],
        (original, 0),
        both[1].read_bytes(),
        [wire_bytes(witness)],
        maps,
    )
    options = kernel.Rehearsing(packets=1, rounds=ROUNDS)
    report = kernel.rehearse(kernel.open_kernel(), subject, options, Stopping())
    rate = report["rate"]
    if rate is None or rate["restored"]:
        raise SystemExit(f"error: {chain.name}: the packet does not repeat: {report['notes']}")
    return {
        "repeating_original_ns": rate["original_ns"],
        "repeating_rewritten_ns": rate["rewritten_ns"],
        "repeating_ratio": 1 / rate["ratio"],
    }


def _bounds(python: Path, folder: Path, both: tuple[Path, Path], card: bool) -> Row:
    """Return bounds for the load balancer behind the firewall, before and after rewriting.

    `both` are its objects. With `card`, also return the guarantee for the SmartNIC, where it runs
    alone.
    """
    row: Row = {"card": None, "card_after": None}
    for name, file in zip(("", "_after"), both, strict=True):
        chain = _chain(folder, file)
        counted = _result(python, "chain", "bound", chain, "--target", "ebpf")
        row[f"count{name}"] = counted["profile"]["programs"][1]["instructions"]
        estimated = _result(python, "chain", "bound", chain, "--target", "linux-xdp")
        row[f"estimate{name}"] = estimated["profile"]["programs"][1]["cost"]["ns"]
        if card:
            guaranteed = _result(
                python, "bound", file, "--target", "agilio-cx-2x40", "--metric", "packetrate"
            )
            row[f"card{name}"] = guaranteed["guarantee"]["packetrate_pps"] / _MEGA
    return row


def _result(python: Path, *arguments: object) -> dict[str, Any]:
    result: dict[str, Any] = slowpath(python, *arguments).report["results"][0]
    if result["error"]:
        raise SystemExit(f"error: {result['file']}: {result['error']}")
    return result


def table(python: Path) -> str:
    """Return the output of `slowpath chain optimize` that docs/how-to/chains.md shows."""
    with tempfile.TemporaryDirectory() as temporary:
        command = [str(python), "-m", "slowpath", "chain", "optimize"]
        run = subprocess.run(
            [*command, str(EXAMPLES / "chain.yaml"), "-o", temporary],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONPATH": str(ROOT / "python"), "PATH": "/usr/bin:/bin"},
        )
        return run.stdout.replace(temporary, "out").rstrip()
