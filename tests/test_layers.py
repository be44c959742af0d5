"""The crates depend on each other, and the Python modules on the engine, as documented."""

import re
import tomllib

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


def test_every_python_module_is_documented() -> None:
    page = (ROOT / "docs/ARCHITECTURE.md").read_text()
    modules = {path.name for path in (ROOT / "python/slowpath").glob("[!_]*.py")}
    assert not {name for name in modules if f"`{name}`" not in page}


def test_only_one_module_imports_the_compiled_engine() -> None:
    importing = re.compile(
        r"^\s*(from slowpath import .*\b_core\b|.*slowpath\._core)", re.MULTILINE
    )
    modules = (ROOT / "python/slowpath").glob("*.py")
    assert [m.name for m in modules if importing.search(m.read_text())] == ["engine.py"]
