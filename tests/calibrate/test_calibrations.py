"""Tests saved calibrations: the default of this machine, warnings, and `slowpath show`."""

import io
import json
import re
from pathlib import Path

import pytest

from slowpath.bounds.default_target import calibration, keep_calibration
from slowpath.calibrate import run
from slowpath.calibrate.derivation import Derived
from slowpath.calibrate.description import Quality, quality
from slowpath.calibrate.experiments.documents import IMPRECISE
from slowpath.calibrate.run import StageLine
from slowpath.core import terminal
from slowpath.core.engine.targets import described_target, target_text
from slowpath.core.schema.validation import check_shape, schema
from support import GOLDEN, check_golden, slowpath

OBJECT = "examples/firewall.bpf.o"
GOOD = Quality(134, 120, 160, 0.04, "clang 16")
BAD = GOOD._replace(check_error=0.36)


def text_of(found: Quality, machine: str = "a machine at 2 GHz, Linux 6.18") -> str:
    """Return a target description of the given calibration quality and machine.

    It is the built-in target `linux-xdp` with other intervals, too.
    """
    text = target_text("linux-xdp") or ""
    text = re.sub(r"(?m)^low = .*$", "low = 0.92", re.sub(r"(?m)^high = .*$", "high = 1.14", text))
    known = next(line for line in text.splitlines() if line.startswith("machine = "))
    text = text.replace(known, f'machine = "{machine}"')
    text, count = re.subn(r"(?m)^\[timing\.calibration\]\n(?:\w.*\n)+\n?", found.text(), text)
    assert count == 1
    return text


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (GOOD, None),
        (GOOD._replace(check_error=0.10), None),
        (GOOD._replace(check_error=0.101), "half of the check programs are off by more than 10.1%"),
        (BAD, "off by more than 36.0%; the limit is 10%"),
        (GOOD._replace(precise=67, check_error=0.08), None),
        (
            GOOD._replace(precise=66, check_error=0.08),
            "68 of 134 experiments did not reach their precision",
        ),
        (GOOD._replace(precise=1, check_error=0.05), None),
        (GOOD._replace(checks=19), "only 19 check programs were measured; at least 20 are needed"),
    ],
)
def test_doubts(found: Quality, words: str | None) -> None:
    doubt = found.doubt
    assert (doubt is None) == (words is None)
    if words is not None:
        assert doubt is not None
        assert words in doubt
    assert described_target("x.toml", text_of(found)).doubt == doubt


def test_what_a_calibration_is_judged_by() -> None:
    notes = [[IMPRECISE], ["another"], ["another", IMPRECISE], []]
    found = quality(notes, ["clang 16"] * 4, [0.1, -0.3, 0.2])
    assert found == Quality(4, 2, 3, 0.2, "clang 16")
    assert quality(notes, ["clang 16", None, "clang 16", "clang 16"], []).compiler is None


def test_a_record_of_a_calibration_is_checked() -> None:
    for wrong, words in (
        (GOOD._replace(precise=135), "`precise` is at most `experiments`"),
        (GOOD._replace(checks=-1), "timing.calibration.checks"),
    ):
        problems = described_target("x.toml", text_of(wrong)).problems()
        assert any(words in one for one in problems), problems


def kept(found: Quality) -> list[str]:
    """Save a calibration; return the warnings about its quality, none if the quality suffices."""
    return [*run._keep(Derived(text_of(found), "run/linux-xdp.toml", 900, 0.02, found))]


def test_only_a_good_calibration_becomes_the_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    (text,) = kept(BAD)
    assert "not become the default target linux-xdp (there is no previous default)" in text
    assert "off by more than 36.0%" in text
    assert "--target run/linux-xdp.toml" in text
    assert calibration() is None
    assert kept(GOOD) == []
    assert calibration() == text_of(GOOD)
    (text,) = kept(BAD)
    assert "the previous default stays" in text
    assert calibration() == text_of(GOOD)


def test_every_estimate_by_a_doubtful_calibration_says_so(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.toml", tmp_path / "bad.toml"
    good.write_text(text_of(GOOD))
    bad.write_text(text_of(BAD))
    words = (
        "the calibration is doubtful: the predicted times of half of the check programs are off by "
        "more than 36.0%"
    )
    for command in (
        ("bound", OBJECT),
        ("bound", OBJECT, OBJECT),
        ("bound", OBJECT, "--require", "1Mpps"),
        ("annotate", OBJECT),
    ):
        text = slowpath(*command, "--target", str(bad))
        assert words in " ".join((text.stdout + text.stderr).split()), command
        text = slowpath(*command, "--target", str(good))
        assert "doubtful" not in text.stdout + text.stderr
    for file, doubt in ((good, None), (bad, BAD.doubt)):
        out = slowpath("bound", OBJECT, "--format", "json", "--target", str(file)).stdout
        assert json.loads(out)["results"][0]["estimate"]["doubt"] == doubt


# --- show -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "found"), [("good", GOOD), ("doubtful", BAD)])
def test_a_calibration_is_shown(
    name: str, found: Quality, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    text = text_of(found)
    if found.doubt is not None:
        text = text.replace("low = 0.9", "low = 0.6").replace("high = 1.1", "high = 1.9")
    Path("linux-xdp.toml").write_text(text)
    if found.doubt is None:
        keep_calibration(text)
    shown = slowpath("show", "linux-xdp.toml", cwd=tmp_path)
    assert (shown.returncode, shown.stderr) == (0, "")
    check_golden(GOLDEN / f"calibrations/{name}.txt", shown.stdout)
    document = json.loads(
        slowpath("show", "linux-xdp.toml", "--format", "json", cwd=tmp_path).stdout
    )
    shape = schema("calibration")
    check_shape(document, shape, shape["$defs"], "document")
    check_golden(GOLDEN / f"calibrations/{name}.json", json.dumps(document, indent=1) + "\n")


def test_the_shipped_calibration_is_used_until_a_machine_has_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Check that the shipped calibration is the default until this machine has its own.

    `show` must also state the quality of the shipped calibration.
    """
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    shown = slowpath("show", "targets/linux-xdp-zen4.toml")
    assert shown.returncode == 0
    assert "recorded" not in shown.stdout
    assert re.search(r"(?m)^measured +[\d-]+, compiled by .*clang version [\d.]+", shown.stdout)
    assert re.search(r"(?m)^precision +\d+ of \d+ experiments met the requested ", shown.stdout)
    assert re.search(r"(?m)^checks +half of \d+ check programs within \d\.\d%$", shown.stdout)
    assert "doubt" not in shown.stdout
    assert "default      yes" in shown.stdout
    keep_calibration(text_of(GOOD))
    shown = slowpath("show", "targets/linux-xdp-zen4.toml")
    assert "default      no: " in shown.stdout


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (
            ["targets/ebpf.toml"],
            3,
            "describes a target without the table [timing], so it does not estimate times",
        ),
        (["no.toml"], 3, "no such file"),
        (["pyproject.toml"], 3, "pyproject.toml"),
        (["targets/linux-xdp-zen4.toml", OBJECT], 2, "name targets and objects in separate calls"),
    ],
)
def test_other_files_are_no_calibrations(words: list[str], code: int, message: str) -> None:
    shown = slowpath("show", *words)
    assert shown.returncode == code
    assert message in shown.stderr


# --- progress -------------------------------------------------------------------------------------


class _Clock:
    now = 100.0

    def monotonic(self) -> float:
        return self.now


def test_stages_say_how_long_they_take(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = _Clock()
    monkeypatch.setattr("slowpath.calibrate.run.time", clock)
    with StageLine("fitting") as line:
        assert capsys.readouterr().err == "fitting\n"  # at the start
        clock.now += 10
        line.show(0.1)
        assert capsys.readouterr().err == ""
        clock.now += 20
        line.show(0.25)
        assert capsys.readouterr().err == "fitting: 25%; about 2 min left\n"
        clock.now += 30
        line.show(1.0, "the last")
        assert capsys.readouterr().err == "fitting: 100%, the last\n"


def test_stages_draw_a_line_on_terminals(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    stream = Terminal()
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setattr(terminal, "is_terminal", lambda _: True)
    with StageLine("fitting") as line:
        assert "fitting" in stream.getvalue()
        line.show(0.5)
    assert "fitting: 50%" in stream.getvalue()
