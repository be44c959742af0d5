"""JSON as plain text, lists and tables that know their lines, as `marked.py` has them of YAML.

Python's reader says whether a text is JSON at all; what is left to do is to count lines.
"""

import json
import re
from collections.abc import Iterator
from typing import NamedTuple, NoReturn

from slowpath.described.marked import Marked, Place

_TOKEN = re.compile(r'\s*("(?:[^"\\]|\\.)*"|[{}\[\]]|[^\s,:{}\[\]"]+)[\s,:]*')


class _Token(NamedTuple):
    line: int
    text: str


def read_marked_json(file: str, text: str) -> Marked:
    """The one value of a JSON file; numbers, true, false and null are their words.

    Raises:
        InputError: when it is no JSON, or an object has a key twice.
    """
    try:
        json.loads(text, parse_constant=_refuse)
        tokens = _tokens(text)
        return _marked(next(tokens), tokens, file, "")
    except json.JSONDecodeError as problem:
        why = f"is not JSON: {problem.msg}, in column {problem.colno}"
        Place(file, problem.lineno, "").refuse(why)
    except ValueError as problem:
        Place(file, 1, "").refuse(f"is not JSON: {problem}")
    except RecursionError:
        Place(file, 1, "").refuse("is not JSON that can be read: it is nested too deeply")


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number of JSON")


def _tokens(text: str) -> Iterator[_Token]:
    line = 1
    for found in _TOKEN.finditer(text):
        line += text.count("\n", found.start(), found.start(1))
        yield _Token(line, found[1])
        line += text.count("\n", found.start(1), found.end())


def _marked(token: _Token, tokens: Iterator[_Token], file: str, key: str) -> Marked:
    place = Place(file, token.line, key)
    if token.text == "[":
        return Marked(place, [*_items(tokens, file, key)])
    if token.text == "{":
        return Marked(place, _table(tokens, file, key))
    return Marked(place, _word(place, token.text))


def _items(tokens: Iterator[_Token], file: str, key: str) -> Iterator[Marked]:
    for at, token in enumerate(tokens, 1):
        if token.text == "]":
            return
        yield _marked(token, tokens, file, f"{key}[{at}]")


def _table(tokens: Iterator[_Token], file: str, key: str) -> dict[str, Marked]:
    table = dict[str, Marked]()
    for token in tokens:
        if token.text == "}":
            break
        place = Place(file, token.line, key)
        name = _word(place, token.text)
        inner = f"{key}.{name}" if key else name
        if name in table:
            place._replace(key=inner).refuse("stands here twice")
        table[name] = _marked(next(tokens), tokens, file, inner)
    return table


def _word(place: Place, token: str) -> str:
    """What a token says; of letters that are whole."""
    if not token.startswith('"'):
        return token
    word = str(json.loads(token))
    if any("\ud800" <= letter <= "\udfff" for letter in word):
        place.refuse("has half of a character, an escape from \\ud800 to \\udfff by itself")
    return word
