#!/usr/bin/env python3
"""How long `slowpath chain plan` takes: topologies of 10 to 500 nodes, first, again, after a change.

Generates layered networks (`topologies`), whose nodes share variants of the programs in
examples/chain. Plans each with an empty cache, once more, and after one program was changed. `--plot`
draws the times and the solver queries by number of nodes, which needs matplotlib.
"""

import argparse
import json
import statistics
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import figures
from figures import Column, Row
from topologies import Network, Programs, write

from measure import TOOL
from slowpath.core.programs.compilers import find_compiler

NODES = (10, 20, 50, 100, 200, 500)
# Each node that runs a program runs a different one.
LARGE = Network(140, 20, 100)
COLUMNS = [
    Column("nodes", "nodes"),
    Column("paths", "paths"),
    Column("programs", "programs"),
    Column("seconds", "seconds", 2),
    Column("results", "results"),
    Column("solver calls", "queries"),
    Column("again", "again", 2),
    Column("after a change", "changed", 2),
    Column("of them anew", "anew"),
    Column("variants", "variants"),
    Column("stopped", "stopped"),
]


def plan(tool: list[str], file: Path, cache: Path, options: list[str]) -> tuple[float, Any]:
    """Run `chain plan` on a network; return the seconds that it took, and its JSON document."""
    words = [
        *tool,
        "chain",
        "plan",
        str(file),
        "--cache-dir",
        str(cache),
        "--format",
        "json",
        *options,
    ]
    started = time.perf_counter()
    done = subprocess.run(words, check=False, capture_output=True)
    seconds = time.perf_counter() - started
    if done.returncode not in {0, 4}:
        raise SystemExit(done.stderr.decode())
    return seconds, json.loads(done.stdout)


def measure(
    network: Network, programs: Programs, tool: list[str], repeat: int, options: list[str]
) -> Row:
    """Measure the time of planning a network: first, again, and after a change.

    The values are medians of `repeat` runs.
    """
    first, again, changed = [], [], []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        file = folder / "topology.yaml"
        for turn in range(repeat):
            names = write(network, programs, file)
            cache = folder / f"cache-{turn}"
            seconds, document = plan(tool, file, cache, options)
            first.append(seconds)
            again.append(plan(tool, file, cache, options)[0])
            described = json.loads(file.read_text())
            # Replace one program by a firewall with a policy of its own.
            fresh = str(programs.variant("firewall", 10_000))
            described["programs"][names.index("firewall.0")]["object"] = fresh
            file.write_text(json.dumps(described))
            seconds, after = plan(tool, file, cache, options)
            if after["changed"] != ["firewall.0"]:
                raise SystemExit(f"another program has changed: {after['changed']}")
            changed.append(seconds)
    return {
        "nodes": len(described["nodes"]),
        "paths": network.paths,
        "programs": len(names),
        "seconds": statistics.median(first),
        "results": document["computed"],
        "queries": document["queries"],
        "again": statistics.median(again),
        "changed": statistics.median(changed),
        "anew": after["computed"],
        "variants": len(document["hot_spots"]),
        "stopped": document["stopped"] or "",
    }


def draw(rows: list[Row], file: Path) -> None:
    """Draw planning times and solver queries by number of nodes."""
    import matplotlib as mpl  # noqa: PLC0415 - only where it draws

    mpl.use("svg")
    from matplotlib import pyplot as plt  # noqa: PLC0415 - only where it draws

    with plt.rc_context(figures.SVG_STYLE):
        figure, (times, calls) = plt.subplots(1, 2, figsize=(7, 2.8), layout="constrained")
        nodes = [row["nodes"] for row in rows]
        for key, label in [("seconds", "first"), ("changed", "after a change"), ("again", "again")]:
            times.plot(nodes, [row[key] for row in rows], "o-", label=label, linewidth=0.8)
        calls.plot(nodes, [row["queries"] for row in rows], "o-", linewidth=0.8)
        times.set_title("seconds")
        times.legend()
        calls.set_title("solver queries")
        for panel in (times, calls):
            panel.set_xscale("log")
            panel.set_yscale("log")
            panel.minorticks_off()
            panel.set_xlabel("nodes")
            panel.grid(visible=True, linewidth=0.3)
        figure.savefig(file, metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tool", default=str(TOOL), help="the command, as words")
    parser.add_argument("--clang", help="[default: as slowpath finds it]")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--nodes", type=int, nargs="*", default=NODES)
    parser.add_argument("--programs", type=int, default=20, help="different ones (default: 20)")
    parser.add_argument("--large", action="store_true", help="100 programs on 20 paths instead")
    parser.add_argument("--markdown", action="store_true", help="a table for documents")
    parser.add_argument("--csv", type=Path)
    parser.add_argument("--plot", type=Path)
    parser.add_argument("options", nargs="*", help="of the command, behind --")
    given = parser.parse_args()
    networks = [Network(nodes, nodes, given.programs) for nodes in given.nodes]
    if given.large:
        networks = [LARGE]
    rows = list[Row]()
    with tempfile.TemporaryDirectory() as temporary:
        programs = Programs(Path(temporary), given.clang or find_compiler().command[0])
        for network in networks:
            rows.append(measure(network, programs, given.tool.split(), given.repeat, given.options))
    print(figures.markdown(rows, COLUMNS) if given.markdown else figures.aligned(rows, COLUMNS))
    if given.csv:
        figures.write_csv(given.csv, rows)
    if given.plot:
        draw(rows, given.plot)


if __name__ == "__main__":
    main()
