"""Tests settings files of projects: search, precedence, errors, and commands that use them."""

import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from slowpath.core.errors import InputError
from slowpath.core.settings import KEYS, REQUIRE, USED, find_settings, read_settings, variable
from support import ROOT, commands, slowpath

OBJECT = ROOT / "examples/count_min.1.bpf.o"
LISTING = ROOT / "examples/two_protocols.asm"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the root of a repository without settings, and with an object in the folder `src`."""
    for key in KEYS:
        monkeypatch.delenv(variable(key) or "", raising=False)
    (tmp_path / ".git").mkdir()
    (tmp_path / "src").mkdir()
    shutil.copy(OBJECT, tmp_path / "src/a.bpf.o")
    return tmp_path


def settings(folder: Path, text: str, name: str = "slowpath.toml") -> Path:
    (folder / name).write_text(text)
    return folder / name


def shown(project: Path, *words: str) -> dict[str, tuple[object, str | None]]:
    """Run `config show`; return value and origin of each setting by key."""
    run = slowpath("config", "show", *words, "--format", "json", cwd=project)
    assert (run.returncode, run.stderr) == (0, "")
    return {one["key"]: (one["value"], one["origin"]) for one in json.loads(run.stdout)["results"]}


# --- discovery -----------------------------------------------------------------------------------


def test_the_nearest_file_up_to_the_root_of_the_repository_counts(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project)
    program = project / "src/a.bpf.o"
    settings(project.parent, "mtu = 100")  # outside of the repository
    assert find_settings(str(program)) is None
    settings(project, "mtu = 200")
    assert find_settings(str(program)) == "slowpath.toml"
    settings(project / "src", "[tool.other]\nmtu = 300", "pyproject.toml")
    assert find_settings("src/a.bpf.o") == "slowpath.toml"
    settings(project / "src", "[tool.slowpath]\nmtu = 400", "pyproject.toml")
    assert find_settings("src/a.bpf.o") == "src/pyproject.toml"
    settings(project / "src", "mtu = 500")
    assert find_settings("src") == "src/slowpath.toml"
    assert find_settings("missing.bpf.o") == "slowpath.toml"


def test_outside_of_repositories_only_the_folder_is_searched(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    settings(tmp_path, "mtu = 200")
    assert find_settings(str(tmp_path / "inner/a.bpf.o")) is None
    assert find_settings(str(tmp_path / "a.bpf.o")) is not None


# --- precedence ----------------------------------------------------------------------------------


def test_command_line_then_environment_then_file(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings(
        project, 'target = "ebpf"\nmtu = 200\nentries = 3\n\n[require]\n"a*" = "<=9 instructions"'
    )
    monkeypatch.setenv("SLOWPATH_MTU", "300")
    monkeypatch.setenv("SLOWPATH_TARGET", "")  # as if it was not set
    found = shown(project, "src/a.bpf.o", "--entries", "4")
    assert found == {
        "target": ("ebpf", "slowpath.toml:1"),
        "entries": (4, "command line"),
        "mtu": (300, "SLOWPATH_MTU"),
        "deadline": (None, None),
        "jobs": (None, None),
        "require.a*": ("<=9 instructions", "slowpath.toml:6"),
    }
    found = shown(project, "src/a.bpf.o", "--mtu", "400", "--require", "5Mpps")
    assert found["mtu"] == (400, "command line")
    assert found["require"] == ("5Mpps", "command line")
    assert "require.a*" not in found


def test_tables_of_pyproject_have_lines(project: Path) -> None:
    text = (
        '[project]\nmtu = 1\n[tool.slowpath]\nmtu = 200\n[tool.slowpath.require]\n"*" = "5Mpps"\n'
    )
    settings(project, text, "pyproject.toml")
    found = shown(project)
    assert found["mtu"] == (200, "pyproject.toml:4")
    assert found["require.*"] == ("5Mpps", "pyproject.toml:6")


def test_the_table_names_file_and_origins(project: Path) -> None:
    settings(project, 'target = ["ebpf", "linux-xdp"]\n')
    run = slowpath("config", "show", cwd=project)
    assert run.stdout.splitlines()[:3] == [
        "settings file: slowpath.toml",
        "  setting   value           origin",
        "  target    ebpf,linux-xdp  slowpath.toml:1",
    ]


def test_target_files_start_at_the_settings_file(project: Path) -> None:
    settings(project, 'target = "own/card.toml"')
    assert shown(project / "src", "a.bpf.o")["target"][0] == "../own/card.toml"


# --- errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "place", "reason"),
    [
        ("mtu = 1\nmtu = 2\n", ":2", "is not TOML: Cannot overwrite a value"),
        ("mtu = [1", "", "is not TOML: "),
        ("\ntarg = 'ebpf'", ":2", "unknown key 'targ'; did you mean 'target'?"),
        ("zebra = 1", ":1", "unknown key 'zebra'; choose one of target, entries"),
        ("mtu = 'x'", ":1", "mtu is not an integer"),
        ("mtu = true", ":1", "mtu is not an integer"),
        ("target = []", ":1", "target is not a name, or a list of names"),
        ("require = '5Mpps'", ":1", "require is not a table of globs"),
        ("[require]\n'a' = 5", ":2", "the requirement of 'a' is not a text"),
        ("[[require]]\n'a' = 5", "", "require is not a table of globs"),
    ],
)
def test_errors_name_the_line(tmp_path: Path, text: str, place: str, reason: str) -> None:
    file = settings(tmp_path, text)
    with pytest.raises(InputError) as raised:
        read_settings(str(file))
    assert raised.value.file == f"{file}{place}"
    assert raised.value.reason.startswith(reason)


def test_check_reports_all_errors(project: Path) -> None:
    settings(
        project,
        'mtu = 5\ntarget = "moon"\ndeadline = "soon"\nentry = 1\n[require]\n"a" = "fast"\n',
    )
    run = slowpath("config", "check", cwd=project)
    assert (run.returncode, run.stdout) == (3, "")
    lines = run.stderr.splitlines()
    assert [line.split(": ")[1] for line in lines] == [
        f"slowpath.toml:{n}" for n in (4, 1, 2, 3, 6)
    ]
    assert "unknown key 'entry'; did you mean 'entries'?" in lines[0]
    assert "mtu: 5 is not allowed; write 60 to 65535" in lines[1]
    assert "target: 'moon' is not a target" in lines[2]
    assert "deadline: 'soon' is not a time" in lines[3]


def test_check_of_a_named_file(project: Path) -> None:
    file = settings(project, "mtu = 200", "other.toml")
    run = slowpath("config", "check", file.name, cwd=project)
    assert (run.returncode, run.stdout) == (0, "other.toml: fine\n")
    run = slowpath("config", "check", cwd=project)
    assert run.returncode == 3
    assert "create slowpath.toml, or add [tool.slowpath] to pyproject.toml" in run.stderr
    run = slowpath("config", "check", "missing.toml", cwd=project)
    assert run.stderr == "error: missing.toml: no such file or folder\n"


def test_wrong_settings_stop_an_analysis(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings(project, "require = {}\nrequires = 1")
    run = slowpath("bound", "src/a.bpf.o", cwd=project)
    assert (run.returncode, run.stdout) == (3, "")
    assert run.stderr.startswith("error: slowpath.toml:2: unknown key 'requires'")
    (project / "slowpath.toml").unlink()
    monkeypatch.setenv("SLOWPATH_MTU", "much")
    run = slowpath("bound", "src/a.bpf.o", cwd=project)
    assert run.returncode == 2
    assert (
        "invalid value for 'SLOWPATH_MTU': 'much' is not a whole number; write 60 to 65535"
        in run.stderr
    )


# --- use -----------------------------------------------------------------------------------------


def test_every_key_is_an_option_of_each_command_that_uses_it() -> None:
    known = dict(commands())
    for command, keys in USED.items():
        options = known[command].options
        for key in keys:
            (option,) = (one for one in options if one.names[-1] == f"--{key}")
            assert option.settings.get("default") is None, f"{command} {key}"


def analysed(project: Path, *words: str | os.PathLike[str]) -> list[dict[str, Any]]:
    run = slowpath(*words, "--format", "json", cwd=project)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)["results"]  # type: ignore[no-any-return]


def test_commands_use_settings(project: Path) -> None:
    settings(project, 'target = ["ebpf", "agilio-cx-2x40"]\nmtu = 200\nentries = 7\njobs = 2\n')
    found = analysed(project, "bound", "src/a.bpf.o")
    assert [one["target"] for one in found] == ["ebpf", "agilio-cx-2x40"]
    found = analysed(project, "annotate", "src/a.bpf.o")
    assert [one["target"] for one in found] == ["ebpf", "agilio-cx-2x40"]
    (only,) = analysed(project, "bound", "src/a.bpf.o", "--target", "linux-xdp")
    assert (only["target"], only["estimate"]["cold"]["entries"]) == ("linux-xdp", "7")


def test_targets_of_objects_are_not_for_listings(project: Path) -> None:
    shutil.copy(LISTING, project / "src")
    settings(project, 'target = "linux-xdp"')
    (only,) = analysed(project, "bound", "src/two_protocols.asm")
    assert only["target"] == "agilio-cx-2x40"


def test_requirements_by_program(project: Path) -> None:
    settings(project, '[require]\n"count*" = "<=10 instructions"\n"*" = "5Mpps"\n')
    run = slowpath("bound", "src/a.bpf.o", "--target", "ebpf", cwd=project)
    assert run.returncode == 1
    assert (
        "src/a.bpf.o:count_min: at most 51 instructions guaranteed, at most 10 instructions"
        in run.stderr
    )
    assert "--require '<=10 instructions'" in run.stderr
    run = slowpath("bound", "src/a.bpf.o", "--require", "<=99 instructions", cwd=project)
    assert run.returncode == 0
    settings(project, '[require]\n"count*" = "<=99 memory-accesses"\n')
    (only,) = analysed(project, "bound", "src/a.bpf.o", "--target", "ebpf")
    assert only["metric"] == "memory-accesses"


def test_requirements_that_are_not_checked_are_named(project: Path) -> None:
    settings(project, '[require]\n"count*" = "10Gbit/s"\n')
    run = slowpath("bound", "src/a.bpf.o", "--target", "ebpf", cwd=project)
    assert run.returncode == 0
    note = "note: src/a.bpf.o:count_min: '10Gbit/s' of slowpath.toml:2 is not checked: "
    assert run.stderr.startswith(note)
    settings(project, '[require]\n"b*" = "5Mpps"\n"count*" = "<=9 memory-accesses"\n')
    words = ("--target", "ebpf", "--metric", "instructions")
    run = slowpath("bound", "src/a.bpf.o", *words, cwd=project)
    assert run.returncode == 0
    assert (
        "the requirement needs --metric memory-accesses, but this run has --metric instructions"
        in run.stderr
    )


def test_requirements_have_no_variable() -> None:
    assert variable(REQUIRE) is None  # `SLOWPATH_REQUIRE` is a variable of the tests


def test_the_cache_is_shown_and_cleared(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    words = ("config", "cache", "--cache-dir", folder)
    assert slowpath(*words).stdout == f"{folder}: 0 results, 0.0 MiB, at most 500 MiB\n"
    assert slowpath("bound", OBJECT, LISTING, "--cache-dir", folder).returncode == 0
    count, size = re.fullmatch(
        rf"{folder}: (\d+) results, (\d\.\d) MiB, at most 500 MiB\n", slowpath(*words).stdout
    ).groups()  # type: ignore[union-attr]
    assert int(count) >= 2
    (folder / "00").mkdir(exist_ok=True)
    other = folder / "00/other"
    other.write_text("not a result")
    cleared = slowpath(*words, "--clear")
    assert cleared.stdout == f"{folder}: {count} results, {size} MiB deleted\n"
    assert [file for file in folder.rglob("*") if file.is_file()] == [other]
    assert slowpath("config", "cache").stdout.startswith("no cache: $SLOWPATH_NO_CACHE is set")
