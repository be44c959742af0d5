"""YAML and JSON values with their line numbers, and checked readers of single values.

Scalars stay text, because their type depends on the reader: `yes` is a word, and `1e6` a number.

Python's own parser validates JSON; the parser here only adds line numbers.
"""

import json
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, NoReturn

from slowpath.core.errors import InputError, UnavailableError
from slowpath.core.tables import parse_json


class Place(NamedTuple):
    """Position of a value in a file."""

    file: str
    line: int
    key: str  # path of keys from the outermost one on, with dots; empty for the whole file

    def refuse(self, why: str) -> NoReturn:
        """Report an error at this position.

        Raises:
            InputError: always.
        """
        raise InputError(f"{self.file}:{self.line}", f"{self.key}: {why}" if self.key else why)


class Spanned(NamedTuple):
    """A value and its position."""

    place: Place
    value: "str | list[Spanned] | dict[str, Spanned]"


def called(found: Spanned, key: str) -> Spanned:
    """Return the value, and all values in it, with another key, such as a name for an index."""
    return _renamed(found, len(found.place.key), key)


def _renamed(found: Spanned, length: int, key: str) -> Spanned:
    place = found.place._replace(key=key + found.place.key[length:])
    if isinstance(found.value, list):
        return Spanned(place, [_renamed(one, length, key) for one in found.value])
    if isinstance(found.value, dict):
        renamed = {name: _renamed(one, length, key) for name, one in found.value.items()}
        return Spanned(place, renamed)
    return Spanned(place, found.value)


def read_spanned(file: str, text: str) -> Spanned:
    """Read the single document of a YAML file.

    Raises:
        InputError: if it is not valid YAML, is empty, or has features that are not supported.
        UnavailableError: if PyYAML is not installed.
    """
    yaml = _yaml()
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as problem:
        mark = problem.problem_mark or problem.context_mark
        line = 1 if mark is None else mark.line + 1
        Place(file, line, "").refuse(f"is not YAML: {problem.problem or problem.context}")
    except yaml.YAMLError as problem:
        Place(file, 1, "").refuse(f"is not YAML: {str(problem).splitlines()[0]}")
    except RecursionError:
        Place(file, 1, "").refuse("is not YAML that can be read: it is nested too deeply")
    if node is None:
        Place(file, 1, "").refuse("is empty; it has to be a table of keys")
    return _marked(node, file, "", set())


def _yaml() -> Any:  # noqa: ANN401 - a module
    try:
        import yaml
    except ImportError:
        reason = "PyYAML is not installed; pip install slowpath[models]"
        raise UnavailableError(reason) from None
    return yaml


def _marked(node: Any, file: str, key: str, above: set[int]) -> Spanned:  # noqa: ANN401 - PyYAML's
    place = Place(file, node.start_mark.line + 1, key)
    if id(node) in above:
        place.refuse("contains itself")
    within = above | {id(node)}
    if node.id == "scalar":
        return Spanned(place, _whole(place, str(node.value)))
    if node.id == "sequence":
        parts = enumerate(node.value, 1)
        return Spanned(place, [_marked(one, file, f"{key}[{at}]", within) for at, one in parts])
    table = dict[str, Spanned]()
    for name, one in node.value:
        there = Place(file, name.start_mark.line + 1, key)
        if name.id != "scalar":
            there.refuse("has a key that is no word")
        inner = f"{key}.{name.value}" if key else str(name.value)
        if name.value in table:
            there._replace(key=inner).refuse("stands here twice")
        _whole(there, str(name.value))
        table[name.value] = _marked(one, file, inner, within)
    return Spanned(place, table)


def _whole(place: Place, text: str) -> str:
    """Join surrogate pairs, from escapes as in JSON, to characters; refuse lone surrogates."""
    try:
        return text.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError:
        place.refuse("has half of a character, an escape from \\ud800 to \\udfff by itself")


def yaml_text(document: object) -> str:
    """Format a document as YAML; keys keep their order.

    Raises:
        UnavailableError: if PyYAML is not installed.
    """
    return str(_yaml().safe_dump(document, sort_keys=False, width=100))


_TOKEN = re.compile(r'\s*("(?:[^"\\]|\\.)*"|[{}\[\]]|[^\s,:{}\[\]"]+)[\s,:]*')


class _Token(NamedTuple):
    line: int
    text: str


def read_marked_json(file: str, text: str) -> Spanned:
    """Read the value of a JSON file; numbers, true, false and null stay text.

    Raises:
        InputError: if it is not JSON, or an object has a key twice.
    """
    try:
        parse_json(text)
        tokens = _tokens(text)
        return _json_spanned(next(tokens), tokens, file, "")
    except json.JSONDecodeError as problem:
        why = f"is not JSON: {problem.msg}, in column {problem.colno}"
        Place(file, problem.lineno, "").refuse(why)
    except ValueError as problem:
        Place(file, 1, "").refuse(f"is not JSON: {problem}")
    except RecursionError:
        Place(file, 1, "").refuse("is not JSON that can be read: it is nested too deeply")


def _tokens(text: str) -> Iterator[_Token]:
    line = 1
    for found in _TOKEN.finditer(text):
        line += text.count("\n", found.start(), found.start(1))
        yield _Token(line, found[1])
        line += text.count("\n", found.start(1), found.end())


def _json_spanned(token: _Token, tokens: Iterator[_Token], file: str, key: str) -> Spanned:
    place = Place(file, token.line, key)
    if token.text == "[":
        return Spanned(place, [*_items(tokens, file, key)])
    if token.text == "{":
        return Spanned(place, _table(tokens, file, key))
    return Spanned(place, _word(place, token.text))


def _items(tokens: Iterator[_Token], file: str, key: str) -> Iterator[Spanned]:
    for at, token in enumerate(tokens, 1):
        if token.text == "]":
            return
        yield _json_spanned(token, tokens, file, f"{key}[{at}]")


def _table(tokens: Iterator[_Token], file: str, key: str) -> dict[str, Spanned]:
    table = dict[str, Spanned]()
    for token in tokens:
        if token.text == "}":
            break
        place = Place(file, token.line, key)
        name = _word(place, token.text)
        inner = f"{key}.{name}" if key else name
        if name in table:
            place._replace(key=inner).refuse("stands here twice")
        table[name] = _json_spanned(next(tokens), tokens, file, inner)
    return table


def _word(place: Place, token: str) -> str:
    """Return the text of a token; refuse lone surrogates."""
    if not token.startswith('"'):
        return token
    word = str(json.loads(token))
    if any("\ud800" <= letter <= "\udfff" for letter in word):
        place.refuse("has half of a character, an escape from \\ud800 to \\udfff by itself")
    return word


Table = dict[str, Spanned]


def table(found: Spanned, needed: Sequence[str], optional: Sequence[str] = ()) -> Table:
    """Return a table that has the needed keys and may have the optional ones.

    Raises:
        InputError: if the value is not a table, a needed key is missing, or a key is unknown.
    """
    if not isinstance(found.value, dict):
        found.place.refuse(f"is no table; it has the keys {_listed((*needed, *optional))}")
    known = (*needed, *optional)
    for key, inner in found.value.items():
        if key not in known:
            inner.place.refuse(f"is not known here; there are {_listed(known)}")
    missing = [key for key in needed if key not in found.value]
    if missing:
        found.place.refuse(f"lacks {_listed(missing)}")
    return found.value


def mapping(found: Spanned) -> Table:
    """Return a table with arbitrary keys.

    Raises:
        InputError: if the value is not a table.
    """
    if not isinstance(found.value, dict):
        found.place.refuse("is no table of names and their values")
    return found.value


def items(found: Spanned) -> list[Spanned]:
    """Return a list.

    Raises:
        InputError: if the value is not a list.
    """
    if not isinstance(found.value, list):
        found.place.refuse("is no list; write [one, another]")
    return found.value


def text(found: Spanned) -> str:
    """Return a text without surrounding white space.

    Raises:
        InputError: if the value is a list, a table, or empty.
    """
    if not isinstance(found.value, str) or not found.value.strip():
        found.place.refuse("is no text")
    return found.value.strip()


def name(found: Spanned) -> str:
    """Return a name that is also valid as the name of a directory.

    Raises:
        InputError: if it has other characters or is too long.
    """
    word = text(found)
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]{0,63}", word):
        found.place.refuse(f"{word!r} is no name; use small letters, digits and hyphens, up to 64")
    return word


def word(found: Spanned, allowed: Iterable[str]) -> str:
    """Return a word that is one of the allowed ones.

    Raises:
        InputError: if it is not one of them.
    """
    said, known = text(found), tuple(allowed)
    if said not in known:
        found.place.refuse(f"{said!r} is none of {_listed(known)}")
    return said


def parse_integer(said: str) -> int | None:
    """Return the integer that a text represents; None if it is not a non-negative integer."""
    if not re.fullmatch(r"[0-9][0-9_]*(\.[0-9]+)?([eE][+]?[0-9]{1,2})?", said):
        return None
    value = float(said.replace("_", ""))
    return int(value) if value.is_integer() else None


def decimal(found: Spanned, least: float, most: float = math.inf) -> float:
    """Return a number within limits, which can have a fraction.

    Raises:
        InputError: if the value is not a number, or beyond its limits.
    """
    said = text(found)
    try:
        value = float(said)
    except ValueError:
        value = math.nan
    if math.isinf(value) or not least <= value <= most:
        limits = f"from {least:g} up" if math.isinf(most) else f"from {least:g} to {most:g}"
        found.place.refuse(f"{said[:40]!r} is no number {limits}")
    return value


def _listed(words: Iterable[str]) -> str:
    return ", ".join(words)


class Number(NamedTuple):
    """A parameter with integer values."""

    says: str
    least: int
    most: int
    usual: int
    step: int = 1  # values are multiples of it


class Word(NamedTuple):
    """A parameter with words as values."""

    says: str
    words: tuple[str, ...]  # allowed words; the first is the default


Parameter = Number | Word


def number(found: Spanned, limits: Number) -> int:
    """Return an integer within limits; notations such as `1e6` and `100_000` are allowed.

    Raises:
        InputError: if the value is not an integer, or beyond its limits.
    """
    said = text(found)
    value = parse_integer(said)
    if value is None:
        allowed = f"from {limits.least:,} to {limits.most:,}"
        found.place.refuse(f"{said!r} is no whole number {allowed}")
    if not limits.least <= value <= limits.most:
        found.place.refuse(f"{said} is not between {limits.least:,} and {limits.most:,}")
    if value % limits.step:
        found.place.refuse(f"{said} is no multiple of {limits.step}")
    return value


def setting(found: Spanned, parameter: Parameter) -> int | str:
    """Return the value of a parameter.

    Raises:
        InputError: if the value is not allowed.
    """
    if isinstance(parameter, Number):
        return number(found, parameter)
    return word(found, parameter.words)
