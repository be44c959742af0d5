"""Assembles BPF object files for tests, also of sizes that no compiler would generate."""

import struct
from collections.abc import Mapping

ADD, SUB, MUL, AND, LSH, RSH, XOR = 0x00, 0x10, 0x20, 0x50, 0x60, 0x70, 0xA0
"""Codes of operations, to be passed to `alu` (RFC 9669, section 4.1)."""
_BYTES = {1: 0x71, 2: 0x69, 4: 0x61, 8: 0x79}
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")


def insn(code: int, dst: int = 0, src: int = 0, off: int = 0, imm: int = 0) -> bytes:
    """Encode an instruction from its fields (RFC 9669, section 3.1)."""
    return struct.pack("<BBhI", code, dst | src << 4, off, imm & 0xFFFFFFFF)


EXIT = insn(0x95)


def mov(dst: int, value: int) -> bytes:
    """Encode the instruction `dst = value` (64 bits)."""
    return insn(0xB7, dst, imm=value)


def copy(dst: int, src: int) -> bytes:
    """Encode `dst = src`."""
    return insn(0xBF, dst, src)


def alu(operation: int, dst: int, value: int) -> bytes:
    """Encode the 64-bit instruction `dst op= value`; `operation` is the code of the operator."""
    return insn(operation | 0x07, dst, imm=value)


def combine(operation: int, dst: int, src: int) -> bytes:
    """Encode the 64-bit instruction `dst op= src`; `operation` is the code of the operator."""
    return insn(operation | 0x0F, dst, src)


def load(size: int, dst: int, src: int, offset: int) -> bytes:
    """Encode `dst = *(src + offset)`, a load of `size` bytes."""
    return insn(_BYTES[size], dst, src, offset)


def unless_equal(register: int, value: int, count: int) -> bytes:
    """Encode a jump that skips `count` instructions unless `register` equals `value`."""
    return insn(0x55, register, off=count, imm=value)


def with_packet(length: int, body: bytes) -> bytes:
    """Return a program that runs `body` with the packet's address in `r6`.

    For packets shorter than `length`, the program returns 1 without running `body`.
    """
    ends = load(4, 6, 1, 0) + load(4, 7, 1, 4)
    checked = copy(2, 6) + alu(ADD, 2, length) + insn(0xBD, 2, 7, 2) + mov(0, 1) + EXIT
    return ends + checked + body


def shifts(count: int) -> bytes:
    """Return a program that hashes a packet word by `count` shifts and XORs, and tests the hash."""
    body = load(8, 0, 6, 0)
    for step in range(count):
        shift = alu(LSH if step % 2 else RSH, 1, 1 + step % 13)
        body += copy(1, 0) + shift + combine(XOR, 0, 1)
    return with_packet(8, body + unless_equal(0, 0x12345, 2) + mov(0, 2) + EXIT + EXIT)


def hashes(count: int) -> bytes:
    """Return a program that computes `count` multiplicative hashes of packet words.

    It compares each hash with a constant.
    """
    body = mov(9, 0)
    for step in range(count):
        body += load(4, 1, 6, step * 4 % 60) + alu(MUL, 1, 0x9E3779B1) + copy(2, 1)
        body += alu(RSH, 2, 15) + combine(XOR, 1, 2) + alu(MUL, 1, 0x85EBCA6B)
        body += unless_equal(1, step * 77 + 5, 1) + alu(ADD, 9, 1)
    return with_packet(64, body + copy(0, 9) + EXIT)


def straight(count: int) -> bytes:
    """Return a program that adds 1 `count` times, without branches."""
    return with_packet(8, load(8, 0, 6, 0) + alu(ADD, 0, 1) * count + EXIT)


def rounds(count: int) -> bytes:
    """Return a program with a loop of `count` iterations, each of which tests a packet byte."""
    body = mov(8, 0) + mov(9, 0) + copy(1, 6) + copy(2, 8) + alu(AND, 2, 63) + combine(ADD, 1, 2)
    body += load(1, 3, 1, 0) + insn(0x45, 3, off=1, imm=1) + alu(ADD, 9, 1) + alu(ADD, 8, 1)
    return with_packet(64, body + insn(0xA5, 8, off=-9, imm=count) + copy(0, 9) + EXIT)


def small() -> bytes:
    """Return the smallest program, which only returns a result."""
    return mov(0, 2) + EXIT


def write_object(functions: Mapping[str, bytes], section: str = "xdp") -> bytes:
    """Return an ELF object file (64 bits, little-endian) with these functions in one section.

    The keys are the functions' names, the values their instructions.
    """
    names = b"\0"

    def name(text: str) -> int:
        nonlocal names
        names += text.encode() + b"\0"
        return len(names) - len(text) - 1

    code, symbols = b"".join(functions.values()), _SYMBOL.pack(0, 0, 0, 0, 0, 0)
    start = 0
    for function, body in functions.items():
        symbols += _SYMBOL.pack(name(function), 0x12, 0, 1, start, len(body))
        start += len(body)
    # Fields: name, type, flags, content, link, info, alignment, size of entries.
    parts = [
        (name(section), 1, 6, code, 0, 0, 8, 0),
        (name("license"), 1, 3, b"GPL\0", 0, 0, 1, 0),
        (name(".symtab"), 2, 0, symbols, 4, 1, 8, 24),
        (name(".strtab"), 3, 0, b"", 0, 0, 1, 0),
    ]
    data, headers = bytearray(64), _SECTION.pack(*[0] * 10)
    for label, kind, flags, body, link, info, align, size in parts:
        content = names if kind == 3 else body
        data += bytes(-len(data) % 8)
        headers += _SECTION.pack(
            label, kind, flags, 0, len(data), len(content), link, info, align, size
        )
        data += content
    data += bytes(-len(data) % 8)
    ident = b"\x7fELF\2\1\1".ljust(16, b"\0")
    data[:64] = ident + struct.pack(
        "<HHIQQQIHHHHHH", 1, 247, 1, 0, 0, len(data), 0, 64, 0, 0, 64, 5, 4
    )
    return bytes(data + headers)
