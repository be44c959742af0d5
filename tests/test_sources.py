"""C sources are compiled by clang; what else a compiler reads or writes is named."""

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import oracles
from compiler import needs_clang
from slowpath.programs import clang
from slowpath.programs.sources import kind_of
from support import ROOT, heed_interrupts, slowpath

OBJECT = ROOT / "examples/alaw2ulaw.bpf.o"
SOURCE = """
#include <linux/bpf.h>

__attribute__((section("xdp"), used)) int program(struct xdp_md *ctx)
{
	return VALUE + (ctx->data_end > ctx->data + 64);
}
"""
COUNT = ("--target", "ebpf")
CARD = ("--target", "agilio-cx-2x40")


@pytest.fixture
def compiler() -> list[str]:
    """The command that is clang."""
    return needs_clang()


@pytest.fixture
def source(tmp_path: Path) -> Path:
    file = tmp_path / "program.bpf.c"
    file.write_text(SOURCE)
    return file


def stand_in(folder: Path, script: str) -> Path:
    """A program that stands for clang, in Python; `object` is a path, `result` where it goes."""
    file = folder / "clang"
    head = f"#!{sys.executable}\nimport sys, shutil, time, os, pathlib\nobject = {str(OBJECT)!r}\n"
    file.write_text(head + "result = sys.argv[sys.argv.index('-o') + 1]\n" + script)
    file.chmod(0o755)
    return file


def build(compiler: list[str], source: Path, result: Path, *how: str) -> None:
    flags = ["-O2", "-g", "-target", "bpf", "-mcpu=v3", *clang._headers(), "-DVALUE=1", *how]
    subprocess.run([*compiler, *flags, str(source), "-o", str(result)], check=True, timeout=60)


@pytest.mark.usefixtures("compiler")
@pytest.mark.parametrize(
    "words",
    [
        ["bound", *COUNT],
        ["annotate", *COUNT],
        ["show"],
        ["compile"],
        ["diff", OBJECT, *COUNT],
    ],
    ids=lambda words: words[0],
)
def test_every_command_compiles_c(source: Path, words: list[str]) -> None:
    run = slowpath(words[0], *words[1:], source, "--cflags", "-DVALUE=1", "--format", "json")
    assert (run.returncode, run.stderr) == (0, "")
    document = json.loads(run.stdout)
    kind = {"bound": "results", "annotate": "annotations", "show": "objects"}.get(words[0])
    if words[0] == "diff":
        assert document["programs"][0]["values"]["file"] == str(source)
    else:
        assert (document if kind is None else document[kind][0])["file"] == str(source)


def test_the_result_is_that_of_the_object(compiler: list[str], source: Path) -> None:
    made = source.with_suffix(".o")
    build(compiler, source, made, "-c")
    results = []
    for words in ([str(source), "--cflags=-DVALUE=1"], [str(made)]):
        run = slowpath("bound", *words, *COUNT, "--format", "json")
        assert (run.returncode, run.stderr) == (0, "")
        (result,) = json.loads(run.stdout)["results"]
        results.append(result | {"file": "", "stats": {}})
    assert results[0] == results[1]
    oracles.compared("clang", 1, "objects")
    assert (
        results[0]["paths"][0]["lines"][0]["text"].strip() == "{" or results[0]["paths"][0]["lines"]
    )


@pytest.mark.usefixtures("compiler")
def test_flags_decide(source: Path) -> None:
    def instructions(flags: str) -> int:
        run = slowpath("bound", source, "--cflags", flags, *COUNT, "--format", "json")
        (result,) = json.loads(run.stdout)["results"]
        count: int = result["guarantee"]["counts"]["instructions"]
        return count

    assert instructions("-DVALUE=1") < instructions("'-DVALUE=(ctx->rx_queue_index * 7)' -Wall")


@pytest.mark.usefixtures("compiler")
def test_errors_are_shortened(source: Path) -> None:
    source.write_text("#include <no/such.h>\n")
    run = slowpath("bound", source, "--cflags", "-Dx -Iinc")
    assert run.returncode == 3
    assert run.stderr.startswith(f"error: {source}: clang: {source}:1:10: fatal error: 'no/such.h'")
    assert f"-Dx -Iinc -c {source} -o {source.parent}/program.bpf.o\n" in run.stderr
    assert run.stderr.count("\n") == 1
    source.write_text("a b;\nc d;\ne f;\n")
    run = slowpath("bound", source, OBJECT, *COUNT)
    assert "(and 2 more errors); the command: " in run.stderr
    assert "alaw2ulaw" in run.stdout  # the others are analysed
    assert slowpath("diff", source, OBJECT).returncode == 3
    assert slowpath("show", source).returncode == 3
    assert slowpath("compile", source).returncode == 3


def test_flags_and_folder(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What clang is told, and that nothing is left behind."""
    script = "shutil.copy(object, result)\n"
    script += "pathlib.Path(os.environ['TOLD']).write_text(repr(sys.argv[1:]))\n"
    monkeypatch.setenv("CLANG", f"{stand_in(tmp_path, script)} --first")
    monkeypatch.setenv("TOLD", str(tmp_path / "told"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    flags = "-DHASHES=3 '-DTEXT=\"a b\"' -Iinc"
    for words in (["--cflags", flags], [f"--cflags={flags}"]):
        run = slowpath("bound", *words, source, *COUNT)
        assert (run.returncode, run.stderr) == (0, "")
        told = (tmp_path / "told").read_text()
        assert told.startswith("['--first', '-O2', '-g', '-target', 'bpf'")
        assert f"""'-DHASHES=3', '-DTEXT="a b"', '-Iinc', '-c', {str(source)!r}""" in told
    assert list((tmp_path / "temporary").iterdir()) == []
    run = slowpath("bound", source, "--cflags", flags, *COUNT, "--require", "1bps")
    assert run.returncode == 2
    run = slowpath("bound", source, "--cflags", flags, *CARD, "--require", "1Tbit/s")
    assert """--cflags '-DHASHES=3 '"'"'-DTEXT="a b"'"'"' -Iinc'""" in run.stderr


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("sys.exit(3)", "clang: exit code 3; the command: "),
        ("sys.stderr.write('bad thing'); sys.exit(1)", "clang: bad thing (exit code 1); the"),
        ("os.kill(os.getpid(), 9)", "clang: ended by signal 9; the command: "),
        ("", "clang wrote no object; the command: "),
        (
            "sys.stderr.write('LLVM ERROR: out of memory\\nclang: error: crash'); sys.exit(134)",
            "clang: it takes more memory than it may (--memory); the command: ",
        ),
        ("time.sleep(60)", "clang was not done after 0.5 s: "),
        (
            "sys.stderr.write(\"stubs.h:7:11: fatal error: 'gnu/stubs-32.h' file not found\\n\");"
            " sys.exit(1)",
            "clang: stubs.h:7:11: fatal error: 'gnu/stubs-32.h' file not found; "
            f"--cflags -D__{os.uname().machine}__ has headers of the C library know the machine; ",
        ),
    ],
)
def test_what_can_go_wrong(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, reason: str
) -> None:
    monkeypatch.setenv("CLANG", str(stand_in(tmp_path, script)))
    run = slowpath("bound", source, OBJECT, "--deadline", "0.5", *COUNT)
    assert run.returncode in {3, 4}
    assert run.stderr.startswith(f"error: {source}: {reason}")
    assert "not analysed" in run.stdout
    assert "alaw2ulaw" in run.stdout


def test_clang_has_the_time_and_the_memory_of_the_command(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    another = tmp_path / "another.bpf.c"
    shutil.copy(source, another)
    monkeypatch.setenv("CLANG", str(stand_in(tmp_path, "time.sleep(60)")))
    run = slowpath("bound", source, another, OBJECT, "--total-deadline", "0.5", *COUNT)
    assert run.returncode == 4
    assert f"error: {source}: total deadline while clang compiles it\n" in run.stderr
    assert f"error: {another}: total deadline before it was compiled\n" in run.stderr
    assert f"error: {OBJECT}: alaw2ulaw: total deadline before it was analysed\n" in run.stderr

    take = (
        "import resource\nwhile resource.getrlimit(resource.RLIMIT_DATA)[0] < 0: time.sleep(0.01)"
    )
    monkeypatch.setenv("CLANG", str(stand_in(tmp_path, f"{take}\nbytearray(1 << 31)")))
    run = slowpath("bound", source, OBJECT, "--memory", "500M", *COUNT)
    assert run.returncode == 3
    assert run.stderr.startswith(f"error: {source}: clang: MemoryError (exit code 1); the command")
    assert "alaw2ulaw" in run.stdout


def test_no_clang(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLANG", str(tmp_path / "none"))
    run = slowpath("bound", source)
    assert run.returncode == 3
    assert "none cannot be started: no such file or directory" in run.stderr
    monkeypatch.delenv("CLANG")
    monkeypatch.setenv("PATH", str(tmp_path))
    run = slowpath("bound", source)
    assert run.returncode == 3
    text = (
        "is C source, and there is no clang in PATH or $CLANG to compile it: clang -O2 -g -target"
    )
    assert text in run.stderr


def test_a_version_of_clang_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = stand_in(tmp_path, "")
    monkeypatch.delenv("CLANG", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert clang._find_clang() == ["clang"]
    script.rename(tmp_path / "clang-15")
    assert clang._find_clang() == ["clang-15"]
    shutil.copy(tmp_path / "clang-15", tmp_path / "clang-19")
    assert clang._find_clang() == ["clang-19"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupt_ends_clang(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    began, temporary = tmp_path / "began", tmp_path / "temporary"
    temporary.mkdir()
    script = f"pathlib.Path({str(began)!r}).write_text(str(os.getpid()))\ntime.sleep(600)\n"
    monkeypatch.setenv("CLANG", str(stand_in(tmp_path, script)))
    monkeypatch.setenv("TMPDIR", str(temporary))
    command = [sys.executable, "-m", "slowpath", "bound", str(source)]
    with subprocess.Popen(
        command,
        cwd=ROOT,
        stderr=subprocess.PIPE,
        preexec_fn=heed_interrupts,  # noqa: PLW1509 - no thread runs
    ) as run:
        wait_until(lambda: began.exists() and began.read_text() != "")
        run.send_signal(number)
        _, errors = run.communicate(timeout=60)
    assert b"Traceback" not in errors
    assert run.returncode == 130
    assert list(temporary.iterdir()) == []
    wait_until(lambda: not alive(int(began.read_text())))


def alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"


def wait_until(holds: Callable[[], bool]) -> None:
    for _ in range(6000):
        if holds():
            return
        time.sleep(0.01)
    pytest.fail("nothing happened for a minute")


def test_flags_without_a_source_are_wrong_usage() -> None:
    for command, number in (("bound", 1), ("diff", 2), ("show", 1)):
        run = slowpath(command, *[OBJECT] * number, "--cflags", "-DX")
        assert run.returncode == 2
        assert "'--cflags': no file is C source (*.c)" in run.stderr
    run = slowpath("bound", "a.c", "--cflags", "'-DX")
    assert run.returncode == 2
    assert "No closing quotation" in run.stderr


# --- what is no program yet ----------------------------------------------------------------------

OTHERS = {
    "bc": (b"BC\xc0\xde\x35\x14\x00\x00", "LLVM bitcode"),
    "ll": (b"; ModuleID = 'x.c'\nsource_filename = \"x.c\"\n", "LLVM's intermediate language"),
    "s": (b'\t.text\n\t.file\t"x.c"\n\t.section\txdp\n', "assembler source"),
    "c": (b"// a program\n#include <linux/bpf.h>\n", "C source"),
}


@pytest.mark.parametrize("kind", OTHERS)
@pytest.mark.parametrize("command", ["bound", "show", "compile", "annotate", "diff"])
def test_what_is_to_be_compiled_first_is_named(tmp_path: Path, kind: str, command: str) -> None:
    content, what = OTHERS[kind]
    for name in (f"program.{kind}", "program.asm"):
        if name == "program.c":
            continue  # is compiled
        file = tmp_path / name
        file.write_bytes(content)
        run = slowpath(command, file, *([OBJECT] if command == "diff" else []))
        assert run.returncode == 3
        assert f"error: {file}: is {what}, no object; clang makes one of it: " in run.stderr
        assert f" -c {file} -o {tmp_path}/program.bpf.o\n" in run.stderr
        assert (" -x " in run.stderr) is (name == "program.asm")


@pytest.mark.parametrize("kind", ["bc", "ll", "s"])
def test_the_command_that_is_offered_works(compiler: list[str], source: Path, kind: str) -> None:
    how = {"bc": ["-c", "-emit-llvm"], "ll": ["-S", "-emit-llvm"], "s": ["-S"]}[kind]
    made = source.with_name(f"made.{kind}")
    build(compiler, source, made, *how)
    for name in (f"made.{kind}", "other.asm"):
        file = made.with_name(name)
        if file != made:
            shutil.copy(made, file)
        command = slowpath("bound", file).stderr.partition("one of it: ")[2]
        subprocess.run(shlex.split(command), check=True, timeout=60)
        run = slowpath("bound", file.with_suffix(".bpf.o"), *COUNT)
        assert (run.returncode, run.stderr) == (0, "")


@pytest.mark.parametrize("piece", [b"\n", b" ", b"\t#", b"define @", b"a:", b"0123456789:", b". "])
def test_what_repeats_is_looked_at_once(piece: bytes) -> None:
    """A pattern that goes back and forth would not be done with this."""
    assert kind_of("a", piece * (1 << 20)) in {None, "ll"}


def test_kinds() -> None:
    listing = (ROOT / "examples/two_protocols.asm").read_bytes()
    for name in ("a.asm", "a.s", "a.c", "a"):
        assert kind_of(name, listing) is None
        assert kind_of(name, b"# include <this> into a listing\n" + listing) is None
        assert kind_of(name, OBJECT.read_bytes()) is None
        assert kind_of(name, b"") is None
    disassembly = b"0000000000000000 <main>:\n       0:\tb7 00 00 00 02 00 00 00\tr0 = 2\n"
    assert kind_of("a.s", disassembly) is None
    assert kind_of("a.s", b"r0 = 1\nexit\n") == "s"
    assert kind_of("a.c", b"int x;\n") == "c"
    assert kind_of("a.txt", b"hello\n") is None
    assert kind_of("a", b"\xde\xc0\x17\x0b\0\0\0\0") == "bc"
