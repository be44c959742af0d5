"""Tests `slowpath compile`: listings with sources, rejected programs, and results of `--verify`."""

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from slowpath import _core
from slowpath.compile.report import judge, verdict
from slowpath.core.engine import targets
from slowpath.core.errors import ExitCode
from slowpath.core.schema.compiled import Counterexample, Verification
from support import GOLDEN, ROOT, check_golden, slowpath

EXAMPLE = "examples/count_min.1.bpf.o"
TRANSCODER = "examples/alaw2ulaw_opt.bpf.o"
FAULTY = "tests/objects/shift.bpf.o"
MONITOR = "examples/flow_monitor.bpf.o"
ROUTER = "examples/p4/router.p4"
SEVERAL = "crates/bpf/tests/data/features.bpf.o"


def compiled(*arguments: str | Path) -> str:
    run = slowpath("compile", *arguments)
    assert (run.returncode, run.stderr) == (0, "")
    return run.stdout


def guarantee(*arguments: str | Path) -> dict[str, Any]:
    run = slowpath("bound", *arguments, "--format", "json")
    assert run.returncode == 0, run.stderr
    (result,) = json.loads(run.stdout)["results"]
    return {"guarantee": result["guarantee"], "cost": result["paths"][0]["cost"]}


def test_listing() -> None:
    check_golden(GOLDEN / "compile/listing.asm", compiled(EXAMPLE))


def test_sources_stand_before_the_listing() -> None:
    text = compiled(EXAMPLE, "--source")
    check_golden(GOLDEN / "compile/source.asm", text)
    lines = [line for line in text.splitlines() if line and not line.startswith(";")]
    assert "\n".join(lines) + "\n" == compiled(EXAMPLE)


@pytest.mark.parametrize("options", [(), ("--source",)])
@pytest.mark.parametrize("file", [EXAMPLE, TRANSCODER])
def test_the_listing_has_the_same_guarantee(
    tmp_path: Path, file: str, options: tuple[str, ...]
) -> None:
    listing = tmp_path / "out.asm"
    assert compiled(file, "-o", listing, *options) == ""
    assert guarantee(listing) == guarantee(file, "--target", "agilio-cx-2x40")


def test_every_bpf_instruction_is_shown_once() -> None:
    document = json.loads(compiled(TRANSCODER, "--format", "json"))
    slots = [insn["slot"] for insn in document["bpf"]]
    text = compiled(TRANSCODER, "--source")
    numbers = [int(number) for number in re.findall(r"^; +(\d+): ", text, re.MULTILINE)]
    assert sorted(set(numbers)) == slots


def test_json() -> None:
    document = json.loads(compiled(EXAMPLE, "--format", "json"))
    assert document["listing"] == compiled(EXAMPLE)
    assert (document["section"], document["program"]) == ("xdp", "count_min")
    assert (document["target"], document["map_abi"]) == ("agilio-cx-2x40", "array-pointer")
    assert document["verification"] is None
    texts = [line.split("  ")[-1] for line in document["listing"].splitlines()]
    assert [insn["text"] for insn in document["instructions"]] == texts
    slots = {insn["slot"] for insn in document["bpf"]}
    assert {insn["bpf"] for insn in document["instructions"]} - {None} <= slots


def test_what_the_card_cannot_run_is_refused() -> None:
    run = slowpath("compile", MONITOR)
    assert (run.returncode, run.stdout) == (3, "")
    place = "section xdp, instruction 83 (./flow_monitor.bpf.c:83): "
    assert run.stderr.startswith(f"error: {MONITOR}: {place}")
    assert run.stderr.count("--target ebpf") == 1
    notes = run.stderr.splitlines()[1:]
    assert notes
    assert all(line.startswith(f"note: {MONITOR}: also section ") for line in notes)


def test_a_refused_program_leaves_the_output_alone(tmp_path: Path) -> None:
    output = tmp_path / "out.asm"
    output.write_text("before\n")
    assert slowpath("compile", MONITOR, "-o", output).returncode == 3
    assert output.read_text() == "before\n"
    assert [path.name for path in tmp_path.iterdir()] == ["out.asm"]


def test_the_output_is_replaced_and_keeps_its_mode(tmp_path: Path) -> None:
    output = tmp_path / "out.asm"
    output.write_text("before\n")
    output.chmod(0o640)
    compiled(EXAMPLE, "-o", output)
    assert output.read_text() == compiled(EXAMPLE)
    assert output.stat().st_mode & 0o777 == 0o640
    mask = os.umask(0o022)
    os.umask(mask)
    compiled(EXAMPLE, "-o", tmp_path / "new.asm")
    assert (tmp_path / "new.asm").stat().st_mode & 0o777 == 0o666 & ~mask


@pytest.mark.parametrize(
    ("program", "options", "name"),
    [
        (EXAMPLE, (), "count_min.1.asm"),
        (EXAMPLE, ("--format", "json"), "count_min.1.json"),
        (ROUTER, ("--to", "xdp-c"), "router.bpf.c"),
        (ROUTER, ("--to", "swx"), "router.spec"),
    ],
)
def test_in_a_folder_the_output_is_named_after_the_program(
    tmp_path: Path, program: str, options: tuple[str, ...], name: str
) -> None:
    output = slowpath("compile", program, *options).stdout
    for folder in (f"{tmp_path}/new/folder/", f"{tmp_path}/new/folder"):
        run = slowpath("compile", program, *options, "-o", folder)
        assert (run.returncode, run.stdout) == (0, "")
        [written] = (tmp_path / "new/folder").iterdir()
        assert written.name == name
        assert written.read_text() == output
        written.unlink()
    slowpath("compile", program, *options, "-o", tmp_path / "file")
    assert (tmp_path / "file").read_text() == output
    refused = slowpath("compile", program, *options, "-o", f"{tmp_path}/file/")
    assert (refused.returncode, "file/" in refused.stderr) == (3, True)


def test_an_output_that_cannot_be_written(tmp_path: Path) -> None:
    run = slowpath("compile", EXAMPLE, "-o", tmp_path / "missing/out.asm")
    assert (run.returncode, run.stdout) == (3, "")
    assert "cannot be written" in run.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((EXAMPLE, "--target", "ebpf"), ("without compilation", "agilio-cx-2x40")),
        ((EXAMPLE, "--target", "unheard-of"), ("not a target",)),
        ((EXAMPLE, "--map-abi", "unheard-of"), ("array-pointer",)),
        ((EXAMPLE, "-o", EXAMPLE), ("would overwrite",)),
        ((EXAMPLE, "--source", "--format", "json"), ("--source",)),
        ((EXAMPLE, "--verify", "--deadline", "-1"), ("--deadline",)),
        ((EXAMPLE, "-n", "unheard-of"), ("no program matches", "count_min")),
        ((SEVERAL,), ("several programs", "xdp_tail", "xdp_main", "--prog-name")),
    ],
)
def test_wrong_usage(arguments: tuple[str, ...], words: tuple[str, ...]) -> None:
    run = slowpath("compile", *arguments)
    assert (run.returncode, run.stdout) == (2, "")
    message = " ".join(run.stderr.split())
    assert all(word in message for word in words)


def test_one_of_several_programs_is_chosen() -> None:
    run = slowpath("compile", SEVERAL, "-n", "xdp_main", "--format", "json")
    assert "several" not in run.stderr


@pytest.mark.parametrize("content", [b"hello\n", b"\x7fELF", b""])
def test_files_that_are_no_objects(tmp_path: Path, content: bytes) -> None:
    bad = tmp_path / "bad.bpf.o"
    bad.write_bytes(content)
    run = slowpath("compile", bad)
    assert (run.returncode, run.stdout) == (3, "")
    assert run.stderr.startswith(f"error: {bad}: ")
    assert run.stderr.count("\n") == 1


def test_a_target_description(tmp_path: Path) -> None:
    card = tmp_path / "card.toml"
    card.write_text((ROOT / "targets/agilio-cx-2x40.toml").read_text())
    assert compiled(EXAMPLE, "--target", card) == compiled(EXAMPLE)
    card.write_text("schema = 99\n")
    run = slowpath("compile", EXAMPLE, "--target", card)
    assert run.returncode == 3
    assert run.stderr.startswith(f"error: {card}:")


# --- verification ---------------------------------------------------------------------------------


def make_verification(**changes: Any) -> Verification:
    """Return a made-up result of a verification that proved a program equal to its source.

    `changes` replace fields of the result.
    """
    verification: Verification = {
        "proved": True,
        "paths_proved": 14,
        "paths_total": 14,
        "pairs": 14,
        "counterexample": None,
        "undecided": [],
        "assumptions": [],
        "deviations": [],
        "checks": 40,
        "seconds": 0.5,
    }
    return verification | changes  # type: ignore[return-value]


def make_counterexample() -> Counterexample:
    """Return a made-up counterexample: the kernel passes its packet, and the card drops it."""
    packet = "ff" * 12 + "0800" + "45" + "00" * 45
    bpf = {"result": 2, "start": 0, "packet": packet, "array": []}
    changed = [{"index": 1, "offset": 4, "byte": 7}]
    return {
        "packet": packet,
        "array": [{"index": 1, "offset": 4, "byte": 6}],
        "drawn": [5],
        "bpf": bpf,  # type: ignore[typeddict-item]
        "card": bpf | {"result": 1, "array": changed},  # type: ignore[typeddict-item]
    }


def test_proved() -> None:
    found = make_verification(assumptions=["indices are in range"])
    assert list(verdict(found)) == [
        "verified: 14 of 14 paths do the same on the card",
        "  assuming: indices are in range",
    ]
    assert judge(found) is ExitCode.FINE


def test_not_decided() -> None:
    reasons = ["the deadline is over"]
    found = make_verification(proved=False, paths_proved=9, paths_total=None, undecided=reasons)
    assert list(verdict(found)) == [
        "not decided: 9 paths do the same on the card, and not all paths are known",
        "  because: the deadline is over",
    ]
    assert judge(found) is ExitCode.UNDECIDED


def test_counterexample() -> None:
    found = make_verification(proved=False, counterexample=make_counterexample())
    lines = list(verdict(found))
    assert lines[0].startswith("differs: ")
    assert "Ethernet" in lines[1]
    assert "the kernel returns XDP_PASS" in lines
    assert "the card returns XDP_DROP" in lines
    assert "  map content; other bytes are 0: element 1, offset 4: 0x06" in lines
    assert lines[-1] == "  map content that changed: element 1, offset 4: 0x07"
    assert judge(found) is ExitCode.FAILED


def test_a_proof() -> None:
    run = slowpath("compile", EXAMPLE, "--verify")
    assert (run.returncode, run.stdout) == (0, compiled(EXAMPLE))
    assert run.stderr.startswith("verified: 7 of 7 paths do the same on the card\n")


def test_a_fault_of_the_compiler() -> None:
    run = slowpath("compile", FAULTY, "--verify", "-o", "/dev/null")
    fault, verdict, *packet, kernel, card = run.stderr.splitlines()
    assert run.returncode == 1
    assert fault.startswith(f"note: {FAULTY}: ")
    assert "./shift.bpf.c:" in fault
    assert fault.endswith(": a left shift by 0 bits yields another value on the card")
    assert verdict == "differs: card and kernel treat this packet differently"
    assert packet[0].startswith("  0000  ")
    returned = {kernel.split()[-1], card.split()[-1]}
    assert returned == {"XDP_TX", "XDP_DROP"}


def test_verification_that_is_stopped() -> None:
    run = slowpath("compile", TRANSCODER, "--verify", "--deadline", "0.2", "-o", "/dev/null")
    assert (run.returncode, run.stdout) == (4, "")
    assert run.stderr.startswith("not decided: ")
    assert "  because: the deadline is over\n" in run.stderr


def test_verification_that_is_interrupted() -> None:
    stop = _core.Stop(None, None)
    stop.set()
    text = _core.verify_program(
        (TRANSCODER, _core.Object(Path(ROOT / TRANSCODER).read_bytes()), 0, None),
        targets.builtin_target("agilio-cx-2x40"),
        {},
        stop,
    )
    verification = json.loads(text)
    assert verification["undecided"] == ["interrupted"]
    assert judge(verification) is ExitCode.UNDECIDED


def test_verification_as_json() -> None:
    arguments = (TRANSCODER, "--verify", "--deadline", "0.2", "--format", "json")
    document = json.loads(slowpath("compile", *arguments).stdout)
    assert document["verification"]["proved"] is False
