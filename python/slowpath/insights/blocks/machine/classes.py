"""Classes of operands: constants, packet reads, copies, comparisons."""

from slowpath.insights.blocks.machine.instructions import Instruction
from slowpath.insights.blocks.machine.packets import Copied, Shared
from slowpath.insights.blocks.machine.values import Value

WORD = (1 << 32) - 1
SMALL, BYTE, HALF = 127, 255, 65535


def operand(value: int | None, bits: int, *, moved: bool = False) -> list[str]:
    """The class of what is computed with: a register, or a constant by what making it takes.

    Arithmetic takes any byte as it is; accesses do not.
    """
    whole = "64" if bits == 64 else "32"  # noqa: PLR2004
    if value is None:
        return [f"register {whole}"] if moved else ["register"]
    sign = "negative" if value < 0 else "positive"
    return [f"constant {whole}" if moved else "constant", sign, factor(value)]


def factor(value: int) -> str:
    """The class of a constant that arithmetic is done with."""
    return "small" if made(value) == "byte" else made(value)


def made(value: int) -> str:
    """A class of a word, by how many instructions make it an operand."""
    value &= WORD
    if value in (0, WORD):
        return "0" if value == 0 else "ones"
    if value <= BYTE:
        return "small" if value <= SMALL else "byte"
    packed = any(
        (one >> shift & HALF) << shift == one
        for one in (value, value ^ WORD)
        for shift in (0, 8, 16)
    )
    return "one" if packed else "two"


def branch(one: Instruction) -> list[str]:
    """A comparison: of what, and with what."""
    kind = {"==": "equal", "!=": "differs", "&": "set"}.get(one.op, "order")
    value = one.immediate
    turned = kind == "order" and one.op in (">=", "s>=", "<", "s<") and (value or 0) < 0
    if turned and value is not None:
        value = -value
    words = operand(value, one.bits)
    return ["branch", kind, str(one.bits), *words, *(["turned"] if turned else [])]


def share(shared: Shared | None, one: Instruction) -> list[str]:
    """How a load of the packet comes by its bytes."""
    if shared is None or shared.end == 0:
        return ["alone", "0", made(one.offset)]
    skipped = str((one.offset - shared.start) % 4)
    if not shared.fetches:
        return ["shared", skipped]
    length = "long" if shared.end - shared.start > 32 else "short"  # noqa: PLR2004
    far = "small" if 0 <= shared.start <= SMALL else made(shared.start)
    return ["fetched", skipped, length, far]


def copy(made_of: Copied, base: Value, bits: str) -> list[str]:
    """A copy of bytes to the packet."""
    length = made_of.length
    size = next(
        (name for most, name in ((8, "tiny"), (32, "short"), (40, "longer")) if length <= most),
        "long",
    )
    whole = "whole" if length % 4 == 0 else "rest"
    places = [
        "small" if 0 <= one <= SMALL else made(one) for one in (made_of.offset, made_of.to_offset)
    ]
    if base.kind == "element" and made_of.offset == 0:
        places[0] = "0"
    return [base.kind, size, whole, bits, *places, "down" if made_of.descending else "up"]


def near(offset: int) -> str:
    """The class of an offset from a base register."""
    if not offset:
        return "0"
    return "small" if 0 < offset <= SMALL else made(offset)
