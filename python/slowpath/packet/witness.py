"""Witness packets: their notation in results, their bytes on the wire, their hex dump."""

from collections.abc import Iterator, Sequence

from slowpath.packet.headers import find_headers
from slowpath.schema.results import Witness

ROW = 16
"""Bytes in a row of a hex dump."""


def witness_bytes(witness: Witness) -> list[int | None]:
    """The packet of a witness, None where any byte will do, as long as `length` says.

    Raises:
        ValueError: when the notation is broken.
    """
    text = "".join(witness["packet"].split())
    pairs = [text[i : i + 2] for i in range(0, len(text), 2)]
    packet = [None if pair == "--" else _byte(pair) for pair in pairs]
    packet += [None] * (witness["length"] - len(packet))
    return packet


def _byte(pair: str) -> int:
    return bytes.fromhex(pair)[0]


def wire_bytes(witness: Witness) -> bytes:
    """The packet of a witness with zeros where any byte will do.

    Raises:
        ValueError: when the notation is broken.
    """
    packet = bytes.fromhex(witness["packet"].replace("--", "00"))
    return packet.ljust(witness["length"], b"\0")


def hex_dump(packet: Sequence[int | None]) -> Iterator[str]:
    """Lines of 16 bytes, each with the names of the headers that start in it.

    Rows in which any byte will do are folded into one `*`, as `hexdump` does with equal rows.
    """
    names: dict[int, list[str]] = {}
    for header in find_headers(packet):
        text = f"{header.offset}: {header.name}" + (f" ({header.note})" if header.note else "")
        names.setdefault(header.offset // ROW, []).append(text)
    folded = False
    last = (len(packet) - 1) // ROW
    for row in range(last + 1):
        part = packet[row * ROW : (row + 1) * ROW]
        anything = all(byte is None for byte in part)
        if anything and row not in names and 0 < row < last:
            if not folded:
                yield "*"
            folded = True
            continue
        folded = False
        cells = " ".join(_cells(part[:8])) + "  " + " ".join(_cells(part[8:]))
        yield f"{row * ROW:04x}  {cells:<48}  {'  '.join(names.get(row, []))}".rstrip()


def _cells(part: Sequence[int | None]) -> list[str]:
    return ["--" if byte is None else f"{byte:02x}" for byte in part]


def memory_dump(offset: int, content: str) -> Iterator[str]:
    """Lines of 16 bytes of memory, given in hex, that starts at `offset`."""
    cells = [content[i : i + 2] for i in range(0, len(content), 2)]
    for start in range(0, len(cells), ROW):
        yield f"{offset + start:04x}  {' '.join(cells[start : start + ROW])}"
