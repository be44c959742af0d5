"""Tests the registry of error codes: stable numbers, complete texts, generated files."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from code_registry import CONSTANTS, NAMES, REGISTRY, TEXTS, Entry, constants, entries, texts
from support import ROOT

_KINDS = {"error", "refusal", "warning", "finding"}
_LONGEST_TITLE = 72
_MOST_WORDS = 25
_SENTENCE = re.compile(r"(?<=[.;])\s+(?=[A-Z`])")


def test_numbers_and_names_are_unique_and_in_order() -> None:
    numbers = [one.number for one in entries()]
    assert numbers == sorted(set(numbers))
    assert len({one.name for one in entries()}) == len(numbers)


def test_codes_are_never_reused() -> None:
    """Check that no error code disappears or changes its name; the list can only grow."""
    now = [f"{one.code} {one.name}" for one in entries()]
    known = NAMES.read_text().splitlines()
    assert set(known) <= set(now), "retire a code instead of removing or renaming it"
    if os.environ.get("SLOWPATH_BLESS"):
        NAMES.write_text("".join(f"{line}\n" for line in now))
        known = now
    assert known == now, "run `make bless` to add new codes to the list"


@pytest.mark.parametrize("entry", entries(), ids=lambda one: one.name)
def test_texts_are_complete(entry: Entry) -> None:
    assert entry.kind in _KINDS
    assert (entry.level is not None) == (entry.kind == "finding")
    assert re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", entry.name)
    assert entry.title == entry.title.strip(". ")
    assert 0 < len(entry.title) <= _LONGEST_TITLE
    for text in (entry.cause, entry.remedy):
        assert text.endswith(".")
        for sentence in _SENTENCE.split(text):
            assert len(sentence.split()) <= _MOST_WORDS, sentence
    example = entry.example.strip()
    assert example.startswith("$ ") or example.endswith(f"[{entry.code}]")


def test_generated_files_have_the_content_of_the_registry() -> None:
    for file, content in ((CONSTANTS, constants()), (TEXTS, texts())):
        if os.environ.get("SLOWPATH_BLESS"):
            file.write_text(content)
        assert file.read_text() == content, f"{file.name}: run `make bless`"


def _sources() -> Iterator[Path]:
    yield from (ROOT / "python/slowpath").rglob("*.py")
    yield from (ROOT / "crates").glob("*/src/**/*.rs")


def test_every_code_is_used() -> None:
    """Check that the sources use each error code that is not retired."""
    generated = {CONSTANTS, TEXTS, REGISTRY.parent / "src/lib.rs"}
    findings = [one for one in entries() if one.kind == "finding"]  # known by their names
    found = set[str]()
    for file in _sources():
        if file not in generated:
            text = file.read_text()
            found |= set(re.findall(r"\bcodes::([A-Z][A-Z0-9_]*)", text))
            found |= set(re.findall(r"\bcodes\.([A-Z][A-Z0-9_]*)", text))
            found |= {one.constant for one in findings if f'"{one.name}"' in text}
    used = {one.constant for one in entries() if one.retired is None}
    assert used - found == set()
