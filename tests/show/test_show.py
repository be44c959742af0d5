"""Tests `slowpath show`, which describes the content of BPF objects."""

import json
from pathlib import Path
from typing import Any

import pytest

from support import GOLDEN, check_golden, slowpath

EXAMPLE = "examples/flow_monitor.bpf.o"
SEVERAL = "crates/bpf/tests/data/core.bpf.o"
EXTERN = "crates/bpf/tests/data/extern.bpf.o"
FEATURES = "crates/bpf/tests/data/features.bpf.o"


def show(*arguments: str | Path) -> str:
    run = slowpath("show", *arguments)
    assert (run.returncode, run.stderr) == (0, "")
    return run.stdout


def objects(*arguments: str | Path) -> list[dict[str, Any]]:
    found = json.loads(show(*arguments, "--format", "json"))["results"]
    assert isinstance(found, list)
    return found


def test_report() -> None:
    check_golden(GOLDEN / "examples/show.txt", show(EXAMPLE))


def test_listing() -> None:
    check_golden(GOLDEN / "examples/show_listing.txt", show(EXAMPLE, "--listing"))


def test_programs_are_chosen_by_globs() -> None:
    everything = [(p["section"], p["name"]) for p in objects(EXTERN)[0]["programs"]]
    assert len(everything) > 1
    for section, name in everything:
        chosen = objects(EXTERN, "-s", section, "-n", f"{name[:2]}*")[0]["programs"]
        assert (section, name) in [(p["section"], p["name"]) for p in chosen]
        assert all(p["section"] == section for p in chosen)


def test_an_unknown_program_lists_the_known_ones() -> None:
    for command in ("show", "bound"):
        run = slowpath(command, EXTERN, "-n", "unheard-of")
        assert (run.returncode, run.stdout) == (2, "")
        assert "no program matches --prog-name 'unheard-of'" in run.stderr
        assert "uses_kernel" in run.stderr


def test_listing_only_when_asked_for() -> None:
    assert objects(EXAMPLE)[0]["programs"][0]["listing"] is None


def test_unresolved_references_have_a_line_each() -> None:
    text = show(EXTERN, "-n", "uses_kernel")
    gaps = objects(EXTERN, "-n", "uses_kernel")[0]["programs"][0]["unresolved"]
    assert gaps
    assert text.count("unresolved: ") == len(gaps)


def test_other_files_are_still_shown(tmp_path: Path) -> None:
    bad = tmp_path / "bad.o"
    bad.write_text("nonsense\n")
    run = slowpath("show", bad, EXAMPLE, tmp_path, "--format", "json")
    assert run.returncode == 3
    found = json.loads(run.stdout)["results"]
    assert [entry["error"] is None for entry in found] == [False, True, False]
    assert run.stderr.count("\n") == run.stderr.count("error: ") == 2
    assert f"error: {bad}: is not an ELF file" in run.stderr


@pytest.mark.parametrize("content", [None, b"", b"nonsense"])
def test_broken_kernel_types(tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "vmlinux"
    if content is not None:
        file.write_bytes(content)
    run = slowpath("show", SEVERAL, "--btf", file)
    assert run.returncode == 3
    assert run.stderr.startswith(f"error: {file}: ")
    assert run.stderr.count("\n") == 1


def test_several_globs() -> None:
    names = [p["name"] for p in objects(FEATURES, "-n", "xdp_tail", "-n", "xdp_m*")[0]["programs"]]
    assert names == ["xdp_tail", "xdp_main"]


def test_loops_have_bounds_or_a_reason() -> None:
    (loop,) = objects("examples/alaw2ulaw.bpf.o")[0]["programs"][0]["loops"]
    assert loop["iterations"] == 160
    assert loop["file"].endswith("alaw2ulaw.bpf.c")
    assert loop["text"].strip().startswith("for (")
    arguments = ("examples/alaw2ulaw.bpf.o", "--deadline", "0")
    (loop,) = objects(*arguments)[0]["programs"][0]["loops"]
    assert loop["iterations"] is None
    assert "--deadline" in loop["reason"]
    assert loop["reason"] in show(*arguments)


def test_maps_and_their_uses() -> None:
    maps = {use["name"]: use["uses"] for use in objects(EXAMPLE)[0]["programs"][0]["maps"]}
    assert maps["flows"] == ["map_lookup_elem", "map_update_elem"]
    assert maps["events"] == ["ringbuf_reserve"]


def test_programs_that_the_card_can_run() -> None:
    files = ("examples/count_min.1.bpf.o", EXAMPLE, FEATURES)
    found = objects(*files)
    card = found[0]["programs"][0]["card"]
    compiled = json.loads(slowpath("compile", files[0], "--format", "json").stdout)
    assert card == {"instructions": len(compiled["instructions"]), "refusals": []}
    refusals = found[1]["programs"][0]["card"]["refusals"]
    assert found[1]["programs"][0]["card"]["instructions"] is None
    assert any(refusal["reason"].startswith("bpf_ktime_get_ns") for refusal in refusals)
    assert all(refusal["times"] >= 1 for refusal in refusals)
    cards = {program["name"]: program["card"] for program in found[2]["programs"]}
    assert cards["not_xdp"] is None
    text = show(*files)
    rows = {row.split()[1]: row.split()[-1] for row in text.splitlines() if row.count("  ") > 5}
    assert (rows["count_min"], rows["flow_monitor"], rows["not_xdp"]) == ("yes", "no", "no")
    for refusal in refusals:
        assert text.count(f"not on agilio-cx-2x40: {refusal['place']}") >= 1
        assert refusal["reason"] in text


def test_unsupported_programs_have_a_reason() -> None:
    unsupported = {p["name"]: p["unsupported"] for p in objects(EXTERN)[0]["programs"]}
    assert "LINUX_KERNEL_VERSION" in unsupported["uses_kernel"]
    assert unsupported["does_not"] is None
    other = objects(FEATURES, "-n", "not_xdp")[0]["programs"][0]
    assert (other["kind"], other["unsupported"]) == ("sched_cls", None)
