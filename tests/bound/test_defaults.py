"""Tests the default target: a server for BPF objects, a network card for assembly listings."""

import json
import os
import shutil
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import slowpath
from slowpath.bounds.default_target import CARD, SERVER, default_target, keep_calibration
from slowpath.core.engine.targets import builtin_target, target_text
from support import ROOT
from support import slowpath as command
from test_sources import stand_in

OBJECT = "examples/count_min.1.bpf.o"
LISTING = "examples/two_protocols.asm"
SOURCE = "examples/count_min.bpf.c"


def targets(words: Sequence[str | Path], code: int = 0) -> list[str]:
    """Return the targets for which `slowpath bound` has analysed the programs."""
    run = command("bound", *words, "--format", "json")
    assert run.returncode == code, run.stderr
    return [result["target"] for result in json.loads(run.stdout)["results"]]


def only(key: str, *words: str | Path) -> dict[str, Any]:
    """Return the only item in the list `key` of a command's JSON document."""
    run = command(*words, "--format", "json")
    assert run.returncode == 0, run.stderr
    (entry,) = json.loads(run.stdout)[key]
    return dict(entry)


@pytest.fixture
def _compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace clang by a script that writes the same object for any source."""
    monkeypatch.setenv("CLANG", str(stand_in(tmp_path, "shutil.copy(object, result)\n")))


# --- the rule -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("files", "target"),
    [
        ([OBJECT], SERVER),
        ([SOURCE], SERVER),
        ([OBJECT, SOURCE], SERVER),
        ([LISTING], CARD),
        ([LISTING, OBJECT], CARD),
        ([SOURCE, LISTING], CARD),
        (["missing.bpf.o"], SERVER),
        (["missing.asm"], SERVER),
        (["missing.asm", LISTING], CARD),
        (["examples"], SERVER),
        (["/dev/zero"], SERVER),
    ],
    ids=lambda it: " ".join(it) if isinstance(it, list) else "",
)
def test_one_target_for_all_files(
    files: list[str], target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    assert default_target(files) == target


def test_a_listing_that_decides_for_other_files_is_named(tmp_path: Path) -> None:
    for file in (OBJECT, LISTING):
        shutil.copy(ROOT / file, tmp_path)
    listing = tmp_path / Path(LISTING).name
    reason = f"is a listing, so {CARD} is the target of another file too"
    note = f"note: {listing}: {reason}; choose another with --target"
    run = command("bound", tmp_path, "--format", "json")
    assert note in run.stderr.splitlines()
    document = json.loads(run.stdout)
    assert note.removeprefix("note: ") in document["notes"]
    assert {one["target"] for one in document["results"]} == {CARD}
    noted: list[tuple[str | Path, ...]] = [
        ("annotate", tmp_path),
        ("bound", tmp_path / Path(OBJECT).name, listing),
        ("diff", listing, tmp_path / Path(OBJECT).name),
    ]
    for words in noted:
        assert note in command(*words).stderr
    others: list[tuple[str | Path, ...]] = [
        ("bound", listing),
        ("bound", listing, listing),
        ("bound", tmp_path, "--target", CARD),
        ("bound", OBJECT),
        ("bound", listing, "missing.bpf.o"),
        ("diff", tmp_path, tmp_path),  # each pair of files has its own target
    ]
    for words in others:
        assert "is a listing, so" not in command(*words).stderr


def test_a_listing_is_known_below_a_long_head(tmp_path: Path) -> None:
    """Check that an assembly listing is recognised by its content, not by its file name.

    The first instruction follows a long comment.
    """
    file = tmp_path / "program.o"
    file.write_text("; a line of what it is\n" * 1000 + (ROOT / LISTING).read_text())
    assert default_target([str(file)]) == CARD
    file.write_text("; a line of what it is\n")
    assert default_target([str(file)]) == SERVER


@pytest.mark.usefixtures("_compiler")
def test_bound() -> None:
    assert targets([OBJECT]) == [SERVER]
    assert targets([SOURCE]) == [SERVER]
    assert targets([LISTING]) == [CARD]
    assert targets([OBJECT, LISTING]) == [CARD] * 2
    assert targets([OBJECT, "missing.asm"], 3) == [SERVER] * 2
    assert targets([OBJECT, LISTING, "--target", "ebpf"], 3) == ["ebpf"] * 2


def test_bound_names_the_machine_and_guarantees_counts() -> None:
    result = only("results", "bound", OBJECT)
    assert result["metric"] == "instructions"
    assert result["guarantee"]["counts"] is not None
    machine = builtin_target(SERVER).machine
    assert machine is not None
    assert result["estimate"]["machine"] == machine[0]
    assert f"on {machine[0]}" in " ".join(command("bound", OBJECT).stdout.split())


def test_the_calibration_of_this_machine_is_the_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    text = target_text(SERVER) or ""
    machine = next(line for line in text.splitlines() if line.startswith("machine = "))
    keep_calibration(text.replace(machine, 'machine = "the one in the corner"'))
    assert "the one in the corner" in command("bound", OBJECT).stdout


def test_annotate() -> None:
    assert only("results", "annotate", OBJECT)["target"] == SERVER
    assert only("results", "annotate", LISTING)["target"] == CARD


def test_python() -> None:
    both = [ROOT / OBJECT, ROOT / LISTING]
    assert [each.target for each in slowpath.bound(both[0])] == [SERVER]
    assert [each.target for each in slowpath.bound(*both)] == [CARD] * 2


@pytest.mark.usefixtures("_compiler")
def test_sweep() -> None:
    program = only("results", "sweep", SOURCE, "-D", "HASHES=1")
    assert [result["target"] for result in program["results"]] == [SERVER]


# --- pipes and invalid files ----------------------------------------------------------------------


@pytest.mark.parametrize("file", [OBJECT, LISTING])
def test_pipes_count_as_objects(tmp_path: Path, file: str) -> None:
    """Check that programs from pipes count as objects, because pipes can be read only once.

    For an assembly listing, the error must name the option that helps.
    """
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes((ROOT / file).read_bytes()))
    writer.start()
    run = command("bound", pipe)
    writer.join()
    if file == OBJECT:
        assert (run.returncode, run.stderr) == (0, "")
        return
    assert (run.returncode, run.stdout) == (3, "")
    assert run.stderr.startswith(f"error: {pipe}: this is not a BPF object, and target linux-xdp ")
    assert run.stderr.endswith("; listings are analysed with --target agilio-cx-2x40\n")


def test_invalid_files_are_named(tmp_path: Path) -> None:
    bad = tmp_path / "bad.bpf.o"
    for content, reason in (
        ("", "the file is empty"),
        ("hello\n", "the file is neither a BPF object nor an NFP listing: line 1"),
    ):
        bad.write_text(content)
        run = command("bound", OBJECT, bad)
        assert run.returncode == 3
        assert run.stderr.startswith(f"error: {bad}: {reason}")
        assert "--target" not in run.stderr


# --- saved results --------------------------------------------------------------------------------


@pytest.mark.parametrize("target", [CARD, "ebpf", SERVER])
def test_diff_takes_the_target_of_saved_results(tmp_path: Path, target: str) -> None:
    saved = tmp_path / "saved.json"
    run = command("bound", OBJECT, "--target", target, "--format", "json")
    saved.write_text(run.stdout)
    for sides in ((saved, OBJECT), (OBJECT, saved)):
        program = only("results", "diff", *sides)
        assert (program["values"]["target"], program["change"]) == (target, "same")


def test_diff_of_files() -> None:
    other = "examples/count_min.4.bpf.o"
    assert only("results", "diff", OBJECT, other)["values"]["target"] == SERVER
    run = command("diff", OBJECT, LISTING, "--format", "json")
    assert {one["values"]["target"] for one in json.loads(run.stdout)["results"]} == {CARD}


# --- options of the card --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [
        ("--require", "10Gbit/s"),
        ("--cores", "5"),
        ("--metric", "packetrate"),
        ("--metric", "bitrate"),
    ],
)
def test_options_of_the_card_name_it(words: tuple[str, str]) -> None:
    run = command("bound", OBJECT, *words)
    assert (run.returncode, run.stdout) == (2, "")
    assert f"'{words[0]}'" in run.stderr
    assert "target linux-xdp" in run.stderr
    assert "--target agilio-cx-2x40" in run.stderr
    assert command("bound", OBJECT, *words, "--target", CARD).returncode == 0
    assert command("bound", LISTING, *words).returncode == 0
