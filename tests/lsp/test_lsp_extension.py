"""Tests that the extension for Visual Studio Code agrees with the commands and the project."""

import json
import shlex
import shutil
import subprocess
import tomllib
from argparse import Namespace
from typing import Any

import pytest

from slowpath.core.parser import Parser, read
from slowpath.lsp.cli import LSP
from support import ROOT

FOLDER = ROOT / "editors/vscode"


def manifest() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((FOLDER / "package.json").read_text())
    return found


def test_version_and_licence_are_those_of_the_project() -> None:
    workspace = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert manifest()["version"] == workspace["version"]
    assert manifest()["license"] == project["license"]


def test_the_page_has_every_setting_and_its_options_are_valid() -> None:
    page = (ROOT / "docs/how-to/editor.md").read_text()
    settings = manifest()["contributes"]["configuration"]["properties"]
    assert settings
    for name, setting in settings.items():
        assert f"| `{name}` |" in page
        assert name.removeprefix("slowpath.") in (FOLDER / "extension.js").read_text()
        assert setting["description"].endswith(".")
    for words in ("--target agilio-cx-2x40", "--on-save"):
        assert words in settings["slowpath.arguments"]["description"]
        assert isinstance(read(Parser("slowpath lsp", LSP), shlex.split(words)), Namespace)


def test_the_source_is_valid() -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("Node.js is not installed")
    run = subprocess.run(
        [node, "--check", FOLDER / "extension.js"], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
