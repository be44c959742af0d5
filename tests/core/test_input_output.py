"""Tests folders and standard input as inputs, and the option `--output` of all commands."""

import json
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from slowpath.core.inputs import expanded, program_files
from slowpath.core.parser import Parser
from support import ROOT, commands, slowpath

OBJECT = ROOT / "examples/count_min.1.bpf.o"
SOURCE = ROOT / "examples/count_min.bpf.c"
LISTING = ROOT / "examples/two_protocols.asm"


# --- folders --------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Create a folder with programs of all kinds, and with files that are not programs."""
    made = tmp_path / "programs"
    (made / "deep/er").mkdir(parents=True)
    for name in ("a.bpf.o", "deep/b.o", "deep/er/c.bpf.o", "ignored/d.bpf.o", ".hidden/e.bpf.o"):
        (made / name).parent.mkdir(exist_ok=True)
        shutil.copy(OBJECT, made / name)
    shutil.copy(LISTING, made / "list.asm")
    shutil.copy(SOURCE, made / "deep/f.bpf.c")
    (made / "host.o").write_bytes(b"\x7fELF\x02\x01\x01" + bytes(11) + b"\x3e\x00" + bytes(100))
    (made / "short.o").write_bytes(b"\x7fELF")
    (made / "note.c").write_text("int x;\n")
    return made


def names(folder: Path) -> list[str]:
    return [str(Path(file).relative_to(folder)) for file in program_files(str(folder))]


ALL = ["a.bpf.o", "deep/b.o", "deep/er/c.bpf.o", "deep/f.bpf.c", "ignored/d.bpf.o", "list.asm"]


def test_a_folder_means_all_programs_below_it(folder: Path) -> None:
    assert names(folder) == ALL


def test_files_that_git_ignores_are_left_out(folder: Path) -> None:
    subprocess.run(["/usr/bin/env", "git", "init", "-q", folder], check=True)
    (folder / ".gitignore").write_text("ignored/\n.hidden/\n")
    assert names(folder) == [name for name in ALL if name != "ignored/d.bpf.o"]
    assert names(folder / "deep") == ["b.o", "er/c.bpf.o", "f.bpf.c"]
    # The user named the ignored folder explicitly.
    assert names(folder / "ignored") == ["d.bpf.o"]


def test_without_git_all_folders_are_searched(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    subprocess.run(["/usr/bin/env", "git", "init", "-q", folder], check=True)
    (folder / ".gitignore").write_text("ignored/\n")
    monkeypatch.setenv("PATH", "")
    assert names(folder) == ALL


def test_files_beside_folders_keep_their_place(folder: Path) -> None:
    found = expanded(["x.asm", str(folder / "deep/er"), "y.asm"])
    assert found == ["x.asm", str(folder / "deep/er/c.bpf.o"), "y.asm"]


@pytest.mark.parametrize("command", ["bound", "show"])
def test_commands_take_folders(folder: Path, command: str) -> None:
    (folder / "deep/f.bpf.c").unlink()
    (folder / "list.asm").unlink()
    run = slowpath(command, "programs", "--format", "json", cwd=folder.parent)
    assert run.returncode == 0, run.stderr
    document = json.loads(run.stdout)
    entries = document["results"]
    assert {one["file"] for one in entries} == {
        f"programs/{name}" for name in ALL if name.endswith(".o")
    }


def test_other_commands_name_the_files_in_a_folder(folder: Path) -> None:
    run = slowpath("compile", folder)
    assert run.returncode == 3
    error = "is a directory; name one of its files: a.bpf.o, deep/b.o, deep/er/c.bpf.o, ..."
    assert run.stderr == f"error: {folder}: {error}\n"


# --- standard input -------------------------------------------------------------------------------


def piped(content: bytes, *words: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[bytes]:
    """Run a command with `content` as its standard input."""
    return subprocess.run(
        [sys.executable, "-m", "slowpath", *words],
        input=content,
        cwd=cwd,
        capture_output=True,
        timeout=180,
        check=False,
    )


@pytest.mark.parametrize("file", [OBJECT, LISTING])
def test_standard_input_is_read_like_a_file(file: Path) -> None:
    run = piped(file.read_bytes(), "bound", "-", "--format", "json")
    assert (run.returncode, run.stderr) == (0, b"")
    (found,) = json.loads(run.stdout)["results"]
    (same,) = json.loads(slowpath("bound", file, "--format", "json").stdout)["results"]
    assert found["file"] == "-"
    assert (found["target"], found["guarantee"]) == (same["target"], same["guarantee"])


@pytest.mark.usefixtures("with_clang")
def test_c_source_from_standard_input_is_compiled() -> None:
    words = ("bound", "-", "--cflags", "-DHASHES=1", "--format", "json")
    run = piped(SOURCE.read_bytes(), *words, cwd=SOURCE.parent)
    assert run.returncode == 0, run.stderr
    document = json.loads(run.stdout)
    assert document["results"][0]["guarantee"]["verdict"] == "exact"
    assert "clang" in document["compiler"]


def test_standard_input_can_be_named_twice() -> None:
    run = piped(OBJECT.read_bytes(), "diff", "-", "-", "--format", "json")
    assert run.returncode == 0, run.stderr


def test_wrong_standard_input_is_named() -> None:
    run = piped(b"hello\n", "bound", "-")
    assert run.returncode == 3
    assert run.stderr.startswith(b"error: -: the file is neither a BPF object nor an NFP listing")


# --- output ---------------------------------------------------------------------------------------


def test_every_command_has_an_output() -> None:
    for path, command in commands():
        parser = Parser(f"slowpath {path}", command)
        assert any("--output" in entry.names for entry in parser.entries), path


@pytest.mark.parametrize(
    "words",
    [
        ("bound", OBJECT),
        ("bound", OBJECT, "--format", "json"),
        ("bound", OBJECT, OBJECT),
        ("show", OBJECT, "--listing"),
        ("compile", OBJECT),
        ("targets", "show", "ebpf"),
        ("schema", "bound"),
        ("fit", "tests/fit/line.csv", "--x", "bytes", "--y", "ns"),
    ],
    ids=lambda words: " ".join(map(str, words[:1] + words[2:])),
)
def test_a_file_gets_the_same_output(words: tuple[str | Path, ...], tmp_path: Path) -> None:
    file = tmp_path / "out"
    file.write_text("old")
    plain = slowpath(*words)
    run = slowpath(*words, "-o", file)
    assert (run.returncode, run.stdout, run.stderr) == (0, "", plain.stderr)
    if "json" not in words:  # has times
        assert file.read_text() == plain.stdout
    assert list(tmp_path.iterdir()) == [file]
    assert (
        slowpath(*words, "-o", "-").stdout.split("\n")[0][:40] == plain.stdout.split("\n")[0][:40]
    )


def test_the_old_file_stays_if_a_command_fails(tmp_path: Path) -> None:
    file = tmp_path / "out"
    file.write_text("old")
    run = slowpath("annotate", tmp_path / "missing.asm", "-o", file)
    assert run.returncode == 3
    assert file.read_text() == "old"
    assert list(tmp_path.iterdir()) == [file]


def test_results_of_other_files_are_written_although_one_fails(tmp_path: Path) -> None:
    file = tmp_path / "out"
    run = slowpath("bound", tmp_path / "missing.asm", OBJECT, "-o", file)
    assert run.returncode == 3
    assert "not analysed" in file.read_text()


LIMITED = {
    "redirected": ("targets", "show", "linux-xdp", "-o"),
    "compiled": ("compile", OBJECT, "-o"),
    "packets": ("bound", OBJECT, "--target", "ebpf", "--pcap"),
    "page": ("chain", "facts", OBJECT, "--html"),
}


@pytest.mark.parametrize("case", LIMITED)
def test_the_old_file_stays_if_the_disk_is_full(case: str, tmp_path: Path) -> None:
    file = tmp_path / "out.html"
    file.write_text("old")
    run = subprocess.run(
        [sys.executable, "-m", "slowpath", *LIMITED[case], file],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (50, 50)),
    )
    assert run.returncode == 3
    assert (
        run.stderr.splitlines()[-1] == f"error: {file}: cannot be written: file too large [SP1203]"
    )
    assert file.read_text() == "old"
    assert list(tmp_path.iterdir()) == [file]


def test_a_folder_that_does_not_exist_is_named_before_the_work(tmp_path: Path) -> None:
    run = slowpath("bound", OBJECT, "-o", tmp_path / "no/out")
    assert (run.returncode, run.stdout) == (3, "")
    reason = f"cannot be written: there is no folder {tmp_path}/no; create it"
    assert run.stderr == f"error: {tmp_path}/no/out: {reason}\n"


SLICES = [
    "bound",
    "annotate",
    "show",
    "compile",
    "diff",
    "sweep",
    "measure",
    "chain",
    "reproduce",
    "targets",
    "config",
    "demo",
    "completion",
    "man",
    "schema",
]
"""Commands and groups of commands whose output files are all checked before the work."""
WRITTEN = [
    (name, next(one for one in option.names if one.startswith("--")))
    for name, command in commands()
    if name.split()[0] in SLICES
    for option in (*Parser(name, command).entries,)
    if option.writes
]
ARGUMENTS = {
    "annotate": ["none.o"],
    "bound": ["none.o"],
    "chain bound": ["none.yaml"],
    "chain facts": ["none.yaml"],
    "chain optimize": ["none.yaml"],
    "chain plan": ["none.yaml"],
    "chain verify": ["none.o", "none.o"],
    "compile": ["none.o"],
    "completion": ["bash"],
    "config check": ["none.toml"],
    "diff": ["none.o", "none.o"],
    "measure": ["none.o", "--pcap", "none.pcap"],
    "schema": ["none"],
    "show": ["none.o"],
    "sweep": ["none.c", "-D", "N=1"],
    "targets check": ["none.toml"],
    "targets models": ["none.toml"],
    "targets show": ["none"],
}
"""Arguments with missing input files, so that any work would fail with another error."""


@pytest.mark.parametrize(("name", "option"), WRITTEN)
def test_a_missing_folder_of_an_output_is_named_before_the_work(
    tmp_path: Path, name: str, option: str
) -> None:
    suffix = {"--html": ".html", "--plot": ".svg"}.get(option, "")
    file = tmp_path / f"no/out{suffix}"
    run = slowpath(*name.split(), *ARGUMENTS.get(name, []), option, file)
    assert (run.returncode, run.stdout) == (3, "")
    reason = f"cannot be written: there is no folder {file.parent}; create it"
    assert run.stderr == f"error: {file}: {reason}\n"
    assert not list(tmp_path.iterdir())


def test_output_options_are_known() -> None:
    """Check that `WRITTEN` has all options that name output files, pages, plots or packet files."""
    assert {option for _, option in WRITTEN} >= {"--output", "--html", "--plot", "--pcap-out"}


def test_pipes_and_devices_are_written_to() -> None:
    run = piped(b"", "targets", "list", "-o", "/dev/stderr")
    assert (run.returncode, run.stdout) == (0, b"")
    assert b"linux-xdp" in run.stderr
    assert slowpath("targets", "list", "-o", "/dev/null").returncode == 0


def test_no_input_is_overwritten_by_the_output(tmp_path: Path) -> None:
    source, link = tmp_path / "a.bpf.o", tmp_path / "b"
    shutil.copy(OBJECT, source)
    link.hardlink_to(source)
    for words in (
        ("bound", source),
        ("bound", tmp_path),
        ("show", source),
        ("diff", OBJECT, source),
    ):
        run = slowpath(*words, "-o", link)
        assert run.returncode == 2
        assert f"{link} would overwrite the input {source}" in run.stderr
    assert source.read_bytes() == OBJECT.read_bytes()


@pytest.mark.parametrize("words", [("chain", "optimize", "a.yaml"), ("chain", "plan", "a.yaml")])
def test_folders_are_not_standard_output(words: tuple[str, ...]) -> None:
    run = slowpath(*words, "-o", "-")
    assert run.returncode == 2
    assert "- is standard output, but this command writes a folder; name one" in run.stderr
