"""Formats the help texts of commands, and of groups of commands.

`--help` fits on one screen: two paragraphs, common options, examples. `--help-all` has all
paragraphs, all options, and their details.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from slowpath.core.command import ARGUMENTS, Command, Group, Option, load

_INDENT = "  "
_WIDEST_NAMES = 28
"""Maximum width of the names of options; longer ones get a line of their own."""
_LONGEST_CHOICES = 34
"""Maximum width of a list of choices that stands beside the names of an option."""
_MOST_COLUMNS = 100
"""Maximum width of help texts; longer lines are hard to read."""
_FIXED = "\xa0"
"""A space at which lines are not broken."""
_SHORT = 2
"""Number of paragraphs in `--help`."""


def help_text(
    path: str, member: Command | Group, options: Sequence[Option], *, everything: bool
) -> str:
    """Format the help text of a command or group, with `everything` that of `--help-all`.

    `path` is the full name of `member`. `options` are its options, including those of all commands.
    """
    width = _width()
    shown = [one for one in options if everything or one.common]
    lines = [*_wrapped(member.help[0], width), "", f"Usage: {usage(path, member)}"]
    for paragraph in member.help[1 : None if everything else _SHORT]:
        lines += ["", *_wrapped(paragraph, width)]
    if isinstance(member, Group):
        summaries = [(name, load(one).help[0], "") for name, one in member.commands.items()]
        lines += ["", "Commands:", *_table(summaries, width)]
    for group in dict.fromkeys(one.group for one in shown):
        rows = [
            (names(one), one.summary, _details(one) if everything else "")
            for one in shown
            if one.group == group
        ]
        lines += ["", f"{group}:", *_table(rows, width)]
    if member.examples:
        lines += ["", "Examples:", *_examples(member, width)]
    return "\n".join(lines) + "\n"


def usage(path: str, member: Command | Group) -> str:
    """Return the usage line of a command or group, without the word `Usage`."""
    if isinstance(member, Group):
        words = ["COMMAND" if member.file_command is None else "{COMMAND,FILE}", "[ARGS]..."]
    else:
        arguments = [one.settings for one in member.options if one.group == ARGUMENTS]
        words = [_usage_word(one["metavar"], one["nargs"]) for one in arguments]
    return " ".join([path, "[OPTIONS]", *words])


def _usage_word(metavar: str, number: str | None) -> str:
    """Format an argument for the usage line, such as `FILE...`; `number` is its `nargs`."""
    if number in {"?", "*"}:
        return f"[{metavar}]" if number == "?" else f"[{metavar}]..."
    return f"{metavar}..." if number else metavar


def names(option: Option) -> str:
    """Format an option with its names and the name of its value: `-s, --section GLOB`."""
    if option.group == ARGUMENTS:
        return _usage_word(option.settings["metavar"], option.settings["nargs"])
    joined = ", ".join(option.names)
    return joined if option.is_flag else f"{joined} {value_name(option)}"


def value_name(option: Option) -> str:
    """Return the placeholder for an option's value, such as `FILE` or its choices `{hot,cold}`."""
    if "metavar" in option.settings:
        return str(option.settings["metavar"])
    choices = f"{{{','.join(option.settings['choices'])}}}"
    return choices if len(choices) <= _LONGEST_CHOICES else option.names[-1].lstrip("-").upper()


def _details(option: Option) -> str:
    """Return the further sentences about an option.

    They list its choices if `value_name` does not.
    """
    choices = option.settings.get("choices")
    if choices is None or "metavar" in option.settings or "{" in value_name(option):
        return option.more
    return f"{option.more} Values: {', '.join(choices)}."


def _table(rows: Sequence[tuple[str, str, str]], width: int) -> Iterator[str]:
    """Yield the lines of a table with two columns: names, and texts wrapped to fit the width."""
    widths = [len(name) for name, _, _ in rows if len(name) <= _WIDEST_NAMES]
    column = len(_INDENT) + max(widths, default=_WIDEST_NAMES) + 2
    for name, summary, more in rows:
        texts = [*_wrapped(summary, width - column)]
        if more:
            texts += _wrapped(more, width - column)
        head = f"{_INDENT}{name}"
        if len(name) > _WIDEST_NAMES:
            yield head
            head = ""
        for text in texts:
            yield f"{head:{column}}{text}"
            head = ""


def _examples(member: Command | Group, width: int) -> Iterator[str]:
    for command, shows in member.examples:
        yield f"{_INDENT}{command}"
        yield from (f"{3 * _INDENT}{line}" for line in _wrapped(shows, width - 3 * len(_INDENT)))


def _wrapped(text: str, width: int) -> Iterable[str]:
    import textwrap

    joined = re.sub(r"\[default: [^\]]{1,20}\]", lambda found: found[0].replace(" ", _FIXED), text)
    lines = textwrap.wrap(joined, width, break_on_hyphens=False, break_long_words=False)
    return [line.replace(_FIXED, " ") for line in lines]


def _width() -> int:
    import shutil

    return max(min(shutil.get_terminal_size().columns, _MOST_COLUMNS) - 1, 40)
