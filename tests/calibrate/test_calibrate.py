"""Tests `slowpath calibrate`: interrupted and resumed measurements, evaluation, and errors."""

import csv
import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from running_kernel import needs_two_cpus
from slowpath.calibrate.cli import CALIBRATE
from slowpath.calibrate.experiments.specification import shipped_names
from slowpath.calibrate.load.settings import read_load_settings
from slowpath.calibrate.settings import read_settings
from slowpath.calibrate.testbeds import LOAD, TESTBEDS
from slowpath.core.extras import not_installed
from slowpath.core.parser import Parser, read
from support import ROOT, heed_interrupts, slowpath
from test_schema import check

ADD = ("--testbed", "ebpf", "--component", "arithmetic-add", "--points", "6")
FITTING = "fitting models to experiments\n"
"""Progress line of the stage after the experiments, as printed without a terminal."""


def run_in(folder: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    return slowpath("calibrate", *words, cwd=folder)


def test_a_run_is_reported_and_kept(tmp_path: Path) -> None:
    run = run_in(tmp_path, *ADD)
    assert run.returncode == 0, run.stderr
    assert run.stderr == f"1 of 1: arithmetic-add\n{FITTING}"
    head, row, _, last = run.stdout.splitlines()
    assert head.split()[:3] == ["experiment", "by", "from"]
    words = "arithmetic-add count 1 128 1 128 instructions 0.0% linear"
    assert " ".join(row.split()) == words
    assert last == "Programs, samples, models and pictures: calibration-ebpf"
    folder = tmp_path / "calibration-ebpf/arithmetic-add"
    names = {"environment.json", "measurement.json", "model.json", "plot.svg", "points.csv"}
    names |= {"programs", "samples.csv", "specification.yaml"}
    assert {file.name for file in folder.iterdir()} == names
    assert (folder / "programs/count-52.bpf.c").read_text().startswith("/* Instructions of the")


def test_the_list_is_for_machines_too(tmp_path: Path) -> None:
    run = run_in(tmp_path, "--list", "--format", "json")
    assert (run.returncode, run.stderr) == (0, "")
    check("catalogue", run.stdout)
    document = json.loads(run.stdout)
    beds = {one["name"]: one for one in document["testbeds"]}
    assert list(beds) == [*TESTBEDS, LOAD]
    assert {name for name, one in beds.items() if one["exact"]} == {"ebpf", "agilio-cx-2x40"}
    listed = document["experiments"]
    assert [one["specification"]["name"] for one in listed] == shipped_names()
    for one in listed:
        kind = one["specification"]["component"]["kind"]
        assert one["runs_on"], one
        assert all(kind in beds[name]["components"] for name in one["runs_on"])
    on = {one["specification"]["name"]: one["runs_on"] for one in listed}
    assert on["recirculation"] == ["dpdk-swx", "p4", LOAD]
    assert on["memory-latency"] == ["dpdk"]
    assert {"linux-xdp", "ebpf", "agilio-cx-2x40"} <= set(on["arithmetic-add"])
    copying = {"clones", "clone-bytes"}  # of dpdk-swx; copies would return to the sender
    assert {name for name, beds in on.items() if LOAD in beds} == {
        name for name, beds in on.items() if {"linux-xdp", "dpdk-swx"} & {*beds}
    } - copying
    assert not list(tmp_path.iterdir())


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Run two experiments; return the folder with the results, and the JSON document."""
    folder = tmp_path_factory.mktemp("two")
    words = (*ADD[:4], "--component", "parser-headers", "--points", "3")
    run = run_in(folder, *words, "-o", "run", "--format", "json")
    assert run.returncode == 0, run.stderr
    return folder / "run", run.stdout


@pytest.fixture
def copied(two: tuple[Path, str], tmp_path: Path) -> Path:
    """Copy the results of two experiments, so that a test can change them; return the copy."""
    shutil.copytree(two[0], tmp_path / "run")
    return tmp_path / "run"


def test_documents_fit_their_schema(two: tuple[Path, str]) -> None:
    folder, document = two
    check("calibrate", document)
    assert json.loads(document)["directory"] == "run"
    again = run_in(folder.parent, "--evaluate", "run", "--format", "json")
    assert again.stdout == document


def test_it_is_evaluated_to_the_same_bytes_and_run_again(copied: Path) -> None:
    folder, beside = copied / "arithmetic-add", copied.parent
    derived = {name: (folder / name).read_bytes() for name in ("model.json", "plot.svg")}
    for name in derived:
        (folder / name).unlink()
    run = run_in(beside, "--evaluate", "run")
    assert (run.returncode, run.stderr) == (0, FITTING)
    assert {name: (folder / name).read_bytes() for name in derived} == derived
    measured = [file for file in copied.glob("*/programs/*") if file.is_file()]
    measured += copied.glob("*/samples.csv")
    before = {file: file.read_bytes() for file in measured}
    assert len(before) > 2
    (folder / "samples.csv").write_text("")
    run = run_in(beside, "--rerun", "run")
    assert run.returncode == 0
    first, second, last = run.stderr.splitlines(keepends=True)
    assert first.startswith("1 of 2: arithmetic-add")
    assert (second, last) == ("2 of 2: parser-headers\n", FITTING)
    assert {file: file.read_bytes() for file in before} == before


def test_a_run_is_not_overwritten(copied: Path) -> None:
    before = (copied / "run.json").read_bytes()
    run = run_in(copied.parent, "--testbed", "ebpf", "--component", "calls", "-o", "run")
    assert (run.returncode, run.stdout) == (3, "")
    assert run.stderr == (
        "error: run: the folder already has a run; resume it with --rerun, or name another folder "
        "with -o\n"
    )
    assert (copied / "run.json").read_bytes() == before


def test_a_run_goes_on_where_it_stopped(copied: Path) -> None:
    lost = copied / "parser-headers"
    for name in ("measurement.json", "model.json", "samples.csv"):
        (lost / name).unlink()
    kept = (copied / "arithmetic-add/measurement.json").stat().st_mtime_ns
    run = run_in(copied.parent, "--rerun", "run")
    assert (run.returncode, run.stderr) == (0, f"1 of 1: parser-headers\n{FITTING}")
    assert [line.split()[0] for line in run.stdout.splitlines()[1:3]] == [
        "arithmetic-add",
        "parser-headers",
    ]
    assert (copied / "arithmetic-add/measurement.json").stat().st_mtime_ns == kept


def test_an_interrupted_run_keeps_what_is_there(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "slowpath", "calibrate", "--testbed", "ebpf", "-o", "run"]
    words += ["--points", "3"]
    process = subprocess.Popen(
        words,
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heed_interrupts,  # noqa: PLW1509 - there are no threads
    )
    first = tmp_path / "run" / min(shipped_names()) / "measurement.json"
    while not first.exists():
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=60)
    assert process.returncode == 4, errors
    assert "arithmetic-add" in out
    assert json.loads(first.read_text())["state"] == "complete"


def test_ones_own_specification_is_run(tmp_path: Path) -> None:
    text = (ROOT / "python/slowpath/calibrate/experiments/catalogue/calls.yaml").read_text()
    (tmp_path / "mine.yaml").write_text(text.replace("name: calls", "name: my-calls"))
    run = run_in(tmp_path, "mine.yaml", "--testbed", "ebpf", "--range", "2..10/3")
    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines()[1].split()[:4] == ["my-calls", "calls", "2", "10"]


def test_a_point_that_cannot_be_is_an_error(tmp_path: Path) -> None:
    text = (ROOT / "python/slowpath/calibrate/experiments/catalogue/copy-bytes.yaml").read_text()
    (tmp_path / "mine.yaml").write_text(text.replace("size: 576", "size: 100"))
    run = run_in(tmp_path, "mine.yaml", "--testbed", "ebpf")
    assert run.returncode == 3
    assert "bytes = 512: packets of 100 bytes are too short; this program needs 554" in run.stderr


def test_points_and_experiments_are_csv(two: tuple[Path, str], tmp_path: Path) -> None:
    folder, printed = two
    run = run_in(tmp_path, "--evaluate", str(folder), "--format", "csv")
    rows = list(csv.DictReader(run.stdout.splitlines()))
    assert [(row["experiment"], int(row["value"]), float(row["cost"])) for row in rows] == [
        (one["name"], point["value"], point["cost"])
        for one in json.loads(printed)["results"]
        for point in one["result"]["points"]
    ]
    listed = run_in(tmp_path, "--list", "--format", "csv")
    rows = list(csv.DictReader(listed.stdout.splitlines()))
    assert [row["experiment"] for row in rows] == shipped_names()


@pytest.mark.parametrize("example", [one.command for one in CALIBRATE.examples])
def test_examples_of_the_help_name_experiments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, example: str
) -> None:
    monkeypatch.chdir(tmp_path)
    args = read(Parser("slowpath calibrate", CALIBRATE), example.split()[2:])
    if args.testbed == LOAD:
        needs_two_cpus()
        assert read_load_settings(args).experiments
    elif args.rerun is None and not args.list:
        assert read_settings(args).experiments


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (
            ["--testbed", "fpga"],
            2,
            "'fpga' is not a test bed; the test beds are linux-xdp, dpdk, dpdk-swx, ebpf",
        ),
        (
            ["--component", "x"],
            2,
            "'x' is not an experiment; names begin with arithmetic, array, branches, calls, ",
        ),
        (
            ["--component", "elem-hash"],
            2,
            "'elem-hash' is not an experiment; similar: helper-map-delete-elem-hash, ",
        ),
        (["--component", "calls", "--range", "5"], 2, "'5' is not a range; write FIRST..LAST"),
        (
            ["--component", "calls", "--range", "1..9/2", "--points", "3"],
            2,
            "already sets the number of values",
        ),
        (
            ["--component", "calls", "--range", "1..1e9"],
            3,
            "calls cannot be 1,000,000,000; it must be",
        ),
        (["--range", "1..2"], 2, "the range is for one experiment; name this"),
        (["--component", "calls", "--component", "calls"], 2, "calls is named twice; name it once"),
        (
            ["--component", "loops", "--testbed", "dpdk"],
            3,
            "loops: the experiment is for the test beds linux-xdp, ebpf, ",
        ),
        (["nowhere.yaml"], 3, "nowhere.yaml: no such file"),
        (["--evaluate", "nowhere"], 3, "nowhere/run.json: no such file"),
        (
            ["--rerun", "x", "--points", "3"],
            2,
            "the run in the folder already has this setting; omit --poi",
        ),
        (
            ["--evaluate", "x", "--rerun", "x"],
            2,
            "the run in the folder already has this setting; omit --re",
        ),
        (["--component", "calls", "-o", "/proc/nothing"], 3, "/proc/nothing: cannot be written"),
    ],
    ids=lambda it: " ".join(it) if isinstance(it, list) else "",
)
def test_errors_name_the_fault(tmp_path: Path, words: list[str], code: int, message: str) -> None:
    run = run_in(tmp_path, *words)
    assert (run.returncode, run.stdout) == (code, "")
    assert message in run.stderr.replace("\n", " ")
    assert "Traceback" not in run.stderr


@pytest.mark.parametrize(("module", "name"), [("yaml", "PyYAML"), ("scipy", "scipy")])
def test_what_the_extra_lacks_is_said_in_one_line(tmp_path: Path, module: str, name: str) -> None:
    program = (
        f"import sys; sys.modules[{module!r}] = None; sys.argv = ['slowpath', 'calibrate', "
        "'--component', 'calls', '--testbed', 'ebpf']\n"
        "from slowpath.main import main; main()"
    )
    words = [sys.executable, "-c", program]
    run = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    message = f"error: this machine: {not_installed([name], 'models')} [SP1204]\n"
    assert (run.returncode, run.stdout, run.stderr) == (3, "", message)


def test_a_missing_compiler_is_one_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLANG", str(tmp_path / "none"))
    run = run_in(tmp_path, "--testbed", "linux-xdp", "-o", "run")
    assert (run.returncode, run.stdout) == (3, "")
    reason = f"{tmp_path}/none cannot be started: no such file or directory"
    assert run.stderr == f"error: linux-xdp: the experiment needs a compiler: {reason}\n"


def test_everything_is_listed(tmp_path: Path) -> None:
    run = run_in(tmp_path, "--list")
    assert (run.returncode, run.stderr) == (0, "")
    listed = [line.split()[0] for line in run.stdout.splitlines() if line.startswith("  ")]
    assert listed == [*TESTBEDS, LOAD, *shipped_names()]


def test_runs_are_compared_by_experiment(tmp_path: Path) -> None:
    """Check the comparison of two calibrations, experiment by experiment.

    Both are on test beds that compute costs; the compared values must be those of the two runs.
    """
    for bed, names in (
        ("ebpf", ("state-reads", "arithmetic-add")),
        ("agilio-cx-2x40", ("state-reads",)),
    ):
        words = [word for name in names for word in ("--component", name)]
        run = run_in(tmp_path, "--testbed", bed, *words, "--points", "3", "-o", bed)
        assert run.returncode == 0, run.stderr
    both = ("--compare", "ebpf", "--compare", "agilio-cx-2x40")
    run = run_in(tmp_path, *both, "--format", "json", "--html", "page.html")
    assert (run.returncode, run.stderr) == (0, "")
    check("comparison", run.stdout)
    (found,) = json.loads(run.stdout)["results"]
    assert found["name"] == "state-reads"
    for bed in found["testbeds"]:
        model = json.loads((tmp_path / bed["directory"] / "state-reads/model.json").read_text())
        assert bed["testbed"] == bed["directory"] == model["testbed"]
        assert (bed["points"], bed["metric"]) == (model["points"], model["metric"])
    lines = [" ".join(line.split()) for line in run_in(tmp_path, *both).stdout.splitlines()]
    assert lines[0] == "state-reads: Words of state that are read (by accesses)"
    costs = [[bed["points"][at]["cost"] for at in (0, -1)] for bed in found["testbeds"]]
    assert lines[2] == f"ebpf 1 32 {costs[0][0]:.0f} {costs[0][1]:.0f} instructions linear"
    assert lines[3].startswith(f"agilio-cx-2x40 1 32 {costs[1][0]:,.0f} {costs[1][1]:,.0f} cycles ")
    rows = run_in(tmp_path, *both, "--format", "csv").stdout.splitlines()
    assert len(rows) == 1 + sum(len(bed["points"]) for bed in found["testbeds"])
    page = (tmp_path / "page.html").read_text()
    assert page.count("<svg") == 2, "instructions and cycles have a figure each"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--compare", "a"), "a run is compared with others"),
        (("--compare", "a", "--compare", "a"), "a run is named twice"),
        (("--compare", "a", "--compare", "b", "--quick"), "omit --quick"),
        (("--compare", "a", "--compare", "b"), "a/run.json: no such file"),
    ],
)
def test_runs_that_cannot_be_compared_are_errors(
    tmp_path: Path, words: tuple[str, ...], message: str
) -> None:
    run = run_in(tmp_path, *words)
    assert run.returncode in (2, 3)
    assert message in run.stderr


@pytest.mark.parametrize(
    "words",
    [("--evaluate", "load"), ("--rerun", "load"), ("--compare", "load", "--compare", "other")],
    ids=lambda words: words[0],
)
def test_programs_of_the_test_bed_load_are_not_a_run(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    programs = tmp_path / "load/calls"
    programs.mkdir(parents=True)
    (programs / "component-1.bpf.c").write_text("")
    run = run_in(tmp_path, *words)
    assert (run.returncode, run.stdout) == (3, "")
    reason = (
        "load: the folder does not contain a calibration run (run.json); --testbed load keeps "
        "only programs"
    )
    assert reason in run.stderr


def test_runs_without_a_common_experiment_are_an_error(tmp_path: Path) -> None:
    for name in ("arithmetic-add", "calls"):
        run_in(tmp_path, "--testbed", "ebpf", "--component", name, "--points", "2", "-o", name)
    run = run_in(tmp_path, "--compare", "arithmetic-add", "--compare", "calls")
    assert run.returncode == 3
    assert "no experiment has costs in two of these runs" in run.stderr
