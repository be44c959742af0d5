"""Reads YAML, JSON and CSV with line numbers, and checks and converts the values.

Scalars stay text, because the expected type decides: `yes` is a word, and `1e6` can be a number.
Python's own parser validates JSON; the parser here only adds line numbers.
"""

import csv
import io
import json
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, NoReturn

from slowpath.core import codes
from slowpath.core.errors import InputError, UnavailableError
from slowpath.core.extras import not_installed


class Place(NamedTuple):
    """Position of a value in a YAML or JSON file."""

    file: str
    line: int
    key: str  # path of keys from the outermost one on, with dots; empty for the whole file

    def refuse(self, reason: str) -> NoReturn:
        """Raise an error about the value at this position.

        Raises:
            InputError: always.
        """
        text = f"{self.key}: {reason}" if self.key else reason
        raise InputError(codes.DESCRIPTION_INVALID, f"{self.file}:{self.line}", text)


class Spanned(NamedTuple):
    """A value of a YAML or JSON file, and its position."""

    place: Place
    value: "str | list[Spanned] | dict[str, Spanned]"


def with_key(found: Spanned, key: str) -> Spanned:
    """Change the key path of a value, which errors name.

    `key` also replaces the start of the key paths of all values inside it.
    """
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
    """Read a YAML file, which has a single document.

    Raises:
        InputError: if the file is not valid YAML, is empty, or has unsupported features.
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
        Place(file, 1, "").refuse("is not readable YAML: it is nested too deeply")
    if node is None:
        Place(file, 1, "").refuse("is empty; it must be a table of keys")
    return _yaml_spanned(node, file, "", set())


def _yaml() -> Any:  # noqa: ANN401 - a module
    try:
        import yaml
    except ImportError:
        raise UnavailableError(codes.MISSING_PACKAGE, not_installed(["PyYAML"], "models")) from None
    return yaml


def _yaml_spanned(node: Any, file: str, key: str, outer: set[int]) -> Spanned:  # noqa: ANN401
    """Convert a node of PyYAML to a value with its position; refuse nodes that contain themselves.

    `key` is the key path of the node. `outer` has the `id` of each node around it.
    """
    place = Place(file, node.start_mark.line + 1, key)
    if id(node) in outer:
        place.refuse("contains itself")
    outer = outer | {id(node)}
    if node.id == "scalar":
        return Spanned(place, _joined_surrogates(place, str(node.value)))
    if node.id == "sequence":
        parts = enumerate(node.value, 1)
        items = [_yaml_spanned(one, file, f"{key}[{at}]", outer) for at, one in parts]
        return Spanned(place, items)
    table = dict[str, Spanned]()
    for name, one in node.value:
        key_place = Place(file, name.start_mark.line + 1, key)
        if name.id != "scalar":
            key_place.refuse("has a key that is not a word")
        inner = f"{key}.{name.value}" if key else str(name.value)
        if name.value in table:
            key_place._replace(key=inner).refuse("is defined twice")
        _joined_surrogates(key_place, str(name.value))
        table[name.value] = _yaml_spanned(one, file, inner, outer)
    return Spanned(place, table)


def _joined_surrogates(place: Place, text: str) -> str:
    """Join surrogate pairs, which JSON-style escapes yield, to characters.

    A single surrogate is an error at `place`.
    """
    try:
        return text.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError:
        place.refuse("has an incomplete character: a single escape from \\ud800 to \\udfff")


def yaml_text(document: object) -> str:
    """Format a document as YAML with its keys in their present order.

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
        reason = f"is not JSON: {problem.msg}, in column {problem.colno}"
        Place(file, problem.lineno, "").refuse(reason)
    except ValueError as problem:
        Place(file, 1, "").refuse(f"is not JSON: {problem}")
    except RecursionError:
        Place(file, 1, "").refuse("is not readable JSON: it is nested too deeply")


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
            place._replace(key=inner).refuse("is defined twice")
        table[name] = _json_spanned(next(tokens), tokens, file, inner)
    return table


def _word(place: Place, token: str) -> str:
    """Convert a token of JSON to text, without quotes.

    A single surrogate is an error at `place`.
    """
    if not token.startswith('"'):
        return token
    word = str(json.loads(token))
    if any("\ud800" <= letter <= "\udfff" for letter in word):
        place.refuse("has an incomplete character: a single escape from \\ud800 to \\udfff")
    return word


Table = dict[str, Spanned]


def table(found: Spanned, needed: Sequence[str], optional: Sequence[str] = ()) -> Table:
    """Return a value as a table, after checking its keys: all of `needed`, and some of `optional`.

    Raises:
        InputError: if the value is not a table, lacks a needed key, or has an unknown key.
    """
    if not isinstance(found.value, dict):
        found.place.refuse(f"is not a table with the keys {_listed((*needed, *optional))}")
    known = (*needed, *optional)
    for key, inner in found.value.items():
        if key not in known:
            inner.place.refuse(f"is unknown; choose one of {_listed(known)}")
    missing = [key for key in needed if key not in found.value]
    if missing:
        found.place.refuse(f"lacks {_listed(missing)}")
    return found.value


def mapping(found: Spanned) -> Table:
    """Return a value as a table with any keys.

    Raises:
        InputError: if the value is not a table.
    """
    if not isinstance(found.value, dict):
        found.place.refuse("is not a table of names and values")
    return found.value


def items(found: Spanned) -> list[Spanned]:
    """Return a value as a list.

    Raises:
        InputError: if the value is not a list.
    """
    if not isinstance(found.value, list):
        found.place.refuse("is not a list; write [one, another]")
    return found.value


def text(found: Spanned) -> str:
    """Return a value as a text without surrounding white space.

    Raises:
        InputError: if the value is a list, a table, or empty.
    """
    if not isinstance(found.value, str) or not found.value.strip():
        found.place.refuse("is not a text")
    return found.value.strip()


def name(found: Spanned) -> str:
    """Return a value as a name that is also valid for a directory.

    Raises:
        InputError: if the name has characters that are not allowed, or is too long.
    """
    word = text(found)
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]{0,63}", word):
        found.place.refuse(
            f"{word!r} is not a name; use up to 64 lower-case letters, digits and hyphens"
        )
    return word


def word(found: Spanned, allowed: Iterable[str]) -> str:
    """Return a value as one of the allowed words.

    Raises:
        InputError: if the value is another word, or not a text.
    """
    value, known = text(found), tuple(allowed)
    if value not in known:
        found.place.refuse(f"{value!r} is not one of {_listed(known)}")
    return value


def parse_integer(digits: str) -> int | None:
    """Read a non-negative integer, such as `1e6` or `100_000`; None for any other text."""
    if not re.fullmatch(r"[0-9][0-9_]*(\.[0-9]+)?([eE][+]?[0-9]{1,2})?", digits):
        return None
    value = float(digits.replace("_", ""))
    return int(value) if value.is_integer() else None


def decimal(found: Spanned, least: float, most: float = math.inf) -> float:
    """Return a value as a number between `least` and `most`; fractions are allowed.

    Raises:
        InputError: if the value is not a number, or is outside the limits.
    """
    digits = text(found)
    try:
        value = float(digits)
    except ValueError:
        value = math.nan
    if math.isinf(value) or not least <= value <= most:
        limits = f"from {least:g} up" if math.isinf(most) else f"from {least:g} to {most:g}"
        found.place.refuse(f"{digits[:40]!r} is not a number {limits}")
    return value


def _listed(words: Iterable[str]) -> str:
    return ", ".join(words)


class Number(NamedTuple):
    """A configuration parameter whose values are integers."""

    description: str
    least: int
    most: int
    default: int
    step: int = 1  # values are multiples of it


class Word(NamedTuple):
    """A configuration parameter whose values are words."""

    description: str
    words: tuple[str, ...]  # allowed words; the first is the default


Parameter = Number | Word


def number(found: Spanned, limits: Number) -> int:
    """Return a value as an integer that a parameter allows.

    Raises:
        InputError: if the value is not an integer, or not allowed.
    """
    digits = text(found)
    value = parse_integer(digits)
    if value is None:
        allowed = f"from {limits.least:,} to {limits.most:,}"
        found.place.refuse(f"{digits!r} is not a whole number {allowed}")
    if not limits.least <= value <= limits.most:
        found.place.refuse(f"{digits} is not between {limits.least:,} and {limits.most:,}")
    if value % limits.step:
        found.place.refuse(f"{digits} is not a multiple of {limits.step}")
    return value


def setting(found: Spanned, parameter: Parameter) -> int | str:
    """Return a value as an integer or word, as a configuration parameter requires.

    Raises:
        InputError: if the value is not allowed.
    """
    if isinstance(parameter, Number):
        return number(found, parameter)
    return word(found, parameter.words)


class CsvLine(NamedTuple):
    """A row of a CSV file; a quoted cell can span several lines of the file."""

    first: int  # number of the row's first line in the file, from 1
    last: int  # number of its last line
    cells: list[str]


def csv_lines(
    file: str, text: str, separator: str = ",", *, strict: bool = False
) -> Iterator[CsvLine]:
    """Yield the rows of a CSV text, which come from `file`.

    An empty line is a row without cells.

    Raises:
        InputError: if the text is not CSV; with `strict`, also if a quoted cell is malformed.
    """
    stream = io.StringIO(text, newline="")
    reader, first = csv.reader(stream, delimiter=separator, strict=strict), 1
    while True:
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as problem:
            raise InputError(codes.TABLE_SYNTAX, file, f"line {first}: {problem}") from None
        yield CsvLine(first, reader.line_num, cells)
        first = reader.line_num + 1


def parse_json(text: str, *, unique: bool = False) -> Any:  # noqa: ANN401 - any value of JSON
    """Parse JSON without NaN and infinity; with `unique`, also reject objects with repeated keys.

    Raises:
        ValueError: if the text is invalid.
    """
    return json.loads(text, parse_constant=_refuse, object_pairs_hook=_unique if unique else None)


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number of JSON")


def _unique(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"an object has {twice[:40]!r} twice")
    return found
