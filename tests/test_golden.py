"""Expected outputs of the examples, kept in `tests/golden`; `make bless` renews them."""

import json
import re
from pathlib import Path

import pytest

from support import GOLDEN, ROOT, check_golden, slowpath

EXAMPLES = sorted(path.relative_to(ROOT) for path in ROOT.glob("examples/*.asm"))


CORES = ("--cores", "5")  # on all cores of the card, its MAC is the bottleneck of most examples


def without_times(text: str) -> str:
    """Seconds differ from run to run."""
    return re.sub(r"\d+\.\d+ s\b", "0.00 s", text)


def bound(*arguments: str | Path) -> str:
    run = slowpath("bound", *arguments, *CORES)
    assert (run.returncode, run.stderr) == (0, "")
    return run.stdout


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_full_report(example: Path) -> None:
    check_golden(GOLDEN / f"examples/{example.stem}.txt", bound(example))


def test_verbose_report() -> None:
    text = bound("examples/counter_loop.asm", "-v")
    check_golden(GOLDEN / "examples/verbose.txt", without_times(text))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_json(example: Path) -> None:
    document = json.loads(bound(example, "--format", "json", "--paths", "2"))
    for result in document["results"]:
        result["stats"] |= {"seconds": 0.0, "solver_seconds": 0.0}
    text = json.dumps(document, indent=1) + "\n"
    check_golden(GOLDEN / f"examples/{example.stem}.json", text)


def test_table() -> None:
    check_golden(GOLDEN / "examples/table.txt", bound(*EXAMPLES))
