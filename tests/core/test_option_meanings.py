"""Tests that an option means the same in all commands, and that deprecated spellings work."""

import re
from argparse import ArgumentTypeError, Namespace
from collections import defaultdict

import pytest

from option_meanings import MEANINGS
from slowpath.core.command import ARGUMENTS, Option
from slowpath.core.parser import Parser, read
from slowpath.core.quantities import parse_range, percentage, share_of_percentage
from slowpath.core.spelling import RENAMED, Renamed, respelled
from support import commands


def _declared() -> dict[str, list[Option]]:
    """Return the options of all commands, grouped by their long name."""
    found = defaultdict[str, list[Option]](list)
    for _, command in commands():
        for option in command.options:
            if option.group != ARGUMENTS:
                found[option.names[-1]].append(option)
    return found


def _phrase(option: Option) -> str:
    return option.help.partition(" [default:")[0]


DECLARED = _declared()
SEVERAL = sorted(name for name, options in DECLARED.items() if len(set(map(_phrase, options))) > 1)


def test_meanings_are_of_options_that_need_them() -> None:
    """Check that the table of option meanings contains only options that commands declare."""
    assert set(MEANINGS) <= set(DECLARED)


@pytest.mark.parametrize("name", SEVERAL)
def test_an_option_with_several_help_texts_has_one_stated_meaning(name: str) -> None:
    texts = {_phrase(option) for option in DECLARED[name]}
    assert name in MEANINGS, f"rename an option, or state the common meaning of {texts}"
    written = {str(one.settings["metavar"]) for one in DECLARED[name] if "metavar" in one.settings}
    assert written <= set(MEANINGS[name].values)


@pytest.mark.parametrize("name", sorted(DECLARED))
def test_all_options_of_a_name_are_read_alike(name: str) -> None:
    options = DECLARED[name]
    assert len({one.names for one in options}) == 1
    readers = {getattr(one.settings.get("type"), "__name__", "str") for one in options}
    if name == "--output":  # some commands write a file, others a folder
        readers -= {"str", "output_folder"}
    assert len(readers) == 1
    if name not in MEANINGS:
        assert len({one.settings.get("metavar") for one in options}) == 1
    takes_value = {one.settings.get("action") != "store_true" for one in options}
    assert len(takes_value) == 1


def _default(option: Option) -> str | None:
    shown = re.search(r"\[default: ([^\]]*)\]", option.summary)
    return None if shown is None else shown[1]


@pytest.mark.parametrize(
    "name", sorted(name for name, options in DECLARED.items() if options[0].settings.get("choices"))
)
def test_different_defaults_of_a_choice_have_a_rule(name: str) -> None:
    options = DECLARED[name]
    if len({tuple(one.settings["choices"]) for one in options}) == 1:
        several = len(set(map(_default, options))) > 1
        assert several == bool(name in MEANINGS and MEANINGS[name].default)


def test_no_flag_seems_to_negate_an_option_with_a_value() -> None:
    """Check that no flag `--no-NAME` seems to negate an option `--NAME` that takes a value."""
    for name, (option, *_) in DECLARED.items():
        if name.startswith("--no-") and option.is_flag:
            assert f"--{name.removeprefix('--no-')}" not in DECLARED or name == "--no-cache-dir"


# --- deprecated spellings ------------------------------------------------------------------------

COMMANDS = dict(commands())
SPELLINGS = [(one, command) for one in RENAMED for command in one.commands]


@pytest.mark.parametrize(("renamed", "command"), SPELLINGS)
def test_the_new_name_exists_and_the_old_one_is_free(renamed: Renamed, command: str) -> None:
    names = {name for option in COMMANDS[command].options for name in option.names}
    assert renamed.new in names
    assert renamed.old not in names


def _parsed(command: str, *words: str) -> Namespace:
    return read(Parser(f"slowpath {command}", COMMANDS[command]), words)


def test_an_old_name_works_with_one_warning(capsys: pytest.CaptureFixture[str]) -> None:
    args = _parsed("bound", "a.asm", "--pcap=b.pcap", "--", "--pcap")
    assert (args.pcap_out, args.file) == ("b.pcap", ["a.asm", "./--pcap"])
    assert capsys.readouterr().err == (
        "warning: --pcap is deprecated; write --pcap-out (version 0.3 removes the old spelling) "
        "[SP0122]\n"
    )
    assert _parsed("measure", "a.bpf.o", "--pcap", "a.pcap").pcap == "a.pcap"
    assert not capsys.readouterr().err


def test_an_old_flag_works_with_one_warning(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("a.yaml", "--no-cache", "--trust", "--no-cache")
    assert _parsed("chain plan", *words).no_cache_dir
    warnings = capsys.readouterr().err
    assert warnings.count("--no-cache is deprecated; write --no-cache-dir (") == 1
    assert _parsed("sweep", "a.bpf.c", "-D", "N=1", "--seconds", "2m").total_seconds == 120
    assert "--seconds is deprecated; write --total-seconds (" in capsys.readouterr().err
    assert _parsed("measure", "a.bpf.o", "--paths", "all", "--seconds", "2m").paths == "all"
    assert not capsys.readouterr().err


@pytest.mark.parametrize("words", [["--sure", "0.9"], ["--sure=0.9"], ["--confidence", "90"]])
def test_a_share_becomes_a_percentage(words: list[str]) -> None:
    assert _parsed("contention place", "fleet.yaml", *words).confidence == 90


def test_values_of_flags_for_clang_stay() -> None:
    assert respelled("chain plan", ["--cflags=--cache", "x"]) == ["--cflags=--cache", "x"]


def test_a_wrong_share_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        _parsed("contention place", "fleet.yaml", "--sure", "much")
    assert left.value.code == 2
    assert "error: --confidence: 'much' is not a percentage; write" in capsys.readouterr().err


# --- values --------------------------------------------------------------------------------------


def test_percentages() -> None:
    read_one = percentage(1, 99)
    assert [read_one(text) for text in ("90%", "90", "1.5%")] == [90, 90, 1.5]
    for text in ("0.5%", "nan", "100%"):
        with pytest.raises(ArgumentTypeError, match=f"{text} is not allowed; write 1% to 99%"):
            read_one(text)


def test_shares(capsys: pytest.CaptureFixture[str]) -> None:
    read_one = share_of_percentage("--noise")
    assert read_one("1%") == 0.01
    assert not capsys.readouterr().err
    assert read_one("0.01") == 0.01
    assert "--noise 0.01 is deprecated; write --noise 1% (" in capsys.readouterr().err
    for text in ("2", "101%", "nan"):
        with pytest.raises(ArgumentTypeError, match=f"{text} is not allowed; write 0% to 100%"):
            read_one(text)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("1..20", ("1", "20", "", "")),
        ("-1.5..2e6", ("-1.5", "2e6", "", "")),
        ("1..20+2", ("1", "20", "+", "2")),
        ("1..1000*2", ("1", "1000", "*", "2")),
        ("0..1100/5", ("0", "1100", "/", "5")),
    ],
)
def test_ranges(text: str, parts: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert tuple(parse_range("--range", text, "+*/", "/")) == parts
    assert not capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [("1:20", "", "1..20"), ("1..20:2", "+", "1..20+2"), ("0:9:3", "/", "0..9/3")],
)
def test_old_ranges(text: str, old: str, new: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = parse_range("--range", text, "", old)
    assert found == parse_range("--range", new, "+*/", old)
    assert f"--range {text} is deprecated; write {new} (" in capsys.readouterr().err


@pytest.mark.parametrize(
    "text", ["5", "1..", "1...2", "a..b", "1..9-2", "1..9+", "1:2:3", "1..9/2"]
)
def test_other_ranges_are_refused(text: str) -> None:
    wanted = "is not a range; write FIRST..LAST or FIRST..LAST+STEP or FIRST..LAST*FACTOR"
    with pytest.raises(ValueError, match=re.escape(f"{text!r} {wanted}")):
        parse_range("--range", text, "+*", "")
