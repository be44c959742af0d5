"""Escaping of untrusted text for terminals, JSON, CSV and Markdown.

File names, names in objects, source lines and saved results are written by others. A terminal must
not be steered by them, nor a reader by letters in another order than they stand there (CVE-2021-
42574) or that take no room, nor a spreadsheet by a cell that it would calculate. All output goes
through here: `one_line` and `aligned_line` for texts, `csv_line` for CSV, `json_line` and
`json_ascii` for JSON.
"""

import re
from collections.abc import Iterable

_INVISIBLE = frozenset(
    map(
        chr,
        (
            0x034F,
            0x115F,
            0x1160,
            0x17B4,
            0x17B5,
            *range(0x180B, 0x1810),
            0x3164,
            *range(0xFE00, 0xFE10),
            0xFFA0,
            *range(0xE0100, 0xE01F0),
        ),
    )
)
"""Letters and marks that are not shown: Default_Ignorable_Code_Point of Unicode's
DerivedCoreProperties.txt, without the format characters, which `str.isprintable` knows."""
_FORMULA = tuple("=+-@\uff1d\uff0b\uff0d\uff20")
"""With these, spreadsheets take a cell for a formula (OWASP, CSV injection); the last four are the
full-width forms of the others."""


def one_line(text: str) -> str:
    r"""The text without anything that could start a new line, steer a terminal, or hide.

    Line ends and tabs become spaces. Other control characters (C0, DEL, C1), format characters
    (marks of writing direction, of no width), characters without a meaning, and bytes of file
    names that are no text become escapes as Python writes them: `\x1b`, `\u202e`, `\udcff`.
    """
    if text.isascii() and text.isprintable():
        return text
    spaced = text.replace("\n", " ").replace("\t", " ")
    return "".join(c if c.isprintable() and c not in _INVISIBLE else _escaped(c) for c in spaced)


def aligned_line(text: str) -> str:
    """As `one_line`, but tabs stay: listings have them."""
    return "\t".join(map(one_line, text.split("\t")))


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode()


def csv_line(cells: Iterable[object]) -> str:
    """Cells as a line of CSV (RFC 4180), without its end; None is an empty cell.

    Texts are put on one line, and get an apostrophe in front where a spreadsheet would calculate
    them. Numbers stay numbers.
    """
    import csv
    import io

    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(
        [_harmless(one_line(cell)) if isinstance(cell, str) else cell for cell in cells]
    )
    return line.getvalue()


def _harmless(text: str) -> str:
    return f"'{text}" if text.lstrip().startswith(_FORMULA) else text


def json_line(value: object) -> str:
    r"""A value as JSON on one line, in printable ASCII.

    Bytes of file names that are no text, which JSON has no way to write, become a text such as
    `\udcff`, backslash included.

    Raises:
        ValueError: when a number in it is none or infinite, which JSON has no way to write either.
    """
    import json

    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    return json_ascii(re.sub("[\ud800-\udfff]", lambda lone: f"\\\\u{ord(lone[0]):04x}", text))


def json_ascii(text: str) -> str:
    """JSON that any encoding of the output leaves as it is, and that a terminal can be shown."""
    if text.isascii() and text.isprintable():
        return text
    import json

    return re.sub(r"[^ -~]", lambda match: json.dumps(match[0])[1:-1], text)
