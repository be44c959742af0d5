"""The typed stub of the compiled engine names exactly what the engine has."""

import ast

from slowpath import _core
from support import ROOT


def _public(names: set[str]) -> set[str]:
    return {name for name in names if not name.startswith("_")}


def test_stub_agrees_with_the_engine() -> None:
    tree = ast.parse((ROOT / "python/slowpath/_core.pyi").read_text())
    stub: dict[str, set[str]] = {}
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            members = {item.name for item in node.body if isinstance(item, ast.FunctionDef)}
            inherited = set(dir(Exception)) if node.name == "Error" else set[str]()
            stub[node.name] = _public(members | inherited)
        elif isinstance(node, ast.FunctionDef):
            stub[node.name] = set()
    found = {
        name: _public(set(dir(member))) if isinstance(member, type) else set()
        for name in _public(set(dir(_core)))
        for member in [getattr(_core, name)]
    }
    assert found == stub
