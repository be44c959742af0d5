"""Table 2 of the Tomur paper: functions in mixes of up to four, under nine traffic profiles."""

import figures

from simulated.asked import measured, mixes
from simulated.functions import FUNCTIONS
from simulated.judged import COLUMNS, PAPER_COLUMNS, rows, summary
from simulated.kept import Kept
from simulated.learnt import Known

PAPER = dict(zip(FUNCTIONS, ((1.3, 1.2), (16.2, 1.5), (62.9, 3.8), (4.2, 3.8), (7.5, 3.8),
                             (4.9, 3.9), (11.7, 4.3), (40.9, 4.5), (8.2, 6.4)), strict=True))  # fmt: skip
"""MAPE of SLOMO and Tomur in the paper, in %."""
PAPER_ALL = (17.5, 3.7)


def table(kept: Kept, known: dict[str, Known], count: int | None) -> str:
    """Return the table of prediction errors by function, and by number of competitors.

    `count` is the number of mixes for each traffic profile; None means all.
    """
    wanted = mixes(tuple(known), count)
    found = rows(known, wanted, measured(kept, wanted))
    lines = []
    for name in known:
        line = summary(name, [row for row in found if row.name == name])
        lines.append({**line, "paper_slomo": PAPER[name][0], "paper": PAPER[name][1]})
    lines.append({**summary("all", found), "paper_slomo": PAPER_ALL[0], "paper": PAPER_ALL[1]})
    for beside in sorted({row.beside for row in found}):
        line = summary(f"beside {beside}", [row for row in found if row.beside == beside])
        lines.append({**line, "paper_slomo": None, "paper": None})
    return figures.markdown(lines, [*COLUMNS, *PAPER_COLUMNS])
