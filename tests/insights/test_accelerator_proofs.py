"""Tests proofs that a function computes the same as an accelerator, with functions in Python.

Also compares the reference results with published values.
"""

import ctypes
import faulthandler
import hashlib
import os
import socket
import time
import zlib
from collections.abc import Callable
from functools import partial
from itertools import product

import llvmlite.binding as llvm
import pytest
from accelerated.learning import frequent_patterns

from slowpath.core.jobs.supervision import Child
from slowpath.insights import trials
from slowpath.insights.accelerators.classifier import GAP, occurs
from slowpath.insights.accelerators.groups import names_fit
from slowpath.insights.accelerators.proofs import reference_ciphers
from slowpath.insights.accelerators.proofs.crc import kernel_and_solution, prove_crc
from slowpath.insights.accelerators.proofs.digests import DIGESTS, Digest
from slowpath.insights.accelerators.proofs.harness import noise_of
from slowpath.insights.accelerators.proofs.reference_hashes import (
    SIMPLE,
    Route,
    lookup,
    lookup3,
    murmur3,
    siphash,
    toeplitz,
    xxh32,
    xxh64,
)
from slowpath.insights.accelerators.proofs.reference_sums import (
    Crc,
    adler32,
    ones_complement_sum,
    reverse,
)
from slowpath.insights.accelerators.proofs.routing import Roles
from slowpath.insights.native import SIZE, CompiledModule, Native, Region
from slowpath.insights.source.functions import Function, functions_of
from slowpath.insights.source.modules import machine
from slowpath.insights.trials import (
    Attempt,
    CrashRecord,
    Series,
    can_refuse_calls,
    limit,
    refuse_calls,
)

TEXT = b"123456789"
FOX = b"The quick brown fox jumps over the lazy dog"


def naive_crc(crc: Crc, data: bytes) -> int:
    """Compute a CRC bit by bit, as the catalogue of CRC algorithms defines it."""
    register, mask = crc.initial, (1 << crc.width) - 1
    for byte in data:
        bits = f"{byte:08b}"
        for bit in bits[::-1] if crc.reflected_in else bits:
            top = register >> (crc.width - 1) ^ int(bit)
            register = (register << 1) & mask ^ (crc.polynomial if top else 0)
    if crc.reflected_out:
        register = int(f"{register:0{crc.width}b}"[::-1], 2)
    return register ^ crc.final


@pytest.mark.parametrize(
    ("crc", "check"),
    [
        (Crc(3, 0x3, 0, False, False, 7), 0x4),
        (Crc(5, 0x05, 0x1F, True, True, 0x1F), 0x19),
        (Crc(7, 0x09, 0, False, False, 0), 0x75),
        (Crc(8, 0x07, 0, False, False, 0), 0xF4),
        (Crc(12, 0x80F, 0, False, True, 0), 0xDAF),
        (Crc(16, 0x1021, 0xFFFF, False, False, 0), 0x29B1),
        (Crc(16, 0x8005, 0, True, True, 0), 0xBB3D),
        (Crc(24, 0x864CFB, 0xB704CE, False, False, 0), 0x21CF02),
        (Crc(32, 0x04C11DB7, 0xFFFFFFFF, True, True, 0xFFFFFFFF), 0xCBF43926),
        (Crc(32, 0x1EDC6F41, 0xFFFFFFFF, True, True, 0xFFFFFFFF), 0xE3069283),
        (Crc(64, 0x42F0E1EBA9EA3693, 2**64 - 1, True, True, 2**64 - 1), 0x995DC9BBDF1939FA),
    ],
)
def test_crcs_have_the_check_values_of_the_catalogue(crc: Crc, check: int) -> None:
    assert crc.of(TEXT) == naive_crc(crc, TEXT) == check


class Recorded:
    """A CRC in Python with the interface of a C function, so that proofs can examine it."""

    def __init__(self, crc: Crc, *, seeded: bool, swapped: bool, at: int, text: bool) -> None:
        self._crc, self._seeded, self._swapped, self._at = crc, seeded, swapped, at
        self.bits = 64
        self.unit = self.words = 1
        self.fixed: int | None = None
        self.most = 4096
        self.text = text
        self.seed_bits = crc.width if seeded else 0
        self.seed_name = "crc"
        self.result = ""
        self.shift = 0

    def value(self, data: bytes, seed: int = 0) -> int:
        crc = self._crc
        if self._seeded:
            register = reverse(seed, crc.width) if crc.reflected_out else seed
            crc = crc._replace(initial=crc.initial ^ register)
        result = crc.of(data)
        if self._swapped:
            result = int.from_bytes(result.to_bytes(crc.width // 8, "little"), "big")
        return result << self._at


def test_parameters_of_random_crcs_are_recovered() -> None:
    noise = noise_of(1)
    for _ in range(150):
        width = noise.choice((5, 7, 8, 12, 15, 16, 24, 31, 32, 40, 64))
        ones = (1 << width) - 1
        crc = Crc(
            width,
            noise.getrandbits(width) | 1 | 1 << noise.randrange(1, width),
            noise.choice((0, ones, noise.getrandbits(width))),
            noise.randrange(2) == 1,
            noise.randrange(2) == 1,
            noise.choice((0, ones)),
        )
        seeded = noise.randrange(2) == 1
        oracle = Recorded(
            crc,
            seeded=seeded,
            swapped=not seeded and width in (16, 24, 32, 40, 64) and noise.randrange(3) == 0,
            at=0 if width > 32 or seeded else noise.choice((0, 0, 8)),
            text=noise.randrange(3) == 0,
        )
        found = prove_crc(oracle)
        assert found is not None, crc
        parameters = found["parameters"]
        assert (parameters["width"], int(parameters["polynomial"], 16)) == (
            str(width),
            crc.polynomial,
        )
        # Several sets of parameters may describe one CRC, so compare results.
        recovered = crc._replace(
            initial=0,
            reflected_in=parameters["reflected in"] == "yes",
            reflected_out=parameters["reflected out"] == "yes",
            final=int(parameters["final xor"], 16),
        )
        start = parameters["initial"].rpartition("^")[2].strip()
        shown = 0 if start == "crc" else int(start, 16)
        recovered = recovered._replace(
            initial=reverse(shown, width) if seeded and recovered.reflected_out else shown
        )
        for size in (1, 2, 9, 30):
            data = bytes(noise.randrange(1, 256) for _ in range(size))
            assert recovered.of(data) == crc.of(data), (crc, parameters)


@pytest.mark.parametrize(
    "function",
    [
        len,
        sum,
        lambda data: int.from_bytes(data[-4:], "little"),
        lambda data: zlib.crc32(data) + 1,
        lambda data: zlib.crc32(data) ^ (data[0] & data[-1] == 255),
        lambda data: zlib.crc32(data[:30]) ^ zlib.adler32(data[30:]),
        lambda data: zlib.crc32(data[::-1]),
        lambda data: reverse(zlib.crc32(data) & 0xFFFFFF, 32),
        lambda data: 0xFF & data[0] ^ data[-1],
    ],
)
def test_other_functions_are_no_crcs(function: object) -> None:
    class Other(Recorded):
        def value(self, data: bytes, seed: int = 0) -> int:  # noqa: ARG002
            return int(function(data))  # type: ignore[operator]

    oracle = Other(Crc(8, 7, 0, False, False, 0), seeded=False, swapped=False, at=0, text=False)
    assert prove_crc(oracle) is None


def padded_digest(digest: Digest, data: bytes) -> bytes:
    """Compute the digest of a message, with the padding that MD5 and SHA define."""
    size, count = 16 * digest.word, 2 * digest.word
    padded = data + b"\x80"
    padded += bytes((-len(padded) - count) % size)
    padded += (8 * len(data)).to_bytes(count, digest.order)
    state = list(digest.initial)
    for at in range(0, len(padded), size):
        block = padded[at : at + size]
        words = [block[k : k + digest.word] for k in range(0, size, digest.word)]
        state = digest.compress(state, [int.from_bytes(one, digest.order) for one in words])
    return b"".join(word.to_bytes(digest.word, digest.order) for word in state)


@pytest.mark.parametrize("digest", DIGESTS, ids=lambda one: one.name)
def test_compression_functions_make_the_digests_of_hashlib(digest: Digest) -> None:
    name = digest.name.lower().replace("-", "")
    for size in (0, 1, 55, 56, 64, 111, 112, 128, 300):
        data = noise_of(size).randbytes(size)
        assert padded_digest(digest, data) == hashlib.new(name, data).digest()


def test_sums_and_hashes_have_published_values() -> None:
    named = {one.name: one for one in SIMPLE}
    assert adler32(FOX) == zlib.adler32(FOX)
    assert ones_complement_sum(bytes.fromhex("0001f203f4f5f6f7")) == 0xDDF2  # RFC 1071
    assert named["FNV-1a-32"].of(b"foobar", 0x811C9DC5) == 0xBF9CF968
    assert named["FNV-1a-64"].of(b"foobar", 0xCBF29CE484222325) == 0x85944171F73967E8
    assert named["Jenkins one-at-a-time"].of(FOX, 0) == 0x519E91F5
    four_score = b"Four score and seven years ago"
    assert (lookup3(four_score, 0), lookup3(four_score, 1)) == (0x17770551, 0xCD628161)
    assert murmur3(FOX, 0x9747B28C) == 0x2FA826CD
    assert (xxh32(b"", 0), xxh64(b"", 0)) == (0x02CC5D05, 0xEF46DB3751D8E999)
    spam = b"Nobody inspects the spammish repetition"
    assert (xxh32(spam, 0), xxh64(spam, 0)) == (0xE2293B2F, 0xFBCEA83C8A378BF1)
    assert siphash(bytes(range(15)), bytes(range(16))) == 0xA129CA6149BE45E5
    key = bytes.fromhex(
        "6d5a56da255b0ec24167253d43a38fb0d0ca2bcbae7b30b477cb2da38030f20c6a42b73bbeac01fa"
    )
    assert toeplitz(bytes([66, 9, 149, 187, 161, 142, 100, 80]), key) == 0x323E8FC2


def test_ciphers_have_published_values() -> None:
    plain = bytes.fromhex("00112233445566778899aabbccddeeff")
    for size, expected in (
        (16, "69c4e0d86a7b0430d8cdb78070b4c55a"),
        (24, "dda97ca4864cdfe06eaf70a0ec0d7191"),
        (32, "8ea2b7ca516745bfeafc49904b496089"),
    ):
        key = bytes(range(size))
        assert reference_ciphers.aes_encrypt(plain, key).hex() == expected  # FIPS 197
        assert reference_ciphers.aes_decrypt(bytes.fromhex(expected), key) == plain
    key, block = bytes.fromhex("133457799bbcdff1"), bytes.fromhex("0123456789abcdef")
    assert reference_ciphers.des_encrypt(block, key).hex() == "85e813540f0ab405"
    for size in (8, 16, 24):
        longer = (plain + plain)[:size]
        assert (
            reference_ciphers.des_decrypt(reference_ciphers.des_encrypt(block, longer), longer)
            == block
        )
    nonce = bytes.fromhex("000000090000004a00000000")
    stream = reference_ciphers.chacha20(bytes(range(32)), nonce, 1, 16)
    assert stream.hex() == "10f1e7e4d13b5915500fdd1fa32071c4"  # RFC 8439
    assert reference_ciphers.salsa20(b"\x80" + bytes(31), bytes(8), 8).hex() == "e3be8fdd8beca2e3"
    assert reference_ciphers.rc4(b"Key", 9).hex() == "eb9f7781b734ca72a7"
    assert reference_ciphers.tea_encrypt(bytes(8), bytes(16), "big").hex() == "41ea3a0a94baa940"
    crypted = reference_ciphers.xtea_encrypt(b"ABCDEFGH", bytes(range(16)), "big")
    assert crypted.hex() == "497df3d072612cb5"
    assert reference_ciphers.xtea_decrypt(crypted, bytes(range(16)), "big") == b"ABCDEFGH"


def test_the_longest_prefix_counts() -> None:
    routes = [Route(0x0A000000, 8, 1), Route(0x0A010000, 16, 2), Route(0, 0, 3)]
    found = [lookup(routes, address) for address in (0x0A020304, 0x0A010203, 0x0B000000)]
    assert [one.hop if one else None for one in found] == [1, 2, 3]
    assert lookup(routes[:2], 0x0B000000) is None


def test_solutions_over_gf2_are_all_there_are() -> None:
    noise = noise_of(2)
    for _ in range(200):
        images = [noise.getrandbits(6) for _ in range(7)]
        target = noise.getrandbits(6)

        def total(chosen: int, images: list[int] = images) -> int:
            value = 0
            for at, image in enumerate(images):
                value ^= image if chosen >> at & 1 else 0
            return value

        brute = {chosen for chosen in range(1 << 7) if total(chosen) == target}
        assert set(kernel_and_solution(images, target) or ()) == brute


def test_patterns_are_those_that_sequences_have() -> None:
    noise = noise_of(3)
    texts = [tuple(noise.choice("abc") for _ in range(9)) for _ in range(6)]

    def has(pattern: tuple[str, ...], text: tuple[str, ...], start: int = -1) -> bool:
        if not pattern:
            return True
        places = range(len(text)) if start < 0 else range(start + 1, start + 2 + GAP)
        return any(
            at < len(text) and text[at] == pattern[0] and has(pattern[1:], text, at)
            for at in places
        )

    brute = {}
    for size in (2, 3, 4):
        for pattern in product("abc", repeat=size):
            count = sum(has(pattern, text) for text in texts)
            assert [occurs(pattern, text) for text in texts] == [has(pattern, t) for t in texts]
            if count >= 5:
                brute[pattern] = count
    assert frequent_patterns(texts, 5) == brute
    assert brute


def in_fork(work: object) -> int:
    child = os.fork()
    if child == 0:
        faulthandler.disable()  # a crash is expected
        try:
            code = int(work())  # type: ignore[operator]
        except BaseException:  # noqa: BLE001
            code = 99
        os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_a_confined_process_has_no_files_sockets_and_processes() -> None:
    if not can_refuse_calls():
        pytest.skip(
            "this kernel has no filters of system calls (CONFIG_SECCOMP_FILTER), which confine "
            "a process; without them, slowpath says so"
        )

    def refused(work: object) -> bool:
        try:
            work()  # type: ignore[operator]
        except OSError:
            return True
        return False

    def confined() -> int:
        libc = ctypes.CDLL(None, use_errno=True)
        limit(5, 256 << 20)
        refuse_calls()
        tried = (
            lambda: os.open("/etc/passwd", os.O_RDONLY),
            lambda: os.open("/tmp/slowpath-no", os.O_CREAT | os.O_WRONLY),  # noqa: S108
            lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM),
            lambda: socket.socket(socket.AF_UNIX, socket.SOCK_STREAM),
            os.fork,
            lambda: os.kill(1, 0),
            lambda: os.execv("/bin/true", ["true"]),  # noqa: S606
        )
        if not all(map(refused, tried)):
            return 1
        return 0 if libc.unshare(0x40000000) == -1 else 2

    assert in_fork(confined) == 0


def test_attempts_that_die_are_passed_over() -> None:
    def dies() -> None:
        faulthandler.disable()
        ctypes.string_at(16)

    def finds() -> dict[str, int]:
        return {"pid": os.getpid()}

    tried = [dies, finds, dies, dies, lambda: None, finds]
    found = list(Series(tried, 30, time.monotonic() + 60).successes())
    assert [at for at, _ in found] == [1, 5]
    assert os.getpid() not in {one["pid"] for _, one in found}
    assert Series([dies, lambda: None], 30, time.monotonic() + 60).first() is None


_FAULTY = """
define i8 @bad(ptr %from) {
  %read = load i8, ptr %from
  ret i8 %read
}
define void @copies(ptr %from) {
  call ptr @memcpy(ptr %from, ptr %from, i64 64)
  ret void
}
define i16 @adds(i8 signext %one, i8 zeroext %other, i64 %rest) {
  %a = sext i8 %one to i64
  %b = zext i8 %other to i64
  %c = add i64 %a, %b
  %d = add i64 %c, %rest
  %e = trunc i64 %d to i16
  ret i16 %e
}
declare ptr @memcpy(ptr, ptr, i64)
"""


def test_a_process_survives_faults_and_another_one_confirms_what_it_finds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    module = llvm.parse_assembly(_FAULTY)
    module.triple, module.data_layout = machine().triple, str(machine().target_data)
    functions = functions_of(module)
    code = CompiledModule(module, guarded=True)
    bad, copies, adds = (code.native(functions[name]) for name in ("bad", "copies", "adds"))
    assert bad is not None
    assert copies is not None
    assert adds is not None
    assert adds([0xFF, 0xFF, 1 << 40 | 0x1_0003]) == 0x101
    started, faults = list[int](), list[int]()

    def start(work: Callable[[int], int]) -> Child:
        started.append(1)
        return Child(work)

    monkeypatch.setattr(trials, "Child", start)

    def dies(function: Native) -> None:
        faults.append(1)
        function([8])

    def finds() -> dict[str, int]:
        return {"sum": adds([1, 2, 3]), "faults": len(faults)}

    tried: list[Attempt] = [*[partial(dies, bad)] * 20, finds, finds, partial(dies, copies), finds]
    found = list(Series(tried, 30, time.monotonic() + 60).successes())
    assert found == [(at, {"sum": 6, "faults": 0}) for at in (20, 21, 23)]
    # One process for 16 faults, one for 4, one until the C library faults, one for the rest.
    assert len(started) == 4


def test_what_calls_the_same_as_one_that_died_is_not_tried() -> None:
    def dies() -> None:
        faulthandler.disable()
        ctypes.string_at(16)

    def find(number: int) -> dict[str, int]:
        return {"number": number}

    tried: list[Attempt] = [partial(find, 0), dies, *(partial(find, one) for one in (2, 3, 4))]
    calls = {tried[0]: "a", dies: "b", tried[2]: "b", tried[3]: "c"}
    fates = CrashRecord(calls)
    found = list(Series(tried, 30, time.monotonic() + 60, fates=fates).successes())
    assert [one["number"] for _, one in found] == [0, 3, 4]
    again = Series(tried[1:3], 30, time.monotonic() + 60, fates=fates)
    assert again.first() is None
    assert not again.given_up
    # Without a record of calls, all attempts are tried.
    assert Series(tried[1:3], 30, time.monotonic() + 60).first() == {"number": 2}


def test_a_table_of_a_library_is_not_prepared_by_what_looks_or_takes_away() -> None:
    names = ("create", "fib_add", "fib_delete", "fib_lookup", "free_fib", "select_way")
    functions = {
        name: Function(name, name, None, "void", (), False, (), frozenset(), frozenset(), False)
        for name in names
    }
    roles = [
        Roles(None, begin, add, "fib_lookup")
        for begin in (None, "create", "fib_delete", "free_fib", "select_way")
        for add in ("fib_add", "fib_delete")
    ]
    found = [one for one in roles if names_fit(functions, one)]
    assert [(one.begin, one.add) for one in found] == [(None, "fib_add"), ("create", "fib_add")]


def test_memory_ends_where_it_says() -> None:
    region = Region()
    region.write(b"abc", SIZE - 3)
    assert region.read(3, SIZE - 3) == b"abc"
    assert in_fork(lambda: len(ctypes.string_at(region.address + SIZE, 1))) < 0
    assert in_fork(lambda: len(ctypes.string_at(region.address - 1, 1))) < 0
