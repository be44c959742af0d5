"""Tests output on terminals: colours, and the progress line of an analysis."""

import os
import pty
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from io import StringIO
from pathlib import Path

import pytest

from slowpath.bounds.progress import Watch, cut
from slowpath.core import terminal
from slowpath.core.engine.analyses import Run
from slowpath.core.terminal import with_links
from support import ROOT, slowpath

COMMAND = [sys.executable, "-m", "slowpath", "bound", "examples/two_protocols.asm"]


class Screen(StringIO):
    """A fake terminal of unknown size."""

    def isatty(self) -> bool:
        return True

    def fileno(self) -> int:
        raise OSError("no device")


def replace_errors(monkeypatch: pytest.MonkeyPatch) -> Screen:
    """Replace standard error by a fake terminal, and return it.

    This is not a fixture, because pytest replaces standard error again after fixtures.
    """
    made = Screen()
    monkeypatch.setattr(sys, "stderr", made)
    monkeypatch.setenv("TERM", "xterm")
    return made


def test_the_live_line_shows_news_and_goes_away(monkeypatch: pytest.MonkeyPatch) -> None:
    screen, run = replace_errors(monkeypatch), Run()
    watch = Watch("a\nb.asm", "bitrate", None)
    run.take(("stage", "unrolling the program"))
    watch.look(run)
    run.take(("bound", 24e9, 1.0, 34, 12))
    watch.look(run)
    watch.close()
    text = screen.getvalue()
    assert "\r\x1b[Ka b.asm: unrolling the program, 0." in text
    assert "a b.asm: at least 24.0 Gbit/s, 34 paths tried, 12 conflicts, 0." in text
    assert text.endswith("\r\x1b[K")
    assert "\n" not in text


@pytest.mark.parametrize("terminal", ["dumb", ""])
def test_no_live_line_on_dumb_terminals(monkeypatch: pytest.MonkeyPatch, terminal: str) -> None:
    screen = replace_errors(monkeypatch)
    monkeypatch.setenv("TERM", terminal)
    watch = Watch("a.asm", "bitrate", None)
    watch.look(Run())
    watch.close()
    assert screen.getvalue() == ""


def test_the_live_line_fits_into_the_terminal() -> None:
    wide = "\N{CJK UNIFIED IDEOGRAPH-4E2D}"
    assert cut("0123456789", 10) == "0123456789"
    assert cut("0123456789", 4) == "0123"
    assert cut(wide * 4, 5) == wide * 2
    assert cut("x", 0) == ""


def on_terminal(
    *words: str,
    command: Sequence[str] = COMMAND[3:],
    cwd: Path = ROOT,
    variables: Mapping[str, str],
) -> str:
    """Run a command whose standard output is a terminal; return the output."""
    ours, its = pty.openpty()
    environment = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    output = b""
    called = [*COMMAND[:3], *command, *words]
    with subprocess.Popen(called, cwd=cwd, env=environment | {**variables}, stdout=its) as process:
        os.close(its)
        with suppress(OSError):  # the other end is closed
            while part := os.read(ours, 4096):
                output += part
    os.close(ours)
    assert process.returncode == 0
    return output.decode().replace("\r\n", "\n")


def test_styles() -> None:
    plain = on_terminal(variables={"TERM": "dumb"})
    assert "\x1b" not in plain
    coloured = on_terminal(variables={"TERM": "xterm"})
    assert "\x1b[1;32mguaranteed " in coloured
    careful = on_terminal(variables={"TERM": "xterm", "NO_COLOR": "1"})
    assert "\x1b[1mguaranteed " in careful
    for text in (coloured, careful):
        stripped = text.replace("\x1b[1;32m", "").replace("\x1b[1m", "").replace("\x1b[0m", "")
        assert stripped == plain


COLOUR = "\x1b[1;32mguaranteed "
CHOICES = dict.fromkeys(("NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE"), "")


@pytest.mark.parametrize(
    ("words", "variables", "coloured"),
    [
        ([], {}, False),
        (["--color", "always"], {}, True),
        (["--color", "always"], {"NO_COLOR": "1"}, True),
        ([], {"FORCE_COLOR": "1"}, True),
        ([], {"CLICOLOR_FORCE": "1"}, True),
        ([], {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        ([], {"FORCE_COLOR": "0", "CLICOLOR_FORCE": "0"}, False),
        (["--color", "never"], {"FORCE_COLOR": "1"}, False),
        (["--color=auto"], {"FORCE_COLOR": "1"}, True),
    ],
)
def test_colours_without_a_terminal(
    words: list[str], variables: dict[str, str], coloured: bool
) -> None:
    run = subprocess.run(
        [*COMMAND, *words],
        cwd=ROOT,
        env=os.environ | CHOICES | variables,
        capture_output=True,
        text=True,
        check=True,
    )
    assert (COLOUR in run.stdout) == coloured
    assert ("\x1b" in run.stdout) == coloured


@pytest.mark.parametrize(
    ("words", "variables", "styled"),
    [
        ([], {}, True),
        (["--color", "never"], {}, False),
        ([], {"CLICOLOR": "0"}, False),
        ([], {"FORCE_COLOR": "0"}, False),
        ([], {"CLICOLOR": "1"}, True),
    ],
)
def test_colours_on_a_terminal(words: list[str], variables: dict[str, str], styled: bool) -> None:
    text = on_terminal(*words, variables={"TERM": "xterm"} | CHOICES | variables)
    assert ("\x1b" in text) == styled


def test_general_options_can_stand_before_the_command() -> None:
    command = [sys.executable, "-m", "slowpath", "--color", "always", "-q", *COMMAND[3:]]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert COLOUR in run.stdout


LINK = "\x1b]8;;file://"
SHOWN = ["bound", "firewall.bpf.o"]


@pytest.mark.parametrize(
    ("words", "variables", "linked"),
    [
        ([], {"VTE_VERSION": "7200"}, True),
        ([], {"TERM_PROGRAM": "WezTerm"}, True),
        ([], {"FORCE_HYPERLINK": "1"}, True),
        ([], {"TERM": "xterm-kitty"}, True),
        ([], {}, False),
        ([], {"VTE_VERSION": "4000"}, False),
        ([], {"VTE_VERSION": "7200", "FORCE_HYPERLINK": "0"}, False),
        ([], {"VTE_VERSION": "7200", "TERM": "tmux-256color"}, False),
        (["--color", "never"], {"VTE_VERSION": "7200"}, False),
    ],
)
def test_places_are_links_on_terminals_that_support_them(
    words: list[str], variables: dict[str, str], linked: bool
) -> None:
    settings = {"TERM": "xterm", **CHOICES, **variables}
    text = on_terminal(*words, command=SHOWN, cwd=ROOT / "examples", variables=settings)
    assert (LINK in text) == linked
    if linked:
        place = f"{LINK}{os.uname().nodename}{ROOT}/examples/firewall.bpf.c\x1b\\firewall.bpf.c:74"
        assert f"{place}\x1b]8;;\x1b\\" in text


def test_output_to_a_file_has_no_links() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "slowpath", *SHOWN, "--color", "always"],
        cwd=ROOT / "examples",
        env=os.environ | {"VTE_VERSION": "7200", "TERM": "xterm"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "\x1b[" in run.stdout
    assert LINK not in run.stdout


def test_codes_are_links_if_the_environment_names_the_documentation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = "error: a: b [SP0201]"
    assert with_links(text) == text
    monkeypatch.setenv("SLOWPATH_DOCS", "https://example.org/slowpath/")
    page = "https://example.org/slowpath/docs/reference/codes.md#sp0201-no-such-file"
    assert with_links(text) == f"error: a: b [\x1b]8;;{page}\x1b\\SP0201\x1b]8;;\x1b\\]"
    assert with_links("a [SP0000]") == "a [SP0000]"


def test_the_first_error_on_a_terminal_names_the_command_that_explains_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(terminal._Settings, "explained", False)
    monkeypatch.setenv("TERM", "xterm")
    screen = replace_errors(monkeypatch)
    terminal.error("SP0201", "a", "b")
    terminal.error("SP0202", "c", "d")
    assert screen.getvalue() == (
        "error: a: b [SP0201]\nfor more: slowpath explain SP0201\nerror: c: d [SP0202]\n"
    )


def test_only_existing_files_become_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a b.c").touch()
    (tmp_path / "a.c").touch()
    for text in ("x.c:3", "a.c", "a.c:0", "a.c:x", "12.5:3", "http://a.c:80x", "u.a.c:3"):
        assert with_links(text) == text
    linked = with_links("(a.c:3, ./a.c:4)")
    assert linked.count(LINK) == 2
    assert re.sub("\x1b]8;;[^\x1b]*\x1b\\\\", "", linked) == "(a.c:3, ./a.c:4)"


# --- quiet ----------------------------------------------------------------------------------------


def test_quiet_suppresses_notes_but_not_errors(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(terminal._Settings, "quiet", False)
    terminal.be_quiet()
    terminal.note("note: a")
    terminal.note("warning: b")
    terminal.error("SP0201", "c", "d")
    terminal.complain("e")
    assert capsys.readouterr().err == "warning: b\nerror: c: d [SP0201]\ne\n"


def test_quiet_commands_print_the_same_results() -> None:
    words = ("bound", "examples/ddos_filter.bpf.o", "--require", "<=4000 instructions")
    loud, quiet = slowpath(*words), slowpath("-q", *words)
    assert "note: " in loud.stderr
    assert (quiet.returncode, quiet.stderr) == (loud.returncode, "")
    assert quiet.stdout == loud.stdout
    failed = slowpath("bound", "missing.asm", "--quiet")
    assert failed.stderr == "error: missing.asm: no such file\n"


def test_no_live_line_in_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = replace_errors(monkeypatch)
    monkeypatch.setattr(terminal._Settings, "quiet", True)
    watch = Watch("a.asm", "bitrate", None)
    watch.look(Run())
    watch.close()
    assert screen.getvalue() == ""
