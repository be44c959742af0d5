"""Runs slowpath's commands for the Python functions in `slowpath.api`.

Arguments of a function become options of its command, and the command's report becomes the result.
"""

import keyword
import os
import shlex
from argparse import ArgumentTypeError, Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from inspect import Parameter, Signature
from numbers import Real
from typing import Any, NamedTuple, ParamSpec, TypeVar

from slowpath.core import codes
from slowpath.core.command import ARGUMENTS, STANDARD_OUTPUT, Command, Option, not_read, output_file
from slowpath.core.errors import Coded, ExitCode, OptionError, StoppedError, without_code
from slowpath.core.formats import Keeper, KeptReport
from slowpath.core.running import run_checked
from slowpath.core.terminal import listening

P = ParamSpec("P")
R = TypeVar("R")
_TERMINAL = {"--format", "--report", "--verbose", "--pcap-out", "--to"}
"""Options that choose how and where the command line prints the report."""


class Outcome(NamedTuple):
    """The report of a command run from Python, and its messages for standard error."""

    command: str
    report: KeptReport
    messages: Sequence[str]
    code: ExitCode

    def messages_of(self, kind: str) -> tuple[Coded, ...]:
        """Return the messages of one kind, such as `note` for messages that begin with `note: `.

        This beginning is removed, and the code becomes an attribute.
        """
        start = f"{kind}: "
        texts = (text.removeprefix(start) for text in self.messages if text.startswith(start))
        return tuple(map(without_code, texts))


def is_for_terminals(option: Option) -> bool:
    """Return true if an option has no parameter in Python functions.

    Such options choose the format and destination of the report; Python programs call methods of
    the result instead.
    """
    return not _TERMINAL.isdisjoint(option.names) or option.settings.get("type") is output_file


def parameters(command: Command) -> dict[str, Option]:
    """Return the options of a command that a Python program can set, by parameter name."""
    return {_parameter(one): one for one in command.options if not is_for_terminals(one)}


def _long_name(option: Option) -> str:
    return next((name for name in option.names if name.startswith("--")), option.names[0])


def _destination(option: Option) -> str:
    name = _long_name(option).lstrip("-").replace("-", "_")
    return str(option.settings.get("dest", name))


def _parameter(option: Option) -> str:
    """Return the name of the keyword argument for an option, such as `cache_dir` for `--cache-dir`.

    If this is a keyword of Python, return the option's attribute name in argparse (`dest`).
    """
    name = _long_name(option).lstrip("-").replace("-", "_")
    return _destination(option) if keyword.iskeyword(name) else name


def default_of(option: Option) -> object:
    """Return the default value of an option, as argparse computes it."""
    if option.is_flag:
        return False
    default = option.settings.get("default")
    if isinstance(default, list):
        return list(default)
    read = option.settings.get("type")
    return read(default) if isinstance(default, str) and read is not None else default


def run(command: Command, name: str, values: Mapping[str, object]) -> Outcome:
    """Run a command, given its parameters by name; None and missing values stand for defaults.

    Messages are returned, not printed.

    Raises:
        TypeError: if the command has no such parameter, or a required one is missing.
        OptionError: if an option is invalid.
        InputError: if a file cannot be used, or the command ends without a report.
    """
    keeper, messages = Keeper(), list[str]()

    def kept(args: Namespace) -> ExitCode:
        args.format = keeper
        return ExitCode(command.run(args))

    code = call(command, name, values, kept, messages)
    if keeper.report is None:
        failure = next((text for text in reversed(messages) if text.startswith("error: ")), "")
        failed = without_code(failure.removeprefix("error: "))
        subject, _, reason = failed.partition(": ")
        raise StoppedError(failed.code, subject or name, reason or "no result")
    return Outcome(name, keeper.report, messages, code)


def call(
    command: Command,
    name: str,
    values: Mapping[str, object],
    function: Callable[[Namespace], R],
    messages: list[str] | None = None,
) -> R:
    """Convert parameters to the arguments of a command, and call `function` with them.

    Messages for standard error are appended to `messages`. Other parameters and errors are those of
    `run`.
    """
    messages = [] if messages is None else messages
    args = arguments(command, name, values)
    with listening(messages.append):
        return run_checked(f"slowpath {name}", command.options, args, function)


def arguments(command: Command, name: str, values: Mapping[str, object]) -> Namespace:
    """Convert parameters to the namespace that argparse would return for the same options.

    Raises:
        TypeError: if the command has no such parameter, or a required one is missing.
        OptionError: if a value is invalid.
    """
    known = parameters(command)
    for word in values:
        if word not in known:
            from slowpath.core.spelling import unknown

            raise TypeError(f"slowpath {name} has {unknown('option', word, known)}")
    args = Namespace(outside=frozenset())
    for option in command.options:
        value = None if is_for_terminals(option) else values.get(_parameter(option))
        setattr(args, _destination(option), _value(option, name, value))
    return args


def _value(option: Option, name: str, value: object) -> object:
    """Convert the value of a parameter to the value that argparse would store for the option.

    `name` is the name of the command.

    Raises:
        TypeError: if the value is missing.
        OptionError: if the value is invalid.
    """
    settings = option.settings
    several = settings.get("action") == "append" or settings.get("nargs") in ("+", "*")
    if several and value is not None:
        given = value if isinstance(value, list | tuple) else [value]
        if given or settings.get("nargs") != "+":
            return [_read(option, one) for one in given]
        value = None
    if value is not None:
        return _read(option, value)
    optional = settings.get("nargs") in ("?", "*")
    if settings.get("required") or (option.group == ARGUMENTS and not optional):
        raise TypeError(f"slowpath {name} needs a value of {_parameter(option)!r}")
    if settings.get("nargs") == "*":
        return []
    return default_of(option)


def _read(option: Option, value: object) -> object:
    """Convert a single value from a Python program, as argparse converts the option's text.

    Raises:
        OptionError: if the value is invalid.
    """
    named = str(option.settings["metavar"]) if option.group == ARGUMENTS else _long_name(option)
    if option.is_flag:
        if not isinstance(value, bool):
            raise OptionError(codes.INVALID_VALUE, named, f"{value!r} is not True or False")
        return value
    text = _text(option, named, value)
    if text == STANDARD_OUTPUT and "--output" in option.names:
        raise OptionError(codes.INVALID_VALUE, named, "- is standard output; name a file")
    read, choices = option.settings.get("type"), option.settings.get("choices")
    if choices is not None and text not in choices:
        from slowpath.core.spelling import unknown

        raise OptionError(codes.UNKNOWN_NAME, named, unknown("value", text, choices))
    if read is None:
        return text
    try:
        return read(text)
    except ArgumentTypeError as wrong:
        raise OptionError(codes.INVALID_VALUE, named, str(wrong)) from None
    except (TypeError, ValueError):
        raise OptionError(codes.INVALID_VALUE, named, not_read(text, read)) from None


def _text(option: Option, named: str, value: object) -> str:
    """Convert a value from a Python program to the text that a user would type for the option.

    `named` is the option's name in errors.

    Raises:
        OptionError: if the value has a type that no option accepts.
    """
    match value:
        case str():
            return value
        case os.PathLike():
            return os.fsdecode(value)
        case bool():
            pass
        case Real():
            return str(value)
        case list() | tuple() if option.settings.get("metavar") == "FLAGS":
            return shlex.join(map(str, value))
        case list() | tuple() if str(option.settings.get("metavar")).endswith(",..."):
            return ",".join(str(one) for one in value)
    raise OptionError(codes.INVALID_VALUE, named, f"{value!r} is not a value of this option")


def interface(command: Command, name: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator that adds a command's options to the signature of its Python function.

    `help()` of the function then lists all options with their defaults.
    """

    def documented(function: Callable[P, R]) -> Callable[P, R]:
        about: Any = function
        stated = Signature.from_callable(function)
        given = stated.parameters.values()
        shown = [one for one in given if one.kind is not Parameter.VAR_KEYWORD]
        positional = {one.name for one in shown}
        options = {key: one for key, one in parameters(command).items() if key not in positional}
        options = {key: one for key, one in options.items() if one.group != ARGUMENTS}
        for key, option in options.items():
            default = Parameter.empty if option.settings.get("required") else default_of(option)
            shown.append(Parameter(key, Parameter.KEYWORD_ONLY, default=default))
        about.__signature__ = stated.replace(parameters=shown)
        about.__doc__ = "\n".join([*_description(function, name), *_helped(options)])
        return function

    return documented


def _description(function: Callable[..., object], name: str) -> Iterator[str]:
    yield function.__doc__ or ""
    yield f"\n    Options of `slowpath {name}`:"


def _helped(options: Mapping[str, Option]) -> Iterator[str]:
    for key, option in options.items():
        yield f"        {key}: {option.summary}."
