"""Tests `slowpath watch` as a process; the tests save files that it watches."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from assemble import hashes, write_object
from slowpath.core.programs.compilers import find_compiler
from slowpath.core.programs.headers import prerequisites
from slowpath.watch.run import WatchedFiles
from support import ROOT, heed_interrupts, wait_until

PLAIN, OPTIMISED = "alaw2ulaw.bpf.o", "alaw2ulaw_opt.bpf.o"
SOURCE = """
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include "verdict.h"

SEC("xdp")
int filter(struct xdp_md *ctx)
{
	return VERDICT;
}
"""
LONGER = SOURCE.replace("return VERDICT;", "return ctx->ingress_ifindex > 7 ? VERDICT : XDP_DROP;")
BROKEN = SOURCE.replace("return VERDICT;", "return verdict;")


class Watch:
    """A running `slowpath watch`, with its output so far."""

    def __init__(self, folder: Path, *words: str) -> None:
        self._output = folder / "output"
        temporary = folder / "temporary"
        temporary.mkdir()
        with self._output.open("w") as stream:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "slowpath", "watch", *words],
                cwd=folder,
                env=os.environ | {"NO_COLOR": "1", "TMPDIR": str(temporary)},
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                preexec_fn=heed_interrupts,  # noqa: PLW1509 - no threads here
            )
        self._temporary = temporary
        self._read = 0

    def output(self) -> str:
        return self._output.read_text()

    def next(self, *expected: str) -> str:
        """Wait until new output contains these texts, and return all output since the last call."""

        def holds() -> bool:
            assert self.process.poll() is None, self.output()
            new = self.output()[self._read :]
            return new.endswith("\n") and all(text in new for text in expected)

        wait_until(holds)
        new = self.output()[self._read :]
        self._read += len(new)
        return new

    def end(self) -> None:
        """Stop the command by Ctrl-C, and check that it leaves no temporary files."""
        self.process.send_signal(signal.SIGINT)
        assert self.process.wait(60) == 0, self.output()
        assert not list(self._temporary.iterdir())


@pytest.fixture
def started() -> Iterator[list[Watch]]:
    """Yield a list for started processes, which are killed at the end of the test."""
    running = list[Watch]()
    yield running
    for one in running:
        one.process.kill()
        one.process.wait()


def save(file: Path, content: str | bytes) -> None:
    """Save as editors do: write a new file, and rename it."""
    new = file.with_name(f"{file.name}.new")
    new.write_bytes(content if isinstance(content, bytes) else content.encode())
    new.replace(file)


def test_a_rebuilt_object_is_compared_with_the_previous_one(
    tmp_path: Path, started: list[Watch]
) -> None:
    plain, optimised = ((ROOT / "examples" / name).read_bytes() for name in (PLAIN, OPTIMISED))
    save(tmp_path / "prog.bpf.o", plain)
    watch = Watch(tmp_path, "prog.bpf.o", "--target", "agilio-cx-2x40", "--lines", "2")
    started.append(watch)
    first = watch.next("prog.bpf.o:alaw2ulaw: at least 3.90 Gbit/s (exact)\n")
    assert "previous save" not in first
    save(tmp_path / "prog.bpf.o", optimised)
    second = watch.next("previous save -> this save: 1 better", "the first 2 of ")
    assert "prog.bpf.o:alaw2ulaw_opt: at least" in second
    (tmp_path / "prog.bpf.o").touch()  # the same content: nothing to report
    save(tmp_path / "prog.bpf.o", plain)
    watch.next("previous save -> this save: 1 worse")
    watch.end()
    assert watch.output().count("Gbit/s (exact)\n") == 3


@pytest.mark.usefixtures("with_clang")
def test_errors_of_clang_have_a_line_and_keep_the_last_good_result(
    tmp_path: Path, started: list[Watch]
) -> None:
    (tmp_path / "verdict.h").write_text("#define VERDICT XDP_PASS\n")
    save(tmp_path / "a.bpf.c", SOURCE)
    watch = Watch(tmp_path, "a.bpf.c", "--target", "ebpf")
    started.append(watch)
    watch.next("a.bpf.c:filter: at most 2 instructions (exact)")
    save(tmp_path / "a.bpf.c", BROKEN)
    failed = watch.next("results of earlier saves:\na.bpf.c:filter: at most 2 instructions (exact)")
    line = BROKEN.splitlines().index("\treturn verdict;") + 1
    assert f"a.bpf.c:{line}:9: error: " in failed
    save(tmp_path / "a.bpf.c", LONGER)
    changed = watch.next("previous save -> this save: 1 worse", "cost rose")
    assert "a.bpf.c:filter: at most " in changed
    watch.end()


@pytest.mark.usefixtures("with_clang")
def test_a_saved_header_counts_as_a_save_of_its_programs(
    tmp_path: Path, started: list[Watch]
) -> None:
    (tmp_path / "verdict.h").write_text("#define VERDICT XDP_PASS\n")
    save(tmp_path / "a.bpf.c", SOURCE)
    shutil.copy(ROOT / "examples" / PLAIN, tmp_path)
    watch = Watch(tmp_path, ".", "--target", "ebpf")
    started.append(watch)
    watch.next("a.bpf.c:filter: at most 2 instructions", f"{PLAIN}:alaw2ulaw: at most")
    save(tmp_path / "verdict.h", "#define VERDICT (ctx->ingress_ifindex > 7 ? XDP_PASS : XDP_TX)\n")
    changed = watch.next("previous save -> this save: 1 worse")
    assert PLAIN not in changed
    save(tmp_path / "b.bpf.c", SOURCE.replace("filter", "second"))
    added = watch.next("b.bpf.c:second: at most")
    assert "a.bpf.c:filter" not in added
    watch.end()


def test_settings_are_read_again(tmp_path: Path, started: list[Watch]) -> None:
    settings = tmp_path / "slowpath.toml"
    settings.write_text('target = "ebpf"\n')
    shutil.copy(ROOT / "examples" / PLAIN, tmp_path)
    watch = Watch(tmp_path, PLAIN)
    started.append(watch)
    watch.next("alaw2ulaw: at most ")
    save(settings, 'target = "ebpf"\n[require]\nalaw2ulaw = "<=5 instructions"\n')
    watch.next(
        "error: alaw2ulaw.bpf.o:alaw2ulaw: at most ",
        "instructions guaranteed, at most 5 instructions required [SP1302]\n",
        "reproduce: ",
    )
    save(settings, 'target = "ebp"\n')
    watch.next("error: --target: 'ebp' is not a target")
    save(settings, 'target = "ebpf"\n')
    watch.next("no bound or estimate has changed")
    watch.end()


def test_a_save_ends_the_analysis_of_the_older_content(
    tmp_path: Path, started: list[Watch]
) -> None:
    """Check that saving a file stops the analysis of its older content.

    The analysis of that content would take hours.
    """
    save(tmp_path / "prog.bpf.o", write_object({"hashes": hashes(400)}))
    watch = Watch(tmp_path, "prog.bpf.o", "--deadline", "0", "--target", "ebpf")
    started.append(watch)
    threads = Path(f"/proc/{watch.process.pid}/task")
    wait_until(lambda: len(list(threads.iterdir())) > 1)  # the analysis has its own thread
    save(tmp_path / "prog.bpf.o", (ROOT / "examples" / PLAIN).read_bytes())
    watch.next("prog.bpf.o:alaw2ulaw: at most")
    watch.end()


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["missing.bpf.o"], 3, "error: missing.bpf.o: no such file"),
        (["-"], 2, "error: invalid value for 'FILE': standard input cannot be watched"),
        (["prog.bpf.o", "--target", "nowhere"], 2, "'nowhere' is not a target"),
    ],
)
def test_errors_at_the_start_end_the_command(
    tmp_path: Path, words: list[str], code: int, message: str
) -> None:
    shutil.copy(ROOT / "examples" / PLAIN, tmp_path / "prog.bpf.o")
    run = subprocess.run(
        [sys.executable, "-m", "slowpath", "watch", *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert run.returncode == code
    assert message in run.stderr


def test_only_settled_changes_of_content_are_found(tmp_path: Path) -> None:
    file, other = tmp_path / "a", tmp_path / "b"
    file.write_text("one")
    watched = WatchedFiles()
    watched.follow([str(file), str(other)])
    assert watched.changed() == set()
    file.write_text("two")
    assert watched.pending()
    assert watched.changed() == set()  # it may still be written
    assert not watched.pending()
    assert watched.changed() == {str(file)}
    assert watched.changed() == set()
    os.utime(file, (1, 1))
    assert [watched.changed() for _ in range(3)] == [set(), set(), set()]
    other.write_text("new")
    file.unlink()
    watched.changed()
    assert watched.changed() == {str(file), str(other)}
    assert watched.changed() == set()


def test_equal_times_do_not_prove_equal_content(tmp_path: Path) -> None:
    """Check that a save is noticed even if the file's time stamp stays the same.

    This happens within one tick of the file system's clock.
    """
    file = tmp_path / "a"
    file.write_text("one")
    watched = WatchedFiles()
    watched.follow([str(file)])
    state = file.stat()
    file.write_text("two")
    os.utime(file, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert str(file) in watched.changed() | watched.changed()


def test_a_file_that_was_written_after_a_moment_counts_as_changed(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_text("one")
    written = file.stat().st_mtime
    for since, expected in ((written - 1, {str(file)}), (written + 1, set())):
        watched = WatchedFiles()
        watched.follow([str(file)], since)
        assert watched.changed() | watched.changed() == expected


@pytest.mark.usefixtures("with_clang")
def test_prerequisites_are_those_that_clang_writes(tmp_path: Path) -> None:
    names = ["plain.h", "with space.h", "hash#.h", "dollar$.h"]
    for name in names:
        (tmp_path / name).write_text("\n")
    source, rule = tmp_path / "a b.c", tmp_path / "rule"
    source.write_text("".join(f'#include "{name}"\n' for name in names))
    command = [*find_compiler().command, "-fsyntax-only", "-MMD", "-MF", str(rule), str(source)]
    subprocess.run(command, check=True)
    found = prerequisites(rule.read_text())
    assert found == [str(source), *(str(tmp_path / name) for name in names)]
