"""Tests parts of `insights counts`: LLVM operands, type layouts, records of memory accesses."""

import ctypes
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from insights_counted import FOLDER
from insights_native import native
from slowpath.core.engine.objects import captured
from slowpath.core.programs.packet import write_pcap

llvm = pytest.importorskip("llvmlite.binding")
np = pytest.importorskip("numpy")

from slowpath.core.errors import InputError  # noqa: E402
from slowpath.insights.accelerators.proofs.harness import noise_of  # noqa: E402
from slowpath.insights.source.layouts import Field, Spot, Type, descend, locate  # noqa: E402
from slowpath.insights.source.modules import (  # noqa: E402  # noqa: E402
    Access,
    accesses,
    bracketed_prefix,
    callee_of,
    split_at_commas,
)
from slowpath.insights.trace.instrumentation import BEGINS, CALLS, RETURNS, AccessSite  # noqa: E402
from slowpath.insights.trace.memory import Area, MemoryMap, Structure  # noqa: E402
from slowpath.insights.trace.recording import RECORDS, Recorder  # noqa: E402


def size(kind: str) -> str:
    return f"ptrtoint (ptr getelementptr ({kind}, ptr null, i32 1) to i64)"


@pytest.mark.parametrize(
    ("opcode", "text", "expected"),
    [
        ("load", "%5 = load i32, ptr %4, align 4", [("read", "%4", "i32")]),
        ("load", '%"a b" = load volatile i64, ptr @"x, y", align 8', [("read", '@"x, y"', "i64")]),
        ("load", "%1 = load atomic i32, ptr %p seq_cst, align 4", [("read", "%p", "i32")]),
        (
            "load",
            "%7 = load { i64, ptr }, ptr getelementptr inbounds (i8, ptr @g, i64 8), align 8",
            [("read", "getelementptr inbounds (i8, ptr @g, i64 8)", "{ i64, ptr }")],
        ),
        ("store", "store i8 %x, ptr %y, align 1", [("write", "%y", "i8")]),
        (
            "store",
            "store <4 x i32> <i32 1, i32 2, i32 3, i32 4>, ptr inttoptr (i64 64 to ptr), align 16",
            [("write", "inttoptr (i64 64 to ptr)", "<4 x i32>")],
        ),
        (
            "store",
            "store ptr getelementptr (i8, ptr @v, i64 16), ptr %1, align 8",
            [("write", "%1", "ptr")],
        ),
        (
            "atomicrmw",
            "%9 = atomicrmw add ptr @count, i64 1 seq_cst, align 8",
            [("read", "@count", "i64"), ("write", "@count", "i64")],
        ),
        (
            "cmpxchg",
            "%9 = cmpxchg weak ptr %p, i32 %a, i32 %b acq_rel monotonic, align 4",
            [("read", "%p", "i32"), ("write", "%p", "i32")],
        ),
        ("add", "%3 = add i32 %1, %2", []),
        ("call", "%3 = call i32 @f(ptr %1)", []),
    ],
)
def test_operands_are_read_from_text(
    opcode: str, text: str, expected: list[tuple[str, str, str]]
) -> None:
    assert [(one.kind, one.pointer, one.size) for one in accesses(opcode, text)] == [
        (kind, pointer, size(type_)) for kind, pointer, type_ in expected
    ]


def test_copies_read_and_write() -> None:
    text = (
        "call void @llvm.memcpy.p0.p0.i64(ptr noundef nonnull align 8 dereferenceable(24) %a, "
        "ptr align 4 getelementptr (i8, ptr @b, i64 4), i64 %n, i1 false)"
    )
    assert accesses("call", text) == [
        Access("read", "getelementptr (i8, ptr @b, i64 4)", "%n"),
        Access("write", "%a", "%n"),
    ]
    text = "call void @llvm.memset.p0.i64(ptr nonnull align 8 %8, i8 0, i64 24, i1 false)"
    assert accesses("call", text) == [Access("write", "%8", "24")]
    text = "%1 = call i32 @memcmp(ptr %x, ptr %y, i64 6) #4"
    assert accesses("call", text) == [Access("read", "%x", "6"), Access("read", "%y", "6")]
    assert callee_of(text) == "memcmp"
    assert callee_of('%1 = call i32 @"a b"(i32 1)') == "a b"
    assert callee_of("%1 = call i32 %2(ptr @f)") is None


NAMES = st.text(st.sampled_from("ab,()[]{}<> .\\"), max_size=8).map(lambda name: f'%"{name}"')
"""Quoted names, which may contain commas and brackets as names of C++ templates do."""
PARTS = st.recursive(
    st.one_of(st.sampled_from(["i32 0", "ptr %p", "ptr null", "align 8"]), NAMES),
    lambda one: st.tuples(st.sampled_from(["()", "[]", "{}", "<>"]), st.lists(one)).map(
        lambda made: made[0][0] + ", ".join(made[1]) + made[0][1]
    ),
    max_leaves=8,
)


@given(st.lists(PARTS, min_size=1))
def test_splitting_inverts_joining(parts: list[str]) -> None:
    assert split_at_commas(", ".join(parts)) == parts


@given(st.lists(PARTS), st.sampled_from(["()", "[]", "{}", "<>"]), st.text("ab,(]>", max_size=5))
def test_brackets_end_at_their_closing_bracket(parts: list[str], kind: str, rest: str) -> None:
    inside = kind[0] + ", ".join(parts) + kind[1]
    assert bracketed_prefix(inside + rest) == inside


def test_unclosed_brackets_reach_to_the_end() -> None:
    assert bracketed_prefix("(i32 0") == "(i32 0"
    assert split_at_commas("") == [""]


BYTE, WORD = Type("uint8_t", 1), Type("uint32_t", 4)
MAC = Type("", 6, element=BYTE, length=6)
ENTRY = Type(
    "Entry",
    16,
    (Field("key", 0, WORD, None), Field("mac", 4, MAC, None), Field("hits", 12, WORD, None)),
)
TABLE = Type("", 160, element=ENTRY, length=10)
WHOLE = Type("Whole", 168, (Field("used", 0, WORD, None), Field("table", 8, TABLE, None)))


def test_members_are_found_by_offset() -> None:
    assert locate(WHOLE, 0, 4) == [Spot(("used",), ())]
    assert locate(WHOLE, 8, 4) == [Spot(("table", "[]", "key"), (0,))]
    assert locate(WHOLE, 8 + 16 * 3 + 5, 1) == [Spot(("table", "[]", "mac", "[]"), (3,))]
    assert locate(WHOLE, 8 + 16 * 9, 16) == [
        Spot(("table", "[]", "key"), (9,)),
        Spot(("table", "[]", "mac", "[]"), (9,)),
        Spot(("table", "[]", "hits"), (9,)),
    ]
    assert {spot.entry for spot in locate(TABLE, 12, 8)} == {(0,), (1,)}
    assert locate(WHOLE, 4, 2) == [Spot((), ())], "between members"
    assert {spot.entry for spot in locate(MAC, 1, 3)} == {(1,), (2,), (3,)}
    assert descend(WHOLE, ("table", "[]", "mac", "[]")) == BYTE
    assert descend(WHOLE, ("none",)) is None
    assert (ENTRY.align, MAC.align) == (4, 1)


def test_recorders_agree_with_a_loop_over_records() -> None:
    """Compare counts of access records with a simple loop over the records, for any batch size."""
    memory = MemoryMap(
        sorted(
            [
                Area(1000, 160, "state", 0),
                Area(2000, 8, "state", 1),
                Area(5000, 64, "packet", -1),
            ]
        ),
        [Structure("table", TABLE, 160, None, ""), Structure("plain", None, 8, None, "")],
    )
    draw = noise_of(5)
    for _ in range(20):
        sites = [
            AccessSite(draw.randrange(4), draw.choice(("read", "write")), None) for _ in range(9)
        ]
        records = list[tuple[int, int, int]]()
        for _ in range(200):
            block = draw.randrange(4)
            records.append((0, BEGINS + block, 0))
            for at, site in enumerate(sites):
                if site.block == block and draw.random() < 0.7:
                    address = draw.choice((1000 + 4 * draw.randrange(39), 2000, 5010, 7))
                    records.append((address, at, draw.choice((1, 4))))
        whole = np.array(records, RECORDS)
        recorder = Recorder(memory, sites, 4)
        recorder.take(whole)
        assert _found(recorder) == _expected(memory, sites, records)
        split = Recorder(memory, sites, 4)
        starts = [at for at, one in enumerate(records) if one[1] >= BEGINS]
        middle = draw.choice(starts)
        split.take(whole[:middle])
        split.take(whole[middle:])
        assert _found(split) == _found(recorder)


def test_blocks_are_counted_by_enclosing_call() -> None:
    """Compare counts of blocks per calling function with those of a simulated stack of calls.

    Calls are random and nested; some lack a return. Block 0 begins a packet, which ends all calls.
    Batches of records have any size.
    """
    draw = noise_of(11)
    for _ in range(50):
        numbers, stack = list[int](), list[int]()
        expected = Counter[tuple[int, int]]()
        for _ in range(300):
            match draw.randrange(4):
                case 0 if len(stack) < 5:
                    stack.append(draw.choice([one for one in range(6) if one not in stack]))
                    numbers.append(CALLS + stack[-1])
                case 1 if stack:
                    del stack[draw.randrange(max(0, len(stack) - 2), len(stack)) + 1 :]
                    numbers.append(RETURNS + stack.pop())
                case _:
                    block = 0 if draw.random() < 0.05 else draw.randrange(1, 5)
                    stack = stack if block else []
                    expected.update((one, block) for one in stack)
                    numbers.append(BEGINS + block)
        records = np.array([(0, one, 0) for one in numbers], RECORDS)
        recorder = Recorder(MemoryMap([], []), [], 5, [0])
        for part in np.array_split(records, draw.randrange(1, 9)):
            recorder.take(part)
        assert {(call, block): n for call, block, n in recorder.tally().calls} == dict(expected)


def _found(recorder: Recorder) -> dict[str, Any]:
    tally = recorder.tally()
    together = Counter[tuple[int, frozenset[Any]]]()
    for block, parts, count in tally.together:
        together[block, frozenset(tally.parts[one] for one in parts)] += count
    return {
        "runs": tally.runs,
        "touches": Counter({(site, tally.parts[part]): n for site, part, n in tally.touches}),
        "elsewhere": Counter({(site, sort): n for site, sort, n in tally.elsewhere}),
        "entries": tally.entries,
        "together": together,
    }


def _expected(
    memory: MemoryMap, sites: list[AccessSite], records: list[tuple[int, int, int]]
) -> dict[str, Any]:
    runs, touched, elsewhere = [0] * 4, Counter[Any](), Counter[Any]()
    together, current = Counter[Any](), dict[int, set[Any]]()
    seen: list[tuple[set[Any], set[Any]]] = [(set(), set()) for _ in memory.structures]

    def close(block: int) -> None:
        if current.get(block):
            together[block, frozenset(current[block])] += 1

    for address, number, width in records:
        if number >= BEGINS:
            close(number - BEGINS)
            runs[number - BEGINS] += 1
            current[number - BEGINS] = set()
            continue
        area = next((one for one in memory.areas if 0 <= address - one.start < one.size), None)
        if area is None or area.structure < 0:
            elsewhere[number, "other" if area is None else area.sort] += 1
            continue
        kind = memory.structures[area.structure].type
        spots = [] if kind is None else locate(kind, address - area.start, width)
        members = tuple(dict.fromkeys(spot.path for spot in spots)) or ((),)
        part = (area.structure, members)
        touched[number, part] += 1
        current[sites[number].block].add(part)
        writes = sites[number].kind == "write"
        seen[area.structure][writes].update(spot.entry for spot in spots if spot.entry)
    for block in current:
        close(block)
    return {
        "runs": runs,
        "touches": touched,
        "elsewhere": elsewhere,
        "entries": [(len(read | written), len(written)) for read, written in seen],
        "together": together,
    }


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """Compile C functions that use the tables of slowpath's Click headers; return the library."""
    library = native(tmp_path_factory.mktemp("tables"), FOLDER / "tables.cc")
    for name in ("map_find", "map_size", "map_sum", "table_get", "table_size", "table_sum"):
        getattr(library, name).restype = ctypes.c_long
    library.refused.restype = library.evicted.restype = ctypes.c_long
    return library


KEYS, VALUES = st.integers(0, 9), st.integers(0, 99)
SLOTS = 4


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    actions=st.lists(st.tuples(st.sampled_from(("insert", "erase", "find", "force")), KEYS, VALUES))
)
def test_a_map_is_a_dict_until_its_bucket_is_full(
    tables: ctypes.CDLL, actions: list[tuple[str, int, int]]
) -> None:
    tables.reset()
    expected, refused, evicted = dict[int, int](), 0, 0
    for action, key, value in actions:
        full = key not in expected and len(expected) == SLOTS
        if action == "insert":
            assert tables.map_insert(key, value) == (key not in expected and not full)
            refused += full
            if not full:
                expected[key] = value
        elif action == "erase":
            assert tables.map_erase(key) == (key in expected)
            expected.pop(key, None)
        elif action == "find":
            assert tables.map_find(key) == expected.get(key, 7)
            assert tables.map_has(key) == (key in expected)
        else:
            tables.map_force(key, value)
            if full:
                evicted += 1
                (gone,) = [one for one in expected if not tables.map_has(one)]
                del expected[gone]
            expected[key] = value
        assert (tables.map_size(), tables.refused(), tables.evicted()) == (
            len(expected),
            refused,
            evicted,
        )
        assert tables.map_sum() == sum(1000 * one + at for one, at in expected.items())


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(actions=st.lists(st.tuples(st.sampled_from(("set", "erase", "get", "add")), KEYS, VALUES)))
def test_a_table_is_a_dict(tables: ctypes.CDLL, actions: list[tuple[str, int, int]]) -> None:
    tables.reset()
    expected = dict[int, int]()
    for action, key, value in actions:
        if action == "set":
            assert tables.table_set(key, value) == (key not in expected)
            expected[key] = value
        elif action == "erase":
            assert tables.table_erase(key) == (key in expected)
            expected.pop(key, None)
        elif action == "get":
            assert tables.table_get(key) == expected.get(key, 7)
        else:
            tables.table_add(key, value)
            expected[key] = expected.get(key, 7) + value
        assert tables.table_size() == len(expected)
        assert tables.table_sum() == sum(1000 * one + at for one, at in expected.items())
    assert tables.refused() == tables.evicted() == 0


def test_captures_are_read_with_their_times(tmp_path: Path) -> None:
    file = tmp_path / "trace.pcap"
    write_pcap(str(file), [b"first frame", b"second"])
    assert list(captured(str(file))) == [(b"first frame", 11, 0), (b"second", 6, 1000)]
    with pytest.raises(InputError, match="no such file"):
        list(captured(str(tmp_path / "none")))
