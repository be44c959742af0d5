"""Tests the command `slowpath explain`."""

import json

import pytest

from code_registry import entries
from slowpath.core import codes
from slowpath.core.errors import OptionError
from slowpath.explain.cli import entries_of
from support import slowpath


@pytest.mark.parametrize(
    "text", ["SP0201", "sp201", "201", "0201", "[SP0201]", "no-such-file", "No_Such_File"]
)
def test_a_code_has_many_spellings(text: str) -> None:
    (entry,) = entries_of(text)
    assert entry.code == codes.NO_SUCH_FILE


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("no-such-fil", "; did you mean 'no-such-file'?"),
        ("unbound-loop", "; did you mean 'unbounded-loop'?"),
        ("the-loop", "; similar: irreducible-loop, loop-updates-its-map"),
        ("9999", "; the nearest is SP9904 (engine-ended)"),
        ("SP02010", "; --list"),
        ("²01", "; --list"),
        ("", "; --list"),
    ],
)
def test_an_unknown_code_suggests_a_similar_one(text: str, hint: str) -> None:
    with pytest.raises(OptionError) as raised:
        entries_of(text)
    assert raised.value.code == codes.UNKNOWN_CODE
    assert hint in raised.value.reason


@pytest.mark.parametrize(("text", "start"), [("SP02", "SP02"), ("sp14", "SP14"), ("02", "SP02")])
def test_a_block_is_listed(text: str, start: str) -> None:
    run = slowpath("explain", text)
    assert (run.returncode, run.stderr) == (0, "")
    shown = [line.split()[0] for line in run.stdout.splitlines()[1:]]
    assert shown == [one.code for one in entries() if one.code.startswith(start)]
    assert len(shown) > 3


def test_the_text_has_cause_remedy_and_example() -> None:
    run = slowpath("explain", "SP0501", "no-price")
    assert (run.returncode, run.stderr) == (0, "")
    shown = " ".join(run.stdout.split())
    for one in entries():
        wanted = one.name in {"unbounded-loop", "no-price"}
        assert (f"{one.code} {one.name} ({one.kind})" in shown) == wanted
        if wanted:
            assert f"Cause: {one.cause}" in shown
            assert f"Remedy: {one.remedy}" in shown
            assert " ".join(one.example.split()) in shown
    wrapped = [line for line in run.stdout.splitlines() if not line.startswith("  ")]
    assert max(map(len, wrapped)) <= 80


def test_the_list_has_a_line_for_each_code() -> None:
    lines = slowpath("explain", "--list").stdout.splitlines()
    assert [line.split()[:3] for line in lines[1:]] == [
        [one.code, one.kind, one.name] for one in entries()
    ]
    (_, line) = slowpath("explain", "--list", "201").stdout.splitlines()
    assert line.startswith("SP0201")


def test_json_has_all_texts() -> None:
    document = json.loads(slowpath("explain", "--list", "--format", "json").stdout)
    assert [(one["code"], one["cause"], one["remedy"]) for one in document["results"]] == [
        (one.code, one.cause, one.remedy) for one in entries()
    ]


def test_a_call_without_code_is_wrong_usage() -> None:
    run = slowpath("explain", codes=True)
    assert (run.returncode, run.stdout) == (2, "")
    assert "name a code, or list all with --list [SP0105]" in run.stderr
