"""Compares reports on the examples with the files in `tests/golden`, which `make bless` renews."""

import json
import re
from pathlib import Path

import pytest

from support import GOLDEN, ROOT, check_golden, rows, save_results, slowpath

EXAMPLES = sorted(path.relative_to(ROOT) for path in ROOT.glob("examples/*.asm"))


CORES = ("--cores", "5")  # on all cores of the card, its MAC is the bottleneck of most examples


def without_times(text: str) -> str:
    """Replace times in seconds by zero, because they differ between runs."""
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
    check_golden(GOLDEN / f"examples/{example.stem}.json", rows(document) + "\n")


def test_table() -> None:
    check_golden(GOLDEN / "examples/table.txt", bound(*EXAMPLES))


# --- annotate and diff: the two variants of the transcoder ----------------------------------------

PLAIN = "examples/alaw2ulaw.bpf.o"
OPTIMISED = "examples/alaw2ulaw_opt.bpf.o"
CARD = ("--target", "agilio-cx-2x40")
COUNT = ("--target", "ebpf")


def output(*arguments: str) -> str:
    run = slowpath(*arguments)
    assert (run.returncode, run.stderr) == (0, "")
    return run.stdout


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("plain", (PLAIN, *CARD)),
        ("optimised", (OPTIMISED, *CARD)),
        ("instructions", (OPTIMISED, *CARD, "--instructions")),
        ("counts", (OPTIMISED, *COUNT, "--instructions")),
        ("listing", ("examples/dram_reads.asm",)),
    ],
)
def test_annotated_source(name: str, words: tuple[str, ...]) -> None:
    check_golden(GOLDEN / f"annotate/{name}.txt", output("annotate", *words))


def test_annotations_for_machines() -> None:
    document = json.loads(output("annotate", OPTIMISED, *CARD, "--format", "json"))
    check_golden(GOLDEN / "annotate/optimised.json", rows(document) + "\n")


@pytest.mark.parametrize(
    ("form", "extension"), [("table", "txt"), ("csv", "csv"), ("markdown", "md"), ("json", "json")]
)
def test_two_variants(form: str, extension: str) -> None:
    text = output("diff", PLAIN, OPTIMISED, *CARD, "--format", form, "--lines", "20")
    if form == "json":
        text = rows(json.loads(text)) + "\n"
    check_golden(GOLDEN / f"diff/alaw2ulaw.{extension}", text)


def test_two_variants_counted() -> None:
    text = output("diff", PLAIN, OPTIMISED, *COUNT)
    check_golden(GOLDEN / "diff/counts.txt", text)


@pytest.mark.parametrize(("form", "extension"), [("table", "txt"), ("markdown", "md")])
def test_several_programs(form: str, extension: str, tmp_path: Path) -> None:
    gate = ("--fail-on", "bitrate_pct < -5")
    run = slowpath("diff", *save_results(tmp_path), "--format", form, *gate)
    assert run.returncode == 1
    text, errors = (part.replace(str(tmp_path), "FOLDER") for part in (run.stdout, run.stderr))
    check_golden(GOLDEN / f"diff/several.{extension}", text)
    check_golden(GOLDEN / "diff/several.stderr", errors)
