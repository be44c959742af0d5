"""Tests that texts name only extras that exist, and no package index for slowpath.

An extra is an optional group of packages.
"""

import re
import tomllib

import pytest

from slowpath.core.extras import missing_package
from support import ROOT, commands

EXTRAS: dict[str, list[str]] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
    "optional-dependencies"
]
TEXTS = [
    *ROOT.glob("*.md"),
    *(ROOT / "docs").rglob("*.md"),
    *(ROOT / "examples").rglob("*.md"),
    *(ROOT / "python").rglob("*.py"),
]


def packages(extra: str) -> set[str]:
    """Return the names of all packages that an extra installs."""
    found = set[str]()
    for requirement in EXTRAS[extra]:
        name, others = re.findall(r"^([\w-]+)(?:\[([\w,]+)\])?", requirement)[0]
        found |= (
            {one for other in others.split(",") for one in packages(other)} if others else {name}
        )
    return found


def test_no_text_installs_from_an_index() -> None:
    """Check that no text tells users to install slowpath from a package index.

    No index has slowpath, and another package may have its name there.
    """
    wrong = re.compile(r"(?:pip|pipx|uv)\S* (?:tool )?install(?: -\S+)* ['\"]?slowpath\b(?! @)")
    assert wrong.search("pip install slowpath[models]")
    assert not [path for path in TEXTS if wrong.search(path.read_text())]


@pytest.mark.parametrize("extra", sorted(EXTRAS))
def test_the_page_has_each_extra(extra: str) -> None:
    page = (ROOT / "docs/how-to/install.md").read_text()
    assert f"\n| `{extra}` |" in page


def test_help_names_existing_extras() -> None:
    named = {
        extra
        for _, command in commands()
        for text in (*command.help, *(f"{one.summary} {one.more}" for one in command.options))
        for extra in re.findall(r"extra `(\w+)`", text)
    }
    assert named
    assert named <= EXTRAS.keys()


@pytest.mark.parametrize("command", ["slowpath fit", "slowpath contention train"])
@pytest.mark.parametrize(
    "module",
    [
        *("distributed", "llvmlite", "matplotlib", "numpy", "pandas", "pyarrow", "scipy"),
        *("sklearn", "yaml"),
    ],
)
def test_errors_name_an_extra_with_the_package(command: str, module: str) -> None:
    error = missing_package(f"{module}.part", command)
    assert error is not None
    found = re.fullmatch(
        r"([\w-]+) is not installed; run make extras in a checkout, "
        r"or pip install 'FILE\[(\w+)\]' with the wheel as FILE",
        error,
    )
    assert found is not None
    assert found[1] in packages(found[2])


def test_other_modules_belong_to_no_extra() -> None:
    assert missing_package("tomllib", "slowpath fit") is None
    assert missing_package(None, "slowpath fit") is None
