"""Tests that the documentation agrees with what the commands do."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from subprocess import CompletedProcess
from textwrap import dedent

import pytest

from slowpath.app import ROOT as ALL
from slowpath.bounds.report_csv import COLUMNS
from slowpath.core.command import Command, Group, load
from support import BLESS, ROOT, check_golden, slowpath, without_progress

CI_PAGE = ROOT / "docs/how-to/ci.md"


def _groups(member: Command | Group, words: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the words of each command and command group, such as `("chain", "facts")`."""
    yield words
    if isinstance(member, Group):
        if member.file_command is not None:
            yield (*words, "nf.c")
        for name, reference in member.commands.items():
            yield from _groups(load(reference), (*words, name))


def command_reference() -> str:
    """Return the content of `docs/reference/cli.md`: the complete help texts of all commands."""
    parts = ["# Command line\n\nThe help texts of all commands. `make bless` renews this page.\n"]
    for command in _groups(ALL):
        run = slowpath(*command, "--help-all")
        assert (run.returncode, run.stderr) == (0, "")
        parts.append(
            f"\n## `{' '.join(['slowpath', *command])}`\n\n```\n{run.stdout.strip()}\n```\n"
        )
    return "".join(parts)


def test_command_reference_is_current() -> None:
    check_golden(ROOT / "docs/reference/cli.md", command_reference())


def test_every_csv_column_is_documented_in_order() -> None:
    page = (ROOT / "docs/reference/json.md").read_text()
    section = page[page.index("## CSV") :]
    assert tuple(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)) == COLUMNS


def test_commands_in_the_readme_are_known() -> None:
    page = (ROOT / "README.md").read_text()
    used = set(re.findall(r"^slowpath (\w+)", page, re.MULTILINE))
    assert used
    assert used <= set(ALL.commands)


def test_commands_of_the_page_about_ci_work(tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    blocks = re.findall(r"^```sh\n(.*?)^```", CI_PAGE.read_text(), re.MULTILINE | re.DOTALL)
    commands = [line for block in blocks for line in block.splitlines()]
    assert len(commands) > 5
    for command in commands:
        run = shell(command, tmp_path, {})
        # A loader can set a variable of the filter, so that its guarantee has a condition.
        file = "examples/ddos_filter.bpf.o"
        met = "--require is met if active in .rodata has the value from the object"
        condition = f"note: {file}:ddos_filter: {met}"
        expected = [condition] if f"bound {file} --require" in command else []
        assert (run.returncode, without_progress(run.stderr).splitlines()) == (0, expected), command
    assert "### slowpath: 1 better" in (tmp_path / "comment.md").read_text()


EXCERPT = re.compile(r"^```sh\n(slowpath .*)\n```\n+```\n([^`]*)^```", re.MULTILINE)


def test_the_page_about_compiling_shows_real_output() -> None:
    shown = EXCERPT.findall((ROOT / "docs/how-to/compile.md").read_text())
    assert len(shown) == 3
    for command, excerpt in shown:
        assert_shows(command, excerpt)


@pytest.mark.parametrize(
    ("page", "number"),
    [("README.md", 2), ("docs/how-to/sweep.md", 1), ("docs/explanation/estimates.md", 1)],
)
def test_pages_show_real_output(page: str, number: int) -> None:
    text = (ROOT / page).read_text()
    shown = re.findall(r"^\$ (slowpath .*)\n([^`]*)^```", text, re.MULTILINE)
    assert len(shown) == number
    for command, excerpt in shown:
        if BLESS:
            text = text.replace(excerpt, beginning(command, len(excerpt.splitlines())))
            (ROOT / page).write_text(text)
        else:
            assert_shows(command, excerpt)


def beginning(command: str, lines: int) -> str:
    """Return the first lines of a command's output."""
    return "".join(slowpath(*command.split()[1:]).stdout.splitlines(keepends=True)[:lines])


def assert_shows(command: str, excerpt: str) -> None:
    run = slowpath(*command.split()[1:])
    assert (run.returncode, run.stderr) == (0, ""), command
    assert excerpt in run.stdout, command


def test_the_script_for_code_review_annotates_dearer_lines(tmp_path: Path) -> None:
    page = CI_PAGE.read_text()
    (script,) = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    (shown,) = re.findall(r"^```\n(::warning .*)\n```", page, re.MULTILINE)
    old, new = (ROOT / "examples" / name for name in (PLAIN, OPTIMISED))
    card = ("--target", "agilio-cx-2x40", "--format", "json", "-o", tmp_path / "diff.json")
    compared = slowpath("diff", old, new, *card)
    assert compared.returncode == 0, compared.stderr
    run = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    printed = run.stdout.splitlines()
    assert shown in printed
    assert all(re.fullmatch(r"::warning file=[^,]+,line=\d+::.+", line) for line in printed)


def workflow() -> tuple[dict[str, str], dict[str, str]]:
    """Return the variables of the workflow in `docs/how-to/ci.md`, and the script of each step."""
    (text,) = re.findall(r"^```yaml\n(.*?)^```", CI_PAGE.read_text(), re.MULTILINE | re.DOTALL)
    variables = dict(re.findall(r"^  ([A-Z_]+): (.+)$", text, re.MULTILINE))
    steps = re.findall(r"- name: (.+)\n(?: {8}if: .+\n)? {8}run: \|\n((?: {10}.+\n)+)", text)
    return variables, {name: dedent(script) for name, script in steps}


STEPS = ("Guarantees of the base branch", "Guarantees of this change", "Compare")


def run_workflow(folder: Path, old: str, new: str, **changes: str) -> list[int]:
    """Run the CI workflow for a change of an object; return the exit codes of its `STEPS`.

    `changes` are environment variables in place of those of the workflow.
    """
    variables, scripts = workflow()
    for place, file in (("base/xdp", old), ("xdp", new)):
        (folder / place).mkdir(parents=True)
        shutil.copy(ROOT / "examples" / file, folder / place / "program.bpf.o")
    summary = {"GITHUB_STEP_SUMMARY": str(folder / "summary.md")}
    runs = [shell(scripts[name], folder, variables | summary | changes) for name in STEPS]
    return [run.returncode for run in runs]


def shell(script: str, folder: Path, variables: dict[str, str]) -> CompletedProcess[str]:
    """Run a shell script as GitHub does, with the tested `slowpath` in PATH."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
    environment = os.environ | variables | {"PATH": path}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


PLAIN, OPTIMISED = "alaw2ulaw.bpf.o", "alaw2ulaw_opt.bpf.o"


def test_the_workflow_passes_a_change_that_makes_it_faster(tmp_path: Path) -> None:
    assert run_workflow(tmp_path, PLAIN, OPTIMISED, REQUIRE="5Gbit/s") == [0, 0, 0]
    assert "### slowpath: 1 better" in (tmp_path / "summary.md").read_text()


def test_the_workflow_stops_a_change_that_is_too_slow(tmp_path: Path) -> None:
    assert run_workflow(tmp_path, OPTIMISED, PLAIN, REQUIRE="5Gbit/s") == [0, 1, 1]
    summary = (tmp_path / "summary.md").read_text()
    assert "### slowpath: gate failed, 1 worse" in summary
    assert "lines whose cost rose" in summary
