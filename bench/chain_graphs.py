#!/usr/bin/env python3
"""Draw control-flow graphs of a chain's programs before and after rewriting, for docs/explanation.

Writes FOLDER/NAME_before.svg and FOLDER/NAME_after.svg, on the same scale. The height of a box is its
number of instructions; colours are those of the pages of `slowpath chain optimize --html`.
"""

import argparse
import json
from pathlib import Path

from slowpath.chain.loading import load_chain
from slowpath.chain.page_graphs import flow_of
from slowpath.chain.report_types import Graphs
from slowpath.core.engine import chains
from slowpath.core.html.flow import Flow, picture, shape
from slowpath.core.jobs import heeding_signals
from slowpath.core.programs.sources import Clang

ROOT = Path(__file__).resolve().parent.parent
SECONDS = 60.0
SCALE = 0.5
STYLE = (
    ".kept{fill:#2f7de1}.changed{fill:#d2691e}.gone{fill:#97a1ad}.unreached{fill:#808c9848}"
    ".guard{fill:#8a56d6}.original{fill:#14919b}"
    ".way{fill:none;stroke:#7c8794}.never{stroke:#808c9860}"
)  # for light and for dark pages


def graphs_of(file: str) -> tuple[list[str], Graphs]:
    """Return the names of a chain's programs, and control-flow graphs of the rewritten ones."""
    loaded = load_chain(file, Clang((), SECONDS, memory_bytes=None))
    subject = chains.ChainSubject(loaded.file, loaded.chain, loaded.members, None)
    rewriting = chains.Rewriting("guard", deadline_seconds=SECONDS, graphs=True)
    with heeding_signals() as stopping:
        messages = chains.rewrite_messages(subject, rewriting, stopping)
        # The engine sends intermediate results; only the last message is complete.
        *_, (*_, graphs) = (message for message in messages if message[0] == "rewritten")
    return [name for name, _, _ in loaded.chain.members], json.loads(graphs)


def drawn(flow: Flow, words: str) -> str:
    """Draw a control-flow graph, and return the text of an SVG file.

    `words` is the text alternative for screen readers.
    """
    plain = [box._replace(tooltip="") for box in flow.boxes]
    return picture(shape(flow._replace(boxes=plain)), words, scale=SCALE, style=STYLE) + "\n"


def main() -> None:
    """Draw the control-flow graphs of all rewritten programs, before and after rewriting."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("chain", nargs="?", default=str(ROOT / "examples/chain/chain.yaml"))
    parser.add_argument("--folder", type=Path, default=ROOT / "docs/figures/chains")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    names, graphs = graphs_of(given.chain)
    for name, pair in zip(names, graphs["programs"], strict=True):
        if pair is None:
            continue
        for side, graph in (("before", pair["before"]), ("after", pair["after"])):
            if graph is not None:
                words = f"the control-flow graph of {name} {side}"
                text = drawn(flow_of(graph, None, side), words)
                (given.folder / f"{name}_{side}.svg").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
