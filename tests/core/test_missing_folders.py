"""Tests that commands report a missing folder of an output file before they begin to work."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from slowpath.app import app
from slowpath.calibrate.cli import CALIBRATE
from slowpath.contention.cli import CONTENTION
from slowpath.core.command import ARGUMENTS, Command, Group, Option, load
from slowpath.core.errors import ExitCode
from slowpath.core.parser import Parser
from slowpath.insights.cli import INSIGHTS
from slowpath.models.cli import FIT

GROUPS: dict[str, Command | Group] = {
    "fit": FIT,
    "calibrate": CALIBRATE,
    "contention": CONTENTION,
    "insights": INSIGHTS,
}
ENDINGS = {"--plot": ".svg", "--html": ".html"}
"""Extensions of output files by option; all other options write `.json` files."""


def commands(words: tuple[str, ...], member: Command | Group) -> Iterator[tuple[str, ...]]:
    """Yield the words of each command below `member`, with names of inputs that do not exist."""
    if isinstance(member, Command):
        yield (*words, *_required(member))
        return
    if member.file_command is not None:
        yield from commands(words, load(member.file_command))
    for name, reference in member.commands.items():
        yield from commands((*words, name), load(reference))


def _required(command: Command) -> Iterator[str]:
    for option in command.options:
        if option.group == ARGUMENTS and option.settings["nargs"] in (None, "+"):
            yield "none.c"
        elif option.settings.get("required"):
            yield from (option.names[-1], "none.json")


def outputs() -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield each command with each of its options that names an output file."""
    for name, group in GROUPS.items():
        for words in commands((name,), group):
            for option in _written(words):
                yield words, option.names[-1]


def _written(words: tuple[str, ...]) -> list[Option]:
    member = GROUPS[words[0]]
    if isinstance(member, Group):
        second = words[1]
        known = member.commands
        member = load(known[second] if second in known else str(member.file_command))
    return [one for one in Parser(" ".join(words), member).entries if one.writes]


CASES = list(outputs())


def test_all_kinds_of_outputs_are_covered() -> None:
    assert {option for _, option in CASES} == {
        "--output",
        "--plot",
        "--html",
        "--placement-out",
        "--coalescing-out",
    }


@pytest.mark.parametrize(("words", "option"), CASES, ids=lambda one: str(one).replace("/", "-"))
def test_a_missing_folder_is_found_before_the_input_is_read(
    words: tuple[str, ...],
    option: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    file = f"missing/out{ENDINGS.get(option, '.json')}"
    assert app([*words, option, file]) == ExitCode.INPUT
    assert capsys.readouterr().err.startswith(f"error: {file}: cannot be written: ")
    assert not list(tmp_path.iterdir())
