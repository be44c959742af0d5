"""Generates completion scripts for bash, zsh and fish.

A script finds the command in the words before the cursor, and then offers its options, or the
values of the option before the cursor. It calls slowpath only to look up names in objects.
"""

import shlex
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from typing import NamedTuple

from slowpath.app import ROOT
from slowpath.core.command import ARGUMENTS, Command, Group, Option, load
from slowpath.core.parser import Parser

FILE_COMMAND = "FILE"
"""Last word of a group's pseudo-command that takes a file, such as `insights FILE`."""


class Kind(Enum):
    """Kinds of option values, by which a script chooses the completions that it offers."""

    NONE = "none"  # a flag
    CHOICE = "choice"
    FILE = "file"
    FOLDER = "folder"
    PROGRAM = "programs"  # also the argument of `slowpath complete`
    SECTION = "sections"
    TEXT = "text"  # numbers and other texts, which nothing completes


class Word(NamedTuple):
    """An option to complete: its names, its help, and the kind of its value."""

    names: tuple[str, ...]
    help: str
    kind: Kind
    choices: tuple[str, ...]


class Place(NamedTuple):
    """A command or group of commands, with the words that can follow its name."""

    path: str  # `slowpath chain facts`
    help: str
    commands: dict[str, str]  # with their help
    options: list[Word]
    takes_files: bool
    takes_other: bool  # a group in which a file can stand in place of a command


def places() -> list[Place]:
    """Return all commands and groups of slowpath; each group precedes its commands."""
    return list(_places("slowpath", ROOT))


def _places(path: str, member: Command | Group) -> Iterator[Place]:
    options = [_word(entry) for entry in Parser(path, member).entries if entry.group != ARGUMENTS]
    if isinstance(member, Command):
        files = any(_takes_file(entry) for entry in member.options if entry.group == ARGUMENTS)
        yield Place(path, member.help[0], {}, options, files, takes_other=False)
        return
    commands = {name: load(reference) for name, reference in member.commands.items()}
    summaries = {name: command.help[0] for name, command in commands.items()}
    other = member.file_command is not None
    yield Place(path, member.help[0], summaries, options, other, other)
    if member.file_command is not None:
        yield from _places(f"{path} {FILE_COMMAND}", load(member.file_command))
    for name, command in commands.items():
        yield from _places(f"{path} {name}", command)


_NO_FILES = frozenset({"NAME", "COMMAND", "SHELL", "WHAT"})
"""Names of arguments that are not files."""


def _takes_file(entry: Option) -> bool:
    return entry.settings["metavar"] not in _NO_FILES


def _word(entry: Option) -> Word:
    choices = tuple(map(str, entry.settings.get("choices", ())))
    return Word(entry.names, entry.summary, _kind(entry, choices), choices)


def _kind(entry: Option, choices: tuple[str, ...]) -> Kind:
    metavar = str(entry.settings.get("metavar", ""))
    if entry.is_flag:
        return Kind.NONE
    if choices:
        return Kind.CHOICE
    if "--prog-name" in entry.names:
        return Kind.PROGRAM
    if "--section" in entry.names:
        return Kind.SECTION
    if metavar in {"DIR", "FOLDER"}:
        return Kind.FOLDER
    return Kind.FILE if "FILE" in metavar or metavar == "TRACE" else Kind.TEXT


_DYNAMIC = (Kind.PROGRAM, Kind.SECTION)


def _patterns(place: Place, kind: Kind) -> list[str]:
    """Return shell patterns for a command's options whose value is of this kind.

    A pattern is `PATH:NAME`: the command with its groups, and a name of the option.
    """
    return [
        f"{place.path}:{name}" for word in place.options if word.kind is kind for name in word.names
    ]


def _paths(found: Sequence[Place]) -> list[str]:
    return [place.path for place in found if place.path != "slowpath"]


def _names(words: Iterable[Word]) -> list[str]:
    return [name for word in words for name in word.names]


def _case(patterns: Iterable[str], action: str, opening: str = "") -> Iterator[str]:
    """Yield a branch of a shell `case`, which runs `action` for these patterns.

    Without patterns, yield nothing. `opening` precedes the patterns.
    """
    quoted = [f'"{pattern}"' for pattern in patterns]
    if quoted:
        yield f"        {opening}{'|'.join(quoted)}) {action} ;;"


def bash(found: Sequence[Place]) -> Iterator[str]:
    """Yield the lines of the completion script for bash."""
    yield "# Completions of slowpath for bash, printed by `slowpath completion bash`."
    yield "_slowpath() {"
    yield '    local path=slowpath word words="" kind="" current=${COMP_WORDS[COMP_CWORD]}'
    yield "    local previous=${COMP_WORDS[COMP_CWORD-1]}"
    yield "    # bash splits `--format=json` at the sign."
    yield '    if [[ $current == "=" ]]; then current=""'
    yield "    elif [[ $previous == = ]]; then previous=${COMP_WORDS[COMP_CWORD-2]}; fi"
    yield '    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do'
    yield '        case "$path $word" in'
    yield from _walk(found, 'path="$path $word"', 'path="$path FILE"')
    yield "        esac"
    yield "    done"
    yield '    case "$path:$previous" in'
    for place in found:
        for word in place.options:
            if word.choices:
                patterns = [f"{place.path}:{name}" for name in word.names]
                yield from _case(
                    patterns, f"kind=words words={shlex.quote(' '.join(word.choices))}"
                )
        for kind in (*_DYNAMIC, Kind.FILE, Kind.FOLDER, Kind.TEXT):
            yield from _case(_patterns(place, kind), f"kind={kind.value}")
    yield "    esac"
    yield '    if [[ -z $kind ]]; then case "$path" in'
    for place in found:
        after = [*place.commands] if place.commands else []
        options = shlex.quote(" ".join(_names(place.options)))
        commands = shlex.quote(" ".join(after))
        yield from _case(
            [place.path],
            f"if [[ $current == -* ]]; then kind=words words={options}; "
            + (f"else kind=words words={commands}; fi" if after else "else kind=file; fi"),
        )
    yield "    esac; fi"
    yield "    COMPREPLY=()"
    yield "    case $kind in"
    yield '        words) mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current") ;;'
    yield "        programs|sections)"
    yield '            set -- complete "$kind" -- "${COMP_WORDS[@]:1}"'
    yield '            words=$("${COMP_WORDS[0]}" "$@" 2>/dev/null)'
    yield '            mapfile -t COMPREPLY < <(IFS=$\'\\n\'; compgen -W "$words" -- "$current") ;;'
    yield "        file) compopt -o default 2>/dev/null"
    yield '            mapfile -t COMPREPLY < <(compgen -f -- "$current") ;;'
    yield "        folder) compopt -o dirnames 2>/dev/null"
    yield '            mapfile -t COMPREPLY < <(compgen -d -- "$current") ;;'
    yield "    esac"
    yield "    [[ $kind == file || $kind == folder ]] && compopt -o filenames 2>/dev/null"
    yield "    return 0"
    yield "}"
    yield "complete -F _slowpath slowpath"


def _walk(found: Sequence[Place], step: str, other: str, opening: str = "") -> Iterator[str]:
    """Yield the branches of a shell `case` that finds the command among the typed words.

    `step` is the action for a word that belongs to the command's name, and `other` the action for a
    file after the name of a group.
    """
    named = [path for path in _paths(found) if not path.endswith(f" {FILE_COMMAND}")]
    yield from (f"    {line}" for line in _case(named, step, opening))
    for place in found:
        if place.takes_other:
            yield f'            {opening}"{place.path} "[!-]*) {other} ;;'


def zsh(found: Sequence[Place]) -> Iterator[str]:
    """Yield the lines of the completion script for zsh."""
    yield "#compdef slowpath"
    yield "# Completions of slowpath for zsh, printed by `slowpath completion zsh`."
    yield "_slowpath() {"
    yield "    local where=slowpath word previous=${words[CURRENT-1]}"
    yield "    local -a options commands"
    yield "    if [[ $PREFIX == --*=* ]]; then"
    yield "        previous=${PREFIX%%=*}; compset -P 1 '*='"
    yield "    fi"
    yield "    for word in ${words[2,CURRENT-1]}; do"
    yield '        case "$where $word" in'
    yield from _walk(found, 'where="$where $word"', 'where="$where FILE"', "(")
    yield "        esac"
    yield "    done"
    yield '    case "$where:$previous" in'
    for place in found:
        for word in place.options:
            if word.choices:
                patterns = [f"{place.path}:{name}" for name in word.names]
                choices = shlex.join(word.choices)
                yield from _case(patterns, f"compadd -- {choices}; return", "(")
        for kind in _DYNAMIC:
            action = (
                f'compadd -- ${{(f)"$(${{words[1]}} complete {kind.value} -- '
                '${words[2,-1]} 2>/dev/null)"}; return'
            )
            yield from _case(_patterns(place, kind), action, "(")
        yield from _case(_patterns(place, Kind.FILE), "_files; return", "(")
        yield from _case(_patterns(place, Kind.FOLDER), "_files -/; return", "(")
        yield from _case(_patterns(place, Kind.TEXT), "return", "(")
    yield "    esac"
    yield '    case "$where" in'
    for place in found:
        options = shlex.join(
            f"{name}:{_plain(word.help)}" for word in place.options for name in word.names
        )
        commands = shlex.join(f"{name}:{_plain(text)}" for name, text in place.commands.items())
        yield from _case([place.path], f"options=({options}) commands=({commands})", "(")
    yield "    esac"
    yield "    if [[ $PREFIX == -* ]]; then _describe -o option options"
    yield "    elif (( $#commands )); then _describe command commands"
    yield "    else _files; fi"
    yield "}"
    yield 'if [[ ${funcstack[1]} == _slowpath ]]; then _slowpath "$@"'
    yield "else compdef _slowpath slowpath; fi"


def _plain(text: str) -> str:
    """Replace colons in a description, because zsh splits at them."""
    return text.replace(":", " -")


def fish(found: Sequence[Place]) -> Iterator[str]:
    """Yield the lines of the completion script for fish."""
    yield "# Completions of slowpath for fish, printed by `slowpath completion fish`."
    yield "function __slowpath_at"
    yield "    set -l where slowpath"
    yield "    for word in (commandline -opc)[2..]"
    yield '        switch "$where $word"'
    yield f"            case {shlex.join(_paths(found))}"
    yield '                set where "$where $word"'
    for place in found:
        if place.takes_other:
            yield f"            case '{place.path} -*'"
            yield f"            case '{place.path} *'"
            yield '                set where "$where FILE"'
    yield "        end"
    yield "    end"
    yield '    test "$where" = "$argv"'
    yield "end"
    yield "function __slowpath_names"
    yield "    set -l words (commandline -op)"
    yield "    $words[1] complete $argv -- $words[2..] 2>/dev/null"
    yield "end"
    for place in found:
        start = f"complete -c slowpath -n '__slowpath_at {place.path}'"
        if not place.takes_files:
            yield f"{start} -f"
        for name, text in place.commands.items():
            yield f"{start} -f -a {name} -d {_quoted(text)}"
        for word in place.options:
            yield f"{start} {_fish_option(word)} -d {_quoted(word.help)}"


def _fish_option(word: Word) -> str:
    parts = [f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in word.names]
    match word.kind:
        case Kind.NONE:
            pass
        case Kind.CHOICE:
            parts.append(f"-x -a {_quoted(' '.join(word.choices))}")
        case Kind.PROGRAM | Kind.SECTION:
            parts.append(f"-x -a '(__slowpath_names {word.kind.value})'")
        case Kind.FILE:
            parts.append("-r -F")
        case Kind.FOLDER:
            parts.append("-x -a '(__fish_complete_directories)'")
        case Kind.TEXT:
            parts.append("-x")
    return " ".join(parts)


def _quoted(text: str) -> str:
    """Quote a text for fish, where a backslash is special even within single quotes."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
