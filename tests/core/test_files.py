"""Tests that commands write files completely or not at all, and never over an input file."""

import errno
import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from slowpath.core import inputs
from slowpath.core.errors import InputError
from slowpath.core.programs.sources import advice_for
from support import ROOT, commands, slowpath

EXAMPLES = ROOT / "examples/chain"


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


# --- atomic writes --------------------------------------------------------------------------------


def test_a_file_is_replaced_atomically(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("old")
    file.chmod(0o640)
    with file.open() as reader:
        inputs.write_text(str(file), "new\udcff")
        assert reader.read() == "old"
    assert file.read_bytes() == b"new\\udcff"
    assert file.stat().st_mode & 0o777 == 0o640
    assert [one.name for one in tmp_path.iterdir()] == ["a.txt"]


def test_a_link_stays_one(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    target, link = tmp_path / "folder/target", tmp_path / "link"
    target.write_text("old")
    link.symlink_to(target)
    inputs.write_bytes(str(link), b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"


@pytest.mark.parametrize("call", ["fsync", "replace", "fchmod"])
def test_a_failed_write_keeps_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    file = tmp_path / "a.txt"
    file.write_text("precious")

    def fails(*_: object) -> None:
        raise (KeyboardInterrupt if call == "fchmod" else OSError(errno.ENOSPC, "no space"))

    with monkeypatch.context() as patched:
        patched.setattr(os, call, fails)
        with pytest.raises((InputError, KeyboardInterrupt)):
            inputs.write_bytes(str(file), b"x" * 10_000)
    assert file.read_text() == "precious"
    assert [one.name for one in tmp_path.iterdir()] == ["a.txt"]


def test_a_full_disk_destroys_nothing(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("a full disk is a small file system, which only root can mount")
    full = tmp_path / "full"
    full.mkdir()
    mount, unmount = shutil.which("mount"), shutil.which("umount")
    if mount is None or unmount is None:
        pytest.skip("mount and umount are not installed (apt install mount)")
    words = [mount, "-t", "tmpfs", "-o", "size=16k", "tmpfs", str(full)]
    if subprocess.run(words, check=False).returncode:
        pytest.skip("this process may not mount a file system (CAP_SYS_ADMIN)")
    try:
        precious = full / "load_balancer.bpf.o"
        precious.write_text("precious")
        page = full / "y.html"
        page.write_text("old")
        chain = EXAMPLES / "chain.yaml"
        for option, place in (("-o", full), ("--html", page)):
            run = slowpath("chain", "optimize", str(chain), option, str(place), "--packets", "0")
            assert run.returncode == 3
            assert "cannot be written: no space left on device" in run.stderr
        assert (precious.read_text(), page.read_text()) == ("precious", "old")
        assert sorted(one.name for one in full.iterdir()) == ["load_balancer.bpf.o", "y.html"]
    finally:
        subprocess.run([unmount, str(full)], check=True)


def test_files_are_written_in_one_place() -> None:
    """Check that only `core/inputs.py` writes files of the user.

    Other modules write only to streams and temporary files.
    """
    writing = re.compile(r"""open\([^)]*["'][wax]b?["']|\.write_(text|bytes)\(|savefig\(""")
    allowed = {
        "core/inputs.py": 1,  # the new file
        "core/running.py": 1,  # the new file, as a stream
        "core/programs/clang.py": 1,  # in a temporary folder
        "core/programs/headers.py": 2,  # in a temporary folder
        "core/pictures.py": 1,  # to memory
        "core/terminal.py": 2,  # standard streams
        "insights/source/bpf_steps.py": 1,  # in a temporary folder
        "measure/pipelines.py": 4,  # in temporary folders
    }
    found = dict[str, int]()
    for file in (ROOT / "python/slowpath").rglob("*.py"):
        count = sum(1 for line in file.read_text().splitlines() if writing.search(line))
        if count:
            found[str(file.relative_to(ROOT / "python/slowpath"))] = count
    assert {name: count for name, count in found.items() if count > allowed.get(name, 0)} == {}


def test_files_are_written_before_an_unread_report(tmp_path: Path) -> None:
    page = tmp_path / "p.html"
    read, write = os.pipe()
    os.close(read)
    words = ["chain", "optimize", EXAMPLES / "chain.yaml", "--packets", "0", "--html", page]
    command = [sys.executable, "-m", "slowpath", *map(str, words)]
    run = subprocess.run(command, stdout=write, check=False)
    os.close(write)
    assert run.returncode == 141
    assert page.read_text().rstrip().endswith("</html>")


# --- inputs are not overwritten -------------------------------------------------------------------


def test_options_that_write_are_marked() -> None:
    seen = 0
    for _, command in commands():
        for option in command.options:
            writes = option.help.startswith(("Write ", "Plot "))
            if option.settings.get("metavar") == "FILE" and writes and option.names:
                to_file = option.names != ("--query",)  # an input; results go to the output
                assert option.writes == to_file, option.names
                seen += 1
    assert seen > 8


@pytest.mark.parametrize("kind", ["name", "hard link", "symbolic link"])
@pytest.mark.parametrize("command", ["optimize", "compile", "bound"])
def test_no_input_is_overwritten(tmp_path: Path, command: str, kind: str) -> None:
    source = tmp_path / "in" / "load_balancer.bpf.o"
    source.parent.mkdir()
    shutil.copy(EXAMPLES / "load_balancer.bpf.o", source)
    before = _digest(source)
    output = source.parent
    if kind != "name":
        output = tmp_path / "out"
        output.mkdir()
        link = output / source.name
        if kind == "hard link":
            link.hardlink_to(source)
        else:
            link.symlink_to(source)
    words = {
        "optimize": ("chain", "optimize", source, "--packets", "0", "-o", output),
        "compile": ("compile", source, "-o", output / source.name),
        "bound": ("bound", source, "--target", "ebpf", "--pcap-out", output / source.name),
    }
    run = slowpath(*words[command])
    assert run.returncode == 2
    assert "would overwrite" in run.stderr
    assert _digest(source) == before


def test_two_outputs_are_two_files(tmp_path: Path) -> None:
    file = tmp_path / "load_balancer.yaml"
    text = (EXAMPLES / "chain.yaml").read_text()
    file.write_text(text.replace("object: ", f"object: {EXAMPLES}/"))
    run = slowpath("chain", "optimize", file, "--fuse", "-o", tmp_path, "--packets", "0")
    assert run.returncode == 2
    assert "load_balancer and the fused program" in run.stderr


# --- files that are not programs ------------------------------------------------------------------


@pytest.mark.parametrize("of", ["bound", "chain"])
def test_an_unwritten_pipe_ends_with_the_deadline(tmp_path: Path, of: str) -> None:
    os.mkfifo(tmp_path / "pipe.bpf.o")
    chain = tmp_path / "chain.yaml"
    chain.write_text("schema: 1\nprograms:\n - {name: a, object: pipe.bpf.o}\n")
    words = {
        "bound": ("bound", tmp_path / "pipe.bpf.o", "--target", "ebpf"),
        "chain": ("chain", "optimize", chain),
    }
    run = slowpath(*words[of], "--deadline", "1")
    assert run.returncode == 3
    assert "is a pipe whose writer did not finish in time" in run.stderr


KNOWN = {
    "l2.spec": ("apply {\n\trx m.port\n}\n", "is a pipeline of DPDK's software switch"),
    "l2": ("metadata instanceof m_t\n", "is a pipeline of DPDK's software switch"),
    "a.click": ("FromDevice(0) -> Discard;\n", "is a Click configuration"),
    "a.conf": ("in :: FromDevice(eth0);\nin -> Discard;\n", "is a Click configuration"),
    "t.pcap": ("\u00d4\u00c3\u00b2\u00a1\x02\x00", "is a packet capture"),
    "m.csv": ("x,y\n1,2\n", "is CSV, not a program; slowpath fit reads"),
    "table": ("size;rate\n64;1.5\n", "is CSV, not a program; slowpath fit reads"),
}


@pytest.mark.parametrize("name", KNOWN)
def test_known_kinds_of_file_are_named(tmp_path: Path, name: str) -> None:
    content, message = KNOWN[name]
    file = tmp_path / name
    file.write_bytes(content.encode("latin-1"))
    source = name == "prog" or name.endswith(".p4")
    expected = "SP0216" if source else "SP0208"
    for command, code in (("bound", expected), ("show", expected), ("insights", "SP1105")):
        if command in ("bound", "show") and name.startswith("l2"):
            continue  # tests/core/test_swx.py
        if command == "insights" and name.endswith(".click"):
            continue  # tests/insights/test_click_graphs.py
        run = slowpath(command, file, codes=True)
        assert run.returncode == 3
        (line,) = [line for line in run.stderr.splitlines() if line.startswith("error: ")]
        assert message in line
        assert line.endswith(f"[{code}]")


@pytest.mark.parametrize(
    ("file", "code"),
    [("README.md", "SP0208"), ("/dev/null", "SP0207"), ("examples/two_protocols.asm", "SP0216")],
)
def test_commands_for_objects_refuse_other_files_with_the_same_code(file: str, code: str) -> None:
    commands: list[tuple[str, ...]] = [
        ("show", file),
        ("compile", file),
        ("chain", "verify", file, "examples/firewall.bpf.o"),
    ]
    if not file.endswith(".asm"):
        commands.append(("bound", file))
    for words in commands:
        run = slowpath(*words, codes=True)
        assert run.returncode == 3
        (line,) = [line for line in run.stderr.splitlines() if line.startswith("error: ")]
        assert line.endswith(f"[{code}]"), words


def test_programs_are_no_other_known_kind() -> None:
    for pattern in ("examples/**/*", "crates/**/*.c", "crates/**/*.o", "targets/*"):
        for file in ROOT.glob(pattern):
            if file.is_file() and file.suffix not in {".pcap", ".csv", ".p4", ".spec", ".click"}:
                assert advice_for(str(file), file.read_bytes()) is None, file


@pytest.mark.parametrize("command", ["bound", "show", "annotate"])
def test_a_folder_is_not_an_output_file(tmp_path: Path, command: str) -> None:
    (tmp_path / "there").mkdir()
    for name in ("there", "missing"):
        run = slowpath(command, "examples/firewall.bpf.o", "-o", f"{tmp_path / name}/")
        assert (run.returncode, f"{tmp_path / name}/" in run.stderr) == (3, True), run.stderr
    assert [file.name for file in tmp_path.iterdir()] == ["there"]
