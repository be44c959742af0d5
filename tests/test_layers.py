"""The crates depend on each other, and the Python modules on the engine, as documented."""

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from imports import circles, python_graph, rust_graph
from support import ROOT


def _documented() -> dict[str, set[str]]:
    """What each crate may use: the table in the architecture page."""
    page = (ROOT / "docs/ARCHITECTURE.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \| ([^|]*) \|", page, re.MULTILINE)
    return {crate: set(re.findall(r"`(\w+)`", uses)) for crate, uses in rows}


def _manifests() -> dict[str, set[str]]:
    """What each crate uses: the dependencies in its manifest, those of its tests left out."""
    found = {}
    for path in sorted(ROOT.glob("crates/*/Cargo.toml")):
        manifest = tomllib.loads(path.read_text())
        tables = [manifest, *manifest.get("target", {}).values()]
        names = {name for table in tables for name in table.get("dependencies", {})}
        own = {name.removeprefix("slowpath-") for name in names if name.startswith("slowpath")}
        found[path.parent.name] = own
    return found


def test_every_crate_is_documented() -> None:
    assert _documented().keys() == _manifests().keys()


def test_crates_use_only_what_they_may() -> None:
    may_use = _documented()
    unexpected = {name: uses - may_use[name] for name, uses in _manifests().items()}
    assert not {name: uses for name, uses in unexpected.items() if uses}


def test_documented_order_has_no_cycle() -> None:
    left = _documented()
    while left:
        free = {name for name, uses in left.items() if not uses & left.keys()}
        assert free, f"cycle among {sorted(left)}"
        left = {name: uses for name, uses in left.items() if name not in free}


def test_every_path_on_the_page_exists() -> None:
    page, planned = (ROOT / "docs/ARCHITECTURE.md").read_text().split("## Rooms that are kept free")
    assert planned
    named = set(re.findall(r"`([\w.-]*/[\w./-]*|\w+\.(?:rs|py|toml|md|bpf\.c))`", page))
    named |= {f"docs/{link}" for link in re.findall(r"\]\(([\w.-]+)[)#]", page)}
    ends = {f"/{path.relative_to(ROOT).as_posix()}" for path in _files()}
    ends |= {path.rpartition("/")[0] for path in ends}
    missing = {name for name in named if not _is_an_end(f"/{name.rstrip('/')}", ends)}
    assert not missing - {"targets/NAME.toml", "crates/NAME"}


def _files() -> Iterator[Path]:
    """Files of the repository, and its top folders."""
    yield from ROOT.iterdir()
    for folder in (".ci", "crates", "docs", "examples", "python", "targets", "tests"):
        yield from (ROOT / folder).rglob("*")


def _is_an_end(name: str, paths: set[str]) -> bool:
    return any(path.endswith(name) for path in paths)


PACKAGE = ROOT / "python/slowpath"


def _python_table() -> dict[str, tuple[str, set[str]]]:
    """By folder, what it may use in words, and its files: the other table in that page."""
    page = (ROOT / "docs/ARCHITECTURE.md").read_text()
    rows = re.findall(r"^\| `([\w/]+)/` \| ([^|]*) \| ([^|]*) \|", page, re.MULTILINE)
    return {name: (uses, set(re.findall(r"`(\w+\.py)`", files))) for name, uses, files in rows}


def _may_use() -> dict[str, set[str]]:
    """By folder, the folders and modules that it may use."""
    allowed = dict[str, set[str]]()
    for name, (uses, _) in _python_table().items():
        named = {use.rstrip("/") for use in re.findall(r"`([\w/]+)`", uses)}
        shared = {known for known in allowed if not known.startswith("commands/")}
        allowed[name] = named | (shared if "all above" in uses else set())
    return allowed


def _imports(path: Path) -> set[str]:
    """What of the package a module imports, wherever in its text: folders, or modules outside."""
    found = set[str]()
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith("slowpath"):
            continue
        for alias in node.names:
            target = PACKAGE.parent.joinpath(*(node.module or "").split("."), alias.name)
            files = (target.with_suffix(".py"), target.with_suffix(".pyi"))
            if not (target.is_dir() or any(file.exists() for file in files)):
                target = target.parent
            inside = target if target.is_dir() else target.parent
            found.add((target if inside == PACKAGE else inside).relative_to(PACKAGE).as_posix())
    return found


def test_every_python_module_is_documented() -> None:
    page = (ROOT / "docs/ARCHITECTURE.md").read_text()
    assert not {p.name for p in PACKAGE.glob("[!_]*.py") if f"`{p.name}`" not in page}
    folders = {p.parent for p in PACKAGE.rglob("*.py")} - {PACKAGE, PACKAGE / "commands"}
    found = {
        folder.relative_to(PACKAGE).as_posix(): {p.name for p in folder.glob("[!_]*.py")}
        for folder in folders
    }
    assert found == {name: files for name, (_, files) in _python_table().items()}


def test_python_folders_use_only_what_they_may() -> None:
    for name, allowed in _may_use().items():
        for path in (PACKAGE / name).glob("*.py"):
            used = _imports(path) - {name}
            assert used <= allowed, f"{path}: {used - allowed}"


def test_python_folders_are_neither_large_nor_lonely() -> None:
    for name, (_, files) in _python_table().items():
        assert 2 <= len(files) <= 12, name


def test_only_one_folder_imports_the_compiled_engine() -> None:
    importing = re.compile(
        r"^\s*(from slowpath import .*\b_core\b|.*slowpath\._core)", re.MULTILINE
    )
    modules = [path for path in PACKAGE.rglob("*.py") if importing.search(path.read_text())]
    assert {path.relative_to(PACKAGE).parts[0] for path in modules} == {"engine"}


def test_every_file_of_tests_of_a_crate_is_run() -> None:
    """Tests of a crate are one program, which links once: `tests/main.rs` names the files."""
    for folder in sorted(ROOT.glob("crates/*/tests")):
        files = {path.stem for path in folder.glob("*.rs")}
        if "main" not in files:
            assert len(files) <= 1, f"{folder} has no main.rs that names them"
            continue
        manifest = tomllib.loads((folder.parent / "Cargo.toml").read_text())
        assert manifest["package"]["autotests"] is False, f"{folder}: each file is a program, too"
        named = re.findall(r"^mod (\w+);", (folder / "main.rs").read_text(), re.MULTILINE)
        assert files - {"main"} <= {*named}, folder


def test_no_rust_file_uses_another_in_a_circle() -> None:
    found = {path.name: circles(rust_graph(path)) for path in sorted(ROOT.glob("crates/*"))}
    assert not {crate: files for crate, files in found.items() if files}


def test_no_python_module_uses_another_in_a_circle() -> None:
    """Imports for annotations, and inside functions, are uses like others."""
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
    """However a file names what another one defines, past `pub use` and in braces."""
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
