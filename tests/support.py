"""Helpers for tests: run slowpath, make sample results, and compare output with stored files."""

import hashlib
import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from slowpath.app import ROOT as COMMANDS
from slowpath.core.command import Command, Group, load
from slowpath.core.extras import not_installed
from slowpath.core.schema.results import (
    Bound,
    PathResult,
    Profile,
    ProfileInstruction,
    ProfileLine,
    Result,
)
from warm_starts import run_forked

ROOT = Path(__file__).parent.parent
GOLDEN = ROOT / "tests/golden"
MEMORY = 4 << 30
"""Maximum address space of a run in bytes, so that a defect cannot exhaust the machine."""
BLESS = os.environ.get("SLOWPATH_BLESS") == "1"
CAMPAIGN = int(os.environ.get("SLOWPATH_CAMPAIGN", "1"))
"""Factor for the number of random cases; above 1, tests try all examples (`make campaign`)."""


def slowpath(
    *arguments: str | os.PathLike[str], cwd: Path = ROOT, timeout: float = 180, codes: bool = False
) -> subprocess.CompletedProcess[str]:
    """Run `slowpath` as a user would, with a fixed width and without a terminal.

    Lines about progress, which only slow machines print, are removed from standard error. Without
    `codes`, error codes are removed, too: `tests/core/test_codes.py` tests these.
    """
    environment = os.environ | {"COLUMNS": "80", "LC_ALL": "C.UTF-8", "NO_COLOR": "1"}
    words = [os.fspath(one) for one in arguments]
    # A memory limit counts imported modules.
    if "--memory" not in words and not _forks_itself(words):
        return _quiet(run_forked(words, cwd, environment, MEMORY, timeout), codes=codes)
    run = subprocess.run(
        [sys.executable, "-m", "slowpath", *words],
        cwd=cwd,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
        preexec_fn=_limit_memory,
    )
    return _quiet(run, codes=codes)


def _quiet(
    run: subprocess.CompletedProcess[str], *, codes: bool
) -> subprocess.CompletedProcess[str]:
    """Remove lines about progress from standard error and, without `codes`, error codes."""
    run.stderr = without_progress(run.stderr)
    if not codes:
        run.stderr = without_codes(run.stderr)
    return run


def without_codes(text: str) -> str:
    """Remove error codes, such as `[SP0201]`, from the ends of lines."""
    return re.sub(r" \[SP[0-9]{4}\]$", "", text, flags=re.MULTILINE)


def commands(member: Command | Group = COMMANDS, path: str = "") -> Iterator[tuple[str, Command]]:
    """Yield all commands of slowpath, each with its full name."""
    if isinstance(member, Command):
        yield path.strip(), member
        return
    if member.file_command is not None:
        yield from commands(load(member.file_command), path)
    for name, reference in member.commands.items():
        yield from commands(load(reference), f"{path} {name}")


def wait_until(holds: Callable[[], bool]) -> None:
    """Wait until `holds` returns true; fail after a minute, which is far more than it takes."""
    for _ in range(6000):
        if holds():
            return
        time.sleep(0.01)
    pytest.fail("nothing happened for a minute")


def remembered(*arguments: str | os.PathLike[str]) -> str:
    """Return the output of a successful command; equal commands run only once per test session."""
    words = [os.fspath(one) for one in arguments]
    digest = hashlib.sha256()
    for word in words:
        digest.update(f"{word}\0".encode())
        with suppress(OSError):  # not a file; some words are too long for a name
            digest.update((ROOT / word).read_bytes())
    file = Path(os.environ["SLOWPATH_REMEMBERED"], digest.hexdigest())
    if not file.exists():
        run = slowpath(*words, timeout=300)
        assert run.returncode == 0, run.stderr
        part = file.with_suffix(f".{os.getpid()}")
        part.write_text(run.stdout)
        part.replace(file)
    return file.read_text()


def _forks_itself(words: list[str]) -> bool:
    """Return true if a command forks often.

    It is then started without a server process, because forks of processes with many modules are
    slower.
    """
    return words[:2] == ["insights", "accelerators"]


def refuses_pictures(*words: str | Path) -> bool:
    """Return true if a command that draws pictures fails at once when matplotlib is missing."""
    script = (
        "import sys; sys.modules['matplotlib'] = None; "
        f"sys.argv = {['slowpath', *map(str, words)]!r}\n"
        "from slowpath.main import main\nmain()\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False
    )
    error = f"error: this machine: {not_installed(['matplotlib'], 'plots')} [SP1204]\n"
    return (run.returncode, run.stdout, run.stderr) == (3, "", error)


def heed_interrupts() -> None:
    """Restore Python's handler of SIGINT, which shells let background jobs ignore."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _limit_memory() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


_COMPILERS = re.compile(r"\n\ncompiled by [^\n]*$|(?<=, )\"compiler\": \"[^\"]*\", ", re.MULTILINE)


def check_golden(path: Path, actual: str) -> None:
    """Compare a text with a file of expected output; with `make bless`, write the file instead.

    Versions of compilers are not compared.
    """
    actual = _COMPILERS.sub("", actual)
    if BLESS:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(actual)
    if not path.exists():
        pytest.fail(f"{path.relative_to(ROOT)} does not exist; `make bless` writes it")
    assert actual == path.read_text(), f"{path.relative_to(ROOT)} differs; `make bless` renews it"


def rows(value: Any, indent: str = "\n") -> str:
    """Format a value as JSON, with each part of up to 200 characters on one line."""
    line = json.dumps(value, allow_nan=False)
    inner, parts = f"{indent} ", value.values() if isinstance(value, dict) else value
    if len(line) <= 200 or not any(isinstance(one, dict | list) for one in parts):
        return line
    if isinstance(value, dict):
        texts = [f"{json.dumps(key)}: {rows(one, inner)}" for key, one in value.items()]
        return f"{{{inner}{f',{inner}'.join(texts)}{indent}}}"
    return f"[{inner}{f',{inner}'.join(rows(one, inner) for one in parts)}{indent}]"


def without_progress(text: str) -> str:
    """Remove lines about progress from the text of standard error."""
    return _PROGRESS.sub("", text)


_PROGRESS = re.compile(
    r"^(?:note: [^\n]*: \d+ s so far, |(?:training|evaluating): \d+%)[^\n]*\n", re.MULTILINE
)
"""Lines on the progress of an analysis after 10 s, and of a training every 30 s."""


def make_bound(**changes: Any) -> Bound:
    """Return a sample guarantee, limited by the processing cores; `changes` replace its fields."""
    bound: Bound = {
        "bitrate_bps": 24_708_860_759.4937,
        "packetrate_pps": 50_632_911.3924,
        "counts": None,
        "verdict": "exact",
        "exact": True,
        "stopped": None,
        "bottleneck": "processing",
        "components": {
            "processing": 50_632_911.3924,
            "dram": 197_410_807.0,
            "mac": 54_400_000.0,
            "line": 117_647_058.8235,
        },
    }
    if "exact" in changes:
        changes = {"verdict": "exact" if changes["exact"] else "bound"} | changes
    elif "verdict" in changes:
        changes["exact"] = changes["verdict"] == "exact"
    return bound | changes  # type: ignore[return-value]


def make_path(**changes: Any) -> PathResult:
    """Return a sample path that packets can take; `changes` replace its fields.

    Its packet is UDP over IPv4.
    """
    path: PathResult = {
        "cost": {"processing": 790, "dram": 4.052463035413383},
        "min_packet_size": 61,
        "bitrate_bps": 24_708_860_759.4937,
        "packetrate_pps": 50_632_911.3924,
        "bottleneck": "processing",
        "estimate": None,
        "edges": [(0, 15), (15, 15000)],
        "source": [],
        "lines": [],
        "witness": {
            "packet": "--" * 12 + "080045" + "--" * 8 + "11" + "--" * 12 + "0035" + "--" * 23,
            "length": 61,
            "maps": {"dram": [{"offset": 16, "bytes": "01000000"}]},
            "unknowns": [],
            "environment": [],
        },
    }
    return path | changes  # type: ignore[return-value]


def make_profile(**changes: Any) -> Profile:
    """Return sample costs of a path by source line: two lines of one function.

    `changes` replace the fields.
    """
    line: ProfileLine = {
        "file": "./a.c",
        "line": 7,
        "text": "    x = *p;",
        "function": "sample",
        "runs": 2,
        "instructions": 4,
        "cost": {"processing": 500, "dram": 4.052463035},
    }
    instruction: ProfileInstruction = {
        "instruction": 0,
        "text": "immed[gprA_0, 0x0]",
        "function": "sample",
        "line": 0,
        "runs": 2,
        "cost": {"processing": 500, "dram": 4.052463035},
    }
    other = line | {"line": 8, "text": "    return x;", "cost": {"processing": 66, "dram": 0}}
    profile: Profile = {
        "cost": {"processing": 790, "dram": 4.052463035},
        "overhead": {"processing": 224, "dram": 0},
        "programs": [],
        "lines": [line, other],
        "instructions": [
            instruction,
            instruction | {"instruction": 3, "line": 1, "cost": {"processing": 66, "dram": 0}},
        ],
    }
    return profile | changes  # type: ignore[return-value]


def make_result(**changes: Any) -> Result:
    """Return a sample result of a program with one path; `changes` replace its fields."""
    result: Result = {
        "file": "sample.asm",
        "section": None,
        "program": "sample",
        "kind": None,
        "target": "agilio-cx-2x40",
        "metric": "bitrate",
        "cores": 50,
        "guarantee": make_bound(),
        "naive": make_bound(bitrate_bps=21e9, packetrate_pps=43e6),
        "estimate": None,
        "paths": [make_path()],
        "profile": make_profile(),
        "assumptions": [],
        "cuts": [],
        "notes": [],
        "stats": {
            "seconds": 0.125,
            "candidates": 34,
            "sat": 1,
            "unsat": 33,
            "nogoods": 12,
            "solver_checks": 40,
            "solver_seconds": 0.05,
        },
        "refusals": [],
        "error": None,
        "code": None,
    }
    return result | changes  # type: ignore[return-value]


def save_results(folder: Path) -> list[str]:
    """Write sample results before and after a change of programs, and return both files.

    The change removes the program `lost`, adds `added`, and makes `slower` 10 % slower.
    """
    slower = make_bound(bitrate_bps=22_237_974_683.5443, packetrate_pps=45_569_620.2531)
    sides = {
        "old.json": [make_result(program=name) for name in ("slower", "same", "lost")],
        "new.json": [
            make_result(program="slower", guarantee=slower),
            make_result(program="same"),
            make_result(program="added"),
        ],
    }
    for name, results in sides.items():
        (folder / name).write_text(json.dumps({"slowpath": "0", "results": results}))
    return [str(folder / name) for name in sides]
