"""Tests command-line errors: invalid input, wrong usage, general options and targets.

An invalid file causes one line on standard error; the other files are still analysed.
"""

import json
import os
import re
import subprocess
import sys
import threading
import tomllib
from pathlib import Path

import pytest

from support import ROOT, slowpath

GOOD = ROOT / "examples/two_protocols.asm"
FIREWALL = "examples/firewall.bpf.o"
LINE = "immed[gprA_0, 0x1], gpr_wrboth"


def listing(*instructions: str) -> str:
    return "".join(f"{8 * i:x}:\t .{i}  {text}\n" for i, text in enumerate(instructions))


BROKEN = {
    "bad operand": (listing(LINE, "alu[gprA_0, gprA_1, OR, bogus_5]"), "2", "bogus_5"),
    "unknown mnemonic": (listing(LINE, "frobnicate[gprA_0]"), "2", "frobnicate"),
    "branch into nowhere": (listing(LINE, "br[.nowhere]"), "2", "nowhere"),
    "loop without a bound": (
        listing(
            "alu[gprA_2, --, B, *l$index1[2]]",
            "mem[read32_swap, $xfer_0, gprA_2, 0x0, 4], ctx_swap[sig1]",
            "alu[gprA_4, --, B, $xfer_0]",
            "alu[gprA_4, gprA_4, -, 0x1]",
            "bne[.3]",
            "br[.15000]",
        ),
        ".3",
        "--unroll",
    ),
    "empty file": ("", "", "empty"),
    "only blanks": ("\n \n", "", "no instruction"),
    "cut off": (listing(LINE, LINE), "2", "cut off"),
    "not a listing": ("hello\n", "1", "address"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_listing(tmp_path: Path, name: str) -> None:
    text, place, word = BROKEN[name]
    bad = tmp_path / "bad.asm"
    bad.write_text(text)
    expect_error(bad, place, word)


def test_binary_file(tmp_path: Path) -> None:
    bad = tmp_path / "bad.asm"
    bad.write_bytes(bytes(range(256)) * 16)
    expect_error(bad, "1", "")


def test_a_hundred_megabytes_of_zeros(tmp_path: Path) -> None:
    bad = tmp_path / "zeros.asm"
    with bad.open("wb") as stream:
        stream.truncate(100 << 20)
    expect_error(bad, "1", "")


def test_directory(tmp_path: Path) -> None:
    expect_error(tmp_path, "", "is a directory without programs")


def test_missing_file(tmp_path: Path) -> None:
    expect_error(tmp_path / "missing.asm", "", "no such file")


def test_unreadable_file(tmp_path: Path) -> None:
    if os.geteuid() == 0:  # may read every file on disk
        expect_error(Path("/proc/self/mem"), "", "input/output error")
        return
    bad = tmp_path / "secret.asm"
    bad.touch(mode=0)
    expect_error(bad, "", "permission denied")


def test_pipe(tmp_path: Path) -> None:
    """Check that a program can be read from a pipe, as in `slowpath bound <(disassemble ...)`."""
    pipe = tmp_path / "pipe.asm"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(GOOD.read_bytes()))
    writer.start()
    run = slowpath("bound", pipe, "--target", "agilio-cx-2x40")
    writer.join()
    assert (run.returncode, run.stderr) == (0, "")


def test_endless_file() -> None:
    expect_error(Path("/dev/zero"), "", "larger than")


def expect_error(bad: Path, place: str, word: str) -> None:
    """Check that the only output about a bad file is one error line.

    The line must have the file, the location `place` in it, and `word`.
    """
    run = slowpath("bound", bad)
    assert run.returncode == 3
    assert run.stdout == ""
    assert run.stderr.startswith(f"error: {bad}:")
    assert run.stderr.count("\n") == 1
    assert "panicked" not in run.stderr
    reason = run.stderr.removeprefix(f"error: {bad}:")
    assert place in reason
    assert word in reason


def test_other_files_are_still_analysed(tmp_path: Path) -> None:
    bad = tmp_path / "bad.asm"
    bad.write_text("nonsense\n")
    (tmp_path / "empty").mkdir()
    run = slowpath("bound", bad, GOOD, tmp_path / "empty", GOOD, "--format", "json")
    assert run.returncode == 3
    results = json.loads(run.stdout)["results"]
    assert [entry["error"] is None for entry in results] == [False, True, False, True]
    assert run.stderr.count("error: ") == 2


def test_table_has_a_row_for_each_file(tmp_path: Path) -> None:
    run = slowpath("bound", tmp_path / "missing.asm", GOOD)
    rows = run.stdout.splitlines()
    assert rows[1].split()[1:] == ["not", "analysed"]
    assert rows[2].startswith(str(GOOD))


def test_file_names_need_not_be_text(tmp_path: Path) -> None:
    odd = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff\n.asm"))
    odd.write_text("nonsense\n")
    run = slowpath("bound", odd)
    assert run.returncode == 3
    assert run.stderr.count("\n") == 1
    assert slowpath("bound", odd, "--format", "json").returncode == 3


def test_unwritable_packet_file(tmp_path: Path) -> None:
    run = slowpath("bound", GOOD, "--pcap-out", tmp_path / "missing/out.pcap")
    assert (run.returncode, run.stdout) == (3, "")
    assert "cannot be written" in run.stderr


def test_unwritable_output() -> None:
    with Path("/dev/full").open("w") as full:
        run = subprocess.run(
            [sys.executable, "-m", "slowpath", "bound", GOOD],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
        )
    assert run.returncode == 3
    reason = "cannot be written: no space left on device [SP1203]"
    assert run.stderr == f"error: standard output: {reason}\n"


@pytest.mark.parametrize("option", ["--target", "--assume"])
@pytest.mark.parametrize("content", [None, b"\xff", b"not toml", b"schema = 99\n"])
def test_broken_option_files(tmp_path: Path, option: str, content: bytes | None) -> None:
    file = tmp_path / "broken.toml"
    if content is not None:
        file.write_bytes(content)
    run = slowpath("bound", GOOD, option, file)
    assert run.returncode == 3
    assert run.stderr.startswith(f"error: {file}:")
    assert run.stderr.count("\n") == 1


# --- usage ----------------------------------------------------------------------------------------


def test_version() -> None:
    """Check that `slowpath --version`, Cargo.toml and the newest release of the changelog agree."""
    run = slowpath("--version")
    assert (run.returncode, run.stderr) == (0, "")
    manifest = tomllib.loads((ROOT / "Cargo.toml").read_text())
    version = manifest["workspace"]["package"]["version"]
    assert run.stdout == f"slowpath {version}\n"
    releases = re.findall(r"^## \[(\d\S*)\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert releases[0] == version


@pytest.mark.parametrize(
    "lock",
    ["Cargo.lock", "bench/loaders/Cargo.lock", "bench/solvers/Cargo.lock", "fuzz/Cargo.lock"],
)
def test_lock_files_have_the_version(lock: str) -> None:
    manifest = tomllib.loads((ROOT / "Cargo.toml").read_text())
    packages = tomllib.loads((ROOT / lock).read_text())["package"]
    own = [
        package
        for package in packages
        if package["name"].startswith("slowpath") and package["name"] != "slowpath-fuzz"
    ]
    assert {package["version"] for package in own} == {manifest["workspace"]["package"]["version"]}


@pytest.mark.parametrize(
    "arguments",
    [
        ["bound"],
        ["bound", "x.asm", "--metric", "speed"],
        ["bound", "x.asm", "--cores", "0"],
        ["bound", "x.asm", "--mtu", "59"],
        ["bound", "x.asm", "--mtu", "65536"],
        ["bound", "x.asm", "--paths", "none"],
        ["bound", "x.asm", "--unroll", "many"],
        ["bound", "x.asm", "--deadline", "-1"],
        ["bound", "x.asm", "--deadline", "inf"],
        ["bound", "x.asm", "--require", "40"],
        ["bound", "x.asm", "--require", "40Gbit/s", "--metric", "packetrate"],
        ["bound", "x.asm", "--target", "unheard-of"],
        ["bound", "x.asm", "--format", "yaml"],
        ["bound", "x.asm", "--no-such-option"],
        ["no-such-command"],
        ["targets", "show", "unheard-of"],
    ],
)
def test_wrong_usage(arguments: list[str]) -> None:
    run = slowpath(*arguments)
    assert run.returncode == 2
    assert run.stdout == ""
    assert run.stderr.startswith("error: ")
    assert "Traceback" not in run.stderr


@pytest.mark.parametrize("time", ["-3s", "-0.5", "-.5m"])
@pytest.mark.parametrize(
    "command", ["bound", "annotate", "watch", "measure", "compile", "sweep -D N=1"]
)
def test_deadlines_are_positive(command: str, time: str) -> None:
    file = "examples/count_min.bpf.c" if command.startswith("sweep") else FIREWALL
    run = slowpath(*command.split(), file, "--deadline", time, codes=True)
    assert (run.returncode, run.stdout) == (2, "")
    reason = "a deadline must be positive, such as 10s [SP0101]"
    assert run.stderr.splitlines()[0] == f"error: invalid value for '--deadline': {reason}"


@pytest.mark.parametrize(
    "words", [("lsp", "--delay", "-3s"), ("reproduce", "contention", "--deadline", "-3s")]
)
def test_other_times_are_not_negative(words: tuple[str, ...]) -> None:
    run = slowpath(*words)
    assert (run.returncode, run.stdout) == (2, "")
    assert "-3s is not allowed; write 0 or more" in run.stderr


def test_targets() -> None:
    names = [line.split()[0] for line in slowpath("targets", "list").stdout.splitlines()]
    assert "agilio-cx-2x40" in names
    for name in names:
        shown = slowpath("targets", "show", name)
        # The name `linux-xdp` stands for the machine's CPU; tests choose Zen 4.
        file = "linux-xdp-zen4" if name == "linux-xdp" else name
        described = (ROOT / f"targets/{file}.toml").read_text()
        named = described.replace(f'name = "{file}"', f'name = "{name}"', 1)
        head = f"# On this machine, linux-xdp is {file}.\n" if file != name else ""
        assert shown.stdout == head + named


@pytest.mark.parametrize(
    ("cpu", "target", "why"),
    [
        ("AuthenticAMD-25-1", "linux-xdp-zen3", ""),
        ("GenuineIntel-6-143", "linux-xdp-golden-cove", ""),
        ("Unheard-6-1", "linux-xdp-zen4", "no built-in target was calibrated on a CPU such as Unh"),
    ],
)
def test_targets_of_this_machine(
    monkeypatch: pytest.MonkeyPatch, cpu: str, target: str, why: str
) -> None:
    monkeypatch.setenv("SLOWPATH_CPU", cpu)
    rows = {line.split()[0]: line for line in slowpath("targets", "list").stdout.splitlines()}
    marked = [name for name, line in rows.items() if "<- linux-xdp on this machine" in line]
    assert marked == [target]
    assert f"<- on this machine: {target}" in rows["linux-xdp"]
    assert why in rows["linux-xdp"]
    shown = slowpath("targets", "show", "linux-xdp").stdout
    own = slowpath("targets", "show", target).stdout
    assert shown.startswith(f"# On this machine, linux-xdp is {target}")
    assert shown.partition("\n")[2] == own.replace(f'"{target}"', '"linux-xdp"', 1)
    made = json.loads(slowpath("bound", FIREWALL, "--format", "json").stdout)
    assert made["results"][0]["estimate"]["machine"] in own


def test_the_calibration_of_this_machine_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = slowpath("targets", "show", "linux-xdp-zen3").stdout.replace("-zen3", "", 1)
    file = tmp_path / "slowpath/linux-xdp.toml"
    file.parent.mkdir()
    file.write_text(text)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    head, _, shown = slowpath("targets", "show", "linux-xdp").stdout.partition("\n")
    assert head == f"# On this machine, linux-xdp is its calibration ({file})."
    assert shown == text
    listed = slowpath("targets", "list").stdout
    assert f"<- on this machine: its calibration ({file})\n" in listed
    assert "<- linux-xdp" not in listed
    monkeypatch.delenv("XDG_DATA_HOME")
    monkeypatch.setenv("SLOWPATH_CPU", "fast")
    monkeypatch.setenv("HOME", str(tmp_path / "none"))
    run = slowpath("targets", "list")
    assert run.returncode == 2
    assert (
        "'SLOWPATH_CPU': environment variable SLOWPATH_CPU: 'fast' is not a CPU; write"
        in run.stderr
    )


def test_targets_check(tmp_path: Path) -> None:
    broken = tmp_path / "broken.toml"
    broken.write_text("schema = 1\nnonsense = true\n")
    good = ROOT / "targets/agilio-cx-2x40.toml"
    run = slowpath("targets", "check", good, broken, tmp_path, tmp_path / "missing.toml")
    assert run.returncode == 3
    assert run.stdout == f"{good}: fine\n"
    errors = run.stderr.splitlines()
    assert all(line.startswith("error: ") for line in errors)
    assert any(line.startswith(f"error: {broken}") for line in errors)
    assert f"error: {tmp_path}: is a directory; name the files in it" in errors
    assert f"error: {tmp_path / 'missing.toml'}: no such file" in errors
    assert slowpath("targets", "check", good).returncode == 0


def test_a_reader_that_leaves_is_no_error() -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "slowpath", "targets", "show", "agilio-cx-2x40"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == ""
