"""Tests the GitHub Action, the GitLab template and the pre-commit hooks in a repository.

The steps of `action.yml` run as GitHub's runner runs them. One test installs the package, the
others use the slowpath of this environment.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from compiler import needs_clang
from review_formats import check_junit, check_sarif, check_schema, place_of, read_github
from slowpath import __version__
from support import ROOT

ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
TEMPLATE = yaml.safe_load((ROOT / "release/slowpath.gitlab-ci.yml").read_text())
HOOKS = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
SOURCE = "xdp/count_min.bpf.c"
OBJECT = "xdp/count_min.bpf.o"
BEFORE = "hash = (hash ^ word) * 0x9e3779b1;"
AFTER = "hash = ((hash ^ word) * 0x9e3779b1) % 65521 + hash / 7;"


class Run(NamedTuple):
    """Results of the action's run: exit code, standard output, summary, folder of results."""

    code: int
    output: str
    summary: str
    results: Path

    def annotations(self) -> list[dict[str, str]]:
        """Return the GitHub workflow commands in the output, such as errors at source lines."""
        lines = [line for line in self.output.splitlines() if line.startswith("::")]
        return read_github("\n".join(lines))


def shell(script: str, folder: Path, variables: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a script in bash with the options that GitHub's runner uses."""
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", script],  # noqa: S607
        cwd=folder,
        env=os.environ | variables,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def run_action(folder: Path, **inputs: str) -> Run:
    """Run the steps of the action in a repository.

    `inputs` are those of the action, such as `fail_on` for `fail-on`. Without `package`, the
    slowpath of this environment runs.
    """
    private = folder.parent / "private"
    private.mkdir(exist_ok=True)
    known = {name: one.get("default", "") for name, one in ACTION["inputs"].items()}
    known |= {name.replace("_", "-"): text for name, text in inputs.items()}
    if not known["package"]:
        known |= {"command": command_file(private)}
    context = {f"inputs.{name}": text for name, text in known.items()}
    context |= {"runner.temp": str(private), "github.action_path": str(ROOT)}
    context |= {"github.server_url": "https://example.org", "github.action_ref": "v1"}
    context |= {"github.action_repository": "owner/slowpath"}
    summary = private / "summary.md"
    summary.write_text("")
    printed, code = "", 0
    for step in ACTION["runs"]["steps"]:
        if step.get("if") == "inputs.baseline != ''" and not known["baseline"]:
            continue
        outputs = private / "outputs"
        outputs.write_text("")
        variables = {name: substituted(text, context) for name, text in step["env"].items()}
        files = {"GITHUB_OUTPUT": str(outputs), "GITHUB_STEP_SUMMARY": str(summary)}
        assert step["shell"] == "bash"
        assert "${{" not in step["run"], "inputs in scripts could be code"
        run = shell(step["run"], folder, variables | files)
        printed += run.stdout
        for line in outputs.read_text().splitlines():
            name, _, value = line.partition("=")
            context[f"steps.{step['id']}.outputs.{name}"] = value
        if run.returncode:
            code = run.returncode
            break
    return Run(code, printed, summary.read_text(), folder / known["output"])


def substituted(text: str, context: dict[str, str]) -> str:
    """Replace expressions such as `${{ inputs.x }}` by their values in `context`.

    Unknown outputs of steps are empty, as in GitHub.
    """

    def value(match: re.Match[str]) -> str:
        name = match[1]
        return context.get(name, "") if name.startswith("steps.") else context[name]

    return re.sub(r"\$\{\{ ([\w.-]+) \}\}", value, text)


def command_file(folder: Path) -> str:
    """Write a script that runs the slowpath of this environment, and return its path."""
    file = folder / "slowpath"
    file.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m slowpath "$@"\n')
    file.chmod(0o755)
    return str(file)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Create a repository with a program, its object, and saved results about the object."""
    folder = tmp_path / "repository"
    (folder / "xdp").mkdir(parents=True)
    for name in ("count_min.bpf.c", "ethernet.h", "flow.h"):
        shutil.copy(ROOT / "examples" / name, folder / "xdp")
    (folder / ".gitignore").write_text("slowpath-results/\n")
    build(folder)
    git = "git -c user.name=a -c user.email=a@example.org"
    slowpath = f"{shlex.quote(sys.executable)} -m slowpath"
    script = (
        f"git init -q . && {slowpath} bound {OBJECT} --target ebpf --format json -o baseline.json"
        f" && git add . && {git} commit -q -m base"
    )
    run = shell(script, folder, {})
    assert run.returncode == 0, run.stderr
    return folder


def build(folder: Path) -> None:
    """Compile the program of the repository, like a build in its top folder."""
    types = f"/usr/include/{os.uname().machine}-linux-gnu"
    options = ["-O2", "-g", "-target", "bpf", "-fno-unroll-loops", "-idirafter", types]
    command = [*needs_clang(), *options, "-DHASHES=4"]
    subprocess.run([*command, "-c", SOURCE, "-o", OBJECT], cwd=folder, check=True)


def make_dearer(folder: Path) -> int:
    """Make a source line of the program cost more, and move it down; return its new number."""
    file = folder / SOURCE
    text = file.read_text()
    assert text.count(BEFORE) == 1
    text = "/* A remark\n * of two lines. */\n" + text.replace(BEFORE, AFTER)
    file.write_text(text)
    build(folder)
    return next(at for at, line in enumerate(text.splitlines(), 1) if AFTER in line)


def test_a_dearer_line_is_annotated(repository: Path) -> None:
    line = make_dearer(repository)
    options = {"baseline": "baseline.json", "fail_on": "instructions_pct > 2\nverdict_b = bound\n"}
    run = run_action(repository, paths=OBJECT, target="ebpf", **options)
    assert run.code == 1
    errors = [one for one in run.annotations() if one["level"] == "error"]
    assert [(one["file"], one["line"]) for one in errors] == [(SOURCE, str(line))]
    assert "--fail-on 'instructions_pct > 2' forbids this" in errors[0]["message"]
    log = check_sarif((run.results / "diff.sarif").read_text())
    (failed,) = [one for one in log["results"] if one["level"] == "error"]
    assert place_of(failed["locations"][0]) == f"{SOURCE}:{line}"
    helped = [rule["helpUri"] for rule in log["tool"]["driver"]["rules"]]
    assert helped[0].startswith("https://example.org/owner/slowpath/blob/v1/docs/")
    (case,) = check_junit((run.results / "diff.xml").read_text())
    assert case[0].tag == "failure"
    assert "### slowpath bound: 1 program\n" in run.summary
    assert "### slowpath: gate failed, 1 worse\n" in run.summary
    # The command in the message reproduces the failure.
    again = errors[0]["message"].rpartition("Reproduce: slowpath ")[2]
    repeated = shell(f"{shlex.quote(sys.executable)} -m slowpath {again}", repository, {})
    assert repeated.returncode == 1, repeated.stderr


def test_the_package_is_installed_and_used(
    repository: Path, wheel: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTHONPATH", raising=False)
    run = run_action(repository, paths=OBJECT, target="ebpf", package=str(wheel))
    assert (run.code, {one["level"] for one in run.annotations()}) == (0, {"notice"})
    assert run.output.startswith(f"slowpath {__version__}")
    (package,) = (repository.parent / "private").glob("slowpath/lib/*/site-packages/slowpath")
    assert (package / "_core.abi3.so").is_file()


def test_a_program_without_change_passes(repository: Path) -> None:
    gate = {"baseline": "baseline.json", "fail_on": "instructions_pct > 0"}
    run = run_action(repository, paths="xdp/*.o", target="ebpf", **gate)
    assert (run.code, {one["level"] for one in run.annotations()}) == (0, {"notice"})
    assert json.loads((run.results / "results.json").read_text())["results"][0]["error"] is None
    assert check_sarif((run.results / "bound.sarif").read_text())["results"]


def test_a_missed_requirement_is_annotated(repository: Path) -> None:
    words = {"require": "<=10 instructions", "args": "--mtu 1500\n-n 'count_*'"}
    run = run_action(repository, paths=f"{OBJECT}\n", target="ebpf", **words)
    assert run.code == 1
    (error,) = [one for one in run.annotations() if one["level"] == "error"]
    assert error["file"].startswith("xdp/")
    assert error["title"].startswith("slowpath SP1302: Requirement not met: count_min")
    assert not (run.results / "diff.sarif").exists()


def test_a_folder_of_the_base_branch_can_be_the_baseline(repository: Path) -> None:
    shell("git worktree add -q --detach base HEAD", repository, {})
    line = make_dearer(repository)
    gate = {"baseline": "base/xdp", "fail_on": "instructions_pct > 2", "args": "-s xdp"}
    run = run_action(repository, paths=OBJECT, target="ebpf", **gate)
    # The folder contains the source, too, but results are only about the object.
    assert run.code == 1
    errors = [one for one in run.annotations() if one["level"] == "error"]
    assert (SOURCE, str(line)) in [(one["file"], one.get("line")) for one in errors]


@pytest.mark.parametrize(
    ("inputs", "code"),
    [
        ({"paths": "xdp/none.bpf.o"}, 3),
        ({"paths": OBJECT, "args": "--none"}, 2),
        ({"paths": OBJECT, "args": "--mtu '1500"}, 1),  # a quote without its partner
        ({"paths": OBJECT, "baseline": "none.json"}, 3),
    ],
)
def test_wrong_inputs_fail(repository: Path, inputs: dict[str, str], code: int) -> None:
    assert run_action(repository, target="ebpf", **inputs).code == code


def test_results_of_an_earlier_run_are_no_results_of_this_one(repository: Path) -> None:
    assert run_action(repository, paths=OBJECT, target="ebpf").code == 0
    again = {"target": "ebpf", "baseline": "slowpath-results/results.json"}
    refused = run_action(repository, paths=OBJECT, **again)
    assert refused.code == 2
    assert "would be overwritten" in refused.output
    assert (refused.results / "results.json").exists()
    assert run_action(repository, paths="xdp/none.bpf.o", args="--none").code == 2
    assert not (refused.results / "results.json").exists()


def test_files_for_hosts_fit_their_schemas() -> None:
    check_schema(ACTION, "GitHub Action")
    check_schema(HOOKS, ".pre-commit-hooks.yml")
    check_schema({**TEMPLATE, "check": {"extends": ".slowpath"}}, "gitlab-ci")


def test_the_action_never_uses_the_network_but_to_install() -> None:
    steps: list[dict[str, Any]] = ACTION["runs"]["steps"]
    assert all("uses" not in step for step in steps)
    assert not any(re.search(r"\b(curl|wget|gh)\b", step["run"]) for step in steps)
    assert ["pip" in step["run"] for step in steps] == [True, False, False, False]


def run_template(folder: Path, **changes: str) -> subprocess.CompletedProcess[str]:
    """Run the script of the GitLab job in sh, because some images have no bash."""
    job = TEMPLATE[".slowpath"]
    command = command_file(folder.parent)
    variables = job["variables"] | {"SLOWPATH_COMMAND": command, **changes}
    return subprocess.run(
        ["sh", "-e", "-c", "\n".join(job["script"])],  # noqa: S607
        cwd=folder,
        env=os.environ | variables,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_the_job_of_gitlab_reports_a_dearer_program(repository: Path) -> None:
    words = {"SLOWPATH_PATHS": OBJECT, "SLOWPATH_TARGET": "ebpf"}
    gate = {"SLOWPATH_BASELINE": "baseline.json", "SLOWPATH_FAIL_ON": "instructions_pct > 2"}
    assert run_template(repository, **words, **gate).returncode == 0
    make_dearer(repository)
    run = run_template(repository, **words, **gate)
    assert run.returncode == 1, run.stderr
    for name, kind in (("bound", "system-out"), ("diff", "failure")):
        (case,) = check_junit((repository / f"slowpath-results/{name}.xml").read_text())
        assert case[0].tag == kind


def run_hook(name: str, folder: Path, args: list[str], files: list[str]) -> int:
    """Run a hook on files as pre-commit does, and return its exit code."""
    (hook,) = [one for one in HOOKS if one["id"] == name]
    chosen = [file for file in files if re.search(hook["files"], file)]
    assert chosen
    names = chosen if hook.get("pass_filenames", True) else []
    command = shlex.split(hook["entry"])
    assert command[0] == "slowpath"
    run = subprocess.run(
        [sys.executable, "-m", *command, *args, *names],
        cwd=folder,
        capture_output=True,
        timeout=300,
        check=False,
    )
    return run.returncode


def test_hooks_stop_a_dearer_program(repository: Path) -> None:
    files = [OBJECT, "README.md"]
    saved = json.loads((repository / "baseline.json").read_text())["results"][0]
    most = saved["guarantee"]["counts"]["instructions"]
    limit = ["--target", "ebpf", "--require", f"<={most} instructions"]
    compare = ["baseline.json", OBJECT, "--fail-on", "instructions_pct > 2"]
    assert run_hook("slowpath-bound", repository, limit, files) == 0
    assert run_hook("slowpath-diff", repository, compare, files) == 0
    make_dearer(repository)
    assert run_hook("slowpath-bound", repository, limit, files) == 1
    assert run_hook("slowpath-diff", repository, compare, files) == 1
