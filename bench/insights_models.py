#!/usr/bin/env python3
"""Writes the models that `slowpath insights cores` and `colocation` are shipped with.

    bench/insights_models.py ../shared/validation

They are fitted parameters by name, without rows of the published tables.
docs/explanation/insights-cores.md says how they are fitted, and `slowpath reproduce insights
figure-11` how well the same method predicts functions that are left out. The same tables give the same files, up to
the last digits of sums.
"""

import argparse
import json
import sys
from pathlib import Path

from slowpath.insights.cores import model as cores
from slowpath.insights.cores import pairs
from slowpath.insights.cores.curves import read_curves
from slowpath.insights.cores.groups import read_measured
from slowpath.insights.cores.model import TRAFFIC
from slowpath.insights.cores.model import learn as learn_cores
from slowpath.insights.cores.pairs import learn as learn_pairs


def main() -> int:
    """Fit the shipped models to published tables, and write their files."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "folder", type=Path, help="where netronome-scaling and the other tables are"
    )
    given = parser.parse_args()
    for traffic in TRAFFIC:
        curves = read_curves(str(given.folder / "netronome-scaling" / f"{traffic}.csv.gz"))
        write(cores.shipped_file(traffic), cores.written(learn_cores(curves)))
    groups = read_measured(str(given.folder / "netronome-colocation" / "train.jsonl.gz"))
    write(pairs.SHIPPED, pairs.written(learn_pairs(*groups)))
    return 0


def write(file: Path, document: object) -> None:
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps(document) + "\n")
    print(f"{file}: {file.stat().st_size / 1024:.1f} KiB", flush=True)


if __name__ == "__main__":
    sys.exit(main())
