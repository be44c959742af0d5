"""Tests that saved results are read as they were written, and that other data are rejected."""

import copy
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowpath.core.errors import InputError
from slowpath.core.schema.results import Result
from slowpath.diff.changes import changed_lines, make_row
from slowpath.diff.filters import Gate, failures, parse_comparison
from slowpath.diff.pairs import looks_saved, match_programs, read_saved
from slowpath.diff.report import Report, csv_lines, json_lines, markdown, table
from support import make_bound, make_result, slowpath

GOOD = {"slowpath": "0", "results": [make_result(), make_result(guarantee=None, error="no")]}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=10,
)


def read(document: object) -> list[Result]:
    return read_saved("saved.json", json.dumps(document).encode())


def test_written_results_are_read() -> None:
    assert read(GOOD) == json.loads(json.dumps(GOOD))["results"]
    for file in ("examples/tunnel.bpf.o", "examples/dram_reads.asm", "examples/none.asm"):
        for target in ("agilio-cx-2x40", "linux-xdp"):
            run = slowpath("bound", file, "--target", target, "--format", "json")
            results = read_saved("saved.json", run.stdout.encode())
            assert results == json.loads(run.stdout)["results"]


def test_newer_and_older_versions() -> None:
    newer = copy.deepcopy(GOOD)
    newer["results"][0]["more"] = 5  # type: ignore[index]
    assert read(newer)[0]["program"] == "sample"
    older: Any = copy.deepcopy(GOOD)
    del older["results"][0]["profile"]
    assert read(older)[0]["profile"] is None


@pytest.mark.parametrize(
    ("exact", "assumptions", "verdict"),
    [
        (True, [], "exact"),
        (True, ["a"], "conditional"),
        (False, [], "bound"),
        (False, ["a"], "bound"),
    ],
)
def test_verdicts_of_older_versions(exact: bool, assumptions: list[str], verdict: str) -> None:
    older: Any = {"results": [make_result(assumptions=assumptions, guarantee=make_bound())]}
    older = json.loads(json.dumps(older))
    (result,) = older["results"]
    for key in ("cuts", "notes"):
        del result[key]
    for bound in ("guarantee", "naive"):
        del result[bound]["verdict"]
    result["guarantee"]["exact"] = exact
    del result["paths"][0]["witness"]["environment"]
    del result["profile"]["programs"]
    (read_back,) = read(older)
    assert read_back["guarantee"] is not None
    assert read_back["guarantee"]["verdict"] == verdict
    assert read_back["guarantee"]["exact"] is (verdict == "exact")
    assert read_back["cuts"] is None


def test_verdicts_are_words_of_a_list() -> None:
    bad: Any = {"results": [json.loads(json.dumps(make_result()))]}
    bad["results"][0]["guarantee"]["verdict"] = "sure"
    with pytest.raises(InputError, match="should be exact, conditional or bound"):
        read(bad)


@given(JSON)
def test_other_json_is_refused(document: object) -> None:
    with pytest.raises(InputError, match=r"is not output of slowpath bound|is not JSON"):
        read({"results": [document]})


def places(value: object, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the path of every value in a JSON document, as tuples of keys and indices."""
    items = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value if isinstance(value, list) else ())
    )
    found = [path] if path else []
    for key, inner in items:
        found += places(inner, (*path, key))
    return found


RESULT = json.loads(json.dumps(make_result()))
PLACES = places(RESULT)


@given(st.sampled_from(PLACES), JSON)
def test_damage_is_refused_or_harmless(place: tuple[Any, ...], value: object) -> None:
    damaged = copy.deepcopy(RESULT)
    inner = damaged
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    with suppress(InputError):
        (pair,) = match_programs(read({"results": [damaged]}), [make_result()])
        row, changes = make_row(pair), changed_lines(pair)
        gate = Gate("bitrate_pct < -5", parse_comparison("bitrate_pct < -5"))
        stopped = failures([row], [gate])
        report = Report("a", "b", [row], [changes], stopped, ["again"] * len(stopped), 10)
        for writer in (table, markdown, json_lines, csv_lines):
            texts = [line if isinstance(line, str) else line.text for line in writer(report)]
            assert writer is csv_lines or not any("\n" in text for text in texts)


def test_the_place_of_the_damage_is_named() -> None:
    damaged = json.loads(json.dumps(GOOD))
    damaged["results"][1]["stats"]["sat"] = "many"
    with pytest.raises(InputError, match=r"results\[1\]\.stats\.sat: should be a whole number"):
        read(damaged)
    damaged = json.loads(json.dumps(GOOD))
    del damaged["results"][0]["paths"][0]["witness"]["maps"]
    with pytest.raises(InputError, match=r"paths\[0\]\.witness: lacks 'maps'"):
        read(damaged)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), 10**400, True, "5"])
def test_numbers_are_numbers(number: object) -> None:
    with pytest.raises(
        InputError, match=r"results\[0\]\.guarantee\.bitrate_bps: (should be|is no)"
    ):
        read({"results": [make_result(guarantee=make_bound(bitrate_bps=number))]})


def test_errors_refer_to_the_closest_shape() -> None:
    damaged = json.loads(json.dumps(GOOD))
    damaged["results"][0]["paths"][0]["witness"]["maps"]["dram"] = [{"offset": "x", "bytes": ""}]
    with pytest.raises(InputError, match=r"maps\.dram\[0\]\.offset: should be a whole number"):
        read(damaged)


def test_no_results_are_no_comparison() -> None:
    with pytest.raises(InputError, match="it lacks results"):
        read({"slowpath": "0", "results": []})


def test_other_documents_are_named() -> None:
    other = {"slowpath": "1", "command": "sweep", "schema": "sweep/1", "results": [{}]}
    with pytest.raises(
        InputError, match="is output of slowpath sweep; diff reads only output of slowpath bound"
    ):
        read(other)
    assert len(read(GOOD | {"command": "chain bound", "schema": "bound/1"})) == 2


def test_programs_are_no_json() -> None:
    assert looks_saved(b' \n{"results": []}')
    assert not looks_saved(b"\x7fELF")
    assert not looks_saved(b"; a listing {")
    assert not looks_saved(b"")


WRITTEN = json.dumps({"slowpath": "0", "results": [make_result()]})


@pytest.mark.parametrize(
    "data",
    [
        b'{"results": ' + b"[" * 100_000,
        b'{"results": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"results": [{"file": ' + b'{"a": ' * 100_000 + b"1" + b"}" * 100_000 + b"}]}",
        WRITTEN.replace('"cores": 50', '"cores": 1' + "0" * 5000).encode(),
        WRITTEN.replace("sample", "s\xe9mple").encode("latin-1"),
        WRITTEN.encode() + b"\0",
    ],
    ids=["open", "deep", "deep inside", "digits", "no text", "more after it"],
)
def test_unreadable_data_is_an_error(data: bytes) -> None:
    with pytest.raises(InputError, match="is not JSON"):
        read_saved("saved.json", data)


@pytest.mark.parametrize("number", ["1" + "0" * 4000, "1e999", "NaN", "-Infinity"])
def test_numbers_that_are_none_are_refused(number: str) -> None:
    with pytest.raises(InputError, match=r"results\[0\]\.cores: (should|is no)"):
        read_saved("saved.json", WRITTEN.replace('"cores": 50', f'"cores": {number}').encode())


def test_half_characters_and_keys_that_stand_twice_do_no_harm(tmp_path: Path) -> None:
    odd = WRITTEN.replace('"sample"', '"\\ud800\\u202e"').replace('"cores"', '"cores": 5, "cores"')
    (tmp_path / "odd.json").write_text(odd)
    for form in ("json", "csv", "table", "markdown"):
        run = slowpath("diff", "odd.json", "odd.json", "--format", form, cwd=tmp_path)
        assert (run.returncode, run.stderr) == (0, "")


def test_large_files_take_seconds(tmp_path: Path) -> None:
    results = [make_result(paths=make_result()["paths"] * 20_000)]
    (tmp_path / "large.json").write_text(json.dumps({"results": results}))
    (tmp_path / "text.json").write_text(WRITTEN.replace("sample.asm", "a" * 20_000_000))
    for file in ("large.json", "text.json"):
        run = slowpath("diff", file, "large.json", cwd=tmp_path)
        assert run.returncode == 0
