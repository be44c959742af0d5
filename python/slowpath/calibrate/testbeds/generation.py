"""Common parts of program generators: templates, packets, table entries, checks of parameters.

A template has placeholders, repeated blocks and conditional blocks. The value of a name replaces
`${name}`; in `${name${i}}`, the inner placeholder is replaced first. Commands are comments of C and
P4 on separate lines:

    //@ include FILE            insert another template from the same folder
    //@ repeat COUNT as NAME    repeat the block COUNT times; NAME counts from 0
    //@ if NAME                 keep the block unless NAME is `no` or 0; also `if not NAME`,
                                `if NAME == word`
    //@ else                    keep the following lines if the condition does not hold
    //@ end                     end the block of a `repeat` or an `if`
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple, NoReturn

from slowpath.calibrate.experiments.components import SIZE, YES
from slowpath.calibrate.experiments.specification import (
    HEADERS,
    Experiment,
    ParameterValues,
    numeric_value,
)
from slowpath.core import codes
from slowpath.core.errors import InputError

Values = Mapping[str, int | str]
_COMMAND = re.compile(r"^\s*//@\s*(\w+)\s*(.*?)\s*$")
_NAME = re.compile(r"\$\{(\w+)\}")
_Lines = list[tuple[str, str | None, str]]
"""Lines of a template, each with its command (None for plain text) and the command's arguments."""


class TemplateError(Exception):
    """A template is invalid or uses an undefined name; this is a defect of slowpath."""


def expand(folder: Path, file: str, values: Values) -> str:
    """Expand a template: run its commands, and replace its placeholders by `values`."""
    lines = list(_expanded(_parsed(folder, file), values))
    return re.sub(r"\n{3,}", "\n\n", "".join(f"{line}\n" for line in lines))


def _parsed(folder: Path, file: str) -> _Lines:
    lines: _Lines = []
    for line in (folder / file).read_text().splitlines():
        command = _COMMAND.match(line)
        if command is None:
            lines.append((line, None, ""))
        elif command[1] == "include":
            lines += _parsed(folder, command[2])
        else:
            lines.append((line, command[1], command[2]))
    return lines


def _expanded(lines: _Lines, values: Values) -> Iterator[str]:
    at = 0
    while at < len(lines):
        line, command, words = lines[at]
        if command is None:
            yield _filled(line, values)
            at += 1
            continue
        end, middle = _end(lines, at)
        if command == "repeat":
            count, _, name = words.partition(" as ")
            for number in range(int(_value(count, values))):
                yield from _expanded(lines[at + 1 : end], {**values, name: number})
        elif command == "if" and _holds(words, values):
            yield from _expanded(lines[at + 1 : middle or end], values)
        elif command == "if" and middle is not None:
            yield from _expanded(lines[middle + 1 : end], values)
        elif command not in ("if", "repeat"):
            raise TemplateError(f"the line {line.strip()!r} of the template is not a command")
        at = end + 1


def _end(lines: _Lines, start: int) -> tuple[int, int | None]:
    """Return the indices of the `end` and the `else` of the template block that starts at `start`.

    The second is None if the block has no `else`.
    """
    depth, middle = 0, None
    for at in range(start, len(lines)):
        command = lines[at][1]
        depth += (command in ("repeat", "if")) - (command == "end")
        if depth == 0:
            return at, middle
        if depth == 1 and command == "else":
            middle = at
    raise TemplateError(f"the command {lines[start][0].strip()!r} of the template lacks an end")


def _filled(line: str, values: Values) -> str:
    while _NAME.search(line):
        line = _NAME.sub(lambda name: str(_value(name[1], values)), line)
    return line


def _value(word: str, values: Values) -> int | str:
    if word.isdigit():
        return int(word)
    if word not in values:
        raise TemplateError(f"the word {word!r} of the template has no value")
    return values[word]


def _holds(words: str, values: Values) -> bool:
    name, compared, other = words.partition(" == ")
    if compared:
        return str(_value(name, values)) == other
    negated = words.startswith("not ")
    return (_value(words.removeprefix("not "), values) not in (0, "no")) != negated


TYPE = 0x1000
"""Type field in each header that the component `parser` reads; its bytes in memory are `00 10`."""
_NUMBERS = {"ipv4": b"\x08\x00", "ipv6": b"\x86\xdd"}  # EtherType
_VXLAN = b"\x12\xb5"  # UDP port
_PROTOCOLS = {"udp": 17, "tcp": 6}


def payload_offset(experiment: Experiment) -> int:
    """Return the offset of the payload in the packet: the size of all headers in bytes."""
    return sum(HEADERS[header] for header in experiment["traffic"]["headers"])


def key_offset(experiment: Experiment) -> int:
    """Return the offset of the table key in the packet.

    It is the first byte that varies, or the start of the payload if no byte varies.
    """
    vary = experiment["traffic"]["vary"]
    return vary[0]["offset"] if vary else payload_offset(experiment)


def fixed_key_bytes(experiment: Experiment, size: int, key_bytes: int) -> bytes:
    """Return the bytes of the table key after the first 4, which are the same in all packets.

    They are taken from a packet of `size` bytes.
    """
    where = key_offset(experiment)
    return packet_of(experiment, size)[where + 4 : where + key_bytes]


def packet_of(experiment: Experiment, size: int, parser: tuple[int, int] | None = None) -> bytes:
    """Return the packet of an experiment, with zeros in the bytes that vary.

    `parser` is the number and size of the headers in the payload that the component `parser` reads.
    Length fields are correct, addresses are reserved for documentation, and checksums are zero.
    """
    headers, data = experiment["traffic"]["headers"], bytearray(size)
    at = 0
    for number, header in enumerate(headers):
        inner = headers[number + 1] if number + 1 < len(headers) else None
        left, piece = size - at, b""
        if header == "ethernet":
            piece = b"\x02\0\0\0\0\x01\x02\0\0\0\0\x02" + _NUMBERS.get(inner or "", b"\x88\xb5")
        elif header == "ipv4":
            protocol = bytes([64, _PROTOCOLS.get(inner or "", 59)])
            length = left.to_bytes(2, "big")
            addresses = bytes([192, 0, 2, 1, 198, 51, 100, 1])
            piece = b"\x45\0" + length + bytes(4) + protocol + bytes(2) + addresses
        elif header == "ipv6":
            following = bytes([_PROTOCOLS.get(inner or "", 59), 64])
            source, to = (bytes.fromhex("20010db8") + bytes(11) + bytes([one]) for one in (1, 2))
            piece = b"\x60\0\0\0" + (left - 40).to_bytes(2, "big") + following + source + to
        elif header == "udp":
            port = _VXLAN if inner == "vxlan" else b"\x10\x02"
            piece = b"\x10\x01" + port + left.to_bytes(2, "big") + bytes(2)
        elif header == "vxlan":
            piece = b"\x08\0\0\0\0\0\x01\0"
        elif header == "tcp":
            piece = b"\x10\x01\x10\x02" + bytes(8) + b"\x50\x10\x10\0" + bytes(4)
        data[at : at + len(piece)] = piece
        at += HEADERS[header]
    for vary in experiment["traffic"]["vary"]:
        data[vary["offset"] : vary["offset"] + vary["bytes"]] = bytes(vary["bytes"])
    for number in range(parser[0] if parser else 0):
        place = at + number * (parser[1] if parser else 0)
        data[place : place + 2] = TYPE.to_bytes(2, "little")
    return bytes(data)


SPREAD = 2654435761
"""Multiplier that spreads the indices of prefixes over 32 bits (Fibonacci hashing). It is odd, so
that all products differ, and close to 2^32 divided by the golden ratio.
"""
_WORD = 4  # number of bytes in which prefixes differ


class PrefixShape(NamedTuple):
    """Position of the 4 bytes of an address in which the prefixes of a table differ.

    Prefixes have the same values in all other bytes.
    """

    front: int  # number of bytes before these 4 bytes, the same in all addresses
    bits: int  # number of prefix bits in these 4 bytes; at least 25 unless the prefix is shorter


def prefix_shape(bits: int) -> PrefixShape:
    """Return the position of the 4 bytes in which prefixes of `bits` bits differ."""
    front = max(-(-(bits - 8 * _WORD) // 8), 0)
    return PrefixShape(front, bits - 8 * front)


def address_of(number: int, bits: int, others: bytes) -> bytes:
    """Return an address that the prefix with this index matches; its first bit is zero.

    `bits` is the length of the prefix. `others` are the bytes of the address other than the 4 in
    which prefixes differ.
    """
    front, own = prefix_shape(bits)
    spread = (number * SPREAD) & 0xFFFFFFFF
    word = ((spread << (33 - own) & 0xFFFFFFFF) >> 1).to_bytes(_WORD, "big")
    address = others[:front] + word + others[front:]
    return bytes([address[0] & 0x7F]) + address[1:]


def prefix_of(number: int, bits: int, others: bytes) -> bytes:
    """Return the prefix with this index, as an address with zeros after the prefix.

    The arguments are those of `address_of`. There are 2^(b - 1) different prefixes, where b is the
    field `bits` of the result of `prefix_shape`.
    """
    address = int.from_bytes(address_of(number, bits, others), "big")
    size = _WORD + len(others)
    behind = 8 * size - bits
    return (address >> behind << behind).to_bytes(size, "big")


def varied_value_count(experiment: Experiment, settings: ParameterValues) -> int:
    """Return the number of different values that the varying packet bytes have; 1 if none vary."""
    vary = experiment["traffic"]["vary"]
    if not vary:
        return 1
    values = vary[0]["values"]
    return int(settings[values]) if isinstance(values, str) else values


_READ_A_WORD = (
    *("arithmetic", "branches", "calls", "loops", "meter", "recirculate", "state", "table-array"),
    "tail-calls",
)
"""Components that read only the first word of the key, at `key_offset`."""
_HEADROOM = 192
"""Headroom of packets in the kernel's test runs, in bytes."""
_PRINTED = 3
"""Maximum number of arguments that `bpf_trace_printk` prints."""
_CSUM_DIFF = 512
"""Maximum number of bytes that `bpf_csum_diff` sums up (MAX_BPF_STACK)."""


def check_parameters(experiment: Experiment, settings: ParameterValues) -> None:
    """Check that the parameters of an experiment do not contradict each other.

    Raises:
        InputError: if they do; it has the name of the experiment and the reason.
    """
    kind, size, payload = (
        experiment["component"]["kind"],
        settings[SIZE],
        payload_offset(experiment),
    )
    headers, each = numeric_value(settings, "headers"), numeric_value(settings, "header_bytes")
    where = key_offset(experiment)
    needed = {
        "forward": 14,
        "parser": payload + headers * each,
        "pop": headers * each + 14,
        "push": each,
        "table-exact": where + numeric_value(settings, "key_bytes"),
        "table-lpm": where + numeric_value(settings, "key_bytes"),
        "table-ternary": where + numeric_value(settings, "key_bytes"),
        "field-writes": payload + 2 * numeric_value(settings, "writes")
        if settings.get("where") == "header"
        else 2,
        "memory": 0,
        "checksum": payload + numeric_value(settings, "bytes"),
        "copy": payload + numeric_value(settings, "bytes"),
        "digest": payload + numeric_value(settings, "bytes"),
        "hash": where + numeric_value(settings, "key_bytes"),
        "clone": numeric_value(settings, "bytes"),
        "helper": payload + 4,
        "mixture": payload + 256,
        **dict.fromkeys(_READ_A_WORD, where + 4),
    }[kind]  # no default: a program that reads beyond the packet would have a wrong model
    if needed > int(size):
        reject(
            experiment, f"packets of {size} bytes are too short; this program needs {needed} bytes"
        )
    if kind == "push" and headers * each > _HEADROOM:
        reject(
            experiment,
            f"headers of {headers * each} bytes do not fit in front of a packet, "
            f"which has room for {_HEADROOM} bytes",
        )
    if kind == "parser" and 2 + 2 * numeric_value(settings, "fields") > each:
        reject(
            experiment,
            f"{settings['fields']} fields of 2 bytes do not fit into headers of {each} bytes",
        )
    summed = numeric_value(settings, "bytes")
    if kind == "checksum" and settings["method"] == "helper" and summed > _CSUM_DIFF:
        reject(
            experiment, f"the helper bpf_csum_diff sums up at most {_CSUM_DIFF} bytes, not {summed}"
        )
    entries, bits = numeric_value(settings, "entries") or 1, numeric_value(settings, "prefix_bits")
    width = 8 * numeric_value(settings, "key_bytes")
    if kind == "table-lpm" and bits > width:
        reject(experiment, f"addresses of {width} bits cannot have prefixes of {bits} bits")
    if kind == "table-lpm" and entries > 1 << (prefix_shape(bits).bits - 1):
        reject(experiment, f"prefixes of {bits} bits have fewer than {entries:,} different values")
    if settings.get("helper") == "trace_printk" and numeric_value(settings, "arguments") > _PRINTED:
        reject(
            experiment,
            f"trace_printk prints at most {_PRINTED} numbers; use trace_vprintk for more",
        )
    drawn = varied_value_count(experiment, settings)
    if kind != "table-ternary" and settings.get("hit", YES) == YES and drawn > entries:
        reject(
            experiment,
            f"the packets have {drawn:,} different values, but the tables only {entries:,} entries",
        )
    if kind == "table-ternary" and experiment["traffic"]["vary"]:
        reject(
            experiment, "packets always match the last entry, so the key vary is not supported here"
        )


def reject(experiment: Experiment, why: str) -> NoReturn:
    """Reject an experiment for the reason `why`.

    Raises:
        InputError: always; it has the name of the experiment and the reason.
    """
    raise InputError(codes.EXPERIMENT_INVALID, experiment["name"], why)
