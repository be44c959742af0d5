"""Precision and recall of identified accelerator functions in public code; weights of the classifier.

    bench/accelerators.py run FOLDER OUT.jsonl [--jobs N]    # compile and examine the corpus
    bench/accelerators.py figures OUT.jsonl                  # precision and recall
    bench/accelerators.py learn OUT.jsonl                    # renew model.json

`bench/accelerated/corpus.tsv` has names only: projects, files, functions and their labels. FOLDER
has a checkout of each project as `OWNER+NAME`.
"""

import argparse
import json
import sys
from pathlib import Path

HERE = Path(__file__).parent / "accelerated"
sys.path.insert(0, str(HERE))

import corpus  # noqa: E402
import judging  # noqa: E402
import learning  # noqa: E402

from slowpath.insights.accelerators.classifier import MODEL  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run")
    run.add_argument("folder", type=Path)
    run.add_argument("out", type=Path)
    run.add_argument("--jobs", type=int, default=1)
    for name in ("figures", "learn"):
        commands.add_parser(name).add_argument("out", type=Path)
    given = parser.parse_args()
    known = corpus.read(HERE / "corpus.tsv")
    if given.command == "run":
        corpus.examine(known, given.folder, given.out, given.jobs)
        return
    results = [json.loads(line) for line in given.out.read_text().splitlines()]
    if given.command == "figures":
        print(judging.figures(known, results))
    else:
        rows = [*corpus.rows(known, results), *corpus.own_rows()]
        MODEL.write_text(learning.learn(rows) + "\n")
        print(f"{len(rows)} functions, {MODEL.stat().st_size} bytes")


if __name__ == "__main__":
    main()
