"""Generates `slowpath/api/options.py`: types for the options of the Python functions."""

import textwrap
from collections.abc import Iterator

from slowpath.core.calls import parameters
from slowpath.core.command import ARGUMENTS, Command, Option
from support import commands

LEFT_OUT = {
    "bound": "slowpath.bound, with its own types",
    "fit": "slowpath.fit, with its own types",
    "demo": "runs `slowpath bound` on an included example",
    "watch": "runs until Ctrl-C",
    "lsp": "serves an editor",
    "config check": "prints errors of a file",
    "config cache": "manages files",
    "schema": "prints a file",
    "completion": "prints a script",
    "man": "prints pages",
    "help": "prints help",
}
"""Commands without a function in `slowpath.api`, with the reasons."""
_HEAD = '''\
"""Types of the options of the functions in `slowpath.api`; `make bless` generates them."""

import os
from collections.abc import Sequence
from typing import Literal, Required, TypedDict

File = str | os.PathLike[str]
'''
_READ = {"int": "int", "float": "float", "duration": "float | str", "percentage": "float | str"}
_COUNTS = {"SIZE", "K|all", "N|N@LOCATION,..."}
_WIDTH = 96  # of lines without their indentation


def covered() -> Iterator[tuple[str, Command]]:
    """Yield each command that has a function in `slowpath.api`, with its name."""
    for name, command in commands():
        if name not in LEFT_OUT:
            yield name, command


def keywords(command: Command) -> dict[str, Option]:
    """Return the options of a command that are keyword arguments of its Python function."""
    known = parameters(command)
    return {name: option for name, option in known.items() if option.group != ARGUMENTS}


def class_name(command: str) -> str:
    """Return the name of the generated type for a command's options."""
    return "".join(word.capitalize() for word in command.split()) + "Options"


def module() -> str:
    """Generate the content of `slowpath/api/options.py`."""
    classes = [
        "\n".join(_class(name, options))
        for name, command in covered()
        if (options := keywords(command))
    ]
    return "\n\n".join([_HEAD, *classes])


def _class(name: str, options: dict[str, Option]) -> Iterator[str]:
    yield f"class {class_name(name)}(TypedDict, total=False):"
    yield f'    """Options of `slowpath {name}`."""\n'
    for key, option in options.items():
        kind = _kind(option)
        stated = f"{key}: {f'Required[{kind}]' if option.settings.get('required') else kind}"
        yield from ("    " + line for line in _wrapped(stated, kind))
        about = textwrap.wrap(f'"""{option.summary}."""', _WIDTH)
        yield from (f"    {line}" for line in about)
    yield ""


def _wrapped(stated: str, kind: str) -> list[str]:
    """Return the source lines of a field, wrapped as ruff formats them.

    `stated` is the whole line, and `kind` the type at its end.
    """
    if len(stated) <= _WIDTH:
        return [stated]
    return [f"{stated.removesuffix(kind)}(", f"    {kind}", ")"]


def _kind(option: Option) -> str:
    """Return the Python type for the value of an option, as source text."""
    if option.is_flag:
        return "bool"
    one = _single(option)
    metavar = str(option.settings.get("metavar"))
    listed = metavar == "FLAGS" or metavar.endswith(",...")
    if option.settings.get("action") == "append" or listed:
        return f"{one} | Sequence[{'str' if 'Literal' in one else one}]"
    return one


def _single(option: Option) -> str:
    choices, read = option.settings.get("choices"), option.settings.get("type")
    if choices is not None:
        words = ", ".join(f'"{word}"' for word in choices)
        return f"Literal[{words}]"
    named = getattr(read, "__name__", "")
    if named in _READ:
        return _READ[named]
    metavar = str(option.settings.get("metavar"))
    if any(word in metavar for word in ("FILE", "DIR", "MODEL")):
        return "File"
    return "int | str" if metavar in _COUNTS else "str"
