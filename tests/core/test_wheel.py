"""Tests the package after installation: its files, and its use without any other packages."""

import email
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZipFile

import pytest

from shared_files import COMPLETIONS
from slowpath.shell.run import manual_pages
from support import ROOT

LARGEST = 48_000_000
"""Maximum size in bytes of the installed package of `make setup`.

That build optimises little; debug information would double the size. `make wheel` checks the size
of the release.
"""
OBJECT = "count_min.8.bpf.o"


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Install the package alone in a new environment; yield the folder of its executables."""
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    pip = [sys.executable, "-m", "pip", "--python", str(folder / "bin/python"), "install"]
    options = ["--quiet", "--no-index", "--no-cache-dir", "--disable-pip-version-check"]
    subprocess.run([*pip, *options, str(wheel)], check=True)
    yield folder / "bin"
    shutil.rmtree(folder)


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    """Return a folder that contains only `OBJECT`."""
    shutil.copy(ROOT / "examples" / OBJECT, tmp_path)
    return tmp_path


def start(programs: Path, folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Run an executable of the environment, with only these executables in PATH."""
    return subprocess.run(
        [programs / command[0], *command[1:]],
        cwd=folder,
        env={"PATH": str(programs), "HOME": str(folder), "LC_ALL": "C.UTF-8"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def run(programs: Path, folder: Path, *command: str) -> str:
    """Run an executable of the environment, check that it succeeds, and return its output."""
    done = start(programs, folder, *command)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


KINDS = {
    ".o",
    ".py",
    ".pyi",
    ".typed",
    ".json",
    ".yaml",
    ".c",
    ".h",
    ".hh",
    ".p4",
    ".part",
    ".spec",
}


def test_the_wheel_is_complete(wheel: Path) -> None:
    sources = {
        path.relative_to(ROOT / "python").as_posix()
        for path in (ROOT / "python").rglob("*")
        if path.suffix in KINDS
    }
    with ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
        shared = {name.partition(".data/data/share/")[2] for name in names} - {""}
        names = {name for name in names if ".data/" not in name}
        about = {name.partition(".dist-info/")[2] for name in archive.namelist()} - {""}
        size = sum(entry.file_size for entry in archive.infolist())
    assert names == sources | {"slowpath/_core.abi3.so"}
    assert shared == {*(f"man/man1/{name}.gz" for name in manual_pages()), *COMPLETIONS}
    licences = {"licenses/LICENSE-APACHE", "licenses/LICENSE-MIT"}
    assert about == {"METADATA", "RECORD", "WHEEL", "entry_points.txt"} | licences
    assert size < LARGEST


def test_its_engine_has_no_debug_information_and_no_place_of_the_build(wheel: Path) -> None:
    with ZipFile(wheel) as archive:
        engine = archive.read("slowpath/_core.abi3.so")
        assert str(ROOT).encode() not in engine
    assert not re.search(rb"\0\.(debug_line|debug_info|symtab)\0", engine)


def test_the_wheel_names_its_python_version(wheel: Path) -> None:
    with ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith("/METADATA"))
        about = email.message_from_bytes(archive.read(name))
    # The engine uses the stable ABI of the oldest supported Python.
    manifest = (ROOT / "crates/python/Cargo.toml").read_text()
    major, minor = re.findall(r'"abi3-py(3)(\d+)"', manifest)[0]
    assert about["Requires-Python"] == f">={major}.{minor}"
    assert f"-cp{major}{minor}-abi3-" in wheel.name
    needed = about.get_all("Requires-Dist") or []
    assert all("; extra == " in requirement for requirement in needed)


def test_commands_work_without_other_packages(installed: Path, empty: Path) -> None:
    assert "Mpps on one core" in run(installed, empty, "slowpath", "bound", OBJECT)
    card = ("--target", "agilio-cx-2x40")
    assert "guaranteed" in run(installed, empty, "slowpath", "bound", OBJECT, *card)
    assert "ebpf" in run(installed, empty, "slowpath", "targets", "list")
    assert '"$defs"' in run(installed, empty, "slowpath", "schema", "bound")
    assert "count_min" in run(installed, empty, "slowpath", "show", OBJECT)
    result = run(installed, empty, "slowpath", "bound", OBJECT, "--format", "json")
    (empty / "saved.json").write_text(result)
    assert "same" in run(installed, empty, "slowpath", "diff", "saved.json", OBJECT)


@pytest.mark.parametrize(
    ("words", "package", "extra"),
    [
        ("insights nf.c", "llvmlite", "insights"),
        ("insights counts nf.c --pcap nf.pcap", "llvmlite", "insights"),
        ("insights accelerators nf.c", "llvmlite", "insights"),
        ("insights blocks nf.c", "llvmlite", "insights"),
        ("insights placement nf.json", "numpy", "insights"),
        ("insights cores --query nf.csv", "numpy", "insights"),
        ("contention train nf.csv", "numpy", "contention"),
        (
            "contention place nf.json --sequences 1",
            "numpy and scipy and scikit-learn",
            "contention",
        ),
        ("calibrate --list", "PyYAML", "models"),
        ("fit nf.csv --x a --y b", "numpy", "models"),
    ],
)
def test_missing_extras_are_named(
    installed: Path, empty: Path, words: str, package: str, extra: str
) -> None:
    done = start(installed, empty, "slowpath", *words.split())
    verb = "are" if " and " in package else "is"
    error = (
        f"error: this machine: {package} {verb} not installed; run make extras in a checkout, "
        f"or pip install 'FILE[{extra}]' with the wheel as FILE [SP1204]\n"
    )
    assert (done.returncode, done.stdout, done.stderr) == (3, "", error)


def test_python_programs_work_without_other_packages(installed: Path, empty: Path) -> None:
    program = (
        "import slowpath, sys\n"
        f"print(slowpath.bound({OBJECT!r})[0].verdict)\n"
        "print(slowpath.__file__.startswith(sys.prefix))\n"
    )
    assert run(installed, empty, "python", "-c", program).split() == ["exact", "True"]


def test_the_page_about_python_is_right(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    page = ROOT / "docs/how-to/python.md"
    assert run(installed, tmp_path, "python", "-m", "doctest", "-o", "ELLIPSIS", str(page)) == ""
