"""Tests completion scripts in the shells that are installed, and manual pages."""

import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from slowpath.shell.completion import Kind, places
from slowpath.shell.run import manual_pages
from support import ROOT, commands, slowpath

SHELLS = ("bash", "zsh", "fish")
OBJECT = "examples/ddos_filter.bpf.o"
Complete = Callable[[str], list[str]]


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the completion scripts of all shells, and the slowpath under test."""
    folder = tmp_path_factory.mktemp("scripts")
    for shell in SHELLS:
        (folder / shell).write_text(slowpath("completion", shell).stdout)
    program = folder / "slowpath"
    package = ROOT / "python"
    program.write_text(f'#!/bin/sh\nPYTHONPATH={package} exec {sys.executable} -m slowpath "$@"\n')
    program.chmod(0o755)
    return folder


BASH = """
source {script}
COMP_WORDS=({words}) COMP_CWORD={last}
_slowpath
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
ZSH = """
compadd() {{ while [[ $1 != -- ]]; do shift; done; shift; print -l -- $@ }}
_describe() {{ [[ $1 == -o ]] && shift; print -l -- ${{${{(P)2}}%%:*}} }}
_files() {{ print -l -- FILES }}
compset() {{ PREFIX=${{PREFIX#*=}} }}
compdef() {{ : }}
source {script}
words=({words}) CURRENT={last}+1 PREFIX=${{words[-1]}}
_slowpath
"""
FISH = "source {script}; complete -C {line}"


@pytest.fixture(params=SHELLS)
def complete(request: pytest.FixtureRequest, scripts: Path) -> Complete:
    """Return a function that completes a command line in a shell; it returns the offered words."""
    shell = str(request.param)
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed")
    template = {"bash": BASH, "zsh": ZSH, "fish": FISH}[shell]
    options = {"bash": ["--norc"], "zsh": ["-f"], "fish": ["--no-config"]}[shell]

    def run(line: str) -> list[str]:
        words = line.split()
        if line.endswith(" "):
            words.append("")
        words[0] = str(scripts / "slowpath") if shell != "fish" else words[0]
        script = template.format(
            script=scripts / shell,
            words=shlex.join(words),
            last=len(words) - 1,
            line=shlex.quote(line),
        )
        done = subprocess.run(
            [program, *options, "-c", script],
            cwd=ROOT,
            env={"PATH": f"{scripts}:/usr/bin:/bin", "HOME": str(scripts), "LC_ALL": "C.UTF-8"},
            stdin=subprocess.DEVNULL,
            start_new_session=True,  # a shell may take a terminal and stop the tests
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.stderr == ""
        found = [text.split("\t")[0] for text in done.stdout.splitlines()]
        current = words[-1].rpartition("=")[2]
        return [word for word in found if word.rpartition("=")[2].startswith(current) and word]

    return run


def test_commands_are_completed(complete: Complete) -> None:
    assert complete("slowpath bo") == ["bound"]
    assert {"bound", "diff", "demo"} <= {*complete("slowpath ")}
    assert "complete" not in complete("slowpath ")
    assert complete("slowpath chain fa") == ["facts"]


def test_options_are_completed(complete: Complete) -> None:
    assert complete("slowpath bound --form") == ["--format"]
    assert complete("slowpath chain plan --cache-d") == ["--cache-dir"]
    assert "--accept-assumptions" in complete("slowpath bound --")
    assert complete("slowpath insights nf.c --besi") == ["--beside"]


def test_choices_are_completed(complete: Complete) -> None:
    formats = {"table", "json", "csv", "markdown", "sarif", "github", "junit"}
    assert {*complete("slowpath bound --format ")} == formats
    assert complete("slowpath bound x.bpf.o --color al") == ["always"]


def test_programs_and_sections_of_the_object_are_completed(complete: Complete) -> None:
    assert complete(f"slowpath bound {OBJECT} -n dd") == ["ddos_filter"]
    assert complete(f"slowpath show {OBJECT} --section x") == ["xdp"]
    assert complete("slowpath bound no-such-file.o -n ") == []


def test_files_are_completed(complete: Complete, request: pytest.FixtureRequest) -> None:
    shell = request.node.callspec.params["complete"]
    found = complete("slowpath bound READ")
    if shell == "zsh":  # its function _files is replaced here
        found = complete("slowpath bound ")
        assert found == ["FILES"]
    else:
        assert found == ["README.md"]


def test_bash_splits_words_at_the_sign(scripts: Path) -> None:
    script = BASH.format(script=scripts / "bash", words="slowpath bound --format = js", last=4)
    done = subprocess.run(
        ["/bin/bash", "--norc", "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout == "json\n"


def test_all_commands_and_options_can_be_completed() -> None:
    found = {place.path.removeprefix("slowpath").strip(): place for place in places()}
    for path, command in commands():
        place = found.get(path) or found[f"{path} FILE"]
        if place.commands:
            place = found[f"{path} FILE"]
        names = {name for word in place.options for name in word.names}
        own = {name for entry in command.options for name in entry.names if name.startswith("-")}
        assert own <= names, path
    kinds = {word.kind for place in found.values() for word in place.options}
    assert kinds == {*Kind}


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (["programs", OBJECT], ["ddos_filter"]),
        (["sections", OBJECT], ["xdp"]),
        (["programs", "examples/two_protocols.asm", "README.md", "missing", "examples"], []),
        (["programs", "--", "-n", OBJECT], ["ddos_filter"]),
    ],
)
def test_names_of_objects(words: list[str], names: list[str]) -> None:
    run = slowpath("complete", *words)
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout.splitlines() == names


def test_unknown_shells_are_named() -> None:
    run = slowpath("completion", "fsh")
    assert run.returncode == 2
    assert run.stderr.startswith("error: SHELL: no shell 'fsh'; did you mean 'fish'?\n")


# --- manual pages ---------------------------------------------------------------------------------


def test_every_command_has_a_page(tmp_path: Path) -> None:
    folder = tmp_path / "man1"
    run = slowpath("man", folder)
    assert (run.returncode, run.stderr) == (0, "")
    written = {path.name for path in folder.iterdir()}
    assert written == {*manual_pages()}
    assert {"slowpath.1", "slowpath-bound.1", "slowpath-insights-file.1"} <= written
    assert len(written) >= len(list(commands()))


def test_without_a_folder_the_first_page_is_printed() -> None:
    assert slowpath("man").stdout.splitlines() == manual_pages()["slowpath.1"]


WITHOUT_ENGINE = """
import runpy, sys
sys.modules["slowpath._core"] = None
del sys.argv[0]
runpy.run_path(sys.argv[0], run_name="__main__")
"""
"""Runs a script where the engine cannot be imported; with `-S`, other packages cannot, either."""


def test_packages_get_their_pages_before_the_engine_is_built(tmp_path: Path) -> None:
    script = ROOT / "release" / "shared_files.py"
    run = subprocess.run(
        [sys.executable, "-S", "-c", WITHOUT_ENGINE, script, tmp_path],
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": str(ROOT / "python")},
    )
    assert (run.returncode, run.stderr) == (0, "")
    written = {path.name for path in (tmp_path / "man/man1").iterdir()}
    assert {f"{name}.gz" for name in manual_pages()} == written


@pytest.mark.parametrize("name", ["slowpath.1", "slowpath-bound.1", "slowpath-fit.1"])
def test_pages_are_formatted_without_warnings(name: str) -> None:
    program = shutil.which("groff")
    if program is None:
        pytest.skip("groff is not installed")
    page = "\n".join(manual_pages()[name])
    done = subprocess.run(
        [program, "-man", "-Tascii", "-P-cbou", "-ww"],
        input=page,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    assert "EXAMPLES" in done.stdout
