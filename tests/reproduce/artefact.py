"""Makes data in the form of published artefacts, from programs of this repository.

Costs come from an analysis with other options than those of the tested command, so the data have
figures that the command should find again.
"""

import bz2
import hashlib
import json
from pathlib import Path
from typing import Any

import slowpath
from support import ROOT

LISTINGS = ("two_protocols", "size_classes", "flow_counter")
CORES = 5


def analysed(name: str) -> dict[str, Any]:
    """Analyse a listing in `examples/`; return the costs of all paths and of the naive bound."""
    found = slowpath.bound(
        ROOT / f"examples/{name}.asm", target="agilio-cx-2x40", cores=CORES, paths="all"
    )[0]
    naive = found.result["naive"]
    assert naive is not None
    assert naive["components"] is not None
    assert naive["bitrate_bps"] is not None
    assert naive["packetrate_pps"] is not None
    rates = [naive["components"][one] for one in ("processing", "dram")]
    slowest = min(rate for rate in rates if rate)
    size = naive["bitrate_bps"] / 8 / naive["packetrate_pps"]
    paths: list[dict[str, Any]] = [
        {
            "cycles": round(one["cost"]["processing"]),
            "dram_cycles": one["cost"]["dram"],
            "min_packet_size": one["min_packet_size"],
        }
        for one in found.paths
    ]
    return {"naive_per_byte": CORES * 800_000_000 / slowest / size, "paths": paths}


def write_listings(folder: Path) -> None:
    """Copy the listings of the made-up artefact to a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in LISTINGS:
        (folder / f"{name}.asm").write_bytes((ROOT / f"examples/{name}.asm").read_bytes())


def write_summary(folder: Path, slower: str | None = None) -> None:
    """Write `summary.json` with the costs of all listings.

    The program `slower` gets a slowest path that takes a tenth longer.
    """
    write_listings(folder)
    summary = {}
    for name in LISTINGS:
        known = analysed(name)
        paths: list[dict[str, Any]] = known["paths"]
        slowest = max(paths, key=_per_byte).copy()
        if name == slower:
            slowest["cycles"] = round(slowest["cycles"] * 1.1)
            slowest["dram_cycles"] *= 1.1
        summary[name] = {
            "cores": CORES,
            "naive_cycles_per_byte": known["naive_per_byte"],
            "naive_dram_cycles_per_byte": 0.0,
            "naive_seconds": 1.0,
            "ssp": {**slowest, "seconds": 2.0, "measured_cycles": slowest["cycles"]},
        }
    (folder / "summary.json").write_text(json.dumps(summary))


def _per_byte(path: dict[str, Any]) -> float:
    return float(max(path["cycles"], path["dram_cycles"] * CORES) / path["min_packet_size"])


def write_clone(folder: Path) -> None:
    """Write listings, reports and logs in the form of the repository of the paper's authors."""
    programs, reports = folder / "data-paper/programs", folder / "data-paper/predictions"
    write_listings(programs)
    reports.mkdir(parents=True)
    logs = folder / "data-paper/measured-throughput"
    logs.mkdir()
    for name in LISTINGS:
        digest = hashlib.sha256((programs / f"{name}.asm").read_bytes()).hexdigest()
        known = analysed(name)
        lines = [
            "mode: bitrate",
            f"bpf-workers: {CORES}",
            f"input: {digest}",
            "",
            "####",
            "0: 0.5 s",
            f"max cycles/b: {known['naive_per_byte']:.12g}",
            "DRAM cycles/b: 0",
        ]
        log = []
        for number, path in enumerate(known["paths"]):
            packet = f" {number:02x} | -- | 0a | ff |"
            lines += [
                "",
                f"#### ->0--{number}",
                f"{number}: {number + 1}.25 s",
                f"DRAM cycles: {path['dram_cycles']:.12g}",
                f"min packet size: {path['min_packet_size']}",
                f"cycles: {path['cycles']}",
                f"|0x0000|{packet}",
                "map[0x00000000]= 01; [0x00000004]= 02 03",
            ]
            rest = " -- |" * (path["min_packet_size"] - 4)
            text = f"|0x0000|{packet}{rest}map[0x00000000]= 01; [0x00000004]= 02 03"
            key = hashlib.sha256(text.encode()).hexdigest()[:16]
            log += [f"Measuring {key}", f"local: mean:   {path['cycles'] * 0.9:.3f}"]
        (reports / f"{name}.k.ereport").write_bytes(bz2.compress("\n".join(lines).encode()))
        log_file = logs / f"measure-xdp-ereport-{name}.k-00:15.log.bz2"
        log_file.write_bytes(bz2.compress("\n".join(log).encode()))
