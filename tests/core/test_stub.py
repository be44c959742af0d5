"""Tests that generated type files are current: the engine's stub, and the options in Python."""

import ast

from api_options import module
from binding_stub import stub
from slowpath import _core
from support import ROOT, check_golden

STUB = ROOT / "python/slowpath/_core.pyi"


def _public(names: set[str]) -> set[str]:
    return {name for name in names if not name.startswith("_")}


def test_the_stub_is_current() -> None:
    check_golden(STUB, stub())


def test_stub_agrees_with_the_engine() -> None:
    tree = ast.parse(STUB.read_text())
    stated: dict[str, set[str]] = {}
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            members = {item.name for item in node.body if isinstance(item, ast.FunctionDef)}
            inherited = set(dir(Exception)) if node.name == "Error" else set[str]()
            stated[node.name] = _public(members | inherited)
        elif isinstance(node, ast.FunctionDef):
            stated[node.name] = set()
    found = {
        name: _public(set(dir(member))) if isinstance(member, type) else set()
        for name in _public(set(dir(_core)))
        for member in [getattr(_core, name)]
    }
    assert found == stated


def test_the_types_of_options_are_current() -> None:
    """Check that the generated `slowpath/api/options.py` is current.

    `slowpath.api` imports this file, so the test must not import `slowpath.api`.
    """
    check_golden(ROOT / "python/slowpath/api/options.py", module())
