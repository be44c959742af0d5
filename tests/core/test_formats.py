"""Tests that every value of `--format` has a function that prints it."""

from importlib import import_module

import pytest

from slowpath.core.command import load
from slowpath.core.formats import JSON, Formats, Reporter
from support import ROOT

PACKAGE = ROOT / "python"
MODULES = [
    ".".join(path.relative_to(PACKAGE).with_suffix("").parts) for path in PACKAGE.rglob("*cli.py")
]


def test_every_format_has_a_reporter() -> None:
    declared = [
        one
        for module in MODULES
        for one in vars(import_module(module)).values()
        if isinstance(one, Formats)
    ]
    assert len(declared) > 20
    for formats in declared:
        for name in formats.option().settings["choices"]:
            assert callable(load(formats.reporter(name).references[name]))


@pytest.mark.parametrize("file", [None, "report.json"])
def test_the_suffix_of_a_file_names_its_format(
    file: str | None, tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str]
) -> None:
    path = None if file is None else tmp_path_factory.mktemp("formats") / file
    reporter = Reporter("csv", {"csv": f"{__name__}:fields", "json": JSON})
    reporter.write_to(None if path is None else str(path), ["a", 1])
    written = capsys.readouterr().out if path is None else path.read_text()
    assert written == ("a\n1\n" if path is None else '["a", 1]\n')


def fields(report: list[object]) -> list[str]:
    """Format a report as one line per value; this is the reporter that tests use."""
    return [str(one) for one in report]
