"""Instructions of BPF: read from assembler, what registers hold, and the words for it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowpath.insights.blocks.learnt import shipped_tree
from slowpath.insights.blocks.machine.frames import Frame, access, call, frame, touched
from slowpath.insights.blocks.machine.instructions import Assembled, Instruction, assembled, parsed
from slowpath.insights.blocks.machine.interprocedural import traced
from slowpath.insights.blocks.machine.packets import packets
from slowpath.insights.blocks.machine.tokens import described
from slowpath.insights.blocks.machine.values import (
    NUMBER,
    Context,
    Given,
    Passed,
    State,
    Value,
    before,
    constant,
)
from slowpath.insights.blocks.machine.widths import needed

XDP = Given(
    (Value("context", Context(), 0), *[NUMBER] * 4),
    {"flows": "map", "ports": "map", "total": "global"},
    {},
)


def function(*lines: str, name: str = "main") -> Assembled:
    body = "".join(f"{one}\n" if one.endswith(":") else f"\t{one}\n" for one in lines)
    text = f"{name}:    # @{name}\n# %bb.0:   # %entry\n{body}.Lfunc_end0:\n"
    return assembled(text)[name]


def known(*lines: str) -> tuple[Assembled, list[State | None]]:
    one = function(*lines)
    return one, before(one, XDP)


def register(state: State | None, number: int) -> Value:
    assert state is not None
    return state.registers[number]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("r1 += -40", Instruction("alu", "+", 64, 1, immediate=-40)),
        ("w4 s>>= w5", Instruction("alu", "s>>", 32, 4, 5)),
        ("w4 &= 4294967040", Instruction("alu", "&", 32, 4, immediate=-256)),
        ("r6 = r1", Instruction("move", "", 64, 6, 1)),
        ("w0 = 2", Instruction("move", "", 32, 0, immediate=2)),
        ("r1 = flows ll", Instruction("wide", "", 64, 1, name="flows")),
        ("r1 = -1 ll", Instruction("wide", "", 64, 1, immediate=-1)),
        ("r3 = be16 r3", Instruction("swap", "be16", 16, 3)),
        ("w3 = -w3", Instruction("negate", "", 32, 3)),
        ("w5 = *(u16 *)(r6 + 12)", Instruction("load", "", 16, 5, base=6, offset=12)),
        ("*(u64 *)(r10 - 8) = r2", Instruction("store", "", 64, None, 2, base=10, offset=-8)),
        (
            "if w4 != 129 goto LBB0_11",
            Instruction("branch", "!=", 32, 4, None, 129, name="LBB0_11"),
        ),
        ("if r1 s> r2 goto LBB0_1", Instruction("branch", "s>", 64, 1, 2, name="LBB0_1")),
        ("goto LBB0_2", Instruction("jump", name="LBB0_2")),
        ("call 1", Instruction("call", name="1")),
        ("exit", Instruction("exit")),
        (
            "lock *(u64 *)(r0 + 8) += r1",
            Instruction("atomic", "+", 64, None, 1, base=0, offset=8),
        ),
        (
            "r1 = atomic_fetch_add((u64 *)(r0 + 0), r1)",
            Instruction("atomic", "fetch", 64, 1, 1, base=0, fetches=True),
        ),
        (
            "w0 = cmpxchg32_32(r7 + 4, w0, w2)",
            Instruction("atomic", "exchange", 32, 0, 2, base=7, offset=4, fetches=True),
        ),
        ("r0 = something else", Instruction("other", "r0 = something else")),
    ],
)
def test_forms_of_instructions(text: str, expected: Instruction) -> None:
    assert parsed(text) == expected


@given(st.text("rw0123456789 =+-*/<>&|^()u{}s\n", max_size=40))
def test_any_text_is_an_instruction(text: str) -> None:
    assert parsed(text).kind


def test_blocks_and_labels_of_assembler() -> None:
    text = (
        "main:     # @main\n# %bb.0:    # %entry\n\t.loc\t0 1 2\n\tif r1 == 0 goto LBB0_2  # x\n"
        "# %bb.1:\n          # %inner\n\tr0 = 1\nLBB0_2:   # %end\n\texit\n.Lfunc_end0:\n"
    )
    one = assembled(text)["main"]
    assert one.blocks == ["entry", "inner", "end"]
    assert one.labels == {"LBB0_2": 2}
    assert [one.successors(at) for at in range(3)] == [[1, 2], [2], []]


def test_what_registers_hold() -> None:
    _, states = known(
        "r6 = r1",
        "w7 = *(u32 *)(r6 + 0)",
        "r8 = r7",
        "r8 += 14",
        "*(u64 *)(r10 - 16) = r8",
        "w2 = *(u8 *)(r7 + 23)",
        "r1 = flows ll",
        "r2 = r10",
        "r2 += -8",
        "call 1",
        "if r0 == 0 goto LBB0_1",
        "r3 = *(u64 *)(r10 - 16)",
        "LBB0_1:",
        "exit",
    )
    assert register(states[2], 7) == Value("packet", "data", 0)
    assert register(states[4], 8) == Value("packet", "data", 14)
    assert register(states[6], 2).high == 255
    assert register(states[7], 1).kind == "map"
    assert register(states[9], 2) == Value("stack", "frame", -8)
    assert register(states[11], 0).kind == "element"
    assert register(states[12], 3).kind == "unknown"  # a pointer on one of the ways
    assert register(states[12], 0).kind == "element"  # null is a pointer, too


def test_bounds_of_numbers() -> None:
    _, states = known(
        "w2 = *(u16 *)(r10 - 2)",
        "w2 &= 15",
        "w2 <<= 2",
        "r3 = r2",
        "r3 *= 100",
        "if r3 > 40 goto LBB0_1",
        "r4 = r3",
        "LBB0_1:",
        "exit",
    )
    assert [register(states[at], 2).high for at in (1, 2, 3)] == [65535, 15, 60]
    assert register(states[5], 3).high == 6000
    assert register(states[6], 3).high == 40


@pytest.mark.parametrize(
    ("condition", "reached"),
    [
        ("w2 > 255", False),
        ("w2 >= 255", True),
        ("r2 == 256", False),
        ("r2 != 256", True),
        ("w2 s< 0", False),
        ("w2 < 0", False),
        ("w3 == 7", True),
        ("w3 != 7", False),
        ("w3 s> 7", False),
        ("w3 & 8", True),
        ("w2 > w3", True),
        ("w3 > w2", True),
        ("r10 == 0", True),
    ],
)
def test_what_comparisons_rule_out_is_not_reached(condition: str, reached: bool) -> None:
    """The code generator leaves out what its ranges rule out."""
    _, states = known(
        *("w2 = *(u8 *)(r10 - 1)", "r3 = 7", f"if {condition} goto LBB0_1"),
        *("r0 = 0", "exit", "LBB0_1:", "r0 = 1", "exit"),
    )
    assert (states[5] is not None) == reached


def test_loops_come_to_an_end() -> None:
    _, states = known("r2 = 0", "LBB0_1:", "r2 += 1", "if r2 != 100 goto LBB0_1", "exit")
    assert register(states[2], 2).offset is None or register(states[2], 2).kind == "number"
    assert states[3] is not None


@given(
    st.integers(0, 2**64 - 1),
    st.integers(0, 2**31 - 1),
    st.sampled_from(["+", "&", "|", "^", "*", ">>"]),
)
def test_bounds_hold(left: int, right: int, op: str) -> None:
    """What is computed with numbers below a bound is not above the bound that is said."""
    small = right % 60 if op == ">>" else right
    one, states = known("r2 = *(u64 *)(r10 - 8)", f"r2 {op}= {small}", "exit")
    assert one.instructions[1].kind == "alu"
    result = {
        "+": left + small, "&": left & small, "|": left | small,
        "^": left ^ small, "*": left * small, ">>": left >> small,
    }[op]  # fmt: skip
    if result < 2**64:
        assert result <= register(states[2], 2).high


def zeros(*lines: str) -> set[int]:
    one, states = known(*lines)
    return needed({"main": one}, {"main": states}, "main")["main"]


def test_zeros_are_needed_where_64_bits_are_read() -> None:
    assert zeros("w2 += 1", "r3 = r2", "exit") == {0}
    assert zeros("w2 += 1", "w3 = w2", "w0 = w3", "exit") == {2}
    assert zeros("w0 = 1", "if w3 == 2 goto LBB0_1", "w0 = 2", "LBB0_1:", "exit") == {0, 2}
    assert zeros("w2 = *(u8 *)(r10 - 1)", "r2 = 0", "r0 = r2", "exit") == set()


def test_reads_of_the_packet_are_shared() -> None:
    one, states = known(
        "w6 = *(u32 *)(r1 + 0)",
        "w2 = *(u8 *)(r6 + 12)",
        "w3 = *(u8 *)(r6 + 13)",
        "*(u8 *)(r6 + 0) = w2",
        "w4 = *(u16 *)(r6 + 14)",
        "if w4 == 0 goto LBB0_1",
        "w5 = *(u32 *)(r6 + 70)",
        "w5 = *(u32 *)(r6 + 20)",
        "LBB0_1:",
        "w0 = *(u8 *)(r6 + 14)",
        "exit",
    )
    found = packets(one, states).shared
    assert [at for at, read in found.items() if read.fetches] == [1, 4, 8]
    assert (found[1].start, found[1].end) == (12, 14)
    assert (found[4].start, found[4].end) == (14, 74)


def test_loads_and_stores_become_copies() -> None:
    lines = ["w6 = *(u32 *)(r1 + 0)"]
    for at in (0, 4, 8):
        lines += [f"w3 = *(u32 *)(r6 + {at})", f"*(u32 *)(r6 + {at + 40}) = w3"]
    one, states = known(*lines, "exit")
    found = packets(one, states)
    assert found.copies[1].length == 12
    assert found.skipped == {2, 3, 4, 5, 6}
    assert not found.shared


def test_copies_do_not_read_what_they_write() -> None:
    lines = ["w6 = *(u32 *)(r1 + 0)"]
    for at in (0, 4):
        lines += [f"w3 = *(u32 *)(r6 + {at})", f"*(u32 *)(r6 + {at + 4}) = w3"]
    one, states = known(*lines, "exit")
    assert not packets(one, states).copies


def test_frames() -> None:
    one, states = known("*(u32 *)(r10 - 20) = w1", "r2 = r10", "r2 += -27", "call 5", "exit")
    assert frame(one, states, main=True) == (20, False, 20)
    one, states = known("r1 = flows ll", "r2 = r10", "r2 += -28", "call 1", "r6 = r0", "exit")
    assert frame(one, states, main=True) == (28, True, 28)
    assert frame(one, states, main=False) == (64, True, 64)


@pytest.mark.parametrize(
    ("text", "place", "zeros", "taken"),
    [  # as the code generator makes them
        ("w1 = *(u32 *)(r10 - 4)", 4, False, 1),
        ("w1 = *(u32 *)(r10 - 4)", 60, True, 2),
        ("w1 = *(u32 *)(r10 - 4)", 68, True, 6),
        ("r1 = *(u64 *)(r10 - 8)", 24, False, 2),
        ("r1 = *(u64 *)(r10 - 8)", 64, False, 7),
        ("w1 = *(u16 *)(r10 - 2)", 34, True, 3),
        ("w1 = *(u8 *)(r10 - 7)", 29, False, 1),
        ("w1 = *(u8 *)(r10 - 7)", 33, False, 2),
        ("*(u8 *)(r10 - 7) = w1", 1, False, 1),
        ("*(u8 *)(r10 - 7) = w1", 33, False, 3),
        ("*(u8 *)(r10 - 7) = w1", 65, False, 6),
        ("*(u64 *)(r10 - 8) = r1", 64, False, 7),
        ("*(u64 *)(r10 - 8) = r1", 92, False, 7),
        ("*(u64 *)(r10 - 8) = r1", 256, False, 8),
    ],
)
def test_variables_take_what_their_places_say(
    text: str, place: int, zeros: bool, taken: int
) -> None:
    assert access(parsed(text), place, through=False, zeros=zeros) == taken


def test_variables_of_others_take_the_same_wherever_they_are() -> None:
    half = parsed("w2 = *(u16 *)(r1 + 8)")
    for zeros in (False, True):
        assert {access(half, at, through=True, zeros=zeros) for at in (0, 64, 500)} == {6}
    assert access(parsed("r2 = *(u64 *)(r1 + 8)"), 8, through=True, zeros=False) == 7
    assert access(parsed("r2 = *(u64 *)(r1 - 8)"), 0, through=True, zeros=False) == 8


def test_calls_take_what_frames_say() -> None:
    plain, saving = Frame(4, saves=False), Frame(36, saves=True)
    assert call(Frame(0, saves=False), plain) == 2
    assert call(Frame(0, saves=False), saving) == 3
    assert call(Frame(64, saves=False), plain) == 9
    assert call(Frame(64, saves=True), saving) == 10
    assert call(Frame(193, saves=False), plain) == 11  # frames begin at multiples of 64 bytes


def test_what_functions_leave_in_frames_of_others_is_followed() -> None:
    """A function keeps where the packet is for the one that calls it, and that is used by both."""
    main = function(
        *("w2 = *(u32 *)(r1 + 0)", "r1 = r10", "r1 += -40", "call keep"),
        *("r3 = *(u64 *)(r10 - 32)", "w4 = *(u8 *)(r3 + 3)", "r1 = r10", "r1 += -40"),
        *("w5 = *(u32 *)(r10 - 16)", "call use", "exit"),
    )
    keep = function("*(u64 *)(r1 + 8) = r2", "w0 = 0", "exit", name="keep")
    use = function("r2 = *(u64 *)(r1 + 8)", "w0 = *(u16 *)(r2 + 12)", "exit", name="use")
    inside = {"main": main, "keep": keep, "use": use}
    states = traced(inside, "main", XDP)
    assert register(states["keep"][0], 1) == Value("stack", Passed(1, -40), 0)
    assert register(states["main"][5], 3).kind == "packet"
    assert register(states["use"][1], 2).kind == "packet"
    assert touched(keep, states["keep"]) == {1: 8}
    called = {"keep": {1: 0}, "use": {1: 8}}
    assert frame(main, states["main"], main=True).depth == 32
    assert frame(main, states["main"], main=True, called=called).depth == 40
    words_ = [one.words[:2] for one in described(inside, "main", XDP)["use"]]
    assert words_ == [("load", "stack"), ("load", "packet"), ("exit", "saves False")]


def test_where_variables_are_written_that_nobody_follows_nothing_is_known() -> None:
    _, states = known(
        *("*(u64 *)(r10 - 16) = r1", "w2 = *(u8 *)(r10 - 1)", "r3 = r10", "r3 += r2"),
        *("*(u8 *)(r3 - 32) = w2", "r4 = *(u64 *)(r10 - 16)", "exit"),
    )
    assert register(states[4], 3).varies
    assert register(states[6], 4) == NUMBER


def test_elements_at_variable_places_are_out_of_reach() -> None:
    """The code generator takes constant places only."""
    body = (
        *("r1 = flows ll", "r2 = r10", "r2 += -8", "call 1", "w2 = *(u8 *)(r10 - 1)"),
        *("r3 = r0", "r3 += r2", "w4 = *(u32 *)(r3 + 8)", "w5 = *(u32 *)(r0 + 8)"),
        *("r6 = *(u64 *)(r0 + 16)", "w7 = *(u32 *)(r6 + 4)", "exit"),
    )
    found = [one for one in words(*body) if one[0] == "load"]
    assert [one[1] for one in found] == ["stack", "global", "element", "element", "global"]


def test_elements_are_those_of_one_map() -> None:
    """The code generator wants to know which, of look-ups and of pointers to elements."""
    two = ("r1 = ports ll", "if w7 == 0 goto LBB0_1", "r1 = flows ll", "LBB0_1:")
    key = ("r2 = r10", "r2 += -8", "call 1")
    assert words("w7 = *(u32 *)(r10 - 4)", *two, *key, "w3 = *(u32 *)(r0 + 4)", "exit")[-2][:2] == (
        *("load", "global"),
    )
    one = ("r6 = r0", "if w7 == 0 goto LBB0_1", "r1 = flows ll", *key, "r6 = r0", "LBB0_1:")
    for first, reached in (("ports", "global"), ("flows", "element")):
        found = words(
            *("w7 = *(u32 *)(r10 - 4)", f"r1 = {first} ll", *key, *one),
            *("w3 = *(u32 *)(r6 + 4)", "exit"),
        )
        assert found[-2][:2] == ("load", reached)


def test_one_of_several_places_on_the_stack() -> None:
    """It is reached through the pointer where bytes lie in words alike, else it is refused."""
    body = ("w7 = *(u8 *)(r10 - 1)", "r2 = r10", "r2 += -24", "if w7 == 0 goto LBB0_1", "r2 = r10")
    for other, taken in ((-16, 6), (-12, 6), (-14, 0), (-13, 0)):
        lines = (*body, f"r2 += {other}", "LBB0_1:", "w3 = *(u16 *)(r2 + 2)", "exit")
        [*_, load, _] = described({"main": function(*lines)}, "main", XDP)["main"]
        assert load.words == ("load", "stack")
        assert load.pieces == taken
    lines = (*body, "r2 += -16", "LBB0_1:", "w3 = *(u16 *)(r2 + 2)", "exit")
    assert frame(*known(*lines), main=True).depth == 24


@pytest.mark.parametrize(("start", "offset", "pieces"), [(-64, 0, 6), (-64, 2, 0), (-6, 2, 6)])
def test_places_in_frames_of_others(start: int, offset: int, pieces: int) -> None:
    """Those before the own frame that are not whole words are refused, as the driver has it."""
    main = function("r1 = r10", f"r1 += {start}", "call inner", "exit")
    inner = function(f"w0 = *(u16 *)(r1 + {offset})", "exit", name="inner")
    found = described({"main": main, "inner": inner}, "main", XDP)["inner"]
    assert found[0].pieces == pieces + 1  # the first keeps the return address


def test_lengths_of_packets_are_small() -> None:
    _, states = known(
        *("w2 = *(u32 *)(r1 + 0)", "w3 = *(u32 *)(r1 + 4)", "r3 -= r2", "r2 += 14", "exit")
    )
    assert register(states[3], 3).high == 65535


def test_pointers_that_lead_nowhere() -> None:
    """Accesses through them are refused; those behind the packet's end would be to the packet."""
    found = described(
        {"main": function("w2 = *(u32 *)(r1 + 4)", "w3 = *(u8 *)(r2 + 1)", "exit")}, "main", XDP
    )["main"]
    assert (found[1].words[:2], found[1].pointee) == (("load", "returned"), "packet")
    found = described(
        {"main": function("r2 = *(u64 *)(r10 - 8)", "w3 = *(u8 *)(r2 + 1)", "exit")}, "main", XDP
    )["main"]
    assert (found[1].words[:2], found[1].pointee) == (("load", "returned"), "unknown")


def test_narrow_products_take_the_same_in_any_width() -> None:
    for register_ in "wr":
        found = words(
            *("w2 = *(u8 *)(r10 - 1)", "w3 = *(u16 *)(r10 - 4)", f"{register_}2 *= {register_}3"),
            *("r4 = *(u32 *)(r10 - 8)", f"{register_}4 *= {register_}3", "exit"),
        )
        bits = "32" if register_ == "w" else "64"
        assert found[2] == ("*", "half", bits, "register")
        assert found[4] == ("*", "word", bits, "register")
        assert [shipped_tree().taken(found[at]).instructions for at in (2, 4)] == [4, 7]


def words(*lines: str) -> list[tuple[str, ...]]:
    return [one.words for one in described({"main": function(*lines)}, "main", XDP)["main"]]


def test_words_have_no_names_and_say_what_code_generators_look_at() -> None:
    found = words(
        "r6 = r1",
        "w7 = *(u32 *)(r6 + 0)",
        "w2 = *(u16 *)(r7 + 12)",
        "w2 += -1",
        "r1 = total ll",
        "r3 = *(u64 *)(r1 + 0)",
        "if r2 == 300 goto LBB0_1",
        "LBB0_1:",
        "w0 = 0",
        "exit",
    )
    assert found[0] == ("context",)
    assert found[1] == ("load", "context", "0")
    assert found[2][:5] == ("load", "packet", "fetched", "16", "0")
    assert found[3] == ("+", "32", "zeros", "constant", "positive", "small")
    assert found[4] == ("wide", "global")
    assert found[5][:3] == ("load", "global", "64")
    assert found[6] == ("branch", "equal", "64", "constant", "positive", "one")
    assert found[8] == ("exit", "main")


def test_functions_get_what_is_passed() -> None:
    main = function("w1 = *(u32 *)(r1 + 0)", "call inner", "exit")
    inner = function("w0 = *(u8 *)(r1 + 3)", "exit", name="inner")
    found = described({"main": main, "inner": inner}, "main", XDP)
    assert [one.words[:2] for one in found["inner"]] == [
        ("load", "packet"),
        ("exit", "saves False"),
    ]
    assert found["inner"][0].pieces == 1  # it keeps its return address
    assert found["main"][1].words == ("call", "own")
    assert found["main"][1].pieces == 2


def test_constants_are_known() -> None:
    assert constant(-1).offset == 2**64 - 1


def test_fields_of_the_context_may_be_elsewhere() -> None:
    one = function(
        "r2 = *(u64 *)(r1 + 0)", "r3 = *(u64 *)(r1 + 8)", "r4 = *(u64 *)(r1 + 16)", "exit"
    )
    moved = Given((Value("context", Context(0, 8), 0), *[NUMBER] * 4), {}, {})
    states = before(one, moved)
    assert register(states[3], 2) == Value("packet", "data", 0)
    assert register(states[3], 3).kind == "end"
    assert register(states[3], 4).kind == "field"
    words_ = [each.words for each in described({"main": one}, "main", moved)["main"]]
    assert [each[2] for each in words_[:3]] == ["0", "4", "16"]
