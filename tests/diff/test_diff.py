"""Tests the command `slowpath diff`."""

import csv
import json
import os
import re
import shlex
import shutil
import signal
from pathlib import Path

import pytest

from review_formats import check_junit, check_sarif, place_of, read_github
from slowpath.bounds.analyst import Analyst
from slowpath.bounds.options import WrittenOptions
from slowpath.core.engine import analyses
from slowpath.core.errors import ExitCode
from slowpath.core.jobs import heeding_signals
from slowpath.core.schema.derived import NO_DETAIL
from slowpath.diff import run as diff_run
from slowpath.diff.pairs import Analyses, DiffInputs, load_sides
from slowpath.diff.report import CSV_COLUMNS
from support import ROOT, heed_interrupts, make_bound, make_result, save_results, slowpath

PLAIN = "examples/alaw2ulaw.bpf.o"
OPTIMISED = "examples/alaw2ulaw_opt.bpf.o"
COUNT = ("--target", "ebpf")


def diff(*arguments: str | Path, code: int = 0) -> str:
    run = slowpath("diff", *arguments)
    assert (run.returncode, run.stderr) == (code, "")
    return run.stdout


@pytest.fixture
def saved(tmp_path: Path) -> list[str]:
    return save_results(tmp_path)


def test_csv(saved: list[str]) -> None:
    rows = list(csv.DictReader(diff(*saved, "--format", "csv").splitlines()))
    assert tuple(rows[0]) == CSV_COLUMNS
    assert [row["program"] for row in rows] == ["slower", "same", "lost", "added"]
    assert [row["change"] for row in rows] == ["worse", "same", "gone", "new"]
    assert float(rows[0]["bitrate_pct"]) == pytest.approx(-10)
    assert (rows[2]["bitrate_b"], rows[2]["bitrate_diff"], rows[2]["verdict_b"]) == ("N/A",) * 3
    assert float(rows[3]["bitrate_b"]) == make_bound()["bitrate_bps"]
    assert rows[3]["bitrate_a"] == rows[3]["instructions_b"] == "N/A"


def test_the_changes_of_lines_are_the_change_of_the_path() -> None:
    arguments = (PLAIN, OPTIMISED, *COUNT, "--format", "json")
    (program,) = json.loads(diff(*arguments))["results"]
    assert program["component"] == "instructions"
    total = sum(line["cost_diff"] for line in program["lines"])
    assert total == program["values"]["instructions_diff"] == 6464 - 8544


def test_rates_of_compiled_programs() -> None:
    arguments = (PLAIN, OPTIMISED, "--target", "agilio-cx-2x40", "--format", "json")
    (program,) = json.loads(diff(*arguments))["results"]
    values = program["values"]
    assert program["change"] == "better"
    assert values["bitrate_pct"] > 20
    assert program["component"] == "processing"
    total = sum(line["cost_diff"] for line in program["lines"])
    assert total == values["processing_cycles_diff"] < 0
    assert any(line["file_a"] == "./alaw2ulaw.bpf.c" for line in program["lines"])


def test_saved_results_are_as_good_as_programs(tmp_path: Path) -> None:
    for file, name in ((PLAIN, "old.json"), (OPTIMISED, "new.json")):
        run = slowpath("bound", file, *COUNT, "--format", "json")
        (tmp_path / name).write_text(run.stdout)
    from_files = diff(PLAIN, OPTIMISED, *COUNT)
    old, new = str(tmp_path / "old.json"), str(tmp_path / "new.json")
    assert from_files.splitlines()[1:] == diff(old, new).splitlines()[1:]
    assert from_files.splitlines()[1:] == diff(old, OPTIMISED, *COUNT).splitlines()[1:]


def test_the_same_program_is_the_same() -> None:
    text = diff(PLAIN, PLAIN, *COUNT, "--fail-on", "instructions_diff != 0")
    assert ": 1 same\n" in text
    assert "lines whose cost" not in text


def test_listings() -> None:
    text = diff("examples/two_protocols.asm", "examples/size_classes.asm", "--cores", "5")
    assert "1 worse" in text
    assert re.search(r"-9\.29 % +worse", text)
    assert "mem[read32_swap, $xfer_0, gprA_2, 0xe, 5]" in text


# --- gates ----------------------------------------------------------------------------------------


def test_a_gate_names_the_program_and_its_reproduction(saved: list[str]) -> None:
    run = slowpath("diff", *saved, "-n", "s*", "--fail-on", "bitrate_pct < -5")
    assert run.returncode == 1
    error, command = run.stderr.splitlines()
    assert error.startswith("error: sample.asm: bitrate_pct is -10.00 %")
    assert command.startswith("reproduce: slowpath diff ")
    assert "--prog-name slower" in command
    again = slowpath(*shlex.split(command)[2:])
    assert (again.returncode, again.stderr) == (1, run.stderr)


def test_reproduction_of_an_analysis() -> None:
    gate = ("--fail-on", "instructions_b > 6000", "--fail-on", "instructions_b > 7000")
    run = slowpath("diff", PLAIN, OPTIMISED, *gate, *COUNT, "--mtu", "1200")
    assert run.returncode == 1
    assert run.stderr.count("error: ") == run.stderr.count("reproduce: ") == 1
    command = run.stderr.splitlines()[1].removeprefix("reproduce: ")
    assert "--target ebpf --metric instructions --mtu 1200" in command
    assert slowpath(*shlex.split(command)[1:]).returncode == 1


def test_missing_values_fail_gates(saved: list[str]) -> None:
    for name, reason in (("lost", "NEW lacks the program"), ("added", "OLD lacks the program")):
        run = slowpath("diff", *saved, "-n", name, "--fail-on", "bitrate_pct < -5")
        assert run.returncode == 1
        assert f"bitrate_pct is N/A ({reason})" in run.stderr
    # A gate on the value of OLD or NEW works if this side has the program.
    assert diff(*saved, "-n", "added", "--fail-on", "bitrate_b < 1Gbit/s")
    run = slowpath("diff", *saved, "-n", "same", "--fail-on", "instructions_pct > 5")
    assert run.returncode == 1
    assert "instructions_pct is N/A" in run.stderr


def test_programs_that_come_and_go_can_be_allowed(saved: list[str]) -> None:
    """Check that removed and added programs fail a gate, unless an option allows them.

    The options are `--allow-gone` and `--allow-new`; the error names the one that would help.
    Conditions on values of NEW still apply to added programs.
    """
    gate = ("--fail-on", "bitrate_pct < -50")
    for name, option in (("lost", "--allow-gone"), ("added", "--allow-new")):
        run = slowpath("diff", *saved, "-n", name, *gate)
        assert run.returncode == 1
        assert f"needs it; {option} lets " in run.stderr
        assert diff(*saved, "-n", name, *gate, option)
        other = {"--allow-gone", "--allow-new"} - {option}
        assert slowpath("diff", *saved, "-n", name, *gate, *other).returncode == 1
    assert diff(*saved, *gate, "--allow-new", "--allow-gone")
    run = slowpath("diff", *saved, "--fail-on", "bitrate_pct < -5", "--allow-new", "--allow-gone")
    assert run.returncode == 1  # the slower one
    assert run.stderr.count("error: ") == 1
    assert "--fail-on 'bitrate_pct < -5' --allow-new --allow-gone" in run.stderr
    own = ("--fail-on", "bitrate_b < 50Gbit/s", "--allow-new", "--allow-gone")
    run = slowpath("diff", *saved, "-n", "added", *own)
    assert run.returncode == 1
    run = slowpath("diff", *saved, "-n", "same", "--fail-on", "instructions_pct > 5", *own[2:])
    assert run.returncode == 1  # N/A, but for another reason


def test_programs_of_a_broken_baseline_are_not_new(tmp_path: Path) -> None:
    bad, saved = tmp_path / "bad.o", tmp_path / "saved.json"
    bad.write_bytes(b"\x7fELF and no more")
    saved.write_text(slowpath("bound", bad, "--format", "json").stdout)
    gate = ("--fail-on", "instructions_pct > 5", "--allow-new")
    run = slowpath("diff", saved, PLAIN, *COUNT, *gate)
    assert run.returncode == 1
    assert f"--allow-new does not apply, because {bad} could not be read" in run.stderr
    saved.write_text(slowpath("bound", tmp_path / "none.o", "--format", "json").stdout)
    assert slowpath("diff", saved, PLAIN, *COUNT, *gate).returncode == 0


def test_filters_do_not_hide_from_gates(saved: list[str]) -> None:
    run = slowpath("diff", *saved, "-f", "same", "--fail-on", "bitrate_pct < -5")
    assert run.returncode == 1
    assert "slower" not in run.stdout
    assert "slower" in run.stderr


def test_filter_and_sort(saved: list[str]) -> None:
    def programs(*options: str) -> list[str]:
        text = diff(*saved, "--format", "csv", *options)
        return [row["program"] for row in csv.DictReader(text.splitlines())]

    assert programs("--filter", "bitrate_pct < -5") == ["slower"]
    assert programs("-f", "bitrate_pct == N/A") == ["lost", "added"]
    assert programs("-f", "!s*", "-f", "!lost") == []  # the file is called sample.asm
    assert programs("-f", "*/s*") == ["slower", "same"]
    assert programs("--sort", "program") == ["added", "lost", "same", "slower"]
    assert programs("--sort", "bitrate_pct^") == ["slower", "same", "lost", "added"]
    assert programs("--sort", "bitrate_pct") == ["same", "slower", "lost", "added"]


# --- exit codes and messages ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((PLAIN,), "are required: NEW"),
        ((PLAIN, PLAIN, "--fail-on", "x*"), "'--fail-on': 'x*' is not a comparison"),
        ((PLAIN, PLAIN, "--fail-on", "speed_pct < 5", *COUNT), "'speed_pct' is not a column"),
        ((PLAIN, PLAIN, "--sort", "%"), "'--sort': '%' is not a column"),
        ((PLAIN, PLAIN, "--sort", "speed", *COUNT), "'speed' is not a column"),
        ((PLAIN, PLAIN, "--filter", "bitrate_pct < x"), "'--filter': 'bitrate_pct < x': < needs"),
        ((PLAIN, PLAIN, "-n", "unheard-of"), "no program matches --prog-name 'unheard-of'"),
        ((PLAIN, PLAIN, "--metric", "bitrate", *COUNT), "not bitrate"),
    ],
)
def test_wrong_usage(arguments: tuple[str, ...], message: str) -> None:
    run = slowpath("diff", *arguments)
    assert (run.returncode, run.stdout) == (2, "")
    assert message in run.stderr


def test_saved_results_reject_options_of_analyses(saved: list[str]) -> None:
    run = slowpath("diff", *saved, "--deadline", "5")
    assert run.returncode == 2
    assert (
        "'--deadline': has no effect, because OLD and NEW are saved results; omit it" in run.stderr
    )


def test_unreadable_input(tmp_path: Path) -> None:
    for content in ("{", "[]", '{"results": 5}', '{"results": [{}]}', '{"objects": []}'):
        file = tmp_path / "bad"
        file.write_text(content)
        run = slowpath("diff", PLAIN, file)
        assert (run.returncode, run.stdout) == (3, ""), content
        assert run.stderr.startswith(f"error: {file}: "), content
        assert run.stderr.count("\n") == 1
    run = slowpath("diff", tmp_path / "missing", PLAIN)
    assert (run.returncode, run.stderr) == (3, f"error: {tmp_path / 'missing'}: no such file\n")


@pytest.mark.parametrize("content", ["", " \n"])
def test_an_empty_side_is_an_error(tmp_path: Path, content: str) -> None:
    """Check the error about an empty file, which a failed run can leave instead of results."""
    empty = tmp_path / "empty.json"
    empty.write_text(content)
    for sides in ((empty, PLAIN), (PLAIN, empty), (empty, empty)):
        run = slowpath("diff", *sides, *COUNT)
        assert (run.returncode, run.stdout) == (3, "")
        reason = "is empty; pass a program, or output of slowpath bound --format json"
        assert run.stderr == f"error: {empty}: {reason}\n"


def test_a_comparison_of_nothing_says_so(saved: list[str]) -> None:
    for form in ("table", "markdown"):
        text = diff(*saved, "-n", "added", "--format", form)
        assert "1 new; nothing was compared\n" in text
        assert "nothing was compared" not in diff(*saved, "--filter", "added", "--format", form)


def test_a_program_that_cannot_be_analysed(tmp_path: Path) -> None:
    bad = tmp_path / "bad.asm"
    bad.write_text("nonsense")
    run = slowpath("diff", "examples/count_min.1.bpf.o", bad)
    assert run.returncode == 3
    assert run.stderr.startswith("error: ")
    assert run.stderr.count("\n") == 1
    assert "1 unknown" in run.stdout


def test_failures_of_the_old_side_are_notes(tmp_path: Path) -> None:
    bad, saved = tmp_path / "bad.asm", tmp_path / "saved.json"
    bad.write_text("nonsense")
    saved.write_text(slowpath("bound", bad, "--format", "json").stdout)
    for old in (bad, saved):
        run = slowpath("diff", old, PLAIN, *COUNT)
        assert run.returncode == 0
        assert run.stderr.startswith(f"note: {old}: ")
        assert run.stderr.count("\n") == 1
        assert "bad -> alaw2ulaw N/A 8544 N/A N/A unknown" in " ".join(run.stdout.split())
        gate = ("--fail-on", "instructions_pct > 5")
        assert slowpath("diff", old, PLAIN, *COUNT, *gate).returncode == 1


def test_a_file_that_was_not_there_before_had_no_programs(tmp_path: Path) -> None:
    saved = tmp_path / "saved.json"
    saved.write_text(slowpath("bound", tmp_path / "none.o", "--format", "json").stdout)
    run = slowpath("diff", saved, PLAIN, *COUNT)
    assert run.returncode == 0
    assert "1 new" in run.stdout
    assert "no such file" in run.stderr
    assert slowpath("diff", PLAIN, saved, *COUNT).returncode == 3


def test_an_interrupt_ends_both_sides(monkeypatch: pytest.MonkeyPatch) -> None:
    """Check that the first Ctrl-C ends the comparison: OLD is stopped, and NEW is not started."""
    analysed = list[str]()

    def interrupted(*_: object) -> analyses.Outcome:
        analysed.append(files[len(analysed)])
        os.kill(os.getpid(), signal.SIGINT)
        stopped = make_result(guarantee=make_bound(exact=False, stopped="interrupted"), paths=[])
        return analyses.Outcome(stopped, json.dumps(stopped), NO_DETAIL)

    heed_interrupts()
    monkeypatch.setattr(Analyst, "analyse", interrupted)
    files = [str(ROOT / file) for file in (PLAIN, OPTIMISED)]
    inputs = DiffInputs(files[0], files[1], WrittenOptions(target="ebpf"))
    with heeding_signals() as stopping:
        old, new = load_sides(inputs, stopping)
    assert analysed == files[:1]
    assert [result["error"] for result in old.results] == [None]
    assert [result["error"] for result in new.results] == ["interrupted before it was analysed"]
    assert new.codes == [ExitCode.UNDECIDED]


def test_different_settings_are_not_compared(saved: list[str]) -> None:
    run = slowpath("diff", saved[0], PLAIN, *COUNT, "-n", "*")
    assert run.returncode == 0  # no program in common
    single = Path(saved[0]).with_name("single.json")
    single.write_text(json.dumps({"results": [make_result(program="alaw2ulaw")]}))
    run = slowpath("diff", single, PLAIN, *COUNT)
    assert (run.returncode, run.stdout) == (3, "")
    assert "analysed for target ebpf, metric instructions, the old one for target" in run.stderr


def test_one_side_without_the_program(tmp_path: Path) -> None:
    shutil.copy(ROOT / PLAIN, tmp_path / "a.o")
    text = diff(tmp_path / "a.o", OPTIMISED, "-n", "alaw2ulaw_opt", *COUNT)
    assert "1 new" in text


def test_an_analysis_that_was_stopped_is_undecided() -> None:
    run = slowpath("diff", PLAIN, OPTIMISED, *COUNT, "--deadline", "1e-9")
    assert run.returncode == 4
    gate = ("--fail-on", "instructions_pct > 5")
    run = slowpath("diff", PLAIN, OPTIMISED, *COUNT, "--deadline", "1e-9", *gate)
    assert run.returncode == 4
    assert "instructions_pct is N/A" in run.stderr


# --- requirements and estimates ------------------------------------------------------------------

FIREWALL = "examples/firewall.bpf.o"
SERVER = ("--target", "linux-xdp")


def test_a_rate_is_required_of_new() -> None:
    met = slowpath("diff", OPTIMISED, FIREWALL, *SERVER, "--require", "1Mpps")
    assert (met.returncode, met.stderr) == (0, "")
    run = slowpath("diff", FIREWALL, OPTIMISED, "--require", "10Mpps", "--format", "json")
    assert run.returncode == 1
    error, command = run.stderr.splitlines()
    assert "Mpps at the pessimistic end of the estimate" in error
    assert ", 10.0 Mpps required; estimates are not guarantees" in error
    (failure,) = json.loads(run.stdout)["failures"]
    assert failure["expression"] == "10Mpps"
    assert failure["reason"] in error
    assert command == f"reproduce: {failure['reproduce']}"
    setting, *words = shlex.split(failure["reproduce"])
    assert setting == f"SLOWPATH_CPU={os.environ['SLOWPATH_CPU']}"
    assert slowpath(*words[1:]).returncode == 1


def test_a_count_is_required_of_new() -> None:
    limit = ("--require", "<=7000 instructions")
    assert slowpath("diff", PLAIN, OPTIMISED, *COUNT, *limit).returncode == 0
    run = slowpath("diff", OPTIMISED, PLAIN, *COUNT, *limit)
    assert run.returncode == 1
    assert "at most 8544 instructions guaranteed, at most 7000 instructions required" in run.stderr
    words = ("--deadline", "1e-9", *limit)
    assert slowpath("diff", OPTIMISED, PLAIN, *COUNT, *words).returncode == 4
    run = slowpath("diff", PLAIN, PLAIN, *COUNT, "--require", "5Mpps")
    assert run.returncode == 2
    assert "target ebpf counts instructions and memory-accesses, not rates" in run.stderr


def test_a_requirement_applies_to_saved_results(saved: list[str]) -> None:
    run = slowpath("diff", *saved, "-n", "s*", "--require", "24Gbit/s")
    assert run.returncode == 1
    error, command = run.stderr.splitlines()
    assert error.startswith("error: sample.asm: only 22.2 Gbit/s guaranteed, 24.0 Gbit/s required")
    again = slowpath(*shlex.split(command)[2:])
    assert (again.returncode, again.stderr) == (1, run.stderr)
    assert slowpath("diff", *saved, "--require", "22Gbit/s").returncode == 0
    run = slowpath("diff", *saved, "--require", "1Mpps")
    assert (run.returncode, run.stdout) == (3, "")
    assert "its guarantee is for bitrate, but --require needs packetrate" in run.stderr
    run = slowpath("diff", *saved, "--accept-assumptions")
    assert run.returncode == 2
    assert "'--accept-assumptions': needs --require" in run.stderr


def test_parallel_analyses_give_the_same_comparison(tmp_path: Path) -> None:
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
    for at, file in enumerate((PLAIN, OPTIMISED)):
        shutil.copy(ROOT / file, tmp_path / f"old/{at}.bpf.o")
        shutil.copy(ROOT / (OPTIMISED, PLAIN)[at], tmp_path / f"new/{at}.bpf.o")
    words = (tmp_path / "old", tmp_path / "new", "--target", "ebpf,linux-xdp")
    alone = diff(*words, "--format", "csv")
    assert alone.count("\n") == 5
    assert diff(*words, "--format", "csv", "--jobs", "2") == alone


def test_parallel_analyses_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> Analyses:
        raise AssertionError

    alone = diff(PLAIN, OPTIMISED, *COUNT)
    monkeypatch.setattr(diff_run, "analyses_here", refused)
    assert diff(PLAIN, OPTIMISED, *COUNT, "--jobs", "2") == alone


@pytest.mark.parametrize("option", ["--fail-on", "--filter", "--sort"])
def test_unknown_columns_are_refused_before_the_analysis(
    monkeypatch: pytest.MonkeyPatch, option: str
) -> None:
    def analysed(*_: object) -> Analyses:
        raise AssertionError

    monkeypatch.setattr(diff_run, "analyses_here", analysed)
    value = "speed_pct" if option == "--sort" else "speed_pct > 5"
    for target in ("ebpf", "linux-xdp", "agilio-cx-2x40"):
        run = slowpath("diff", PLAIN, PLAIN, "--target", target, option, value)
        assert run.returncode == 2
        assert (
            f"invalid value for '{option}': 'speed_pct' is not a column; choose one of"
            in run.stderr
        )


def test_changes_within_the_error_of_an_estimate_are_named() -> None:
    words = ("examples/quic_lb.bpf.o", "examples/quic_lb_ipv6.bpf.o", *SERVER)
    (program,) = json.loads(diff(*words, "--format", "json"))["results"]
    assert program["within_error"] == ["warm_ns", "cold_ns"]
    (row,) = csv.DictReader(diff(*words, "--format", "csv").splitlines())
    assert row["within_error"] == "warm_ns cold_ns"
    note = (
        "the change of cold_ns of quic_lb -> quic_lb_ipv6 lies within the interval of its error: "
    )
    assert f"\n{note}" in diff(*words)
    few, many = (f"examples/count_min.{rows}.bpf.o" for rows in (1, 8))
    assert "within the interval" not in diff(few, many, *SERVER)
    assert (
        json.loads(diff(PLAIN, PLAIN, *SERVER, "--format", "json"))["results"][0]["within_error"]
        == []
    )


# --- folders --------------------------------------------------------------------------------------


def folders_of(tmp_path: Path, files: dict[str, list[str]]) -> list[Path]:
    """Write two folders of saved results, `old` and `new`, and return them.

    `files` has the names of the programs in each file, such as `old/a`.
    """
    for name, programs in files.items():
        file = tmp_path / f"{name}.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        results = [make_result(program=program) for program in programs]
        file.write_text(json.dumps({"results": results}))
    return [tmp_path / "old", tmp_path / "new"]


def test_folders_of_results_are_compared_by_file_name(tmp_path: Path) -> None:
    """Check that result files are paired by path, even if their programs have equal names."""
    files = {
        "old/first": ["main"],
        "old/more/second": ["main", "lost"],
        "old/third": ["alone"],
        "new/first": ["main"],
        "new/more/second": ["main"],
        "new/fourth": ["other"],
    }
    old, new = folders_of(tmp_path, files)
    (new / "first.json").write_text(
        json.dumps(
            {"results": [make_result(program="main", guarantee=make_bound(bitrate_bps=1e9))]}
        )
    )
    (new / "notes.txt").write_text("not a result")
    rows = list(csv.DictReader(diff(old, new, "--format", "csv").splitlines()))
    assert [(row["program"], row["change"]) for row in rows] == [
        ("main", "worse"),
        ("other", "new"),
        ("main", "same"),
        ("lost", "gone"),
        ("alone", "gone"),
    ]
    text = diff(old, new)
    assert text.startswith(f"{old} -> {new}: 1 worse, 1 same, 1 new, 2 gone")


def test_a_gate_names_the_files_of_a_folder(tmp_path: Path) -> None:
    old, new = folders_of(tmp_path, {"old/a": ["main"], "new/a": ["main"], "new/b": ["more"]})
    slow = make_result(program="main", guarantee=make_bound(bitrate_bps=1e9))
    (new / "a.json").write_text(json.dumps({"results": [slow]}))
    run = slowpath("diff", old, new, "--fail-on", "bitrate_pct < -5")
    assert run.returncode == 1
    _, first, _, second = run.stderr.splitlines()
    assert first.startswith(f"reproduce: slowpath diff {old / 'a.json'} {new / 'a.json'} ")
    assert second.startswith(f"reproduce: slowpath diff {old} {new} ")
    for line in (first, second):
        again = slowpath(*shlex.split(line.removeprefix("reproduce: slowpath ")))
        assert again.returncode == 1
    unknown = slowpath("diff", old, new, "-n", "mor")
    assert unknown.returncode == 2
    assert "no program matches --prog-name 'mor'" in unknown.stderr
    passed = slowpath("diff", old, new, "--fail-on", "bitrate_pct < -99", "--allow-new")
    assert (passed.returncode, passed.stderr) == (0, "")


def test_settings_do_not_stop_a_comparison_of_saved_results(
    saved: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLOWPATH_TARGET", "ebpf")
    assert ": 1 worse, 1 same, 1 new, 1 gone\n" in diff(*saved)
    refused = slowpath("diff", *saved, "--target", "ebpf")
    assert refused.returncode == 2
    assert "'--target': has no effect" in refused.stderr


def test_formats_for_code_review(saved: list[str]) -> None:
    """Check findings about made-up results.

    They have no source lines, so the findings are shown at files.
    """
    gate = ("--fail-on", "bitrate_pct < -5", "--allow-new", "--allow-gone", "--format")
    log = slowpath("diff", *saved, *gate, "sarif")
    assert log.returncode == 1
    found = [(one["ruleId"], one["level"]) for one in check_sarif(log.stdout)["results"]]
    assert found == [
        ("SP1304", "error"),
        ("SP1301", "note"),
        ("SP1309", "note"),
        ("SP1308", "note"),
    ]
    hidden = slowpath("diff", *saved, "--filter", "same", *gate, "github")
    levels = [one["level"] for one in read_github(hidden.stdout)]
    assert levels == ["error", "notice"], "failed gates of hidden programs are reported"
    cases = check_junit(slowpath("diff", *saved, *gate, "junit").stdout)
    assert [case[0].tag for case in cases] == ["failure", *["system-out"] * 3]


def test_a_program_without_old_result_is_a_note(tmp_path: Path) -> None:
    old, new = tmp_path / "old.json", tmp_path / "new.json"
    lost = make_result(guarantee=None, profile=None, paths=[], error="deadline")
    for file, result in ((old, lost), (new, make_result())):
        file.write_text(json.dumps({"results": [result]}))
    results = check_sarif(slowpath("diff", old, new, "--format", "sarif").stdout)["results"]
    (note,) = [(one["ruleId"], one["level"], one["message"]["text"]) for one in results]
    assert note[:2] == ("SP1301", "note")
    assert "nothing to compare: OLD could not be analysed; at least" in note[2]
    (wrong,) = check_sarif(slowpath("diff", new, old, "--format", "sarif").stdout)["results"]
    assert (wrong["ruleId"], wrong["level"]) == ("SP1310", "error")


def test_lines_that_became_costlier_are_findings() -> None:
    words = (OPTIMISED, PLAIN, "--target", "agilio-cx-2x40")
    results = check_sarif(diff(*words, "--format", "sarif", "--lines", "4"))["results"]
    (program,) = json.loads(diff(*words, "--format", "json"))["results"]
    risen = [line for line in program["lines"] if line["cost_diff"] > 0]
    places = [f"examples/{Path(one['file_b'])}:{one['line_b']}" for one in risen]
    assert [one["ruleId"] for one in results] == ["SP1306", *["SP1307"] * 3]
    marked = [place_of(one["locations"][0]) for one in results]
    assert set(marked) <= set(places)
    most = max(risen, key=lambda line: line["cost_diff"])
    assert marked[0] == f"examples/{Path(most['file_b'])}:{most['line_b']}"
    faster = check_sarif(diff(*words[1::-1], *words[2:], "--format", "sarif"))["results"]
    assert [(one["ruleId"], one["level"]) for one in faster] == [("SP1301", "note")]


def test_folders_of_programs_are_analysed(tmp_path: Path) -> None:
    for folder, file in (("old", PLAIN), ("new", OPTIMISED)):
        (tmp_path / folder).mkdir()
        shutil.copy(ROOT / file, tmp_path / folder / "audio.bpf.o")
    found = diff(tmp_path / "old", tmp_path / "new", *COUNT, "--format", "csv")
    (row,) = csv.DictReader(found.splitlines())
    assert (row["change"], row["instructions_diff"]) == ("better", str(6464 - 8544))


def test_saved_results_are_compared_by_name_with_a_folder(tmp_path: Path) -> None:
    """Check that files with equal names in different subfolders are not mixed up."""
    xdp = tmp_path / "xdp"
    for name, example in (
        ("a/main.bpf.o", "count_min.4.bpf.o"),
        ("b/main.bpf.o", "alaw2ulaw.bpf.o"),
        ("gone.bpf.o", "firewall.bpf.o"),
    ):
        (xdp / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / "examples" / example, xdp / name)
    kept = slowpath("bound", "xdp", *COUNT, "--format", "json", "-o", "base.json", cwd=tmp_path)
    assert kept.returncode == 0
    shutil.copy(ROOT / "examples/count_min.8.bpf.o", xdp / "a/main.bpf.o")
    shutil.copy(ROOT / "examples/tunnel.bpf.o", xdp / "gone.bpf.o")
    words = ("diff", "base.json", "xdp", "--fail-on", "instructions_pct > 5")
    run = slowpath(*words, "--allow-new", "--allow-gone", cwd=tmp_path)
    assert run.returncode == 1
    assert run.stdout.startswith("base.json -> xdp: 1 worse, 1 same, 1 new, 1 gone\n")
    assert "firewall of xdp/gone.bpf.o is gone: NEW has no program with this name\n" in run.stdout
    assert "tunnel of xdp/gone.bpf.o is new: OLD has no program with this name\n" in run.stdout
    assert run.stderr.startswith("error: xdp/a/main.bpf.o:count_min: instructions_pct is +")
    (reproduce,) = re.findall(r"reproduce: slowpath (diff base\.json xdp .*)", run.stderr)
    assert slowpath(*shlex.split(reproduce), cwd=tmp_path).returncode == 1
    # Now the folder is OLD and the file is NEW.
    back = slowpath("diff", "xdp", "base.json", "--format", "csv", cwd=tmp_path)
    changes = {row["program"]: row["change"] for row in csv.DictReader(back.stdout.splitlines())}
    assert changes == {
        "count_min": "better",
        "alaw2ulaw": "same",
        "tunnel": "gone",
        "firewall": "new",
    }


def test_an_unreadable_file_of_a_folder_is_an_error_of_its_own(tmp_path: Path) -> None:
    shutil.copy(ROOT / PLAIN, tmp_path / "a.bpf.o")
    base = tmp_path / "base.json"
    assert slowpath("bound", tmp_path / "a.bpf.o", "-o", base, "--format", "json").returncode == 0
    (tmp_path / "b.bpf.o").write_text("no object")
    run = slowpath("diff", base, tmp_path)
    assert run.returncode == 3
    assert f"error: {tmp_path}/b.bpf.o: " in run.stderr
    assert ": 1 same, 1 new\n" in run.stdout


def test_folders_that_cannot_be_compared(tmp_path: Path, saved: list[str]) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    for old, new, reason in (
        (empty, saved[0], "has neither programs nor results (*.json)"),
        (saved[0], empty, "has neither programs nor results (*.json)"),
        (PLAIN, empty, "is a directory, but the other side is a program; name two directories"),
        (empty, empty, "neither folder contains results (*.json) or programs"),
    ):
        run = slowpath("diff", old, new)
        assert (run.returncode, run.stdout) == (3, "")
        assert f"error: {empty}: {reason}" in run.stderr


def test_results_for_several_targets_are_compared_by_target(tmp_path: Path) -> None:
    both = ("--target", "ebpf,agilio-cx-2x40")
    saved = tmp_path / "saved.json"
    saved.write_text(slowpath("bound", PLAIN, *both, "--format", "json").stdout)
    analysed = diff(PLAIN, OPTIMISED, *both, "--format", "csv")
    rows = list(csv.DictReader(analysed.splitlines()))
    assert [(row["target"], row["change"]) for row in rows] == [
        ("ebpf", "better"),
        ("agilio-cx-2x40", "better"),
    ]
    # Without --target, NEW is analysed for all targets of the saved results.
    again = list(csv.DictReader(diff(saved, OPTIMISED, "--format", "csv").splitlines()))
    assert [row["bitrate_pct"] for row in again] == [row["bitrate_pct"] for row in rows]
    gate = ("--fail-on", "instructions_pct > -99")
    run = slowpath("diff", PLAIN, OPTIMISED, *both, *gate)
    assert run.returncode == 1
    lines = [line for line in run.stderr.splitlines() if line.startswith("reproduce: ")]
    assert ["--target ebpf" in line for line in lines] == [True, False]
