"""Draws how the effort for a chain grows with its length. Needs matplotlib."""

from pathlib import Path

from figures import SVG_STYLE, Row
from plots import plt

from chains.growth import CHAINS, COMMANDS

PANELS = (("seconds", "seconds of the process"), ("queries", "solver queries"))
LINES = ("-", "--")


def draw(rows: list[Row], file: Path) -> None:
    """Draw the seconds and solver queries of each command, by number of programs in the chain."""
    numbers = sorted({row["number"] for row in rows})
    with plt.rc_context(SVG_STYLE):
        figure, panels = plt.subplots(1, len(PANELS), figsize=(9, 3), layout="constrained")
        for panel, (figure_key, title) in zip(panels, PANELS, strict=True):
            for place, command in enumerate(COMMANDS):
                for chain, line in zip(CHAINS, LINES, strict=True):
                    some = [row for row in rows if row["chain"] == chain]
                    panel.plot(
                        [row["number"] for row in some],
                        [row[f"{command.key}_{figure_key}"] for row in some],
                        f"o{line}",
                        color=f"C{place}",
                        markersize=3,
                        linewidth=0.8,
                        label=f"{command.title}, {chain}",
                    )
            panel.set_title(title)
            panel.set_xlabel("programs")
            panel.set_ylim(bottom=0)
            panel.set_xticks(numbers)
            panel.grid(visible=True, linewidth=0.3)
        panels[-1].legend(frameon=False, fontsize=6)
        file.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(file, metadata={"Date": None})
        plt.close(figure)
