"""The documentation agrees with the program."""

import re

from slowpath.report_csv import COLUMNS
from support import ROOT, check_golden, make_path, make_result, slowpath

COMMANDS: tuple[list[str], ...] = (
    [],
    ["bound"],
    ["show"],
    ["targets"],
    ["targets", "list"],
    ["targets", "show"],
    ["targets", "check"],
)


def command_reference() -> str:
    """`docs/cli.md`: the help texts of all commands."""
    parts = ["# Command line\n\nThe help texts of all commands. `make bless` renews this page.\n"]
    for command in COMMANDS:
        run = slowpath(*command, "--help")
        assert (run.returncode, run.stderr) == (0, "")
        parts.append(
            f"\n## `{' '.join(['slowpath', *command])}`\n\n```\n{run.stdout.strip()}\n```\n"
        )
    return "".join(parts)


def test_command_reference_is_current() -> None:
    check_golden(ROOT / "docs/cli.md", command_reference())


def test_every_key_of_a_result_is_documented() -> None:
    page = (ROOT / "docs/json.md").read_text()
    result, path = make_result(), make_path()
    keys = {*result, *result["stats"], *path, *path["witness"]} | set(result["guarantee"] or {})
    assert not {key for key in keys if f"`{key}`" not in page}


def test_every_csv_column_is_documented_in_order() -> None:
    page = (ROOT / "docs/json.md").read_text()
    section = page[page.index("## CSV") :]
    assert tuple(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)) == COLUMNS


def test_commands_in_the_readme_are_known() -> None:
    page = (ROOT / "README.md").read_text()
    used = set(re.findall(r"^slowpath (\w+)", page, re.MULTILINE))
    assert used
    assert used <= {command[0] for command in COMMANDS if command}


def test_local_links_lead_somewhere() -> None:
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    for page in pages:
        for link in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / link).exists(), f"{page.name}: {link}"
