"""Tests that the Python interface returns the results and errors of `slowpath bound`."""

import doctest
import inspect
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import slowpath
from slowpath.bounds.cli import BOUND
from slowpath.core import codes
from slowpath.core.engine.analyses import Progress
from support import ROOT
from support import slowpath as command

LISTING = ROOT / "examples/two_protocols.asm"
OBJECT = ROOT / "examples/count_min.8.bpf.o"
LOOP = ROOT / "examples/path_explosion.bpf.o"


def timeless(document: str) -> object:
    """Return the results in a JSON document without statistics, which differ between runs."""
    read = json.loads(document)
    for result in read["results"]:
        del result["stats"]
    return read


def test_the_page_is_right(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    failed, tried = doctest.testfile(
        str(ROOT / "docs/how-to/python.md"), module_relative=False, optionflags=doctest.ELLIPSIS
    )
    assert tried > 8
    assert failed == 0


@pytest.mark.parametrize("target", ["agilio-cx-2x40", "ebpf", "linux-xdp"])
def test_results_are_those_of_the_command(target: str) -> None:
    options = {"target": target, "paths": 2, "mtu": 1000}
    results = slowpath.bound(OBJECT, LOOP, **options)  # type: ignore[arg-type]
    words = [f"--{name}={value}" for name, value in options.items()]
    run = command("bound", OBJECT, LOOP, *words, "--format", "json")
    assert timeless(results.to_json()) == timeless(run.stdout)
    assert str(results) + "\n" == command("bound", OBJECT, LOOP, *words).stdout
    report = command("bound", OBJECT, *words).stdout
    assert str(slowpath.bound(OBJECT, **options)) + "\n" == report  # type: ignore[arg-type]


def test_every_option_of_the_command_can_be_given() -> None:
    words = {name for entry in BOUND.options for name in entry.names if name.startswith("--")}
    reports = {"--format", "--report", "--html", "--pcap-out", "--certificate", "--verbose"}
    only_command = reports | {"--scheduler"}
    parameters = set(inspect.signature(slowpath.bound).parameters) - {"files", "progress"}
    assert {f"--{name.replace('_', '-')}" for name in parameters} == words - only_command


def test_programs_are_described() -> None:
    results = slowpath.bound(LISTING, OBJECT, require="20Gbit/s")
    listing, program = results
    assert [each.met for each in results] == [True, False]
    assert program.reason is not None
    assert "20.0 Gbit/s required" in program.reason
    assert program.bitrate == program.result["guarantee"]["bitrate_bps"]  # type: ignore[index]
    assert program.packetrate is not None
    assert (program.counts, program.assumptions, program.error) == ({}, [], None)
    assert [len(packet) for packet in program.packets] == [program.paths[0]["witness"]["length"]]
    assert repr(program) == f"<slowpath.Program {OBJECT}:{program.name}: exact>"
    assert repr(results[:1]) == "<slowpath.Results of 1 program>"
    assert listing.file == listing.label == str(LISTING)


def test_notebooks_show_tables() -> None:
    results = slowpath.bound(OBJECT, "a<b>.asm", target="agilio-cx-2x40")
    page = results._repr_html_()
    assert page.count("<tr>") == 3
    assert "a&lt;b&gt;.asm" in page
    assert "Gbit/s</td><td>exact</td>" in page
    assert "0000  " in results[0]._repr_html_()


def test_packets_are_written(tmp_path: Path) -> None:
    results = slowpath.bound(OBJECT)
    results.write_pcap(tmp_path / "a.pcap")
    command("bound", OBJECT, "--pcap-out", tmp_path / "b.pcap")
    assert (tmp_path / "a.pcap").read_bytes() == (tmp_path / "b.pcap").read_bytes()


def test_progress_is_reported() -> None:
    calls = list[tuple[str, Progress]]()
    code = ROOT / "examples/dns_cache.bpf.o"
    slowpath.bound(code, target="ebpf", progress=lambda *values: calls.append(values))
    assert {label for label, _ in calls} <= {f"{code}:dns_cache"}


def test_folders_and_jobs_are_those_of_the_command(tmp_path: Path) -> None:
    for name in ("count_min.1", "firewall", "tunnel"):
        shutil.copy(ROOT / f"examples/{name}.bpf.o", tmp_path)
    (tmp_path / "notes.txt").write_text("no program")
    run = command("bound", tmp_path, "--target", "ebpf", "--format", "json")
    expected = json.loads(run.stdout)["results"]
    assert len(expected) == 3
    for jobs in (1, 2):
        results = slowpath.bound(tmp_path, target="ebpf", jobs=jobs, no_cache_dir=True)
        assert [one.result["guarantee"] for one in results] == [
            one["guarantee"] for one in expected
        ]
        assert [one.label for one in results] == [
            f"{one['file']}:{one['program']}" for one in expected
        ]
        assert "insns" in str(results[1])  # details of paths, as from a single process
    (missing,) = slowpath.bound(tmp_path / "none", jobs=2)
    assert missing.code == codes.NO_SUCH_FILE
    with pytest.raises(slowpath.OptionError, match="--jobs: 0 is not from 1 to 1024"):
        slowpath.bound(OBJECT, jobs=0)


def test_invalid_arguments_are_errors() -> None:
    with pytest.raises(slowpath.OptionError, match=r"--accept-assumptions: needs --require"):
        slowpath.bound(OBJECT, accept_assumptions=True)
    with pytest.raises(slowpath.OptionError, match=r"--require: .* is not a rate"):
        slowpath.bound(OBJECT, require="fast")
    with pytest.raises(slowpath.InputError, match=r"none\.toml: no such file"):
        slowpath.bound(OBJECT, assume="none.toml")
    with pytest.raises(AttributeError, match="no attribute 'bond'"):
        _ = slowpath.bond


def test_the_package_itself_imports_nothing() -> None:
    script = "import sys; bare = set(sys.modules); import slowpath; print(set(sys.modules) - bare)"
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert run.stdout == "{'slowpath'}\n"
