"""Tests the execution pattern of a model: given by the user, detected, declared or assumed."""

import json
from pathlib import Path

import numpy as np
import pytest

from contention_mixes import (
    HEADER,
    REMARKS,
    mixes,
    only_client,
    only_memory,
    write_folder,
    write_mixes,
)
from contention_models import MTBR, model
from contention_tables import profile, write_memory
from contention_wrong import FAST, error_of, run_command
from slowpath.contention import saved
from slowpath.contention.model import Detected, Pattern, Reason
from slowpath.contention.prediction import choose_pattern, detect_pattern
from slowpath.contention.reading import read_memory, read_mixes
from slowpath.core.errors import InputError
from support import GOLDEN, check_golden, without_codes

pytestmark = pytest.mark.filterwarnings("ignore")  # of scikit-learn, about bounds of kernels

PIPELINE: Pattern = "pipeline"
COMPLETION: Pattern = "run-to-completion"
BOTH = (PIPELINE, COMPLETION)
SURE = Detected(COMPLETION, 0.97, 0.2, 0.02, 9)
UNSURE = Detected(None, 0.7, 0.2, 0.1, 9)


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_what_is_given_comes_first_then_what_is_detected_then_what_is_declared() -> None:
    assert choose_pattern(PIPELINE, COMPLETION, SURE) == (
        PIPELINE,
        Reason("given", COMPLETION, SURE),
    )
    assert choose_pattern(None, PIPELINE, SURE) == (COMPLETION, Reason("detected", PIPELINE, SURE))
    assert choose_pattern(None, COMPLETION, UNSURE) == (
        COMPLETION,
        Reason("declared", COMPLETION, UNSURE),
    )
    assert choose_pattern(None, None, UNSURE) == (PIPELINE, Reason("assumed", None, UNSURE))
    assert choose_pattern(None, None, None) == (PIPELINE, Reason("assumed"))


@pytest.mark.parametrize("pattern", BOTH)
def test_patterns_are_detected_from_mixes(tmp_path: Path, pattern: Pattern) -> None:
    folder = write_folder(tmp_path / "p", mixes(pattern))
    document = json.loads(run_command(f"train p {FAST} --format json")[1])
    assert document["pattern"] == pattern
    reason = document["pattern_reason"]
    assert (reason["source"], reason["declared"]) == ("detected", None)
    found = reason["detected"]
    assert (found["pattern"], found["co_runs"]) == (pattern, 12)
    assert found["confidence"] > 0.95
    errors = {PIPELINE: found["pipeline_error"], COMPLETION: found["run_to_completion_error"]}
    assert min(errors, key=lambda one: errors[one]) == pattern
    assert folder.is_dir()


def test_tables_that_are_named_do_as_a_folder_does(tmp_path: Path) -> None:
    write_folder(tmp_path / "p", mixes(COMPLETION))
    tables = "p/mixes.csv p/accelerator.csv p/memory.csv"
    assert run_command(f"train {tables} {FAST} --format csv") == run_command(
        f"train p {FAST} --format csv"
    )
    assert (
        json.loads(run_command(f"train {tables} {FAST} --format json")[1])["pattern"] == COMPLETION
    )


def test_mixes_with_one_kind_of_competitors_tell_nothing(tmp_path: Path) -> None:
    rows = mixes(COMPLETION)
    one_kind = [only_memory(row) for row in rows[:6]] + [only_client(row) for row in rows[6:]]
    write_folder(tmp_path / "p", one_kind)
    memory = read_memory(["p/memory.csv"])
    found = read_mixes("p/mixes.csv", memory)
    assert found.queues.tolist() == [0] * 6 + [1] * 6
    assert found.rate.tolist() == [0] * 6 + [np.inf] * 6
    of = model(1, 2e-4)
    assert detect_pattern(of, found) is None
    write_mixes(tmp_path / "both.csv", rows)
    both = read_mixes("both.csv", memory)
    assert detect_pattern(of, both) is not None
    assert detect_pattern(model(1), both) is None  # no accelerator
    silent = of.memory._replace(origin=of.memory.origin._replace(mtbr=None))
    assert detect_pattern(of._replace(memory=silent), both) is None


@pytest.mark.parametrize("declared", BOTH)
def test_what_the_record_declares_is_taken_where_mixes_do_not_tell(
    tmp_path: Path, declared: Pattern
) -> None:
    write_folder(tmp_path / "p", mixes(COMPLETION)[:2], declared)
    code, text, notes = run_command(f"train p {FAST} -o nf.json")
    assert (code, notes) == (0, "")
    assert (
        f"Pattern: {declared}, read from the record of the profile\nErrors in 2 mixes with" in text
    )
    again = saved.read("nf.json")
    assert again.pattern == declared
    assert again.pattern_reason is not None
    assert again.pattern_reason[:2] == ("declared", declared)


@pytest.mark.parametrize("pattern", BOTH)
def test_what_is_taken_is_said(tmp_path: Path, pattern: Pattern) -> None:
    write_folder(tmp_path / "p", mixes(pattern), pattern)
    code, text, notes = run_command(f"train p {FAST}")
    assert (code, notes) == (0, "")
    check_golden(GOLDEN / f"contention/train-{pattern}.txt", text)


def test_a_record_that_mixes_contradict_is_a_warning(tmp_path: Path) -> None:
    write_folder(tmp_path / "p", mixes(COMPLETION), PIPELINE)
    _, text, notes = run_command(f"train p {FAST}")
    assert "Pattern: run-to-completion, detected from measured mixes" in text
    detected = "12 mixes indicate run-to-completion (100 % confidence)"
    message = (
        f"the record declares the pattern pipeline, but {detected}; training uses the latter; "
        "set it with --pattern"
    )
    assert notes == f"warning: p/profile.json: {message}\n"
    assert without_codes(text).endswith(f"\n\n{notes}")
    _, text, notes = run_command(f"train p {FAST} --format json")
    assert [f"warning: {one}\n" for one in json.loads(text)["warnings"]] == [notes]
    _, text, notes = run_command(f"train p {FAST} --pattern pipeline")
    assert "Pattern: pipeline, set by --pattern" in text
    assert notes == f"warning: {detected}, contrary to the option --pattern\n"
    assert run_command(f"train p {FAST} --pattern run-to-completion")[2] == ""


def test_what_is_assumed_is_a_warning_where_it_matters(tmp_path: Path) -> None:
    write_folder(tmp_path / "p", [])
    code, text, notes = run_command(f"train p {FAST}")
    assert code == 0
    assert "Pattern: pipeline, assumed without evidence\n" in text
    message = "the execution pattern is unknown, so pipeline is assumed; set it with --pattern"
    assert notes == f"warning: p/memory.csv: {message}\n"
    (tmp_path / "p/accelerator.csv").unlink()
    code, text, notes = run_command(f"train p {FAST}")
    assert (code, notes) == (0, "")
    assert "Pattern: pipeline, irrelevant, as the function uses a single resource\n" in text


def test_models_of_older_versions_do_not_say_why(tmp_path: Path) -> None:
    write_folder(tmp_path / "p", mixes(COMPLETION))
    error_of(f"train p {FAST} -o nf.json", 0)
    document = json.loads((tmp_path / "nf.json").read_text())
    del document["pattern_reason"]
    (tmp_path / "nf.json").write_text(json.dumps(document))
    again = saved.read("nf.json")
    assert (again.pattern, again.pattern_reason) == (COMPLETION, None)
    assert "pattern_reason" not in json.loads(saved.written(again))


# --- wrong files ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "the file is not JSON"),
        ("[]", "the file is not the record of a profile, which must be an object"),
        ('{"pattern": "both"}', "the pattern 'both' is not one of pipeline, run-to-completion"),
        ('{"pattern": 3}', "the pattern '3' is not one of"),
    ],
)
def test_records(tmp_path: Path, text: str, message: str) -> None:
    write_folder(tmp_path / "p", [])
    (tmp_path / "p/profile.json").write_text(text)
    assert error_of(f"train p {FAST}", 3).startswith(f"error: p/profile.json: {message}")


def test_records_without_a_pattern_are_of_older_versions(tmp_path: Path) -> None:
    write_folder(tmp_path / "p", [])
    (tmp_path / "p/profile.json").write_text("{}")
    assert "assumed without evidence" in run_command(f"train p {FAST}")[1]


def test_records_that_contradict_each_other(tmp_path: Path) -> None:
    write_folder(tmp_path / "p", [], PIPELINE)
    write_folder(tmp_path / "q", [], COMPLETION)
    message = error_of(f"train p q {FAST}", 3)
    assert message == (
        "error: q/profile.json: the table declares the pattern run-to-completion, but "
        "p/profile.json declares pipeline; correct one of the two\n"
    )


def test_run_to_completion_needs_the_match_ratio_of_memory_rows(tmp_path: Path) -> None:
    write_folder(tmp_path / "p", [], COMPLETION)
    write_memory(tmp_path / "p/memory.csv", profile(30), REMARKS)
    message = error_of(f"train p {FAST}", 3)
    assert message.startswith(
        "error: p/profile.json: the record declares run-to-completion, which needs the"
    )
    assert "`# mtbr: N` above them" in message
    found = error_of(f"train p {FAST} --pattern run-to-completion", 2)
    assert "`# mtbr: N` above them" in " ".join(found.split())


@pytest.mark.parametrize(
    ("column", "text", "message"),
    [
        (
            "client_request_time",
            "",
            "the cell is empty, but client_queues has a value; a client needs",
        ),
        (
            "client_queues",
            "",
            "the cell is empty, but client_request_time has a value; a client needs",
        ),
        ("client_queues", "-1", "-1 is negative (number of queues of a client"),
        ("client_request_time", "soon", "'soon' is not a finite number"),
        ("alone", "", "the cell is empty; fill it in"),
        ("alone", "0", "the value must not be zero (throughput of the function alone)"),
        ("mtbr", "-3", "-3 is negative"),
        ("inverse_throughput_sum", "nan", "'nan' is not a finite number"),
        ("l2crd", "1e300", "1e+300 is above"),
    ],
)
def test_mixes(tmp_path: Path, column: str, text: str, message: str) -> None:
    rows = mixes(PIPELINE)
    rows[1][HEADER.index(column)] = text
    write_folder(tmp_path / "p", rows)
    found = error_of(f"train p {FAST}", 3)
    place = f"error: p/mixes.csv: line {2 + 4} (mix-1), column {column}: "
    assert found.startswith(f"{place}{message}")


def test_mixes_of_something_else(tmp_path: Path) -> None:
    write_folder(tmp_path / "p", mixes(PIPELINE))
    there = (tmp_path / "p/mixes.csv").read_text()
    (tmp_path / "p/mixes.csv").write_text(there.replace("# device: nic", "# device: another"))
    assert "is for the device 'another'" in error_of(f"train p {FAST}", 3)
    remark = "# unit client_request_time: kpps\n"
    (tmp_path / "p/mixes.csv").write_text(f"{remark}{there}")
    assert (
        "unit client_request_time: the unit of request times is kpps, but it must be the reciprocal"
    ) in error_of("train p", 3)
    (tmp_path / "p/mixes.csv").write_text(there.replace(",alone,", ",solo,"))
    assert "p/mixes.csv: the table lacks the column 'alone'" in error_of(f"train p {FAST}", 3)


def test_mixes_are_no_memory_rows(tmp_path: Path) -> None:
    write_folder(tmp_path / "p", mixes(PIPELINE))
    message = error_of(f"train p/mixes.csv {FAST}", 3)
    assert "no table has a column 'throughput' with competitors for memory: p/mixes.csv" in message
    for words in ("evaluate p/mixes.csv", "predict --memory-table p/mixes.csv --query p/mixes.csv"):
        message = error_of(words, 3)
        assert (
            "column inverse_throughput_sum: the value is above zero, but rows of a memory table "
            "must not have competitors at an accelerator" in message
        )
    write_mixes(tmp_path / "more.csv", mixes(PIPELINE))
    message = error_of("train p more.csv", 3)
    assert message == (
        "error: more.csv: the table is of the same kind as p/mixes.csv; name only one of them\n"
    )


@pytest.mark.parametrize("option", ["--pattern pipeline", "--queues 2"])
def test_models_have_their_pattern_already(tmp_path: Path, option: str) -> None:
    of = model(1, 2e-4)
    (tmp_path / "nf.json").write_text(saved.written(of))
    words = f"predict nf.json --traffic flows=10000,size=1500,mtbr={MTBR:g} {option}"
    assert "the saved model is already" in error_of(words, 2)


def test_reasons_that_somebody_changed(tmp_path: Path) -> None:
    of = model(1, 2e-4)._replace(pattern_reason=Reason("detected", None, SURE))
    document = json.loads(saved.written(of))
    document["pattern_reason"]["source"] = "guessed"
    (tmp_path / "nf.json").write_text(json.dumps(document))
    with pytest.raises(InputError) as wrong:
        saved.read("nf.json")
    assert "pattern_reason.source: should be given, detected, declared or" in wrong.value.reason
