"""Tests that the documentation agrees with the behaviour of the commands."""

import csv
import hashlib
import os
import re
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from subprocess import CompletedProcess
from textwrap import dedent

import pytest
import yaml

from code_registry import page
from review_formats import check_schema
from slowpath.app import ROOT as ALL
from slowpath.bounds.report import COLUMNS
from slowpath.core.command import Command, Group, load
from support import BLESS, ROOT, check_golden, slowpath, without_progress

CI_PAGE = ROOT / "docs/how-to/ci.md"


def _groups(member: Command | Group, words: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the words that select each command and group, such as `("chain", "facts")`."""
    yield words
    if isinstance(member, Group):
        if member.file_command is not None:
            yield (*words, "nf.c")
        for name, reference in member.commands.items():
            yield from _groups(load(reference), (*words, name))


def command_reference() -> str:
    """Generate the content of `docs/reference/cli.md`: the complete help texts of all commands."""
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


def test_the_page_of_codes_is_current() -> None:
    check_golden(ROOT / "docs/reference/codes.md", page())


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
        # A loader can set a variable of the filter, so the guarantee has a condition.
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
    """Return the first `lines` lines of a command's output."""
    return "".join(slowpath(*command.split()[1:]).stdout.splitlines(keepends=True)[:lines])


def assert_shows(command: str, excerpt: str) -> None:
    run = slowpath(*command.split()[1:])
    assert (run.returncode, run.stderr) == (0, ""), command
    assert excerpt in run.stdout, command


def yaml_blocks(page: Path) -> list[str]:
    """Return the YAML blocks of a documentation page."""
    found = re.findall(r"^```yaml\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)
    return [dedent(block) for block in found]


def test_files_for_hosts_on_the_page_about_ci_fit_action_job_and_hooks() -> None:
    workflow, _steps, job, hooks = map(yaml.safe_load, yaml_blocks(CI_PAGE))
    # The schema is of 2022 and knows older machines only. YAML 1.1 reads the key `on` as true.
    workflow["jobs"]["guarantees"]["runs-on"] = "ubuntu-22.04"
    check_schema(
        {("on" if key is True else key): value for key, value in workflow.items()},
        "GitHub Workflow",
    )
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    (used,) = [
        one for one in workflow["jobs"]["guarantees"]["steps"] if "slowpath" in one.get("uses", "")
    ]
    assert set(used["with"]) <= set(action["inputs"])
    text = CI_PAGE.read_text()
    for name in (*action["inputs"], *action["outputs"]):
        assert f"`{name}`" in text, name
    template = yaml.safe_load((ROOT / "release/slowpath.gitlab-ci.yml").read_text())
    assert set(job["throughput"]["variables"]) <= set(template[".slowpath"]["variables"])
    check_schema(hooks, ".pre-commit-config.yml")
    known = {one["id"] for one in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())}
    assert {one["id"] for one in hooks["repos"][0]["hooks"]} == known


def test_the_page_about_ci_shows_real_annotations() -> None:
    (shown,) = re.findall(r"^```\n(::warning .*)…\n```", CI_PAGE.read_text(), re.MULTILINE)
    words = ("examples/alaw2ulaw_opt.bpf.o", "examples/alaw2ulaw.bpf.o", "--target")
    printed = slowpath("diff", *words, "agilio-cx-2x40", "--format", "github").stdout
    assert any(line.startswith(shown) for line in printed.splitlines())


def shell(script: str, folder: Path, variables: dict[str, str]) -> CompletedProcess[str]:
    """Run a shell script as GitHub does, with the slowpath under test in PATH."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
    environment = os.environ | variables | {"PATH": path}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def test_the_errors_for_p4_programs_are_those_of_the_measured_paths() -> None:
    data = ROOT / "docs/figures/estimates/p4.csv"
    page = (ROOT / "docs/explanation/estimates-accuracy.md").read_text()
    assert hashlib.sha256(data.read_bytes()).hexdigest() in page
    with data.open(newline="") as stream:
        rows = [{**row} for row in csv.DictReader(stream)]
    rows = [
        row
        for row in rows
        if float(row["program_ns"]) >= 10
        and float(row["half_width_ns"]) <= 0.05 * float(row["measured_ns"])
    ]
    programs = len({row["program"] for row in rows})
    assert f"{len(rows)} paths of {programs} programs" in page
    for target in ("linux-xdp-golden-cove", "quick", "full"):
        errors, inside = list[float](), 0
        for row in rows:
            time = float(row["measured_ns"])
            errors.append(abs(float(row[f"{target}_ns"]) / time - 1))
            inside += float(row[f"{target}_low_ns"]) <= time <= float(row[f"{target}_high_ns"])
        cells = (statistics.mean(errors), statistics.median(errors))
        text = " | ".join(f"{100 * cell:.1f} %" for cell in cells)
        (line,) = (
            one
            for one in page.splitlines()
            if one.startswith((f"| {target} calibration |", f"| `{target}`,")) and text in one
        )
        assert line.endswith(f"| {100 * inside / len(rows):.1f} % |")
