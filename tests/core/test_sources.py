"""Tests that clang compiles C sources, and that other kinds of source cause helpful errors."""

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import oracles
from compiler import accepted_compilers, needs_clang
from slowpath.core.programs import clang
from slowpath.core.programs.compilers import CompilerError, find_compiler
from slowpath.core.programs.sources import kind_of
from support import ROOT, heed_interrupts, slowpath, wait_until

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
    """Return the command that starts clang; skip the test without clang."""
    return needs_clang()


@pytest.fixture
def source(tmp_path: Path) -> Path:
    file = tmp_path / "program.bpf.c"
    file.write_text(SOURCE)
    return file


def stand_in(folder: Path, script: str, version: str = "clang version 19.1.7") -> Path:
    """Write a fake clang that runs a Python script, and return its path.

    In the script, `object` is the path of a BPF object, and `result` that of the output file.
    """
    file = folder / "clang"
    head = f"#!{sys.executable}\nimport sys, shutil, time, os, pathlib\nobject = {str(OBJECT)!r}\n"
    head += f"if '--version' in sys.argv: print({version!r}), sys.exit()\n"
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
    (only,) = document.get("results", [document])
    assert (only["values"] if words[0] == "diff" else only)["file"] == str(source)


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
    """Check that clang gets the user's flags, and leaves no temporary files."""
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
        ("", "clang did not write the object; the command: "),
        (
            "sys.stderr.write('LLVM ERROR: out of memory\\nclang: error: crash'); sys.exit(134)",
            "clang: it exceeds the memory limit (--memory); the command: ",
        ),
        ("time.sleep(60)", "clang did not finish within 0.5 s: "),
        (
            "sys.stderr.write(\"stubs.h:7:11: fatal error: 'gnu/stubs-32.h' file not found\\n\");"
            " sys.exit(1)",
            "clang: stubs.h:7:11: fatal error: 'gnu/stubs-32.h' file not found; "
            f"add --cflags -D__{os.uname().machine}__ for headers of the C library; ",
        ),
        (
            "sys.stderr.write(\"a.c:1:10: fatal error: 'mine.h' file not found\\n\"); sys.exit(1)",
            "clang: a.c:1:10: fatal error: 'mine.h' file not found; "
            "name the folder of the header with --cflags -IFOLDER; ",
        ),
        (
            "sys.stderr.write(\"a.c:1:10: fatal error: 'vmlinux.h' file not found\\n\");"
            " sys.exit(1)",
            "clang: a.c:1:10: fatal error: 'vmlinux.h' file not found; write it with "
            "`bpftool btf dump file /sys/kernel/btf/vmlinux format c > vmlinux.h`, and name its "
            "folder with --cflags -IFOLDER; ",
        ),
    ],
)
def test_failures_of_clang(
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
        "is a C source, but clang is neither in PATH nor in $CLANG: version 16 or newer is needed; "
    )
    assert text + "apt install clang-16, or set CLANG: clang -O2 -g -target" in run.stderr


VERSIONS = {
    "clang": "Debian clang version 14.0.6",
    "clang-15": "Ubuntu clang version 15.0.7",
    "clang-16": "clang version 16.0.6 (https://example.com 7cbf1a2)",
    "clang-19": "Debian clang version 19.1.7 (3~deb12u1)",
}


def install(folder: Path, name: str, version: str) -> None:
    stand_in(folder, "", version).rename(folder / f"{name}.new")
    (folder / f"{name}.new").rename(folder / name)


@pytest.mark.parametrize(
    ("installed", "found"),
    [
        (["clang"], None),
        (["clang-15"], None),
        (["clang", "clang-15"], None),
        (["clang-16"], "clang-16"),
        (["clang", "clang-16"], "clang-16"),
        (["clang", "clang-16", "clang-19"], "clang-19"),
    ],
)
def test_the_newest_clang_is_found(
    installed: list[str], found: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in installed:
        install(tmp_path, name, VERSIONS[name])
    monkeypatch.delenv("CLANG", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    if found is not None:
        assert find_compiler().command == (found,)
        assert find_compiler().banner == VERSIONS[found]
        return
    newest = installed[-1]
    with pytest.raises(CompilerError) as refused:
        find_compiler()
    remedy = "version 16 or newer is needed; apt install clang-16, or set CLANG"
    assert str(refused.value) == f"{newest} is too old ({VERSIONS[newest]}): {remedy}"


def test_an_unversioned_clang_counts_by_its_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CLANG", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    install(tmp_path, "clang-16", VERSIONS["clang-16"])
    install(tmp_path, "clang", "clang version 21.1.0")
    assert find_compiler()[:2] == (("clang",), 21)
    install(tmp_path, "clang-22", "clang version 22.1.0")
    assert find_compiler()[:2] == (("clang-22",), 22)


@pytest.mark.parametrize(
    ("version", "reason"),
    [
        ("Debian clang version 14.0.6", "is too old (Debian clang version 14.0.6): version 16 or"),
        (
            "cc (Debian 12.2.0) 12.2.0",
            "--version does not print a version of clang: version 16 or newer",
        ),
    ],
)
def test_an_unfit_clang_is_refused_by_name(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, reason: str
) -> None:
    named = stand_in(tmp_path, "", version)
    monkeypatch.setenv("CLANG", f"{named} --first")
    for command in ("bound", "show", "compile"):
        run = slowpath(command, source)
        assert (run.returncode, run.stdout.count("guarantee")) == (3, 0)
        assert f"error: {source}: {named} --first {reason}" in run.stderr
        assert "apt install clang-16, or set CLANG" in run.stderr
    script = str(ROOT / "python/slowpath/core/programs/compilers.py")
    words = [sys.executable, "-I", "-S", script]  # without packages
    run = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout) == (1, "")
    assert f"error: {named} --first {reason}" in run.stderr


@pytest.mark.usefixtures("compiler")
def test_documents_name_the_compiler(source: Path) -> None:
    banner = find_compiler().banner
    for command in ("bound", "annotate", "show", "compile"):
        words = (command, *COUNT) if command in ("bound", "annotate") else (command,)
        run = slowpath(*words, source, "--cflags=-DVALUE=1", "--format", "json")
        assert json.loads(run.stdout)["compiler"] == banner
        run = slowpath(*words, source, "--cflags=-DVALUE=1")
        assert f"compiled by {banner}\n" in run.stdout + run.stderr
        run = slowpath(*words, OBJECT, "--format", "json")
        assert "compiler" not in json.loads(run.stdout)


EXAMPLES = sorted((ROOT / "examples").glob("*.bpf.c"))


@pytest.mark.usefixtures("compiler")
def test_every_accepted_clang_compiles_the_examples(monkeypatch: pytest.MonkeyPatch) -> None:
    """Check that each installed clang that slowpath accepts compiles all examples."""
    for name in accepted_compilers():
        monkeypatch.setenv("CLANG", name)
        flags = "-fno-unroll-loops -DHASHES=4"
        run = slowpath("bound", *EXAMPLES, *COUNT, "--cflags", flags, "--format", "json")
        document = json.loads(run.stdout)
        assert (run.returncode, document["compiler"]) == (0, find_compiler().banner)
        found = {result["file"]: result["guarantee"] for result in document["results"]}
        assert len(found) == len(EXAMPLES)
        assert [file for file, guarantee in found.items() if guarantee is None] == []
        oracles.compared("clang", len(found), "examples of each version")


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


def test_flags_without_a_source_are_wrong_usage() -> None:
    for command, number in (("bound", 1), ("diff", 2), ("show", 1)):
        run = slowpath(command, *[OBJECT] * number, "--cflags", "-DX")
        assert run.returncode == 2
        assert "'--cflags': no file is a C or P4 source" in run.stderr
    run = slowpath("bound", "a.c", "--cflags", "'-DX")
    assert run.returncode == 2
    assert "No closing quotation" in run.stderr


# --- sources that the user must compile ----------------------------------------------------------

OTHERS = {
    "bc": (b"BC\xc0\xde\x35\x14\x00\x00", "LLVM bitcode"),
    "ll": (b"; ModuleID = 'x.c'\nsource_filename = \"x.c\"\n", "LLVM's intermediate language"),
    "s": (b'\t.text\n\t.file\t"x.c"\n\t.section\txdp\n', "assembler source"),
    "c": (b"// a program\n#include <linux/bpf.h>\n", "C source"),
}


@pytest.mark.parametrize("kind", OTHERS)
@pytest.mark.parametrize("command", ["bound", "show", "compile", "annotate", "diff"])
def test_sources_to_compile_first_are_named(tmp_path: Path, kind: str, command: str) -> None:
    content, what = OTHERS[kind]
    for name in (f"program.{kind}", "program.asm"):
        if name == "program.c":
            continue  # is compiled
        file = tmp_path / name
        file.write_bytes(content)
        run = slowpath(command, file, *([OBJECT] if command == "diff" else []))
        assert run.returncode == 3
        assert f"error: {file}: is {what}, not an object; compile it: " in run.stderr
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
        command = slowpath("bound", file).stderr.partition("compile it: ")[2]
        subprocess.run(shlex.split(command), check=True, timeout=60)
        run = slowpath("bound", file.with_suffix(".bpf.o"), *COUNT)
        assert (run.returncode, run.stderr) == (0, "")


@pytest.mark.parametrize("piece", [b"\n", b" ", b"\t#", b"define @", b"a:", b"0123456789:", b". "])
def test_repetitive_files_take_linear_time(piece: bytes) -> None:
    """Check that file kinds are recognised in linear time.

    A regular expression that backtracks would not end in this test.
    """
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
