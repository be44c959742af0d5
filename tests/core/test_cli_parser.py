"""Tests the command-line parser and its help texts."""

import re
from argparse import Namespace

import pytest

from slowpath.core.command import Command, Example, Heading, argument, within
from slowpath.core.parser import Parser, read
from slowpath.core.quantities import duration
from support import commands, slowpath

PLAIN, OUTPUT = Heading("Plain"), Heading("Output")
COMMAND = Command(
    ("Summary", "More.", "Even more."),
    (
        argument("FIRST", "One"),
        argument("REST", "Others", "+"),
        PLAIN.option("-s, --section GLOB", "So", "Repeatable.", action="append", default=[]),
        PLAIN.option("--cores N", "A number", type=within(int, 1, 8)),
        OUTPUT.option("--time SECONDS", "A number", type=within(float, 0)),
        OUTPUT.option("--wait TIME", "A time", type=within(duration, 0, 60)),
        PLAIN.flag("-v, --verbose", "A flag"),
        PLAIN.flag("-k, --quick", "Another flag", common=False),
        OUTPUT.option("--format", "A word", choices=("table", "json"), default="table"),
    ),
    lambda _args: 0,
    (Example("slowpath try a b", "Try it"),),
)


def parse(*words: str) -> Namespace:
    return read(Parser("slowpath try", COMMAND), words)


def test_missing_options_have_defaults() -> None:
    assert vars(parse("a", "b")) == {
        "section": [],
        "cores": None,
        "time": None,
        "wait": None,
        "verbose": False,
        "quick": False,
        "format": "table",
        "output": None,
        "first": "a",
        "rest": ["b"],
    }


def test_options_stand_anywhere() -> None:
    args = parse("-v", "a", "--cores", "3", "b", "--format=json", "c")
    assert (args.first, args.rest) == ("a", ["b", "c"])
    assert (args.verbose, args.cores, args.format) == (True, 3, "json")


def test_letters_share_words() -> None:
    args = parse("a", "b", "-vksxdp", "-s", "tc", "--section", "x*", "--section=")
    assert args.section == ["xdp", "tc", "x*", ""]
    assert args.verbose
    assert args.quick


@pytest.mark.parametrize(
    ("words", "first", "rest"),
    [
        (["--cores", "3", "--", "-v", "--cores"], "./-v", ["./--cores"]),
        (["a", "--cores", "3", "b", "--", "-v", "c"], "a", ["b", "./-v", "c"]),
        (["a", "--", "-v", "--", "-v"], "a", ["./-v", "./--", "./-v"]),
        (["--", "a", "b"], "a", ["b"]),
        (["a", "b", "--"], "a", ["b"]),
    ],
)
def test_two_dashes_end_the_options(words: list[str], first: str, rest: list[str]) -> None:
    args = parse(*words)
    assert (args.first, args.rest, args.verbose) == (first, rest, False)


def test_one_dash_is_a_word() -> None:
    assert parse("-", "b").first == "-"


def test_values_may_look_like_options() -> None:
    assert parse("a", "b", "--section=-v", "-s-q").section == ["-v", "-q"]


def test_runs_do_not_share_values() -> None:
    assert parse("a", "b", "-s", "xdp").section == ["xdp"]
    assert parse("a", "b").section == []


VALUES = ("1%", "60%", "1", "100", "10s", "x.html", "x.svg", "1,2", "A=1", "0.5")
"""Sample values; each option accepts at least one of them."""
SINGLE = [
    (path, entry.names[-1])
    for path, command in commands()
    for entry in Parser(path, command).entries
    if entry.names[-1].startswith("-")
    and not entry.is_flag
    and entry.settings.get("action") != "append"
]


@pytest.mark.parametrize(("path", "name"), SINGLE)
def test_an_option_with_one_value_is_refused_twice(
    path: str, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    command = dict(commands())[path]
    parser = Parser(f"slowpath {path}", command)
    (entry,) = (one for one in parser.entries if one.names[-1] == name)
    arguments = [
        "bash" if one.names == ("shell",) else "1"
        for one in parser.entries
        if not one.names[0].startswith("-") and one.settings.get("nargs") in (None, "+")
    ]
    required = [
        f"{one.names[-1]}=x"
        for one in parser.entries
        if one.settings.get("required") and one.names[-1] != name
    ]
    for value in (*map(str, entry.settings.get("choices", ())), *VALUES):
        once = [*arguments, *required, f"{name}={value}"]
        try:
            read(parser, once)
        except SystemExit:
            continue
        read(parser, once)  # a second command line does not repeat the option
        capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            read(parser, [*once, f"{name}={value}"])
        assert left.value.code == 2
        first = capsys.readouterr().err.splitlines()[0]
        assert first == (
            f"error: {'/'.join(entry.names)}: is given twice; remove one, or run the command once "
            "for each value [SP0106]"
        )
        return
    pytest.fail(f"no value fits {name}")


def test_general_options_are_refused_twice_in_front_of_the_command() -> None:
    run = slowpath("--color", "never", "targets", "--color=always", codes=True)
    assert run.returncode == 2
    assert "error: --color: is given twice" in run.stderr
    assert "[SP0106]" in run.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["a"], "the following arguments are required: REST"),
        ([], "the following arguments are required: FIRST, REST"),
        (["a", "b", "--section"], "-s/--section: expected one argument"),
        (["a", "b", "--section", "--", "c"], "-s/--section: expected one argument"),
        (["a", "b", "--section", "-v"], "-s/--section: expected one argument"),
        (["a", "b", "--section=--"], "-- is not a value of an option"),
        (["a", "b", "-s--"], "-- is not a value of an option"),
        (["a", "b", "--verbose=1"], "-v/--verbose: "),
        (["a", "b", "--nope"], "no option '--nope'"),
        (["a", "b", "--core", "3"], "no option '--core'; did you mean '--cores'?"),
        (["a", "b", "--cores", "0"], "--cores: 0 is not allowed; write 1 to 8"),
        (["a", "b", "--cores", "9"], "--cores: 9 is not allowed; write 1 to 8"),
        (["a", "b", "--cores", "x"], "--cores: 'x' is not a whole number; write 1 to 8"),
        (["a", "b", "--time", "-1"], "--time: -1 is not allowed; write 0 or more"),
        (["a", "b", "--time", "soon"], "--time: 'soon' is not a number; write 0 or more"),
        (["a", "b", "--wait", "-3s"], "--wait: -3s is not allowed; write 0 to 60"),
        (["a", "b", "--wait", "-.5"], "--wait: -.5 is not allowed; write 0 to 60"),
        (["a", "b", "--time", "nan"], "--time: nan is not allowed; write 0 or more"),
        (["a", "b", "--format", "xml"], "--format: no value 'xml'; choose one of table, json"),
        (["a", "b", "--no\n\x1bpe"], "no option '--no\\n\\x1bpe'"),
    ],
)
def test_wrong_words_are_named(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as left:
        parse(*words)
    assert left.value.code == 2
    lines = capsys.readouterr().err.splitlines()
    assert lines[1:] == [
        "",
        "Usage: slowpath try [OPTIONS] FIRST REST...",
        "Try 'slowpath try --help' for help.",
    ]
    assert re.fullmatch(f"error: {re.escape(message)}.*", lines[0])


@pytest.mark.parametrize("words", [["-h"], ["--help"], ["a", "-vh"], ["--nope", "--help"]])
def test_help_text(
    words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    with pytest.raises(SystemExit) as left:
        parse(*words)
    assert not left.value.code
    assert capsys.readouterr().out.splitlines() == [
        "Summary",
        "",
        "Usage: slowpath try [OPTIONS] FIRST REST...",
        "",
        "More.",
        "",
        "Arguments:",
        "  FIRST    One",
        "  REST...  Others",
        "",
        "Plain:",
        "  -s, --section GLOB  So",
        "  --cores N           A number",
        "  -v, --verbose       A flag",
        "",
        "Output:",
        "  --time SECONDS         A number",
        "  --wait TIME            A time",
        "  --format {table,json}  A word [default: table]",
        "  -o, --output FILE      Write the result to FILE",
        "                         [default: standard output]",
        "",
        "General:",
        "  -h, --help  Print this help; --help-all adds rarer",
        "              options and details",
        "",
        "Examples:",
        "  slowpath try a b",
        "      Try it",
    ]


def test_the_complete_help_has_rare_options_and_details(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    with pytest.raises(SystemExit):
        parse("--help-all")
    text = capsys.readouterr().out
    assert "\nMore.\n\nEven more.\n" in text
    assert "  -s, --section GLOB  So\n                      Repeatable.\n" in text
    assert "  -k, --quick         Another flag\n" in text
    assert "  -q, --quiet" in text
