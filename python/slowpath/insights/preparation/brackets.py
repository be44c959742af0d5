"""Brackets, quotes and commas in the text of LLVM's intermediate language.

Names in quotation marks may have any of them, as those of C++ templates do; a quotation mark
inside of a name is written by its number. Source: LLVM's language reference, Identifiers.
"""

from collections.abc import Iterator

_OPENING, _CLOSING = "([{<", ")]}>"


def separated(text: str) -> list[str]:
    """What commas separate, those inside of brackets and names left alone."""
    found, start = list[str](), 0
    for at, letter, depth in _outside(text):
        if letter == "," and not depth:
            found.append(text[start:at].strip())
            start = at + 1
    return [*found, text[start:].strip()]


def enclosed(text: str) -> str:
    """From the bracket with which a text begins to the one that closes it; all where none does."""
    for at, letter, depth in _outside(text):
        if letter in _CLOSING and not depth:
            return text[: at + 1]
    return text


def _outside(text: str) -> Iterator[tuple[int, str, int]]:
    """Letters that are in no name, with the brackets that are open behind them."""
    depth, quoted = 0, False
    for at, letter in enumerate(text):
        quoted ^= letter == '"'
        if quoted:
            continue
        depth += letter in _OPENING
        depth -= letter in _CLOSING
        yield at, letter, depth
