"""Tests that exit codes are right if standard streams are closed, full, or not read.

Messages that cannot be written to standard error have no effect on the exit code. Output that
cannot be written is an error with exit code 3.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from successful_calls import FRESH, LISTING, OBJECT, every_command
from support import MEMORY, ROOT, make_bound, make_result, slowpath, without_progress
from warm_starts import run_forked_into

CASES = {
    "fine": (["bound", LISTING], 0),
    "failed": (["bound", LISTING, "--require", "1Tbit/s"], 1),
    "usage": (["bound", LISTING, "--metric", "speed"], 2),
    "wrong words": (["bound"], 2),
    "no command": ([], 2),
    "input": (["bound", LISTING, "missing.asm"], 3),
    "remark": (["compile", OBJECT, "--verify"], 0),
}
"""Commands with their exit codes; all but the first one write to standard error."""


def run_on(
    words: list[str], prepare: Callable[[], None], **streams: int | None
) -> subprocess.CompletedProcess[str]:
    """Run a slowpath command; `prepare` changes its standard streams before it starts."""
    settings = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.run(  # type: ignore[call-overload, no-any-return]
        [sys.executable, "-m", "slowpath", *words],
        cwd=ROOT,
        env=os.environ | {"LC_ALL": "C.UTF-8"},
        text=True,
        timeout=120,
        check=False,
        preexec_fn=prepare,
        **settings | streams,
    )


def closed(*numbers: int) -> Callable[[], None]:
    """Return a function for `run_on` that closes standard streams, like `>&-` in a shell."""

    def prepare() -> None:
        for number in numbers:
            os.close(number)

    return prepare


def full(number: int) -> Callable[[], None]:
    """Return a function for `run_on` that makes writes to a stream fail, like `>/dev/full`."""
    return lambda: (os.dup2(os.open("/dev/full", os.O_WRONLY), number), None)[1]


def unread(number: int) -> Callable[[], None]:
    """Return a function for `run_on` that makes a stream a pipe that nobody reads."""

    def prepare() -> None:
        reader, writer = os.pipe()
        os.close(reader)
        os.dup2(writer, number)

    return prepare


ERRORS_LOST = {"closed": closed(2), "full": full(2), "unread": unread(2)}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("errors", ERRORS_LOST)
def test_lost_messages_change_no_exit_code(case: str, errors: str) -> None:
    words, code = CASES[case]
    run = run_on(words, ERRORS_LOST[errors])
    assert run.returncode == code
    if case != "input":  # has a row for each file
        assert run.stdout == slowpath(*words).stdout


SUCCESSFUL = [*every_command(), ("--version",), ("--help",), ("bound", "--help")]


def fresh_runs() -> set[tuple[str, ...]]:
    """Return a run of each command, and of each format, for tests in new processes.

    All other runs are tested in forks of a process that has imported slowpath.
    """
    found = dict[object, tuple[str, ...]]()
    for words in SUCCESSFUL:
        *command, option, form = words if "--format" in words else (*words, "", words)
        found.setdefault(tuple(command), words)
        found.setdefault((option, form), words)
    return {*found.values()}


FRESH_RUNS = fresh_runs()


@pytest.mark.parametrize("words", SUCCESSFUL, ids=" ".join)
def test_output_that_cannot_be_written_is_an_error(words: tuple[str, ...], tmp_path: Path) -> None:
    called = [str(tmp_path / word) if word == FRESH else word for word in words]
    if words in FRESH_RUNS:
        run = run_on(called, full(1))
    else:
        environment = os.environ | {"LC_ALL": "C.UTF-8"}
        request = {"words": called, "cwd": str(ROOT), "environment": environment, "memory": MEMORY}
        with Path("/dev/full").open("w") as output:
            run = run_forked_into(output, request, 120)
    assert run.returncode == 3
    *progress, error = without_progress(run.stderr).splitlines()
    assert error == "error: standard output: cannot be written: no space left on device [SP1203]"
    assert not progress or words[0] == "calibrate"  # which reports progress, as it takes minutes


def test_closed_output() -> None:
    for words in (["bound", LISTING], ["show", OBJECT, "--format", "json"], ["--version"]):
        run = run_on(words, closed(1))
        assert run.returncode == 3
        assert (
            run.stderr
            == "error: standard output: cannot be written: bad file descriptor [SP1203]\n"
        )


def test_output_and_errors_that_cannot_be_written() -> None:
    for prepare in (closed(1, 2), lambda: (full(1)(), full(2)())[0], closed(0, 1, 2)):
        assert run_on(["bound", LISTING], prepare).returncode == 3


def test_output_that_is_not_read_to_its_end() -> None:
    """Check that `slowpath | head` exits with 141, like a process that SIGPIPE killed."""
    for words in (["bound", LISTING], ["show", OBJECT, "--listing"], ["bound", "--help"]):
        run = run_on(words, unread(1))
        assert (run.returncode, run.stderr) == (141, "")


def test_closed_input() -> None:
    run = run_on(["bound", LISTING], closed(0))
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout == slowpath("bound", LISTING).stdout
    assert run_on(["bound", "/dev/stdin"], closed(0)).returncode == 3


def test_no_file_takes_the_place_of_a_closed_stream(tmp_path: Path) -> None:
    """Check that an output file does not get descriptor 2 if standard error is closed.

    Otherwise, error messages would be written into that file.
    """
    packets = tmp_path / "out.pcap"
    words = ["bound", LISTING, "missing.asm", "--pcap-out", str(packets)]
    assert run_on(words, closed(0, 2)).returncode == 3
    lost = packets.read_bytes()
    assert slowpath(*words).returncode == 3
    assert packets.read_bytes() == lost


def test_files_that_cannot_be_written() -> None:
    for words in (["bound", LISTING, "--pcap-out"], ["compile", OBJECT, "-o"]):
        run = run_on([*words, "/dev/full"], lambda: None)
        # Results are printed nevertheless.
        assert (run.returncode, bool(run.stdout)) == (3, words[0] == "bound")
        assert (
            run.stderr == "error: /dev/full: cannot be written: no space left on device [SP1203]\n"
        )
        assert run_on([*words, "/dev/full"], closed(2)).returncode == 3


def test_a_gate_of_diff_without_errors(tmp_path: Path) -> None:
    for name, rate in (("old", 2e9), ("new", 1e9)):
        result = make_result(guarantee=make_bound(bitrate_bps=rate))
        content = json.dumps({"slowpath": "0", "results": [result]})
        (tmp_path / f"{name}.json").write_text(content)
    words = ["diff", str(tmp_path / "old.json"), str(tmp_path / "new.json")]
    gate = ["--fail-on", "bitrate_pct < -5"]
    for prepare in ERRORS_LOST.values():
        assert run_on([*words, *gate], prepare).returncode == 1
        assert run_on(words, prepare).returncode == 0
