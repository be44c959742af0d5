"""What a run imports: start-up is part of every run, and most runs take a fraction of a second.

A limit on the time would depend on the machine; what is imported does not.
"""

import subprocess
import sys
from collections.abc import Sequence

import pytest

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
"""Runs the command line and tells what it imported."""

HEAVY = {
    "asyncio",
    "ast",
    "click",
    "concurrent",
    "ctypes",
    "dataclasses",
    "difflib",
    "email",
    "http",
    "importlib.metadata",
    "importlib.resources",
    "inspect",
    "ipaddress",
    "logging",
    "pathlib",
    "pydantic",
    "random",
    "rich",
    "shutil",
    "socket",
    "ssl",
    "subprocess",
    "tempfile",
    "textwrap",
    "tokenize",
    "tomllib",
    "traceback",
    "typer",
    "typing_extensions",
    "unittest",
    "urllib",
    "uuid",
    "xml",
    "zipfile",
}
"""Modules that take milliseconds, and packages that are none of a short run's business."""

LISTING = "examples/two_protocols.asm"
OBJECT = "examples/count_min.1.bpf.o"


def imported(*words: str) -> set[str]:
    """The modules that a run without a terminal imports, those of bare Python left out."""
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
        ["bound", OBJECT, "--target", "ebpf"],
        ["--version"],
    ],
    ids=" ".join,
)
def test_a_run_imports_nothing_heavy(words: Sequence[str]) -> None:
    modules = imported(*words)
    assert "slowpath._core" in modules
    assert not modules & HEAVY


def test_a_run_imports_nothing_of_other_commands() -> None:
    modules = own(imported("bound", LISTING))
    commands = {name for name in modules if name.startswith("commands.")}
    assert commands == {
        f"commands.bound{module}" for module in ("", ".command", ".options", ".run")
    }
    assert not modules & {"schema.objects", "schema.compiled", "schema.saved", "schema.shapes"}


def test_help_imports_no_engine() -> None:
    modules = imported("bound", "--help")
    assert not modules & (HEAVY - {"shutil", "textwrap"})
    folders = {name.partition(".")[0] for name in own(modules)}
    assert folders == {"main", "app", "cli", "analysis", "commands"}
    assert own(modules) >= {"analysis.flags", "commands.bound.command"}
