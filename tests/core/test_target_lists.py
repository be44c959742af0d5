"""Tests that `--target` accepts a list of targets in every command that can use several."""

import json
from pathlib import Path

import pytest

from slowpath.core.command import Command, Option
from slowpath.core.settings import USED
from successful_calls import ENDLESS
from support import ROOT, commands, slowpath

BOTH = ("ebpf", "agilio-cx-2x40")
PROGRAM = "examples/alaw2ulaw.bpf.o"
CHAIN = "crates/slowpath/tests/objects/chain.yaml"
ARGUMENTS: dict[str, tuple[str, ...]] = {
    "annotate": (PROGRAM,),
    "bound": (PROGRAM,),
    "chain bound": (CHAIN,),
    "chain optimize": ("examples/chain/card.yaml", "--packets", "0"),
    "config show": (PROGRAM,),
    "diff": (PROGRAM, PROGRAM),
    "sweep": ("examples/count_min.bpf.c", "-D", "HASHES=1"),
}
"""Arguments of each command whose option `--target` takes a list of targets."""
ONE = {
    "compile": "a listing is for one card",
    "insights": "advice is for the only card with known memories",
}
"""Commands whose option `--target` takes a single target, and the reason."""


def target_option(command: Command) -> Option | None:
    return next((one for one in command.options if "--target" in one.names), None)


WITH_TARGET = {
    name: option for name, command in commands() if (option := target_option(command)) is not None
}


def test_every_command_takes_a_list_or_has_a_reason() -> None:
    assert {*WITH_TARGET} == {*ARGUMENTS, *ONE, *ENDLESS}
    for name in (*ARGUMENTS, *ENDLESS):
        assert WITH_TARGET[name].settings["metavar"] == "NAME|FILE.toml,..."


def names_of(document: object) -> set[str]:
    """Return all values of keys `target` anywhere in a document."""
    found = set[str]()
    if isinstance(document, dict):
        found |= {document["target"]} if isinstance(document.get("target"), str) else set()
        found |= {one for value in document.values() for one in names_of(value)}
    elif isinstance(document, list):
        found |= {one for value in document for one in names_of(value)}
    return found


@pytest.mark.usefixtures("with_clang")
@pytest.mark.parametrize("name", ARGUMENTS)
def test_a_list_gives_results_for_each_target(name: str) -> None:
    words = (*name.split(), *ARGUMENTS[name], "--target", ",".join(BOTH), "--format", "json")
    run = slowpath(*words)
    document = json.loads(run.stdout)
    if name == "config show":
        assert ",".join(BOTH) in run.stdout
        return
    assert names_of(document) >= {*BOTH}, run.stderr


@pytest.mark.usefixtures("with_clang")
@pytest.mark.parametrize("name", [one for one in ARGUMENTS if one != "config show"])
def test_errors_of_lists_are_the_same(name: str) -> None:
    words = (*name.split(), *ARGUMENTS[name])
    run = slowpath(*words, "--target", "ebpf,ebpf")
    assert run.returncode == 2
    assert "invalid value for '--target': target ebpf is named twice" in run.stderr
    run = slowpath(*words, "--target", "ebpf,agilio-cx-2x4")
    assert run.returncode == 2
    assert "invalid value for '--target'" in run.stderr
    assert "did you mean 'agilio-cx-2x40'?" in run.stderr


def test_commands_for_one_target_refuse_a_list() -> None:
    run = slowpath("compile", PROGRAM, "--target", "agilio-cx-2x40,ebpf")
    assert (run.returncode, run.stdout) == (2, "")
    assert f"'--target': {ONE['compile']}; name one of agilio-cx-2x40, " in run.stderr
    assert WITH_TARGET["insights"].settings["choices"] == ("agilio-cx-2x40",)


def test_settings_may_name_several_targets(tmp_path: Path) -> None:
    (tmp_path / "slowpath.toml").write_text(f'target = "{",".join(BOTH)}"\n')
    (tmp_path / "a.bpf.o").write_bytes((ROOT / PROGRAM).read_bytes())
    for name in USED:
        if name in ARGUMENTS and name in {"annotate", "bound", "diff"}:
            files = [tmp_path / "a.bpf.o"] * len(ARGUMENTS[name])
            run = slowpath(name, *files, "--format", "json")
            assert names_of(json.loads(run.stdout)) >= {*BOTH}, name
