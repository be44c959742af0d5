"""Escapes untrusted text for terminals, JSON, CSV and Markdown.

File names, names in objects, source lines and saved results are untrusted. They must not control a
terminal, mislead a reader by reordered (CVE-2021-42574) or invisible characters, or make a
spreadsheet evaluate a cell. All output passes this module: `one_line` and `aligned_line` for texts,
`csv_line` for CSV, `json_line` and `json_ascii` for JSON.
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
"""Invisible letters and marks: Default_Ignorable_Code_Point of Unicode's DerivedCoreProperties.txt,
without format characters, which `str.isprintable` covers."""
_FORMULA = tuple("=+-@\uff1d\uff0b\uff0d\uff20")
"""First characters of cells that spreadsheets evaluate as formulas (OWASP, CSV injection); the last
four are the full-width forms of the others."""


def one_line(text: str) -> str:
    r"""Return the text as one line without control characters and invisible characters.

    Line ends and tabs become spaces. Other control characters (C0, DEL, C1), format characters
    (writing direction, zero width), unassigned characters, and undecodable bytes of file names
    become Python escapes: `\x1b`, `\u202e`, `\udcff`.
    """
    if text.isascii() and text.isprintable():
        return text
    spaced = text.replace("\n", " ").replace("\t", " ")
    return "".join(c if c.isprintable() and c not in _INVISIBLE else _escaped(c) for c in spaced)


def aligned_line(text: str) -> str:
    """Escape a text as `one_line` does, but keep tabs, which listings contain."""
    return "\t".join(map(one_line, text.split("\t")))


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode()


def csv_line(cells: Iterable[object]) -> str:
    """Return cells as a line of CSV (RFC 4180), without line end; None is an empty cell.

    All CSV of slowpath is written here. Texts become one line, and get an apostrophe in front if a
    spreadsheet would evaluate them. Booleans are `true` or `false`. Numbers stay numbers; floats
    have up to 15 significant digits, which hide the rounding of binary fractions.
    """
    import csv
    import io

    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(map(_cell, cells))
    return line.getvalue()


def _cell(value: object) -> object:
    if isinstance(value, str):
        return _harmless(one_line(value))
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:.15g}" if isinstance(value, float) else value


def _harmless(text: str) -> str:
    return f"'{text}" if text.lstrip().startswith(_FORMULA) else text


def json_line(value: object) -> str:
    r"""Return a value as JSON on one line, in printable ASCII.

    Undecodable bytes of file names, which JSON cannot represent, become a text such as `\udcff`,
    including the backslash.

    Raises:
        ValueError: if a number is NaN or infinite, which JSON cannot represent.
    """
    import json

    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    return json_ascii(re.sub("[\ud800-\udfff]", lambda lone: f"\\\\u{ord(lone[0]):04x}", text))


def json_ascii(text: str) -> str:
    """Return JSON text in printable ASCII, safe for terminals and for any output encoding."""
    if text.isascii() and text.isprintable():
        return text
    import json

    return re.sub(r"[^ -~]", lambda match: json.dumps(match[0])[1:-1], text)
