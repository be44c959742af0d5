"""Is `slowpath measure` repeatable? Measures every example now and later.

    measure_repeat.py take DIR [OPTION...]     measures all examples, one JSON file each
    measure_repeat.py compare DIR DIR [PLOT]   by how much the paths of both differ; an SVG or PNG

Options are those of `slowpath measure`. Compared are paths of at least 10 ns, by `measured_ns`.
"""

import json
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from figures import SVG_STYLE

ROOT = Path(__file__).resolve().parent.parent
SHORTEST_NS = 10.0
"""Minimum time of compared paths, in nanoseconds."""


def take(folder: Path, options: list[str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for example in sorted((ROOT / "examples").glob("*.bpf.o")):
        words = [sys.executable, "-m", "slowpath", "measure", str(example), "--format", "json"]
        run = subprocess.run([*words, *options], capture_output=True, text=True, check=False)
        if run.returncode:
            print(f"{example.name}: {run.stderr.strip()}", file=sys.stderr)
            continue
        (folder / f"{example.name}.json").write_text(run.stdout)
        program = json.loads(run.stdout)["results"][0]
        share = program["discarded"] / max(program["samples"], 1)
        print(
            f"{example.name:24} {len(program['paths']):3} paths {program['loads']:3} loads "
            f"{share:5.0%} left out, {'precise' if program['precise'] else 'not precise'}"
        )


def times(folder: Path) -> dict[tuple[str, str, int], dict[str, Any]]:
    """Return the measured paths of a folder, by example, packet and number of instructions."""
    found = {}
    for file in sorted(folder.glob("*.json")):
        for program in json.loads(file.read_text())["results"]:
            disturbed = any("disturbed" in warning for warning in program["warnings"])
            for path in program["paths"]:
                if path["measured_ns"] is not None:
                    key = (file.name, path["packet"], path["instructions"])
                    found[key] = path | {"disturbed": disturbed}
    return found


def draw(differences: list[tuple[float, bool]], file: Path) -> None:
    """Draw the distribution of the differences between two measurements of each path."""
    plt.rcParams.update(SVG_STYLE)
    figure, axes = plt.subplots(figsize=(6.4, 3.2), layout="constrained")
    for name, kept in (("all", (False, True)), ("not said to be disturbed", (False,))):
        chosen = sorted(difference for difference, disturbed in differences if disturbed in kept)
        shares = [(number + 1) / len(chosen) for number in range(len(chosen))]
        axes.step([100 * each for each in chosen], shares, where="post", label=name)
    axes.set_xlabel("difference between two runs of the same path [%]")
    axes.set_ylabel("share of the paths")
    axes.set_xlim(left=0)
    axes.set_ylim(0, 1.02)
    axes.grid(alpha=0.3)
    axes.legend(loc="lower right")
    figure.savefig(file, metadata={"Date": None} if file.suffix == ".svg" else None)


def compare(first: Path, second: Path, plot: Path | None) -> None:
    a, b = times(first), times(second)
    rows = []
    for key in a.keys() & b.keys():
        old, new = a[key]["measured_ns"], b[key]["measured_ns"]
        if min(old, new) >= SHORTEST_NS:
            inside = a[key]["low_ns"] <= new <= a[key]["high_ns"]
            disturbed = a[key]["disturbed"] or b[key]["disturbed"]
            rows.append((abs(new / old - 1), key, old, new, inside, disturbed))
    rows.sort(reverse=True)
    for difference, (file, _, instructions), old, new, _, disturbed in rows[:10]:
        mark = " (said to be disturbed)" if disturbed else ""
        print(
            f"{difference:6.1%}  {old:8.2f} {new:8.2f} ns  {file}, {instructions} instructions{mark}"
        )
    quiet = [row[0] for row in rows if not row[5]]
    for name, differences in (("all", [row[0] for row in rows]), ("not disturbed", quiet)):
        if not differences:
            continue
        ordered = sorted(differences)
        at = {
            share: ordered[min(int(share * len(ordered)), len(ordered) - 1)]
            for share in (0.75, 0.9)
        }
        print(
            f"{name}: {len(ordered)} paths differ by {statistics.median(ordered):.2%} in the median, "
            f"{at[0.75]:.2%} at the 75th and {at[0.9]:.2%} at the 90th percentile, {ordered[-1]:.1%} "
            "at most"
        )
    if plot is not None:
        draw([(row[0], row[5]) for row in rows], plot)
    inside = sum(row[4] for row in rows)
    print(f"{inside} of {len(rows)} medians of the second run are in the first one's interval")


def main() -> None:
    match sys.argv[1:]:
        case ["take", folder, *options]:
            take(Path(folder), options)
        case ["compare", first, second]:
            compare(Path(first), Path(second), None)
        case ["compare", first, second, plot]:
            compare(Path(first), Path(second), Path(plot))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
