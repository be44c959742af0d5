"""Tests that comparisons with oracles are counted, and that a test that compares nothing fails.

An oracle is an independent source of expected results, such as the kernel.
"""

from pathlib import Path

import pytest

import oracles


@pytest.fixture
def reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SLOWPATH_ORACLES", str(tmp_path))
    monkeypatch.delenv("SLOWPATH_REQUIRE", raising=False)
    return tmp_path / "pytest.tsv"


def test_reports_are_lines(reports: Path) -> None:
    oracles.compared("clang", 3, "random\nprograms")
    with pytest.raises(pytest.skip.Exception):
        oracles.missing("kernel", "not\tas root")
    assert reports.read_text() == (
        "clang\tcompared\t3\trandom programs\nkernel\tmissing\tnot as root\n"
    )


@pytest.mark.usefixtures("reports")
def test_comparing_nothing_fails() -> None:
    with pytest.raises(AssertionError, match="clang: no programs were compared"):
        oracles.compared("clang", 0, "programs")


def test_missing_a_required_one_fails(reports: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLOWPATH_REQUIRE", "kernel, clang")
    with pytest.raises(pytest.fail.Exception, match="SLOWPATH_REQUIRE has clang"):
        oracles.missing("clang", "there is none")
    assert not reports.exists()
