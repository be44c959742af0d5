"""Tests the packages that `make wheel` and `make sdist` build; skipped if they are not built."""

import email
import os
import re
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path
from zipfile import ZipFile

import pytest

from support import ROOT

FOLDER = os.environ.get("SLOWPATH_PACKAGES")
PACKAGES = sorted(Path(FOLDER).iterdir()) if FOLDER is not None else []
WHEELS = [path for path in PACKAGES if path.suffix == ".whl"]
VERSION = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
OLDEST = (2, 28)
"""Version of glibc that wheels must support."""
MACHINES = {"x86_64": 62, "aarch64": 183}
"""Values of `e_machine` in the ELF header, by the architecture in the name of the wheel."""

pytestmark = pytest.mark.skipif(
    FOLDER is None, reason="SLOWPATH_PACKAGES names no folder; `make wheel sdist` builds packages"
)


@pytest.fixture(params=WHEELS, ids=lambda path: path.stem.rpartition("_")[2])
def wheel(request: pytest.FixtureRequest) -> Path:
    return request.param  # type: ignore[no-any-return]


def architecture(wheel: Path) -> str:
    return next(name for name in MACHINES if wheel.stem.endswith(f"_{name}"))


def engine(wheel: Path) -> bytes:
    with ZipFile(wheel) as archive:
        return archive.read("slowpath/_core.abi3.so")


def test_there_is_a_wheel_for_this_machine() -> None:
    assert os.uname().machine in [architecture(wheel) for wheel in WHEELS]


def test_the_tag_names_version_python_and_oldest_system(wheel: Path) -> None:
    platform = "manylinux_{}_{}_{}".format(*OLDEST, architecture(wheel))
    assert wheel.name == f"slowpath-{VERSION}-cp311-abi3-{platform}.whl"
    with ZipFile(wheel) as archive:
        about = email.message_from_bytes(archive.read(f"slowpath-{VERSION}.dist-info/WHEEL"))
    assert about.get_all("Tag") == [f"cp311-abi3-{platform}"]


def test_the_engine_needs_no_newer_system(wheel: Path, tmp_path: Path) -> None:
    file = tmp_path / "engine.so"
    file.write_bytes(engine(wheel))
    command = ["readelf", "--wide", "--version-info", "--dynamic", str(file)]
    read = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    versions = {
        (int(major), int(minor)) for major, minor in re.findall(r"GLIBC_(\d+)\.(\d+)", read)
    }
    assert versions
    assert max(versions) <= OLDEST
    needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", read))
    assert needed <= {
        f"{name}.so.{number}"
        for name, number in {
            "libc": 6, "libm": 6, "libdl": 2, "libpthread": 0, "librt": 1, "libgcc_s": 1,
            "ld-linux-x86-64": 2, "ld-linux-aarch64": 1,
        }.items()
    }  # fmt: skip


def test_the_engine_is_for_the_architecture_and_names_no_place_of_the_build(wheel: Path) -> None:
    content = engine(wheel)
    assert int.from_bytes(content[18:20], "little") == MACHINES[architecture(wheel)]
    assert str(ROOT).encode() not in content
    assert not re.search(rb"\0\.(debug_line|debug_info|symtab)\0", content)


def test_wheels_differ_only_in_the_engine() -> None:
    contents = []
    for wheel in WHEELS:
        with ZipFile(wheel) as archive:
            found = {entry.filename: entry.CRC for entry in archive.infolist()}
        changing = ("_core.abi3.so", "/WHEEL", "/RECORD")
        contents.append({name: crc for name, crc in found.items() if not name.endswith(changing)})
    assert all(content == contents[0] for content in contents)


def test_the_wheel_of_this_machine_runs(tmp_path: Path) -> None:
    (wheel,) = (path for path in WHEELS if architecture(path) == os.uname().machine)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps"]
    options = ["--no-cache-dir", "--disable-pip-version-check", "--target", str(tmp_path)]
    subprocess.run([*pip, *options, str(wheel)], check=True)
    done = subprocess.run(
        [sys.executable, "-m", "slowpath", "demo"],
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(tmp_path), "LC_ALL": "C.UTF-8"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "per packet (exact)" in done.stdout
    assert (tmp_path / "share/man/man1/slowpath-demo.1.gz").is_file()


def test_the_package_of_the_sources_has_all_that_git_tracks() -> None:
    sources = [path for path in PACKAGES if path.name.endswith(".tar.gz")]
    if not sources:
        pytest.skip("there is no package of the sources; `make sdist` builds it")
    (source,) = sources
    assert source.name == f"slowpath-{VERSION}.tar.gz"
    with tarfile.open(source) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    listed = ["git", "-C", str(ROOT), "ls-files", "-z"]
    tracked = subprocess.run(listed, capture_output=True, text=True, check=True).stdout.split("\0")
    generated = {name for name in names if name.startswith("slowpath._core.data/data/share/")}
    assert names == {*tracked, "PKG-INFO"} - {""} | generated
    assert "slowpath._core.data/data/share/man/man1/slowpath-bound.1.gz" in generated
