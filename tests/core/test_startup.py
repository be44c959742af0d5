"""Tests which modules are imported at start-up, which takes a large part of short runs.

A limit on the time would depend on the machine; the set of imported modules does not.
"""

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Sequence

import pytest

from slowpath.app import ROOT as COMMANDS
from support import ROOT

REPORT = (
    "import sys\n"
    "bare = set(sys.modules)\n"
    "from slowpath.main import main\n"
    "try:\n"
    "    main()\n"
    "finally:\n"
    "    print(*sorted(set(sys.modules) - bare), file=sys.stderr)\n"
)
"""Runs the command line and prints the modules that it imported."""

EXTRAS = {
    "dask", "distributed", "highspy", "llvmlite", "matplotlib", "numpy", "ortools", "pandas",
    "pyarrow", "scipy", "sklearn", "yaml",
}  # fmt: skip
"""Packages of the extras in `pyproject.toml`, with their dependencies; users may lack them."""

HEAVY = {
    *EXTRAS, "asyncio", "ast", "click", "concurrent", "ctypes", "dataclasses", "difflib", "email",
    "http", "importlib.metadata", "importlib.resources", "inspect", "ipaddress", "logging",
    "pathlib", "pydantic", "random", "rich", "shutil", "socket", "ssl", "subprocess", "tempfile",
    "textwrap", "tokenize", "tomllib", "traceback", "typer", "typing_extensions", "unittest",
    "urllib", "uuid", "xml", "zipfile",
}  # fmt: skip
"""Modules that take milliseconds to import, and packages that a short run does not need."""

MODULES = {"scikit-learn": "sklearn", "PyYAML": "yaml"}
"""Packages whose module has another name."""

LISTING = "examples/two_protocols.asm"
OBJECT = "examples/count_min.1.bpf.o"


def imported(*words: str) -> set[str]:
    """Return the modules that a command imports, without those that Python itself imports."""
    run = subprocess.run(
        [sys.executable, "-c", REPORT, *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return set(run.stderr.splitlines()[-1].split())


def own(modules: set[str]) -> set[str]:
    return {name.removeprefix("slowpath.") for name in modules if name.startswith("slowpath.")}


@pytest.mark.parametrize(
    "words",
    [
        ["bound", LISTING],
        ["bound", LISTING, "-v", "--require", "1bps", "--unroll", "3", "--paths", "2"],
        ["bound", LISTING, "--format", "json"],
        ["bound", LISTING, "--format", "csv"],
        ["bound", LISTING, LISTING],
        ["bound", OBJECT],
        ["bound", OBJECT, "--target", "ebpf"],
        ["--version"],
    ],
    ids=" ".join,
)
def test_a_run_imports_nothing_heavy(words: Sequence[str]) -> None:
    modules = imported(*words)
    assert "slowpath._core" in modules
    assert not modules & HEAVY


@pytest.mark.parametrize("command", [*COMMANDS.commands, "targets list"])
def test_no_help_imports_an_extra(command: str) -> None:
    assert not imported(*command.split(), "--help") & EXTRAS


@pytest.mark.parametrize(
    "words",
    [
        ["annotate", OBJECT],
        ["diff", OBJECT, OBJECT],
        ["compile", OBJECT],
        ["show", OBJECT],
        ["schema", "bound"],
        ["targets", "list"],
        ["targets", "check", "targets/ebpf.toml"],
    ],
    ids=" ".join,
)
def test_no_command_imports_an_extra(words: Sequence[str]) -> None:
    assert not imported(*words) & EXTRAS


@pytest.mark.parametrize("command", ["predict", "diagnose"])
def test_stored_models_take_no_package_that_learns(command: str) -> None:
    """Check that predictions from stored models import neither scikit-learn nor SciPy.

    Their import takes longer than a prediction; NumPy may be imported.
    """
    pytest.importorskip("numpy")
    traffic = ["--traffic", "flows=16000,size=1500,mtbr=200"]
    model, beside = (f"examples/fleet/{name}.model.json" for name in ("ids", "nat"))
    modules = imported("contention", command, model, "--with", beside, *traffic)
    assert "numpy" in modules
    assert not modules & (EXTRAS - {"numpy"})


def test_the_packages_of_extras_are_known() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    named = {
        re.split(r"[^\w-]", requirement)[0]
        for extra in project["optional-dependencies"].values()
        for requirement in extra
    }
    modules = {MODULES.get(name, name) for name in named - {"slowpath"}}
    assert modules
    assert modules <= EXTRAS
    assert not project["dependencies"]


def test_a_run_imports_nothing_of_other_slices() -> None:
    modules = own(imported("bound", LISTING))
    slices = {name.partition(".")[0] for name in modules}
    assert slices == {"main", "app", "core", "bounds", "_core"}
    assert not modules & {
        f"core.schema.{name}" for name in ("shown", "compiled", "validation", "saved")
    }


def test_help_imports_no_engine() -> None:
    modules = imported("bound", "--help")
    assert not modules & (HEAVY - {"shutil", "textwrap"})
    names = (
        "codes",
        "command",
        "errors",
        "formats",
        "help",
        "parser",
        "printable",
        "quantities",
        "spelling",
        "terminal",
    )
    allowed = {f"core.{name}" for name in names}
    allowed |= {"main", "app", "core", "bounds", "bounds.cli", "bounds.flags"}
    assert own(modules) == allowed


THREADS = (
    "import json, sys\n"
    "from slowpath.main import main\n"
    "try:\n"
    "    main()\n"
    "finally:\n"
    "    from threadpoolctl import threadpool_info\n"
    "    print(json.dumps(threadpool_info()), file=sys.stderr)\n"
)
"""Runs the command line and prints the libraries that start threads, with their number."""


@pytest.mark.parametrize(
    "words",
    [
        ("contention", "train", "examples/contention.csv", "--recipe", "ridge-pressure"),
        ("fit", "tests/fit/line.csv", "--x", "bytes", "--y", "ns"),
    ],
)
def test_linear_algebra_has_one_thread_unless_the_user_asks(words: Sequence[str]) -> None:
    pytest.importorskip("threadpoolctl")
    pytest.importorskip("scipy")
    own = {name: value for name, value in os.environ.items() if "_NUM_THREADS" not in name}
    for asked, count in ({}, 1), ({"OPENBLAS_NUM_THREADS": "2", "OMP_NUM_THREADS": "2"}, 2):
        run = subprocess.run(
            [sys.executable, "-c", THREADS, *words],
            cwd=ROOT,
            env=own | asked,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert run.returncode == 0, run.stderr
        libraries = json.loads(run.stderr.splitlines()[-1])
        assert {one["num_threads"] for one in libraries} == {min(count, os.cpu_count() or 1)}
