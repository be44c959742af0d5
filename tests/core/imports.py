"""Finds import cycles between source files, in Python and in Rust."""

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

Graph = Mapping[str, set[str]]
"""For each source file, the set of files that it uses."""


def circles(graph: Graph) -> list[set[str]]:
    """Return the sets of files that import each other in a cycle (Tarjan 1972)."""
    number, low = dict[str, int](), dict[str, int]()
    stack, found = list[str](), list[set[str]]()

    def visit(file: str) -> None:
        number[file] = low[file] = len(number)
        stack.append(file)
        for other in sorted(graph.get(file, ())):
            if other not in number:
                visit(other)
                low[file] = min(low[file], low[other])
            elif other in stack:
                low[file] = min(low[file], number[other])
        if low[file] == number[file]:
            at = stack.index(file)
            found.append(set(stack[at:]))
            del stack[at:]

    for file in graph:
        if file not in number:
            visit(file)
    return [files for files in found if len(files) > 1]


def python_graph(package: Path) -> Graph:
    """Return the imports between the modules of a Python package.

    Imports within functions and for annotations count.
    """
    return {
        path.relative_to(package).as_posix(): set(_python_uses(package, path))
        for path in package.rglob("*.py")
    }


def _python_uses(package: Path, path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        imported_names: list[tuple[str, str | None]]
        match node:
            case ast.Import(names=names):
                imported_names = [(alias.name, None) for alias in names]
            case ast.ImportFrom(module=str(module), names=names, level=0):
                imported_names = [(module, alias.name) for alias in names]
            case _:
                continue
        for module, name in imported_names:
            start, *rest = module.split(".")
            if start != package.name:
                continue
            folder = package.joinpath(*rest)
            if (folder / f"{name}.pyi").exists():
                continue  # compiled, not a file of the sources
            for place in (folder / f"{name}.py", folder / f"{name}/__init__.py"):
                if place.exists():
                    yield place.relative_to(package).as_posix()
                    break
            else:
                place = folder.with_suffix(".py") if rest else folder
                place = place if place.is_file() else folder / "__init__.py"
                if place.exists():
                    yield place.relative_to(package).as_posix()


_NO_CODE = re.compile(
    r"""//[^\n]* | /\*.*?\*/ | r(\#*)".*?"\1 | "(?:\\.|[^"\\])*" | '(?:\\.|[^'\\])'""",
    re.DOTALL | re.VERBOSE,
)
_TESTS = re.compile(r"#\[cfg\(test\)\]\s*mod\s+\w+\s*(?:;|\{.*)", re.DOTALL)
_TEST_FILE = re.compile(r"#\[cfg\(test\)\]\s*mod\s+\w+\s*;")
_MODULE = re.compile(r"\bmod\s+(\w+)\s*;")
_USE = re.compile(r"\b(pub(?:\([^)]*\))?\s+)?use\s+([^;]+);")
_ITEM = re.compile(
    r"\b(?:fn|struct|enum|trait|type|const|static|union)\s+(\w+)|macro_rules!\s*(\w+)"
)
_PATH = re.compile(r"(?<![\w:])((?:\w+::)+\w+)")

Names = tuple[str, ...]


class _Module(NamedTuple):
    file: str
    code: str  # without imports, comments, texts and tests
    own: list[Names]  # paths that it imports and does not re-export
    imported: dict[str, Names]  # imported paths by name, with re-exports
    globs: list[Names]  # modules from which it imports everything
    items: set[str]  # names that it defines


def rust_graph(crate: Path) -> Graph:
    """Return the dependencies between the files of a Rust crate.

    A file depends on the files that define the names that it uses. Re-exports (`pub use`) do not
    count as uses. Names are resolved without types, so methods and the content of macros are left
    out.
    """
    modules = dict(_modules(crate / "src", (), crate / "src/lib.rs", crate / "src"))
    graph = {module.file: set[str]() for module in modules.values()}
    for here, module in modules.items():
        paths = [tuple(path.split("::")) for path in _PATH.findall(module.code)]
        for path in (*module.own, *paths):
            found = _defined(modules, here, path, frozenset())
            if found is not None and found[1] is not None and found[0] != here:
                graph[module.file].add(modules[found[0]].file)
    return graph


def _modules(src: Path, name: Names, path: Path, folder: Path) -> Iterator[tuple[Names, _Module]]:
    code = _NO_CODE.sub('""', path.read_text())
    code = _TESTS.sub("", _TEST_FILE.sub("", code))
    own, imported, globs = list[Names](), dict[str, Names](), list[Names]()
    for public, tree in _USE.findall(code):
        for used, alias in _expanded(tree):
            if alias == "*":
                globs.append(used[:-1])
            else:
                imported.setdefault(alias, used)
            if not public:
                own.append(used[:-1] if alias == "*" else used)
    items = {a or b for a, b in _ITEM.findall(code)}
    file = path.relative_to(src.parent).as_posix()
    yield name, _Module(file, _USE.sub("", code), own, imported, globs, items)
    for child in _MODULE.findall(code):
        for place in (folder / f"{child}.rs", folder / child / "mod.rs"):
            if place.exists():
                yield from _modules(src, (*name, child), place, folder / child)


def _expanded(tree: str) -> Iterator[tuple[Names, str]]:
    """Yield each path in a Rust `use` tree, with the name that it gets in the importing module."""
    tree = tree.strip()
    if tree.endswith("}"):
        start, inner = tree[:-1].split("{", 1)
        before = tuple(part.strip() for part in start.split("::") if part.strip())
        for piece in _pieces(inner):
            for path, alias in _expanded(piece):
                if path == ("self",):
                    yield before, before[-1] if alias == "self" else alias
                else:
                    yield (*before, *path), alias
        return
    text, _, alias = tree.partition(" as ")
    path = tuple(part.strip() for part in text.split("::"))
    yield path, alias.strip() or path[-1]


def _pieces(inner: str) -> Iterator[str]:
    """Split a text at commas, but not within braces."""
    depth, piece = 0, ""
    for letter in inner + ",":
        depth += {"{": 1, "}": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            if piece.strip():
                yield piece
            piece = ""
        else:
            piece += letter


def _defined(
    modules: Mapping[Names, _Module], here: Names, path: Names, seen: frozenset[tuple[Names, Names]]
) -> tuple[Names, str | None] | None:
    """Find the module that defines the item of a Rust path; return the module and the item's name.

    The name is None if the path leads to a module. The result is None for items of other crates.
    `here` is the module that contains the path.
    """
    if not path:
        return here, None
    if (here, path) in seen or here not in modules:
        return None
    seen |= {(here, path)}
    first, rest = path[0], path[1:]
    module = modules[here]
    starts = {"crate": (), "self": here, "super": here[:-1]}
    if (*here, first) in modules:
        starts[first] = (*here, first)
    if first in starts:
        return _defined(modules, starts[first], rest, seen)
    if first in module.items:
        return here, first
    if first not in module.imported:
        every = (_defined(modules, here, (*source, first), seen) for source in module.globs)
        return next((found for found in every if found is not None), None)
    found = _defined(modules, here, module.imported[first], seen)
    return found if found is None or found[1] else _defined(modules, found[0], rest, seen)
