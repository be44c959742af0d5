"""Recognises functions that compute a CRC, and finds its parameters by linear equations over GF(2).

A CRC is affine over GF(2). Flipping a message bit changes the result by a difference that does not
depend on other bits. This difference is x times the difference of the next bit, modulo the
polynomial. So the results reveal the polynomial. Source: R. Williams, A Painless Guide to CRC Error
Detection Algorithms (1993); G. Ewing, Reverse-Engineering a CRC Algorithm (2010).
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise, product
from typing import Any, NamedTuple

from slowpath.insights.accelerators.proofs.harness import noise_of
from slowpath.insights.accelerators.proofs.oracles import Oracle, finding, samples, swap_words
from slowpath.insights.accelerators.proofs.reference_sums import Crc, name_of, reverse, times_x

_MOST_FREE = 8
"""Maximum number of unknowns that the equations leave undetermined; all of their values are tried.
"""


def kernel_and_solution(images: Sequence[int], target: int) -> list[int] | None:
    """Return all subsets of `images` whose xor is `target`.

    Each subset is a number whose bit n is set if the subset contains `images[n]`. Return None if
    there are no subsets or too many.
    """
    basis = dict[int, tuple[int, int]]()  # by highest bit: an xor, and the set of its images
    kernel = list[int]()
    for at, image in enumerate(images):
        value, images_of = _reduced(image, 1 << at, basis)
        if value:
            basis[value.bit_length()] = (value, images_of)
        else:
            kernel.append(images_of)
    rest, solution = _reduced(target, 0, basis)
    if rest or len(kernel) > _MOST_FREE:
        return None
    return [solution ^ one for one in _sums(kernel)]


def _reduced(value: int, chosen: int, basis: dict[int, tuple[int, int]]) -> tuple[int, int]:
    while value and value.bit_length() in basis:
        basis_value, basis_set = basis[value.bit_length()]
        value, chosen = value ^ basis_value, chosen ^ basis_set
    return value, chosen


def _sums(parts: Sequence[int]) -> Iterator[int]:
    for chosen in range(1 << len(parts)):
        total = 0
        for at, part in enumerate(parts):
            total ^= part if chosen >> at & 1 else 0
        yield total


_LEAST_WIDTH = 3
_BASE = 0xC0
"""Value of all message bytes before a bit is flipped. No flip may yield zero, which ends a text."""
_MESSAGE = 16
_TRIES = 12
_LEAST_LENGTH = 32
"""Results must agree for all lengths up to this number of bytes.

A mismatch at a longer message is taken for the function's length limit.
"""


class Layout(NamedTuple):
    """The place of the CRC register in a function's result, and the order of its bytes and bits."""

    width: int
    at: int  # lowest bit of the register
    swapped: bool  # true if the bytes of the register are in reverse order
    reflected: bool

    def read(self, value: int) -> int:
        """Extract the CRC register from a function's result, and undo reflected bit order."""
        value = value >> self.at & ((1 << self.width) - 1)
        if self.swapped:
            value = int.from_bytes(value.to_bytes(self.width // 8, "little"), "big")
        return reverse(value, self.width) if self.reflected else value


class Recovered(NamedTuple):
    """The parameters of a CRC that a function computes, and the format of its data and result."""

    crc: Crc  # with a seed of zero
    layout: Layout
    word: int  # size of data words with reversed bytes; 1 if no bytes are reversed
    seeds: tuple[int, ...]  # effect of each seed bit on the register; empty if no bit has one
    plain: bool  # true if the seed is an earlier register, before the final xor


def prove_crc(oracle: Oracle) -> dict[str, Any] | None:
    """Test whether a function computes a CRC, and return a description with its parameters.

    Return None if it computes no CRC. `oracle` calls the function with chosen data and seeds.
    """
    found = recover(oracle)
    if found is None:
        return None
    agreed = _agreement(oracle, found)
    return None if agreed is None else _finding(oracle, found, *agreed)


def recover(oracle: Oracle) -> Recovered | None:
    """Find the parameters of the CRC that a function computes; return None if it computes none.

    The CRC fits the function's results on a few inputs. The caller must check it on other inputs.
    """
    size = oracle.fixed or -(-_MESSAGE // oracle.unit) * oracle.unit
    if size > oracle.most or not _affine(oracle, size):
        return None
    base = bytes([_BASE]) * size
    first = oracle.value(base)
    differences = [
        [oracle.value(_flipped(base, at, bit)) ^ first for bit in range(8)] for at in range(size)
    ]
    mask = 0
    for row in differences:
        for one in row:
            mask |= one
    if mask == 0:
        return None
    for word in (1,) if oracle.unit == 1 else (1, oracle.unit):
        rows = [differences[_swapped_index(at, word)] for at in range(size)]
        layouts = _layouts(oracle, mask, 8 * size)
        # A few polynomials fit several layouts: the usual layout comes first.
        for augmented, layout, reflected_in in product((True, False), layouts, (True, False)):
            value = _polynomial(rows, layout, reflected_in=reflected_in, augmented=augmented)
            if value is None:
                continue
            crc = Crc(layout.width, value, 0, reflected_in, layout.reflected, 0, augmented)
            found = _constants(oracle, Recovered(crc, layout, word, (), plain=False), base)
            if found is not None:
                return found
    return None


def _affine(oracle: Oracle, size: int) -> bool:
    noise = noise_of(3)
    for _ in range(_TRIES):
        # With the highest bit set, no byte is zero, not even in the xor of three texts.
        one, two, three = (bytes(byte | 0x80 for byte in noise.randbytes(size)) for _ in range(3))
        four = bytes(a ^ b ^ c for a, b, c in zip(one, two, three, strict=True))
        values = [oracle.value(text) for text in (one, two, three, four)]
        if values[0] ^ values[1] ^ values[2] ^ values[3]:
            return False
    return True


def _flipped(base: bytes, at: int, bit: int) -> bytes:
    text = bytearray(base)
    text[at] ^= 1 << bit
    return bytes(text)


def _swapped_index(at: int, word: int) -> int:
    return at // word * word + word - 1 - at % word


def _layouts(oracle: Oracle, mask: int, bits: int) -> list[Layout]:
    """Return the layouts that the CRC register may have in a function's result.

    The function is called through `oracle`. Only the result bits in `mask` depend on the message.
    `bits` is the length of the message in bits.
    """
    at = (mask & -mask).bit_length() - 1
    span = (mask >> at).bit_length()
    places = set[tuple[int, int]]()
    if mask >> at == (1 << span) - 1:
        places.add((span, at))
    if bits <= span + 8 or bits <= oracle.bits:  # few bits may not affect the whole register
        places |= {(width, 0) for width in (8, 16, 24, 32, 64) if mask.bit_length() <= width}
    return [
        Layout(width, low, swapped, reflected)
        for width, low in sorted(places)
        if width >= _LEAST_WIDTH and width + low <= oracle.bits
        for swapped in ((False, True) if width % 8 == 0 and width > 8 else (False,))  # noqa: PLR2004
        for reflected in (True, False)
    ]


def _polynomial(
    rows: Sequence[Sequence[int]], layout: Layout, *, reflected_in: bool, augmented: bool
) -> int | None:
    """Return the CRC polynomial that explains all differences of results; None if there is none.

    `rows` has, for each byte of a message, the changes of the result when one of the byte's eight
    bits is flipped. `augmented` is true if the CRC appends zero bits to the message; `reflected_in`
    is true if it reads the lowest bit of a byte first.
    """
    bits = range(7, -1, -1) if reflected_in else range(8)
    effects = [layout.read(row[bit]) for row in reversed(rows) for bit in bits]
    width = layout.width
    if augmented == (effects[0] == 1):
        return None
    value = effects[0]
    if not augmented:
        top = next((at for at, one in enumerate(effects) if one >> (width - 1)), None)
        if top != width - 1 or len(effects) <= width + 1:
            return None
        value = effects[width]
    if not value & 1 or value == 1:
        return None  # not a CRC: the function loses bits, or adds bytes without carries
    if not any(one >> (width - 1) for one in effects[:-1]):
        return None  # no reduction by the polynomial occurred: it may be a shift and an xor
    for one, following in pairwise(effects):
        if times_x(one, value, width) != following:
            return None
    return value


def _constants(oracle: Oracle, found: Recovered, base: bytes) -> Recovered | None:
    """Find the initial value and the final xor of a CRC, and the effect of the seed argument.

    `found` has the other parameters of the CRC; the result is a completed copy. `base` is a message
    to call the function with. Return None if no values fit the function's results.
    """
    crc = found.crc
    sizes = [oracle.fixed] if oracle.fixed is not None else _sizes(oracle)
    rests = {}  # by length: the result without the message's contribution
    for size in sizes:
        text = base[:1] * size
        message = crc.run(0, swap_words(text, found.word))
        rests[size] = found.layout.read(oracle.value(text)) ^ message
    solved = _initial_and_final(crc, rests)
    if solved is None:
        return None
    initial, final = solved
    shown = reverse(final, crc.width) if crc.reflected_out else final
    crc = crc._replace(initial=initial, final=shown)
    if not oracle.seed_bits:
        return found._replace(crc=crc)
    seeds = _seeds(oracle, found._replace(crc=crc), sizes)
    if seeds is None:
        return None
    plain = all(
        found.layout.read(1 << bit) == one for bit, one in enumerate(seeds[: crc.width])
    ) and not any(seeds[crc.width :])
    return found._replace(crc=crc, seeds=seeds if any(seeds) else (), plain=plain)


def _sizes(oracle: Oracle) -> list[int]:
    return [
        size * oracle.unit
        for size in (1, 2, 3, 4, 5, 7, 9, 16)
        if size * oracle.unit <= oracle.most
    ]


def _initial_and_final(crc: Crc, rests: dict[int, int]) -> tuple[int, int] | None:
    """Solve for the initial register and the final xor of a CRC; prefer the usual 0 and all ones.

    `rests` maps each message length in bytes to the result without the message's contribution. This
    is (initial register times x to the power of the message bits) xor (final xor). Neither value is
    reflected. Return None if no values fit.
    """
    ones = (1 << crc.width) - 1
    (first, one), *others = rests.items()
    if not others:  # one length does not determine both values
        for final in (0, ones):
            initial = _shifted(crc, one ^ final, -8 * first)
            if initial in (0, ones):
                return initial, final
        return 0, one
    second, two = others[0]
    images = [
        _shifted(crc, 1 << bit, 8 * first) ^ _shifted(crc, 1 << bit, 8 * second)
        for bit in range(crc.width)
    ]
    solved = kernel_and_solution(images, one ^ two)
    if solved is None:
        return None
    choices = []
    for initial in solved:
        final = one ^ _shifted(crc, initial, 8 * first)
        if all(_shifted(crc, initial, 8 * size) ^ final == rest for size, rest in rests.items()):
            choices.append((initial, final))
    return min(choices, key=lambda pair: _unusualness(pair, ones), default=None)


def _unusualness(pair: tuple[int, int], ones: int) -> tuple[int, int, int]:
    initial, final = pair
    return int(final not in (0, ones)), int(initial not in (0, ones)), final + initial


def _shifted(crc: Crc, register: int, bits: int) -> int:
    """Multiply a CRC register by x to the power of `bits`, modulo the CRC's polynomial.

    `bits` may be negative.
    """
    for _ in range(bits):
        register = times_x(register, crc.polynomial, crc.width)
    for _ in range(-bits):
        multiple = register ^ (crc.polynomial | 1 << crc.width if register & 1 else 0)
        register = multiple >> 1
    return register


def _seeds(oracle: Oracle, found: Recovered, sizes: Sequence[int]) -> tuple[int, ...] | None:
    """Return how each bit of the seed argument changes the initial register of a CRC.

    The effects are measured with messages of `sizes` bytes. Return None if they are not linear, or
    differ between the first and the last size.
    """
    read, noise = found.layout.read, noise_of(5)
    by_size = []
    for size in (sizes[0], sizes[-1]):
        text = noise.randbytes(size) if not oracle.text else bytes([_BASE]) * size
        unseeded = oracle.value(text, 0)
        effects = [read(oracle.value(text, 1 << bit) ^ unseeded) for bit in range(oracle.seed_bits)]
        seed = noise.getrandbits(oracle.seed_bits)
        expected = 0
        for bit, one in enumerate(effects):
            expected ^= one if seed >> bit & 1 else 0
        if read(oracle.value(text, seed) ^ unseeded) != expected:
            return None
        by_size.append(tuple(_shifted(found.crc, one, -8 * size) for one in effects))
    return by_size[0] if by_size[0] == by_size[-1] else None


def _agreement(oracle: Oracle, found: Recovered) -> tuple[int, int, int] | None:
    """Compare a function with the CRC `found` on many inputs.

    Return the number of inputs on which they agree, and the least and greatest length of these
    inputs in bytes. Return None if results disagree.

    A function with a buffer of limited size counts as a CRC up to this size: longer inputs may
    disagree.
    """
    crc, layout = found.crc, found.layout
    rest: int | None = None
    mask = ((1 << layout.width) - 1) << layout.at
    lengths, count = list[int](), 0
    for sample in samples(oracle):
        register = crc.initial
        for bit, one in enumerate(found.seeds):
            register ^= one if sample.seed >> bit & 1 else 0
        expected = crc.run(register, swap_words(sample.data, found.word))
        final = reverse(crc.final, crc.width) if crc.reflected_out else crc.final
        oracle.shift = sample.shift
        value = oracle.value(sample.data, sample.seed)
        other = value & ~mask
        seeded = bool(found.seeds)
        rest = other if rest is None else rest
        if layout.read(value) != expected ^ final or (other != rest and not seeded):
            if lengths and max(lengths) >= _LEAST_LENGTH and oracle.fixed is None:
                break
            return None
        count += 1
        lengths.append(len(sample.data))
    return (count, min(lengths), max(lengths)) if lengths else None


def _finding(oracle: Oracle, found: Recovered, count: int, least: int, most: int) -> dict[str, Any]:
    crc = found.crc
    digits = -(-crc.width // 4)

    def hexadecimal(value: int) -> str:
        return f"0x{value:0{digits}x}"

    parameters = {
        "width": str(crc.width),
        "polynomial": hexadecimal(crc.polynomial),
        "initial": hexadecimal(crc.initial),
        "reflected in": "yes" if crc.reflected_in else "no",
        "reflected out": "yes" if crc.reflected_out else "no",
        "final xor": hexadecimal(crc.final),
    }
    if found.seeds:
        shown = reverse(crc.initial, crc.width) if crc.reflected_out else crc.initial
        seed = oracle.seed_name if found.plain else f"a linear function of {oracle.seed_name}"
        parameters["initial"] = seed if not shown else f"{seed} ^ {hexadecimal(shown)}"
    if not crc.augmented:
        parameters["zeros behind the message"] = "no"
    if found.layout.swapped:
        parameters["byte order of the result"] = "swapped"
    if found.word > 1:
        parameters["bytes of words"] = "highest first"
    return finding("crc", name_of(crc.width, crc.polynomial), parameters, count, [least, most])
