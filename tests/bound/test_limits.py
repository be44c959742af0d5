"""Tests that analyses end with their results so far at time limits, memory limits and signals.

No test measures time: an analysis that exceeds its limits fails at a much longer timeout.
"""

import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assemble import hashes, rounds, shifts, small, straight, write_object
from slowpath.bounds.report_rates import full_report
from slowpath.core.errors import ExitCode
from slowpath.core.jobs.memory import default_limit, parse_size
from slowpath.core.schema.derived import NO_DETAIL
from support import ROOT, heed_interrupts, make_bound, make_path, make_result, slowpath

COUNT = ("--target", "ebpf")
CARD = ("--target", "agilio-cx-2x40")


def save(folder: Path, name: str, code: bytes) -> str:
    path = folder / f"{name}.bpf.o"
    path.write_bytes(write_object({name: code}))
    return str(path)


def results(run: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(run.stdout)["results"]
    return found


def bound(*arguments: str) -> subprocess.CompletedProcess[str]:
    return slowpath("bound", *arguments, "--format", "json", timeout=120)


@pytest.mark.parametrize(
    ("name", "code", "options", "stage"),
    [
        ("straight", lambda: straight(700_000), CARD, "compiling the program for the card"),
        ("straight", lambda: straight(900_000), COUNT, ""),
    ],
)
def test_a_deadline_ends_every_stage(
    tmp_path: Path, name: str, code: Callable[[], bytes], options: tuple[str, ...], stage: str
) -> None:
    file = save(tmp_path, name, code())
    run = bound(file, *options, "--deadline", "0.5")
    [result] = results(run)
    assert run.returncode == ExitCode.UNDECIDED, run.stderr
    assert result["error"].startswith("deadline while "), result["error"]
    assert stage in result["error"]
    assert result["error"].endswith(": there is no bound yet")


def test_a_deadline_that_ends_unrolling_leaves_a_bound(tmp_path: Path) -> None:
    run = bound(save(tmp_path, "shifts", shifts(30_000)), *COUNT, "--deadline", "0.5")
    [result] = results(run)
    if result["error"] is None:
        assert result["guarantee"]["verdict"] == "bound"
        assert result["guarantee"]["counts"]["instructions"] > 30_000
    else:
        # Before the program is unrolled, the analysis has no bound.
        assert result["error"].startswith(
            ("deadline while reading", "deadline while translating")
        ), result["error"]


@pytest.mark.parametrize("found", [True, False])
@pytest.mark.parametrize("verbose", [True, False])
def test_paths_without_details_are_counted(*, found: bool, verbose: bool) -> None:
    verdict = "exact" if found else "bound"
    guarantee = make_bound(verdict=verdict, exact=found, stopped="deadline")
    result = make_result(guarantee=guarantee, paths=[make_path(), make_path()])
    lines = [line.text for line in full_report(result, NO_DETAIL, verbose=verbose)]
    assert any(line.startswith("2 more satisfiable paths") for line in lines), lines


def test_a_deadline_ends_the_search_with_a_bound(tmp_path: Path) -> None:
    run = bound(save(tmp_path, "hashes", hashes(400)), *COUNT, "--deadline", "3")
    [result] = results(run)
    assert result["error"] is None, result["error"]
    guarantee = result["guarantee"]
    assert (guarantee["exact"], guarantee["stopped"]) == (False, "deadline")
    # Each hash takes 7 instructions, and one more if its comparison succeeds.
    assert 400 * 7 < guarantee["counts"]["instructions"] <= 400 * 8 + 20


def test_compile_obeys_a_deadline(tmp_path: Path) -> None:
    file = save(tmp_path, "straight", straight(700_000))
    run = slowpath("compile", file, "--deadline", "0.5", timeout=120)
    assert (run.returncode, run.stdout) == (ExitCode.UNDECIDED, "")
    assert run.stderr.startswith(f"error: {file}: deadline")


def test_oversized_programs_are_rejected_before_compilation(tmp_path: Path) -> None:
    file = save(tmp_path, "straight", straight(60_000))
    run = slowpath("bound", file, *CARD, timeout=120)
    assert run.returncode == ExitCode.INPUT
    expected = "at least 120009 instructions for the card; its firmware has room for 2560"
    assert expected in run.stderr


def test_a_memory_limit_ends_one_program_only(tmp_path: Path) -> None:
    files = [save(tmp_path, "shifts", shifts(30_000)), save(tmp_path, "small", small())]
    run = bound(*files, *COUNT, "--memory", "80M", "--deadline", "0")
    large, little = results(run)
    assert run.returncode == 0, run.stderr
    assert large["guarantee"]["verdict"] == "bound"
    assert large["guarantee"]["stopped"].startswith("memory limit while "), large["guarantee"]
    assert little["guarantee"]["exact"]


def test_a_memory_limit_keeps_the_bound(tmp_path: Path) -> None:
    file = save(tmp_path, "hashes", hashes(400))
    [result] = results(bound(file, *COUNT, "--memory", "64M", "--deadline", "0"))
    assert result["error"] is None, result["error"]
    assert result["guarantee"]["exact"] is False
    stopped = result["guarantee"]["stopped"]
    assert stopped == "memory limit while searching for the slowest path", stopped


def _bound_within(most: int, *files: str) -> subprocess.CompletedProcess[str]:
    """Run `slowpath bound` in an address space of `most` bytes.

    One stack of the engine (512 MiB) fits. The C allocator reserves a single arena.
    """
    options = ("--memory", "3G", "--deadline", "0", "--format", "json")
    return subprocess.run(
        [sys.executable, "-m", "slowpath", "bound", *files, *COUNT, *options],
        cwd=ROOT,
        env=os.environ | {"MALLOC_ARENA_MAX": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (most, most)),
    )


def test_an_allocation_that_fails_ends_one_program_only(tmp_path: Path) -> None:
    """Check that a failed memory allocation ends the analysis of one program, not the command.

    `ulimit -v` makes the allocation fail before the limit of `--memory` is reached.
    """
    little_file, large_file = (
        save(tmp_path, name, code)
        for name, code in (("small", small()), ("shifts", shifts(30_000)))
    )
    needed = next(
        most
        for most in range(600 << 20, 2000 << 20, 100 << 20)
        if results(_bound_within(most, little_file))[0]["error"] is None
    )
    # Without a limit of the system, the large program reaches the limit of `--memory`.
    run = _bound_within(needed + (200 << 20), large_file, little_file)
    large, little = results(run)
    assert run.returncode == 0, run.stderr
    assert large["guarantee"]["verdict"] == "bound"
    assert large["guarantee"]["stopped"].startswith("memory limit while "), large["guarantee"]
    assert little["guarantee"]["exact"]


def test_a_total_deadline_leaves_programs_out(tmp_path: Path) -> None:
    names = ("first", "second", "third")
    files = [save(tmp_path, name, shifts(30_000)) for name in names]
    run = bound(*files, *COUNT, "--total-deadline", "1", "--deadline", "20")
    first, *others = results(run)
    assert run.returncode == ExitCode.UNDECIDED
    assert first["guarantee"]["stopped"].startswith("total deadline"), first["guarantee"]
    without = [result["error"] for result in others]
    assert without == ["total deadline before it was analysed"] * 2


def test_many_programs_of_one_object(tmp_path: Path) -> None:
    file = tmp_path / "many.bpf.o"
    file.write_bytes(write_object({f"program{n}": small() for n in range(300)}))
    found = results(bound(str(file), *COUNT))
    assert [result["program"] for result in found] == [f"program{n}" for n in range(300)]
    assert all(result["guarantee"]["exact"] for result in found)


def start(*arguments: str) -> "subprocess.Popen[str]":
    """Start `slowpath bound` as a process that SIGINT interrupts."""
    return subprocess.Popen(
        [sys.executable, "-m", "slowpath", "bound", *arguments],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heed_interrupts,  # noqa: PLW1509 - no threads here
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_with_partial_results(tmp_path: Path, number: signal.Signals) -> None:
    files = [save(tmp_path, "small", small()), save(tmp_path, "hashes", hashes(400))]
    files.append(save(tmp_path, "last", small()))
    with start(*files, *COUNT, "--deadline", "0", "--format", "json") as process:
        assert process.stdout is not None
        begun = [process.stdout.readline(), process.stdout.readline()]
        process.send_signal(number)
        rest, errors = process.communicate(timeout=120)
    first, stopped, last = json.loads("".join(begun) + rest)["results"]
    assert process.returncode == ExitCode.UNDECIDED, errors
    assert first["guarantee"]["exact"]
    reason = stopped["error"] or stopped["guarantee"]["stopped"]
    assert reason.startswith("interrupted"), reason
    assert last["error"] == "interrupted before it was analysed"


def test_a_second_signal_ends_the_command(tmp_path: Path) -> None:
    files = [save(tmp_path, "small", small()), save(tmp_path, "shifts", shifts(30_000))]
    with start(*files, *COUNT, "--deadline", "0", "--format", "json") as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.stdout.readline()
        while process.poll() is None:
            process.send_signal(signal.SIGTERM)
            time.sleep(0.001)  # leaves the process time to end
        errors = process.communicate(timeout=120)[1]
    # The command removes its handler after the work, so a late signal kills the process.
    ended = {ExitCode.INTERRUPTED, ExitCode.UNDECIDED, -signal.SIGTERM}
    assert process.returncode in ended, errors
    assert "Traceback" not in errors


def test_an_interrupt_during_imports_shows_no_traceback() -> None:
    script = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "slowpath.app":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Finder())
from slowpath.main import main
print("not reached")
"""
    run = subprocess.run(
        [sys.executable, "-c", script],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (run.returncode, run.stdout, run.stderr) == (ExitCode.INTERRUPTED, "", "")


def test_workers_end_with_a_killed_command(tmp_path: Path) -> None:
    """Check that a worker process exits when its command is killed.

    The worker has inherited a pipe; the test waits until it is closed.
    """
    files = [save(tmp_path, "small", small()), save(tmp_path, "shifts", shifts(30_000))]
    reader, inherited = os.pipe()
    with subprocess.Popen(
        [sys.executable, "-m", "slowpath", "bound", *files, *COUNT, "--format", "json"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        pass_fds=[inherited],
    ) as process:
        os.close(inherited)
        assert process.stdout is not None
        process.stdout.readline()
        process.stdout.readline()
        process.kill()
    assert os.read(reader, 1) == b"", "no process has the other end open"
    os.close(reader)


def test_no_deadline(tmp_path: Path) -> None:
    """Check that `--deadline 0` analyses without a time limit."""
    [result] = results(bound(save(tmp_path, "rounds", rounds(100)), *COUNT, "--deadline", "0"))
    assert result["guarantee"]["exact"]


@pytest.mark.parametrize(
    ("text", "size"), [("500M", 500 << 20), ("2g", 2 << 30), ("1.5GiB", 3 << 29), ("1T", 1 << 40)]
)
def test_sizes(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "x", "-1", "10", "1M", "1..5G", "5 GB/s", "٣G"])
def test_invalid_sizes(text: str) -> None:
    with pytest.raises(ValueError, match=r"memory|little"):
        parse_size(text)


def test_the_default_limit_is_below_the_memory() -> None:
    limit = default_limit()
    assert limit is None or 64 << 20 <= limit <= os.sysconf("SC_PAGE_SIZE") * os.sysconf(
        "SC_PHYS_PAGES"
    )
