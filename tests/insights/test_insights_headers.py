"""Compares the classes and functions in slowpath's Click headers with equivalents in Python."""

import ctypes
import hashlib
import heapq
import ipaddress
import math
import zlib
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from insights_native import native
from support import ROOT

FOLDER = ROOT / "tests/click"
LONG = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(scope="module")
def containers(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    library = native(tmp_path_factory.mktemp("containers"), FOLDER / "containers.cc")
    for name in ("map_get", "map_size", "map_sum", "refused"):
        getattr(library, name).restype = ctypes.c_long
    return library


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., str | None]:
    """Return a function that calls a C function by name, and returns its result (text or None)."""
    library = native(tmp_path_factory.mktemp("texts"), FOLDER / "texts.cc")

    def call(name: str, *words: str | int) -> str | None:
        function = getattr(library, name)
        function.restype = ctypes.c_char_p
        arguments = [one.encode() if isinstance(one, str) else ctypes.c_long(one) for one in words]
        found = function(*arguments)
        return None if found is None else found.decode()

    call.library = library  # type: ignore[attr-defined]
    return call


@pytest.fixture(scope="module")
def numbers(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    library = native(tmp_path_factory.mktemp("numbers"), FOLDER / "numbers.cc")
    for name in ("root", "big_multiplied", "averaged"):
        getattr(library, name).restype = ctypes.c_uint64
    for name in ("root32", "ethernet_sum", "until"):
        getattr(library, name).restype = ctypes.c_uint32
    for name in ("plain_sum", "pseudo_sum", "pseudo_sum6", "zero_sum"):
        getattr(library, name).restype = ctypes.c_uint16
    library.divided.restype = ctypes.c_long
    for name in ("least_bit", "most_bit", "root", "set_now"):
        getattr(library, name).argtypes = [ctypes.c_uint64]
    library.divided.argtypes = [ctypes.c_long, ctypes.c_uint32]
    return library


SLOTS = 8
"""Slots of the allocator in `containers.cc`."""
STEPS = st.lists(
    st.tuples(st.sampled_from(("set", "erase", "get", "odd", "front")), st.integers(0, 14)),
    max_size=60,
)


@LONG
@given(steps=STEPS)
def test_a_container_of_objects_is_a_dict_with_an_order(
    containers: ctypes.CDLL, steps: list[tuple[str, int]]
) -> None:
    """Compare a Click hash container with a Python dict.

    With four buckets, objects share a bucket; with eight slots, some objects do not fit.
    """
    containers.reset()
    expected, refused = dict[int, int](), 0  # in the order of the container's list
    for value, (action, key) in enumerate(steps):
        if action == "set":
            room = key in expected or len(expected) < SLOTS
            assert containers.map_set(key, value) == room
            refused += not room
            if room:
                expected.pop(key, None)
                expected[key] = value
        elif action == "erase":
            assert containers.map_erase(key) == (key in expected)
            expected.pop(key, None)
        elif action == "odd":
            containers.map_erase_odd()
            expected = {one: at for one, at in expected.items() if one % 2 == 0}
        elif action == "front" and key in expected:
            containers.row_to_front(key)
            expected = {key: expected.pop(key), **expected}
        assert containers.map_get(key) == expected.get(key, -1)
        assert containers.map_size() == containers.row_size() == len(expected)
        assert containers.map_sum() == sum(1000 * one + at for one, at in expected.items())
        order = list(expected)
        assert [containers.row_key(at) for at in range(len(order))] == order
        assert [containers.row_backwards(at) for at in range(len(order))] == order[::-1]
    assert containers.refused() == refused


@LONG
@given(steps=st.lists(st.tuples(st.sampled_from(("push", "pop", "remove")), st.integers(0, 63))))
def test_a_heap_gives_the_least_first_and_knows_places(
    containers: ctypes.CDLL, steps: list[tuple[str, int]]
) -> None:
    containers.reset()
    expected = list[int]()
    for action, x in steps:
        if action == "push" and x not in expected:
            containers.heap_push(x)
            heapq.heappush(expected, x)
        elif action == "pop" and expected:
            assert containers.heap_pop() == heapq.heappop(expected)
        elif action == "remove" and x in expected:
            containers.heap_remove(x)
            expected.remove(x)
            heapq.heapify(expected)
        assert containers.heap_size() == len(expected)
        assert containers.heap_is_right()


@LONG
@given(
    items=st.lists(st.integers(-99, 99), min_size=1, max_size=30),
    at=st.integers(0, 29),
    other=st.integers(0, 29),
)
def test_vectors_change_as_lists_do(
    containers: ctypes.CDLL, items: list[int], at: int, other: int
) -> None:
    def changed(which: int, first: int, second: int) -> list[int]:
        room = (ctypes.c_int * 64)(*items)
        size = containers.vector_of(which, first, second, room, len(items))
        return list(room[:size])

    at %= len(items)
    last = max(at, other % (len(items) + 1))
    assert changed(0, at, 7) == [*items[:at], 7, *items[at:]]
    assert changed(1, at, 0) == [*items[:at], *items[at + 1 :]]
    assert changed(2, at, last) == [*items[:at], *items[last:]]
    assert changed(3, other, -5) == (items + [-5] * 64)[:other] if other > len(items) else True
    assert changed(3, at, -5) == items[:at]


def test_bits_in_a_row(containers: ctypes.CDLL) -> None:
    containers.reset()
    expected = [False] * 70
    containers.bits_size(70)
    assert containers.bits_zero()
    for at in (0, 31, 32, 69, 31):
        expected[at] = not expected[at]
        containers.bits_set(at, expected[at])
        assert [bool(containers.bits_get(one)) for one in range(70)] == expected
        assert containers.bits_weight() == sum(expected)
    containers.bits_size(40)
    containers.bits_size(70)
    assert containers.bits_weight() == sum(expected[:40])
    containers.bits_all(33, 1)
    assert (containers.bits_weight(), containers.bits_zero()) == (33, 0)


@LONG
@given(steps=st.lists(st.booleans(), max_size=80))
def test_a_ring_holds_its_capacity(containers: ctypes.CDLL, steps: list[bool]) -> None:
    containers.reset()
    held = 0
    for put in steps:
        if put:
            assert containers.ring_put() == (held < 5)
            held = min(5, held + 1)
        else:
            assert containers.ring_take() == (held > 0)
            held = max(0, held - 1)
        assert containers.ring_size() == held
        assert containers.ring_back()


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("unquoted", '"a b" c', "a b c"),
        ("unquoted", "'a \\n' b", "a \\n b"),
        ("unquoted", '"tab\\t and \\"quote\\""', 'tab\t and "quote"'),
        ("unquoted", "\\<41 42 43>x", "ABCx"),
        ("unquoted", "plain // comment", "plain"),
        ("quoted", 'a "b" \\', '"a \\"b\\" \\\\"'),
        ("uncommented", " a /* b, c */ d // e\nf ", "a   d  f"),
        ("uncommented", '"// no comment" x', '"// no comment" x'),
        ("words_of", "  a 'b c' d\"e f\"g  h ", "a|'b c'|d\"e f\"g|h"),
        ("shifted", "x  'y z' /* w */ v", "x|'y z'|v"),
        ("arguments_of", 'a b, c(d, e), "f, g", , h', 'a b|c(d, e)|"f, g"||h'),
        ("arguments_of", "", ""),
    ],
)
def test_texts_are_taken_apart(texts: Any, name: str, text: str, expected: str) -> None:
    assert texts(name, text) == expected


@pytest.mark.parametrize(
    ("text", "bits", "base", "expected"),
    [
        ("17", 32, 0, "17"),
        ("-17", 32, 0, "-17"),
        ("0x1F", 32, 0, "31"),
        ("1f", 32, 16, "31"),
        ("0x1f", 32, 10, None),
        ("0x1f", 32, 16, "31"),
        ("0x1f", 32, 8, None),
        ("0x", 32, 0, None),
        ("0xg", 32, 0, None),
        ("010", 32, 0, "8"),
        ("-010", 32, 0, "-8"),
        ("010", 32, 10, "10"),
        ("010", 32, 16, "16"),
        ("08", 32, 0, None),
        ("0", 32, 0, "0"),
        ("00", 32, 0, "0"),
        ("0b11", 32, 0, "3"),
        ("0B101", 32, 2, "5"),
        ("0b11", 32, 16, "2833"),
        ("0b11", 32, 10, None),
        ("0b12", 32, 0, None),
        ("0b", 32, 0, None),
        ("0777", -8, 0, None),
        ("0377", -8, 0, "255"),
        ("\x11", 32, 0, None),
        ("2147483647", 32, 0, "2147483647"),
        ("2147483648", 32, 0, None),
        ("-2147483648", 32, 0, "-2147483648"),
        ("18446744073709551615", 64, 0, "18446744073709551615"),
        ("18446744073709551616", 64, 0, None),
        ("255", -8, 0, "255"),
        ("256", -8, 0, None),
        ("", 32, 0, None),
        ("1 2", 32, 0, None),
        ("-", 32, 0, None),
    ],
)
def test_integers(texts: Any, text: str, bits: int, base: int, expected: str | None) -> None:
    assert texts("integer", text, bits, base) == expected


def test_integers_out_of_range_are_refused(texts: Any) -> None:
    library = texts.library
    assert [library.integer_status(one) for one in (b"7", b"70000", b"seven")] == [0, 2, 1]
    library.saturated.restype = ctypes.c_long
    assert [library.saturated(one) for one in (b"7", b"9999999999", b"x")] == [7, 2**32 - 1, -1]
    begins = [(b"12ab", 10), (b"0x1fg", 0), (b"12ab", 16), (b"ab", 10), (b"-3:", 10)]
    assert [library.integer_begins(*one) for one in begins] == [2, 4, 4, 0, 2]
    begins = [(b"0b112", 0), (b"0178", 0), (b"0xg", 0), (b"09", 0), (b"1z", 36), (b"0b2", 0)]
    assert [library.integer_begins(*one) for one in begins] == [4, 3, 1, 1, 2, 1]


@LONG
@given(
    value=st.decimals(min_value=0, max_value=100000, places=7),
    unit=st.sampled_from(("", "s", " sec", "ms", "us", "m", "h")),
    digits=st.integers(0, 6),
)
def test_times_in_all_units(texts: Any, value: Decimal, unit: str, digits: int) -> None:
    """Compare parsed times in all units with exact fractions.

    Digits finer than requested are dropped before minutes and hours are converted.
    """
    times = {"ms": Fraction(1, 1000), "us": Fraction(1, 1000000), "m": 60, "h": 3600}
    scale = times.get(unit.strip(), 1)
    if isinstance(scale, int):
        expected = math.floor(Fraction(value) * 10**digits) * scale
    else:
        expected = math.floor(Fraction(value) * 10**digits * scale)
    assert texts("seconds", f"{value:f}{unit}", digits) == str(expected)


@pytest.mark.parametrize("text", ["", "s", "1x", "1.2.3", "1 day", "."])
def test_texts_without_a_time_are_refused(texts: Any, text: str) -> None:
    assert texts("seconds", text, 3) is None
    assert texts("moment", text) is None


@LONG
@given(value=st.decimals(min_value=0, max_value=1000, places=6), bits=st.integers(1, 28))
def test_fixed_points(texts: Any, value: Decimal, bits: int) -> None:
    found = int(texts("fixed", f"{value:f}", bits))
    assert abs(found - Fraction(value) * 2**bits) <= 1
    shown = Fraction(texts("unparsed_fixed", found, bits))
    assert 0 <= Fraction(found, 2**bits) - shown < Fraction(1, 10**6)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1000", 1000),
        ("8 bps", 1),
        ("1Mbps", 125000),
        ("1.5 kBps", 1500),
        ("2GBps", 2 * 10**9),
        ("8kb/s", 1000),
        ("40 Gbps", None),
        ("5 apples", None),
        ("fast", None),
    ],
)
def test_bandwidths(texts: Any, text: str, expected: int | None) -> None:
    assert texts("bandwidth", text) == (None if expected is None else str(expected))


@LONG
@given(address=st.ip_addresses(v=6), form=st.sampled_from(("compressed", "exploded")))
def test_addresses_of_ipv6(texts: Any, address: ipaddress.IPv6Address, form: str) -> None:
    found = texts("address6", getattr(address, form))
    assert found is not None
    assert ipaddress.IPv6Address(found) == address


@pytest.mark.parametrize(
    "text",
    [
        *("", ":", ":::", "1::2::3", "12345::", "g::", "1:", "::1:", "::1.2.3"),
        *("1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "1:2:3:4:5:6:7:1.2.3.4"),
    ],
)
def test_texts_without_an_ipv6_address_are_refused(texts: Any, text: str) -> None:
    with pytest.raises(ipaddress.AddressValueError):
        ipaddress.IPv6Address(text)
    assert texts("address6", text) is None


@pytest.mark.parametrize("text", ["::", "::1", "1::", "1::8", "::1.2.3.4", "::ffff:10.0.0.1"])
def test_short_addresses_of_ipv6(texts: Any, text: str) -> None:
    found = texts("address6", text)
    assert found is not None
    assert ipaddress.IPv6Address(found) == ipaddress.IPv6Address(text)


@pytest.mark.parametrize(
    ("name", "words", "expected"),
    [
        ("prefix", ("10.1.2.3/8", 0), "10.1.2.3/8"),
        ("prefix", ("10.1.0.0/255.255.0.0", 0), "10.1.0.0/16"),
        ("prefix", ("10.1.2.3", 0), None),
        ("prefix", ("10.1.2.3", 1), "10.1.2.3/32"),
        ("prefix", ("10.1.2.3/33", 1), None),
        ("prefix", ("10.1.2/8", 1), None),
        ("prefix6", ("2001:db8::/32",), "2001:db8::/32"),
        ("prefix6", ("2001:db8::/129",), None),
        ("prefix6", ("2001:db8::",), None),
        ("ethernet", ("0:1:2:a:B:ff",), "00:01:02:0A:0B:FF"),
        ("ethernet", ("00-01-02-03-04-05",), "00:01:02:03:04:05"),
        ("ethernet", ("00-01-02-03-04",), None),
        ("port", ("http", 6), "80"),
        ("port", ("8080", 17), "8080"),
        ("port", ("65536", 17), None),
        ("port", ("nothing", 17), None),
        ("moment", ("1.000001",), "1.000001"),
        ("moment", ("3ms",), "0.003000"),
    ],
)
def test_addresses_ports_and_times(
    texts: Any, name: str, words: tuple[str | int, ...], expected: str | None
) -> None:
    assert texts(name, *words) == expected


def test_names_are_defined_and_found(texts: Any) -> None:
    kind, other = 0x7F000000, 0x7F000001
    assert texts("named", kind, "first") is None
    texts.library.define(kind, b"first", 11)
    texts.library.define(kind, b"second", 22)
    texts.library.define(other, b"first", 33)
    texts.library.define(kind, b"second", 44)
    assert texts("named", kind, "first") == "11"
    assert texts("named", kind, "second") == "44"
    assert texts("named", other, "first") == "33"
    assert texts("named", kind, "5") == "5", "numbers need no name"
    assert texts("name_of", kind, 44) == "second"
    assert texts("name_of", kind, 22) == ""


def test_annotations_have_places(texts: Any) -> None:
    place = texts.library.annotation
    assert [place(one, 1) for one in (b"PAINT", b"20", b"47", b"48", b"-1", b"X")] == [
        *(16, 20, 47),
        *(-1, -1, -1),
    ]
    assert [place(one, 4) for one in (b"AGGREGATE", b"44", b"45")] == [20, 44, -1]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10.0.0.1", "10.0.0.1 7 false 0   true []"),
        ("COUNT 3, 10.0.0.1", "10.0.0.1 3 true 0   true []"),
        ("ADDR 10.0.0.1, ADD 2, ADD 40", "10.0.0.1 7 false 42   true []"),
        ("10.0.0.1, WITH a, left, WITH b, over", "10.0.0.1 7 false 0 a b  true [left, over]"),
        ("10.0.0.1, CALL x.y 1, VERBOSE false", "10.0.0.1 7 false 0  x.y 1 false []"),
        ("COUNT 3", "error ADDR 1"),
        ("10.0.0.1, COUNT x", "error COUNT 1"),
        ("nowhere, COUNT x", "error ADDR 2"),
    ],
)
def test_arguments_are_read_in_any_order(texts: Any, text: str, expected: str) -> None:
    assert texts("configured", text) == expected


def test_texts_are_put_together(texts: Any) -> None:
    address = int.from_bytes(bytes([192, 0, 2, 1]), "little")
    made = texts("put_together", -5, address, 1_500_000_000)
    assert made == "n=-5 192.0.2.1 xtrue1.500--"
    parts = [(2, 3), (-3, 2), (4, -1), (9, 9), (0, 0)]
    assert [texts("part_of", "abcdef", *one) for one in parts] == ["cde", "de", "e", "", ""]
    order = [(b"a", b"b"), (b"b", b"a"), (b"ab", b"a"), (b"a", b"a"), (b"", b"a")]
    assert [texts.library.ordered(*one) for one in order] == [-1, 1, 1, 0, -1]
    assert texts.library.found_at(b"abcabd", b"abd") == 3
    assert texts.library.found_at(b"abc", b"x") == -1
    assert texts.library.found_last(b"abcabd", ord("b")) == 4
    assert texts.library.found_last(b"abc", ord("x")) == -1


def test_texts_respect_their_limits(texts: Any) -> None:
    library = texts.library
    lengths = [0, 255, 256, 300, 4095, 4096]
    expected = [0, 255, 256, 300, 4095, -1]
    assert [library.put_together_of(one) for one in lengths] == expected
    for at_once in (1, 100, 5000):
        assert [library.text_of(one, at_once) for one in lengths] == expected
    words = [f"word{at}" for at in range(200)]
    assert texts("arguments_of", ", ".join(words)) == "|".join(words)
    assert texts("shifted", " ".join(words)) == "|".join(words)
    assert texts("unquoted", '"' + "x" * 4000 + '"') == "x" * 4000


@LONG
@given(
    sizes=st.lists(st.sampled_from((0, 1, 100, 254, 255, 256, 400)), min_size=4, max_size=4),
    steps=st.lists(st.tuples(*(st.integers(0, most) for most in (5, 3, 3, 600))), max_size=40),
)
def test_texts_change_alone(
    texts: Any, sizes: list[int], steps: list[tuple[int, int, int, int]]
) -> None:
    """Check that a change to a Click string does not change its copies, whatever their length."""
    library = texts.library
    library.kept_as.restype = ctypes.c_char_p
    expected = [("abcdefghij" * 40)[:size] for size in sizes]
    for to, text in enumerate(expected):
        library.keep(to, text.encode())
    for action, to, source, at in steps:
        if action == 1 and len(expected[to]) + len(expected[source]) > 4000:
            continue
        library.change(action, to, source, at)
        old, other = expected[to], expected[source]
        place = at % len(old) if old else 0
        expected[to] = {
            0: other,
            1: old + other,
            2: old + chr(ord("a") + at % 26),
            3: other[at % 300 :],
            4: other.upper(),
            5: old and f"{old[:place]}-{old[place + 1 :]}",
        }[action]
        assert [library.kept_as(one).decode() for one in range(4)] == expected
        assert [library.kept_length(one) for one in range(4)] == [len(one) for one in expected]


def test_shared_memory_of_elements_has_a_limit(texts: Any) -> None:
    assert [texts.library.shared(one) for one in (1, 8, 9)] == [1, 8, -1]


def test_requested_ports_do_not_change(texts: Any) -> None:
    pairs = [(0, 1), (1, 0), (2, 2), (63, 5)]
    assert [texts.library.pushes_to(*one) for one in pairs] == [0, 1, 2, 63]


def test_masks_of_ipv6(texts: Any) -> None:
    assert texts("masked6", "2001:db8::1", "ffff:ffff::") == "2001:db8::1/32"
    assert texts("masked6", "2001:db8::1", "ffff::ffff") == "2001:db8::1/ffff::ffff"
    assert texts("masked6", "2001:db8::1", "::") == "2001:db8::1/0"


@LONG
@given(x=st.integers(0, 2**64 - 1), y=st.integers(1, 2**32 - 1))
def test_whole_numbers(numbers: ctypes.CDLL, x: int, y: int) -> None:
    small = x & 0xFFFFFFFF
    assert numbers.least_bit(x) == (x & -x).bit_length()
    assert numbers.most_bit(x) == (65 - x.bit_length() if x else 0)
    assert numbers.most_bit32(ctypes.c_uint32(small)) == (33 - small.bit_length() if small else 0)
    assert numbers.root(x) == math.isqrt(x)
    assert numbers.root32(ctypes.c_uint32(small)) == math.isqrt(small)
    signed = x - 2**63
    assert numbers.divided(signed, y) == signed // y
    assert numbers.divided32(small - 2**31, ctypes.c_uint32(y)) == (small - 2**31) // y
    both = (ctypes.c_uint64 * 2)()
    numbers.big_divided(ctypes.c_uint64(x), ctypes.c_uint32(y), both)
    assert tuple(both) == divmod(x, y)
    product = numbers.big_multiplied(ctypes.c_uint32(small), ctypes.c_uint32(y))
    assert product == small * y


@LONG
@given(items=st.lists(st.integers(-(10**6), 10**6), max_size=40), up=st.booleans())
def test_sorting(numbers: ctypes.CDLL, items: list[int], up: bool) -> None:
    room = (ctypes.c_int * 64)(*items)
    numbers.sorted(room, len(items), -1 if up else 1)
    assert list(room[: len(items)]) == sorted(items, reverse=not up)


def added(data: bytes) -> int:
    """Compute the internet checksum (RFC 1071) of data, as a number in network byte order."""
    padded = data + bytes(len(data) % 2)
    words = [int.from_bytes(padded[at : at + 2], "big") for at in range(0, len(padded), 2)]
    total = sum(words)
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return 0xFFFF - total


def swapped(x: int) -> int:
    return int.from_bytes(x.to_bytes(2, "little"), "big")


@LONG
@given(
    data=st.binary(min_size=8, max_size=80),
    ends=st.binary(min_size=32, max_size=32),
    protocol=st.sampled_from((1, 6, 17, 58)),
)
def test_sums_with_pseudo_headers(
    numbers: ctypes.CDLL, data: bytes, ends: bytes, protocol: int
) -> None:
    header = bytearray(20)
    header[9] = protocol
    header[12:20] = ends[:8]
    size = len(data).to_bytes(2, "big")
    pseudo = ends[:8] + bytes([0, protocol]) + size
    found = numbers.pseudo_sum(bytes(header), data, len(data))
    assert swapped(found) % 0xFFFF == added(pseudo + data) % 0xFFFF
    pseudo = ends + bytes(2) + size + bytes([0, 0, 0, protocol])
    before = int.from_bytes(data[2:4], "little")  # a field that the sum leaves out
    zeroed = data[:2] + bytes(2) + data[4:]
    found = numbers.pseudo_sum6(
        *(ends[:16], ends[16:], protocol, data, len(data), ctypes.c_uint16(before))
    )
    assert found % 0xFFFF == added(pseudo + zeroed) % 0xFFFF


def test_checksums_use_the_right_zero(numbers: ctypes.CDLL) -> None:
    cases = [(0, bytes(4)), (0xFFFF, bytes(4)), (0, b"\0\1"), (0xFFFF, b"\1\0"), (7, bytes(4))]
    found = [numbers.zero_sum(ctypes.c_uint16(at), data, len(data)) for at, data in cases]
    assert found == [0xFFFF, 0xFFFF, 0, 0, 7]


@LONG
@given(data=st.binary(max_size=200), first=st.integers(0, 200))
def test_digests(numbers: ctypes.CDLL, data: bytes, first: int) -> None:
    assert numbers.ethernet_sum(data, len(data)) ^ 0xFFFFFFFF == zlib.crc32(data)
    digest, text = ctypes.create_string_buffer(16), ctypes.create_string_buffer(32)
    numbers.md5_of(data, len(data), min(first, len(data)), digest, text)
    assert digest.raw == hashlib.md5(data, usedforsecurity=False).digest()
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@"
    bits = int.from_bytes(digest.raw, "big") << 4
    expected = "".join(letters[bits >> (126 - 6 * at) & 63] for at in range(22))
    assert text.value.decode() == expected


@LONG
@given(steps=st.lists(st.tuples(st.integers(0, 40), st.integers(0, 1500)), max_size=60))
def test_averages_over_jiffies(numbers: ctypes.CDLL, steps: list[tuple[int, int]]) -> None:
    """Compare a Click moving average with exact fractions.

    The integer computation loses less than 2^-14 at each update.
    """
    now = 1_000_000_000
    numbers.set_now(now)
    numbers.begin(0, 0)
    exact, total, folds = Fraction(0), 0, 0
    for wait, by in steps:
        now += wait * 1_000_000
        numbers.set_now(now)
        for jiffy in range(wait):
            exact += ((total if jiffy == 0 else 0) * 1024 - exact) / 16
            folds += 1
            if jiffy == 0:
                total = 0
        total += by
        assert abs(numbers.averaged(by) - exact) <= min(16, folds)


def test_gaps_let_a_rate_through(numbers: ctypes.CDLL) -> None:
    """Check that Click's rate limit of 1,000 packets per second passes every tenth of 10,000."""
    numbers.begin(1000, 0)
    went = list[int]()
    for tick in range(30_000):
        numbers.set_now(5_000_000_000 + tick * 100_000)
        if numbers.allowed():
            went.append(tick)
    assert len(went) == 3000
    assert {after - at for at, after in pairwise(went)} <= {9, 10, 11}
    numbers.begin(0, 0)
    assert not any(numbers.allowed() for _ in range(10))


@LONG
@given(
    rate=st.integers(1, 10**6),
    capacity=st.integers(1, 10**5),
    steps=st.lists(st.tuples(st.integers(0, 2000), st.integers(0, 3000)), max_size=40),
)
def test_a_bucket_of_tokens(
    numbers: ctypes.CDLL, rate: int, capacity: int, steps: list[tuple[int, int]]
) -> None:
    now, level = 7_000_000_000, Fraction(0)
    numbers.set_now(now)
    numbers.begin(rate, capacity)
    for wait, tokens in steps:
        now += wait * 1_000_000
        numbers.set_now(now)
        level = min(Fraction(capacity), level + Fraction(rate * wait, 1000))
        enough = level >= tokens
        assert bool(numbers.taken(tokens)) == enough
        level -= tokens if enough else 0
        missing = max(Fraction(0), tokens - level)
        assert numbers.until(tokens) == math.ceil(missing * 1000 / rate) % 2**32


@LONG
@given(
    routes=st.lists(st.tuples(st.integers(0, 2**32 - 1), st.integers(0, 32)), max_size=30),
    addresses=st.lists(st.integers(0, 2**32 - 1), max_size=20),
)
def test_routes(numbers: ctypes.CDLL, routes: list[tuple[int, int]], addresses: list[int]) -> None:
    def masked(address: int, length: int) -> int:
        return address >> (32 - length) << (32 - length)

    numbers.table_begin()
    for number, (to, length) in enumerate(routes):
        mask = masked(2**32 - 1, length)
        numbers.table_add(ctypes.c_uint32(to), ctypes.c_uint32(mask), number)
    for address in [*addresses, *(to for to, _ in routes)]:
        inside = [
            (length, -number)
            for number, (to, length) in enumerate(routes)
            if masked(address, length) == masked(to, length)
        ]
        expected = -max(inside)[1] if inside else -1
        assert numbers.table_find(ctypes.c_uint32(address)) == expected
