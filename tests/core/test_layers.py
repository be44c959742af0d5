"""Tests that crates and Python folders depend on each other only as layers.toml permits."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from imports import circles, python_graph, rust_graph
from support import ROOT

LAYERS = tomllib.loads((ROOT / "layers.toml").read_text())
CRATES: dict[str, list[str]] = LAYERS["crates"]
FOLDERS: dict[str, list[str]] = LAYERS["python"]
PACKAGE = ROOT / "python/slowpath"


def _manifests() -> dict[str, set[str]]:
    """Return the crates of the project that each crate depends on, according to its Cargo.toml.

    Dependencies of tests do not count.
    """
    found = {}
    for path in sorted(ROOT.glob("crates/*/Cargo.toml")):
        manifest = tomllib.loads(path.read_text())
        tables = [manifest, *manifest.get("target", {}).values()]
        names = {name for table in tables for name in table.get("dependencies", {})}
        own = {name.removeprefix("slowpath-") for name in names if name.startswith("slowpath")}
        found[path.parent.name] = own
    return found


def test_crates_use_only_permitted_crates() -> None:
    found = _manifests()
    assert found.keys() == CRATES.keys()
    unexpected = {name: uses - {*CRATES[name]} for name, uses in found.items()}
    assert not {name: uses for name, uses in unexpected.items() if uses}


def _entry(file: str) -> str:
    """Return the name in layers.toml that covers a file of the package: the file or its folder."""
    return file if file in FOLDERS else file.rpartition("/")[0]


def test_python_folders_use_only_permitted_folders() -> None:
    core = {name for name in FOLDERS if name.split("/")[0] == "core"}
    for file, used in python_graph(PACKAGE).items():
        entry = _entry(file)
        allowed = {entry, *FOLDERS[entry], *(() if entry in core else core)}
        assert {_entry(one) for one in used} <= allowed, file


@pytest.mark.parametrize("layers", [CRATES, FOLDERS], ids=["crates", "python"])
def test_layers_use_layers_above_them(layers: dict[str, list[str]]) -> None:
    """Check that each entry of layers.toml uses only earlier entries, so that no cycles exist."""
    above = set[str]()
    for name, uses in layers.items():
        assert {*uses} <= above, name
        above.add(name)


def test_every_entry_has_files() -> None:
    """Check that each entry of layers.toml has files.

    Entries without files could permit unwanted imports.
    """
    entries = {_entry(path.relative_to(PACKAGE).as_posix()) for path in PACKAGE.rglob("*.py")}
    assert entries == {*FOLDERS}


@pytest.mark.parametrize("name", ["ARCHITECTURE", "EXTENDING"])
def test_every_path_on_the_page_exists(name: str) -> None:
    page = (ROOT / f"docs/{name}.md").read_text()
    named = set(re.findall(r"`([\w.-]*/[\w./-]*|\w+\.(?:rs|py|toml|md|bpf\.c))`", page))
    named |= {f"docs/{link}" for link in re.findall(r"\]\((\w[\w./-]*)[)#]", page)}
    ends = {f"/{path.relative_to(ROOT).as_posix()}" for path in _files()}
    ends |= {path.rpartition("/")[0] for path in ends}
    missing = {
        one for one in named if not any(path.endswith(f"/{one.rstrip('/')}") for path in ends)
    }
    assert not missing - {"targets/NAME.toml", "crates/NAME"}


def _files() -> Iterator[Path]:
    """Yield all files and folders of the repository that the tests below examine."""
    yield from ROOT.iterdir()
    for folder in (
        ".ci",
        "bench",
        "crates",
        "docs",
        "examples",
        "python",
        "research",
        "targets",
        "tests",
    ):
        yield from (ROOT / folder).rglob("*")


def test_only_one_folder_imports_the_compiled_engine() -> None:
    importing = re.compile(
        r"^\s*(from slowpath import .*\b_core\b|.*slowpath\._core)", re.MULTILINE
    )
    modules = [path for path in PACKAGE.rglob("*.py") if importing.search(path.read_text())]
    assert {path.parent.relative_to(PACKAGE).as_posix() for path in modules} == {"core/engine"}


def test_the_package_does_not_use_research() -> None:
    """Check that the Python package does not import modules of `research`.

    For crates, layers.toml already forbids this.
    """
    modules = "|".join(path.stem for path in (ROOT / "research").glob("*.py"))
    importing = re.compile(rf"^\s*(?:from|import) (?:{modules}|research)\b", re.MULTILINE)
    assert not [path for path in PACKAGE.rglob("*.py") if importing.search(path.read_text())]


def test_every_file_of_tests_of_a_crate_is_run() -> None:
    """Check that `tests/main.rs` of each crate names all other test files in its folder.

    They are modules of one program, which is linked only once; a file that is not named is not run.
    """
    for folder in [*sorted(ROOT.glob("crates/*/tests")), ROOT / "research/nicsim/tests"]:
        files = {path.stem for path in folder.glob("*.rs")}
        if "main" not in files:
            assert len(files) <= 1, f"{folder} has no main.rs that names them"
            continue
        manifest = tomllib.loads((folder.parent / "Cargo.toml").read_text())
        assert manifest["package"]["autotests"] is False, f"{folder}: each file is a program, too"
        named = re.findall(r"^mod (\w+);", (folder / "main.rs").read_text(), re.MULTILINE)
        assert files - {"main"} <= {*named}, folder


def test_no_rust_file_uses_another_in_a_circle() -> None:
    folders = [*sorted(ROOT.glob("crates/*")), ROOT / "research/nicsim"]
    found = {path.name: circles(rust_graph(path)) for path in folders}
    assert not {crate: files for crate, files in found.items() if files}


def test_no_python_module_uses_another_in_a_circle() -> None:
    """Check that the package has no import cycles.

    Imports inside functions and for annotations count.
    """
    assert not circles(python_graph(PACKAGE))


@pytest.mark.parametrize(
    "uses",
    [
        "use super::b::B;",
        "use crate::a::{self, b::{B as Other}};",
        "use crate::B;",
        "fn f() -> crate::a::b::B { loop {} }",
        "use super::super::a::*;\nfn f() { B::new() }",
    ],
)
def test_circles_of_rust_files_are_found(tmp_path: Path, uses: str) -> None:
    """Check that a cycle of two Rust files is found, whichever form of `use` causes it."""
    source = tmp_path / "src"
    (source / "a").mkdir(parents=True)
    (source / "lib.rs").write_text("mod a;\npub use a::B;")
    (source / "a.rs").write_text("mod b;\nmod c;\npub use b::B;")
    (source / "a/b.rs").write_text("use super::c::C;\npub struct B(C);")
    (source / "a/c.rs").write_text(f'{uses}\npub struct C; // "\n')
    assert circles(rust_graph(tmp_path)) == [{"src/a/b.rs", "src/a/c.rs"}]
    for same in (
        "// use super::b::B;",
        "#[cfg(test)]\nmod tests {\n    use super::super::b::B;\n}",
    ):
        (source / "a/c.rs").write_text(f"{same}\npub struct C;")
        assert not circles(rust_graph(tmp_path))


@pytest.mark.parametrize(
    "uses",
    [
        "from package.one import x",
        "def f():\n    from package import one",
        "if TYPE_CHECKING:\n    import package.one",
        "from package.folder import y",
    ],
)
def test_circles_of_python_modules_are_found(tmp_path: Path, uses: str) -> None:
    package = tmp_path / "package"
    (package / "folder").mkdir(parents=True)
    (package / "one.py").write_text("from package.two import z")
    (package / "folder/__init__.py").write_text("from package.one import x")
    (package / "two.py").write_text(uses)
    (found,) = circles(python_graph(package))
    assert {"one.py", "two.py"} <= found
