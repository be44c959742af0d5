"""Tests that many programs get the same results in one process and in pools of processes."""

import csv
import io
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Generator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from assemble import hashes, write_object
from compiler import needs_clang
from slowpath.bounds.analyst import Session
from slowpath.bounds.bulk import Answer, Item, analyse_all
from slowpath.bounds.multi_target import named_targets, read_requests
from slowpath.bounds.options import WrittenOptions
from slowpath.core import engine
from slowpath.core.errors import ExitCode, OptionError, UnavailableError
from slowpath.core.jobs import Stopping
from slowpath.core.jobs.local_pool import LocalPool
from slowpath.core.jobs.memory import default_limit
from slowpath.core.jobs.pool import NO_OBSERVER, Pool, PoolObserver, Unfinished
from slowpath.core.schema.derived import NO_DETAIL
from support import ROOT, heed_interrupts, make_result, slowpath
from test_schema import check

NAMES = ("count_min.1", "count_min.8", "header_parser", "firewall", "tunnel", "dns_cache")
OBJECTS = tuple(f"examples/{name}.bpf.o" for name in NAMES)
LISTING = "examples/two_protocols.asm"
TARGETS = ("agilio-cx-2x40", "ebpf", "linux-xdp")
ALL = ("--target", ",".join(TARGETS))
JSON = ("--format", "json")


def bound(*words: str | Path, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return slowpath("bound", *words, cwd=cwd, timeout=120)


def results(run: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    """Check a command's JSON document, and return its results without times.

    Times differ between runs.
    """
    check("bound", run.stdout)
    found: list[dict[str, Any]] = json.loads(run.stdout)["results"]
    for result in found:
        del result["stats"]["seconds"], result["stats"]["solver_seconds"]
    return found


def rows(run: subprocess.CompletedProcess[str]) -> list[dict[str, str]]:
    """Return the rows of a CSV document without times, which differ between runs."""
    found = list(csv.DictReader(io.StringIO(run.stdout)))
    for row in found:
        del row["seconds"]
    return found


@cache
def of_all() -> subprocess.CompletedProcess[str]:
    """Analyse all programs for all targets one by one, and return the completed process."""
    return bound(*OBJECTS, *ALL, *JSON)


class Begun:
    """A running command whose first result has already arrived."""

    def __init__(self, *words: str | Path) -> None:
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed at the end
        self.process = subprocess.Popen(
            [sys.executable, "-m", "slowpath", "bound", *words, *JSON],
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            cwd=ROOT,
            preexec_fn=heed_interrupts,  # noqa: PLW1509 - of a test without threads of its own
        )
        assert self.process.stdout is not None
        self._head = self.process.stdout.readline() + self.process.stdout.readline()

    def ended(self) -> subprocess.CompletedProcess[str]:
        """Wait until the command ends, and return the completed process."""
        assert self.process.stdout is not None
        out = self._head + self.process.stdout.read()
        self.process.stdout.close()
        code = self.process.wait(120)
        with self._errors as errors:
            errors.seek(0)
            return subprocess.CompletedProcess([], code, out, errors.read())


# --- several targets -----------------------------------------------------------------------------


def test_programs_come_target_by_target_as_on_each_alone() -> None:
    run = of_all()
    assert run.returncode == ExitCode.INPUT  # the card does not run all of them
    alone = [
        result
        for target in TARGETS
        for result in results(bound(*OBJECTS, "--target", target, *JSON))
    ]
    assert len(alone) == len(OBJECTS) * len(TARGETS)
    assert results(run) == alone


def test_the_table_has_a_part_for_each_target() -> None:
    run = bound(*OBJECTS[:2], *ALL)
    parts = run.stdout.split("\n\n")
    assert [part.splitlines()[0] for part in parts] == list(TARGETS)
    for target, part in zip(TARGETS, parts, strict=True):
        alone = bound(*OBJECTS[:2], "--target", target).stdout
        assert part.strip() == f"{target}\n{alone}".strip()


def test_complaints_name_the_target(tmp_path: Path) -> None:
    file = tmp_path / "none.bpf.o"
    run = bound(OBJECTS[5], file, *ALL)
    complaints = [line for line in run.stderr.splitlines() if line.startswith("error: ")]
    # An unreadable file is reported once, not for each target.
    assert len([line for line in complaints if line.startswith(f"error: {file}: ")]) == 1
    (refused,) = (line for line in complaints if not line.startswith(f"error: {file}: "))
    assert refused.startswith(f"error: {OBJECTS[5]}: on agilio-cx-2x40: ")


def test_requirements_are_held_on_each_target() -> None:
    words = (OBJECTS[0], "--target", "ebpf,linux-xdp", "--require", "<=30 instructions")
    run = bound(*words)
    assert run.returncode == ExitCode.FAILED
    errors = [line for line in run.stderr.splitlines() if line.startswith("error: ")]
    assert [line.partition(" on ")[2].partition(":")[0] for line in errors] == ["ebpf", "linux-xdp"]
    reproduced = [line for line in run.stderr.splitlines() if line.startswith("reproduce: ")]
    assert ["--target ebpf" in line for line in reproduced] == [True, False]
    assert bound(*words[:-1], "<=4000 instructions").returncode == ExitCode.FINE
    refused = bound(OBJECTS[0], *ALL, "--require", "5Mpps")
    assert (refused.returncode, refused.stdout) == (ExitCode.USAGE, "")
    assert "target ebpf counts instructions and memory-accesses" in refused.stderr


def test_options_are_for_the_targets_that_have_them() -> None:
    written = WrittenOptions(target=",".join(TARGETS), metric="packetrate", cores=3, entries=9)
    card, counting, host = (one.options for one in read_requests(OBJECTS, written))
    assert (card.metric, card.cores, card.entries) == ("packetrate", 3, None)
    assert (counting.metric, counting.cores, counting.entries) == (None, None, None)
    assert (host.metric, host.cores, host.entries) == (None, None, 9)
    with pytest.raises(OptionError, match="'speed' is not a metric of target"):
        read_requests(OBJECTS, written._replace(metric="speed"))
    with pytest.raises(OptionError, match="--cores"):
        Session(
            read_requests(OBJECTS, written._replace(target="ebpf", metric=None, entries=None))[0]
        )


def test_names_of_targets(tmp_path: Path) -> None:
    assert named_targets("ebpf, linux-xdp") == ["ebpf", "linux-xdp"]
    with pytest.raises(OptionError, match="ebpf is named twice"):
        named_targets("ebpf,linux-xdp,ebpf")
    with pytest.raises(OptionError, match="'' is not a target"):
        read_requests(OBJECTS, WrittenOptions(target="ebpf,"))
    file = tmp_path / "a,b.toml"
    file.touch()
    assert named_targets(str(file)) == [str(file)]


def test_time_for_all_is_counted_from_one_moment() -> None:
    written = WrittenOptions(target=",".join(TARGETS), total_deadline=60.0)
    assert len({one.until for one in read_requests(OBJECTS, written)}) == 1


# --- in pools ------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["table", "json", "csv"])
def test_results_do_not_depend_on_the_pool(scheduler: str, form: str) -> None:
    objects = OBJECTS if form == "json" else OBJECTS[:2]
    words = (*objects, LISTING, *ALL, "--paths", "2", "--verbose", "--format", form)
    one, *others = (
        bound(*words, *place)
        for place in (("--jobs", "1"), ("--jobs", "2"), ("--scheduler", scheduler))
    )
    read = {"table": lambda run: run.stdout, "json": results, "csv": rows}[form]
    assert len(one.stdout.splitlines()) > len(objects) * len(TARGETS)
    for other in others:
        assert read(other) == read(one)
        assert (other.returncode, other.stderr) == (one.returncode, one.stderr)


def test_one_program_has_a_full_report_anywhere(scheduler: str) -> None:
    alone, far = bound(OBJECTS[0]), bound(OBJECTS[0], "--scheduler", scheduler)
    assert (far.returncode, far.stderr) == (alone.returncode, alone.stderr) == (0, "")
    assert far.stdout == alone.stdout
    assert len(alone.stdout.splitlines()) > 10


def test_workers_need_no_files(scheduler: str, tmp_path: Path) -> None:
    """Check that workers analyse programs although they cannot read the files of options.

    The workers run in another folder; the content of the files must be sent to them.
    """
    needs_clang()
    (tmp_path / "count.bpf.c").write_bytes((ROOT / "examples/count_min.bpf.c").read_bytes())
    for header in (ROOT / "examples").glob("*.h"):
        (tmp_path / header.name).write_bytes(header.read_bytes())
    own = slowpath("targets", "show", "ebpf").stdout
    (tmp_path / "own.toml").write_text(own.replace('name = "ebpf"', 'name = "own"'))
    words = ("count.bpf.c", "--cflags=-DHASHES=3", "--target", "own.toml,ebpf", *JSON)
    runs = [
        bound(*words, *place, cwd=tmp_path)
        for place in (("--jobs", "1"), ("--jobs", "2"), ("--scheduler", scheduler))
    ]
    assert [run.returncode for run in runs] == [0, 0, 0], runs[-1].stderr
    one, two, three = map(results, runs)
    assert [result["target"] for result in one] == ["own", "ebpf"]
    assert one == two == three


def test_packets_are_written_in_order(scheduler: str, tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("one.pcap", "two.pcap", "far.pcap")]
    places = (("--jobs", "1"), ("--jobs", "2"), ("--scheduler", scheduler))
    for file, place in zip(files, places, strict=True):
        bound(*OBJECTS[:3], *ALL, "--pcap-out", file, *place)
    one, *others = (file.read_bytes() for file in files)
    assert len(one) > 500
    assert all(other == one for other in others)


def test_a_killed_worker_of_this_machine_changes_nothing() -> None:
    expected = of_all()
    run = Begun(*OBJECTS, *ALL, "--jobs", "2")
    for worker in _workers(run.process.pid)[:1]:
        os.kill(worker, signal.SIGKILL)
    ended = run.ended()
    assert ended.returncode == expected.returncode, ended.stderr
    assert results(ended) == results(expected)


def _workers(owner: int) -> list[int]:
    """Return the process ids of a command's two worker processes."""
    children = Path(f"/proc/{owner}/task/{owner}/children").read_text().split()
    found = [
        int(child)
        for child in children
        if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes()
    ]
    assert len(found) == 2
    return found


def test_a_killed_worker_of_a_cluster_changes_nothing(scheduler: str) -> None:
    expected = of_all()
    run = Begun(*OBJECTS, *ALL, "--scheduler", scheduler)
    killing = [sys.executable, str(ROOT / "tests/dask_cluster.py"), scheduler]
    subprocess.run(killing, check=True, timeout=60)
    ended = run.ended()
    assert ended.returncode == expected.returncode, ended.stderr
    assert results(ended) == results(expected)


@pytest.mark.parametrize("where", ["local", "cluster"])
def test_an_interrupt_ends_all_work_with_partial_results(
    where: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    file = tmp_path / "hashes.bpf.o"
    file.write_bytes(write_object({"hashes": hashes(400)}))
    place = ("--jobs", "2")
    if where == "cluster":
        place = ("--scheduler", request.getfixturevalue("scheduler"))
    run = Begun(OBJECTS[0], *[file] * 20, "--target", "ebpf", "--deadline", "0", *place)
    run.process.send_signal(signal.SIGINT)
    ended = run.ended()
    assert ended.returncode == ExitCode.UNDECIDED, ended.stderr
    found = results(ended)
    assert len(found) == 21
    assert found[0]["guarantee"]["exact"]
    assert found[-1]["error"] == "interrupted before it was analysed"
    for one in found[1:]:
        ended_by = one["error"] if one["guarantee"] is None else one["guarantee"]["stopped"]
        assert ended_by.startswith("interrupted")


def test_the_total_deadline_ends_all_work(tmp_path: Path) -> None:
    file = tmp_path / "hashes.bpf.o"
    file.write_bytes(write_object({"hashes": hashes(400)}))
    words = ("--target", "ebpf", "--total-deadline", "2", "--jobs", "2", *JSON)
    run = bound(*[file] * 8, *words)
    assert run.returncode == ExitCode.UNDECIDED, run.stderr
    found = results(run)
    assert found[-1]["error"] == "total deadline before it was analysed"
    for one in found:
        ended_by = one["error"] if one["guarantee"] is None else one["guarantee"]["stopped"]
        assert ended_by.startswith("total deadline")


def test_jobs_and_scheduler_exclude_each_other() -> None:
    run = bound(*OBJECTS, "--jobs", "2", "--scheduler", "tcp://127.0.0.1:9")
    assert (run.returncode, run.stdout) == (ExitCode.USAGE, "")
    assert "--jobs" in run.stderr
    assert "the cluster has its own workers" in run.stderr


# --- answers of workers --------------------------------------------------------------------------


class FakePool(Pool):
    """A process pool whose answers are chosen by the test."""

    concurrency = 1

    def __init__(self, answers: Sequence[Answer | Unfinished]) -> None:
        self.answers = answers
        self.items: Sequence[Item] = ()

    def each(
        self, work: Any, common: Any, items: Sequence[Any], observer: PoolObserver = NO_OBSERVER
    ) -> Generator[Any, None, None]:
        del work, common, observer
        self.items = items
        yield from self.answers


def answer(version: str) -> Answer:
    return Answer(version, json.dumps(make_result()), json.dumps(NO_DETAIL))


def analysed(answers: Sequence[Answer | Unfinished]) -> list[Any]:
    (request,) = read_requests(OBJECTS[:2], WrittenOptions(target="ebpf"))
    found = analyse_all([(request, Session(request))], FakePool(answers), Stopping(), 0)
    return [one.analysed for one in found]


def test_only_programs_that_kill_workers_fail() -> None:
    died, fine = analysed([Unfinished(died=True), answer(engine.version())])
    assert died.result["program"] == "count_min"
    assert died.result["error"].startswith(
        "no bound: the processes that analysed this program died repeatedly"
    )
    assert died.detail["failure"]["kind"] == "stopped"
    assert json.loads(died.text) == died.result
    assert fine.result == json.loads(json.dumps(make_result()))


def test_workers_with_another_slowpath_are_refused() -> None:
    with pytest.raises(
        UnavailableError, match=r"the workers of the cluster run slowpath 0\.0, but"
    ):
        analysed([answer("0.0")])


def test_parallel_analyses_share_the_free_memory() -> None:
    alone, shared = default_limit(), default_limit(4)
    assert alone is not None
    assert shared is not None
    assert shared < alone / 2
    assert LocalPool(4).concurrency == 4
