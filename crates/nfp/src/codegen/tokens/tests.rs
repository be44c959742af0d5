use std::collections::BTreeMap;

use slowpath_bpf::insn::helper::{GET_PRANDOM_U32, KTIME_GET_NS, MAP_LOOKUP_ELEM};
use slowpath_bpf::insn::{AluOp, Call, Condition, Imm64, Insn, Register, Size, Source, Width};
use slowpath_bpf::{BpfProgram, ProgramKind, Referent, Subprogram, UnlinkedProgram, VariableKind};

use super::value::NUMBER;
use super::*;
use AluOp::{Add, And, Lsh, Mov, Mul, Sub};
use Size::{B, DW, H, W};

const CONTEXT: Given = Given::Context { data: 0, end: 4 };

/// A line of a test program: an instruction, or a load of the address of a variable.
enum Line {
    Insn(Insn),
    Address(u8, &'static str),
}
use Line::Address;

fn reg(number: u8) -> Register {
    Register::new(number).unwrap()
}

fn wide(op: AluOp, dst: u8, src: i32) -> Line {
    Line::Insn(Insn::Alu { width: Width::W64, op, dst: reg(dst), src: Source::Imm(src) })
}

fn wide_by(op: AluOp, dst: u8, src: u8) -> Line {
    Line::Insn(Insn::Alu { width: Width::W64, op, dst: reg(dst), src: Source::Reg(reg(src)) })
}

fn word(op: AluOp, dst: u8, src: i32) -> Line {
    Line::Insn(Insn::Alu { width: Width::W32, op, dst: reg(dst), src: Source::Imm(src) })
}

fn word_by(op: AluOp, dst: u8, src: u8) -> Line {
    Line::Insn(Insn::Alu { width: Width::W32, op, dst: reg(dst), src: Source::Reg(reg(src)) })
}

fn load(size: Size, dst: u8, base: u8, offset: i16) -> Line {
    Line::Insn(Insn::Load { size, signed: false, dst: reg(dst), base: reg(base), offset })
}

fn store(size: Size, base: u8, offset: i16, src: u8) -> Line {
    Line::Insn(Insn::Store { size, base: reg(base), offset, src: Source::Reg(reg(src)) })
}

fn branch(width: Width, cond: Condition, dst: u8, src: Source, offset: i16) -> Line {
    Line::Insn(Insn::Branch { width, cond, dst: reg(dst), src, offset })
}

/// Returns a branch that skips `offset` instructions if the register has this value.
fn if_equal(dst: u8, value: i32, offset: i16) -> Line {
    branch(Width::W64, Condition::Eq, dst, Source::Imm(value), offset)
}

fn helper(number: i32) -> Line {
    Line::Insn(Insn::Call(Call::Helper(number)))
}

/// Returns a call of the function that begins `offset` slots after the next instruction.
fn call(offset: i32) -> Line {
    Line::Insn(Insn::Call(Call::Subprogram { offset }))
}

const EXIT: Line = Line::Insn(Insn::Exit);

/// Builds a program from the instructions of its functions, with the entry function first.
fn program(functions: Vec<Vec<Line>>) -> UnlinkedProgram {
    let (mut insns, mut variables, mut subprograms) = (Vec::new(), BTreeMap::new(), Vec::new());
    for (number, lines) in functions.into_iter().enumerate() {
        subprograms.push(Subprogram {
            name: format!("f{number}"),
            first: insns.len(),
            global: false,
            section: String::new(),
            section_slot: insns.len(),
        });
        for line in lines {
            match line {
                Line::Insn(insn) => insns.push(insn),
                Address(dst, name) => {
                    let other = name == "total";
                    let kind = if other { VariableKind::Other } else { VariableKind::Map };
                    variables.insert(insns.len(), Referent { name: name.to_owned(), kind });
                    insns.push(Insn::LoadImm64 { dst: reg(dst), value: Imm64::Value(0) });
                    insns.push(Insn::SecondSlot);
                }
            }
        }
    }
    let code = BpfProgram {
        number: 0,
        name: "f0".to_owned(),
        section: String::new(),
        kind: ProgramKind::Unknown,
        insns,
        lines: Vec::new(),
        subprograms,
        kfuncs: Vec::new(),
        unresolved: Vec::new(),
    };
    UnlinkedProgram { code, variables }
}

fn analysis(program: &UnlinkedProgram) -> Analysis<'_> {
    let arguments = calls::arguments(vec![value(CONTEXT, Origin::None)]);
    Analysis::new(program, &arguments, &BTreeMap::new())
}

fn described(functions: Vec<Vec<Line>>) -> Vec<Vec<Token>> {
    let found = describe(&program(functions), &[CONTEXT], &BTreeMap::new());
    found.into_iter().map(|(_, tokens)| tokens).collect()
}

/// Returns the token of each instruction of a program with one function, with words separated by
/// spaces.
fn words(lines: Vec<Line>) -> Vec<String> {
    let found = described(vec![lines]).remove(0);
    found.into_iter().map(|token| token.words.join(" / ")).collect()
}

fn state<'a>(analysis: &'a Analysis<'_>, slot: usize, register: u8) -> &'a Value {
    analysis.states[slot].as_ref().unwrap().register(reg(register))
}

#[test]
fn registers_hold_pointers() {
    let code = program(vec![vec![
        wide_by(Mov, 6, 1),
        load(W, 7, 6, 0),
        wide_by(Mov, 8, 7),
        wide(Add, 8, 14),
        store(DW, 10, -16, 8),
        load(B, 2, 7, 23),
        Address(1, "flows"),
        wide_by(Mov, 2, 10),
        wide(Add, 2, -8),
        helper(MAP_LOOKUP_ELEM),
        if_equal(0, 0, 1),
        load(DW, 3, 10, -16),
        EXIT,
    ]]);
    let analysis = analysis(&code);
    let packet = |offset| Value::pointer(Kind::Packet, Origin::Data, Some(offset));
    assert_eq!(*state(&analysis, 2, 7), packet(0));
    assert_eq!(*state(&analysis, 4, 8), packet(14));
    assert_eq!(state(&analysis, 6, 2).high, 255);
    assert_eq!(state(&analysis, 8, 1).kind, Kind::Map);
    assert_eq!(*state(&analysis, 10, 2), Value::pointer(Kind::Stack, Origin::Frame, Some(-8)));
    assert_eq!(state(&analysis, 12, 0).kind, Kind::Element);
    // `r3` is a pointer on only one path. `r0` may be null, which counts as a pointer.
    assert_eq!(state(&analysis, 13, 3).kind, Kind::Unknown);
    assert_eq!(state(&analysis, 13, 0).kind, Kind::Element);
}

#[test]
fn numbers_have_bounds() {
    let code = program(vec![vec![
        load(H, 2, 10, -2),
        word(And, 2, 15),
        word(Lsh, 2, 2),
        wide_by(Mov, 3, 2),
        wide(Mul, 3, 100),
        branch(Width::W64, Condition::Gt, 3, Source::Imm(40), 1),
        wide_by(Mov, 4, 3),
        EXIT,
    ]]);
    let analysis = analysis(&code);
    let highs = [1, 2, 3].map(|slot| state(&analysis, slot, 2).high);
    assert_eq!(highs, [65535, 15, 60]);
    assert_eq!(state(&analysis, 5, 3).high, 6000);
    assert_eq!(state(&analysis, 6, 3).high, 40);
}

#[test]
fn branches_that_bounds_exclude_are_not_taken() {
    use Condition::{Eq, Ge, Gt, Lt, Ne, Set, Sgt, Slt};
    let (w32, w64, imm) = (Width::W32, Width::W64, Source::Imm);
    for (width, cond, dst, src, reached) in [
        (w32, Gt, 2, imm(255), false),
        (w32, Ge, 2, imm(255), true),
        (w64, Eq, 2, imm(256), false),
        (w64, Ne, 2, imm(256), true),
        (w32, Slt, 2, imm(0), false),
        (w32, Lt, 2, imm(0), false),
        (w32, Eq, 3, imm(7), true),
        (w32, Ne, 3, imm(7), false),
        (w32, Sgt, 3, imm(7), false),
        (w32, Set, 3, imm(8), true),
        (w32, Gt, 2, Source::Reg(reg(3)), true),
        (w32, Gt, 3, Source::Reg(reg(2)), true),
        (w64, Eq, 10, imm(0), true),
    ] {
        let code = program(vec![vec![
            load(B, 2, 10, -1),
            wide(Mov, 3, 7),
            branch(width, cond, dst, src, 2),
            wide(Mov, 0, 0),
            EXIT,
            wide(Mov, 0, 1),
            EXIT,
        ]]);
        assert_eq!(analysis(&code).states[5].is_some(), reached, "{cond:?} {dst} {src:?}");
    }
}

#[test]
fn loops_end() {
    let code = program(vec![vec![
        wide(Mov, 2, 0),
        wide(Add, 2, 1),
        branch(Width::W64, Condition::Ne, 2, Source::Imm(100), -2),
        EXIT,
    ]]);
    assert!(analysis(&code).states[3].is_some());
}

#[test]
fn zeros_are_needed_above_results_that_are_read_as_64_bits() {
    let zeros = |lines| {
        let code = program(vec![lines]);
        let annotated = analysis(&code).annotated();
        let found = annotated.iter().enumerate().filter(|(_, insn)| insn.zero_extends);
        found.map(|(slot, _)| slot).collect::<Vec<_>>()
    };
    assert_eq!(zeros(vec![word(Add, 2, 1), wide_by(Mov, 3, 2), EXIT]), [0]);
    assert_eq!(zeros(vec![word(Add, 2, 1), word_by(Mov, 3, 2), word_by(Mov, 0, 3), EXIT]), [2]);
    let either = vec![
        word(Mov, 0, 1),
        branch(Width::W32, Condition::Eq, 3, Source::Imm(2), 1),
        word(Mov, 0, 2),
        EXIT,
    ];
    assert_eq!(zeros(either), [0, 2]);
    let overwritten = vec![load(B, 2, 10, -1), wide(Mov, 2, 0), wide_by(Mov, 0, 2), EXIT];
    assert!(zeros(overwritten).is_empty());
}

#[test]
fn reads_of_the_packet_are_shared() {
    let found = words(vec![
        load(W, 6, 1, 0),
        load(B, 2, 6, 12),
        load(B, 3, 6, 13),
        store(B, 6, 0, 2),
        load(H, 4, 6, 14),
        if_equal(4, 0, 2),
        load(W, 5, 6, 70),
        load(W, 5, 6, 20),
        load(B, 0, 6, 14),
        EXIT,
    ]);
    assert_eq!(found[1], "load / packet / fetched / 8 / 0 / bare / short / small");
    assert_eq!(found[2], "load / packet / shared / 8 / 1 / bare");
    assert_eq!(found[4], "load / packet / fetched / 16 / 0 / zeros / long / small");
    assert!(found[6].starts_with("load / packet / shared"));
    assert!(found[8].starts_with("load / packet / fetched"));
}

#[test]
fn loads_and_stores_become_copies() {
    let pairs = |apart: i16, times: i16| {
        let mut lines = vec![load(W, 6, 1, 0)];
        for at in (0..4 * times).step_by(4) {
            lines.extend([load(W, 3, 6, at), store(W, 6, at + apart, 3)]);
        }
        lines.push(EXIT);
        described(vec![lines]).remove(0)
    };
    let found = pairs(40, 3);
    assert_eq!(found[1].words[..4], ["copy", "packet", "short", "whole"]);
    assert_eq!(found[1].pieces, 3);
    assert!(found[2..7].iter().all(|token| token.words == ["copied"] && token.pieces == 0));
    // A copy would read bytes that it has written before.
    assert!(pairs(4, 2).iter().all(|token| token.words[0] != "copy"));
}

#[test]
fn frames_reach_to_the_lowest_access() {
    let frame = |lines| {
        let code = program(vec![lines]);
        let frame = analysis(&code).frames()[0];
        (frame.function.stack, frame.function.saves_registers)
    };
    let refused = [wide_by(Mov, 2, 10), wide(Add, 2, -27), helper(KTIME_GET_NS), EXIT];
    let mut lines = vec![store(W, 10, -20, 1)];
    lines.extend(refused);
    assert_eq!(frame(lines), (20, false));
    let key = |offset| [wide_by(Mov, 2, 10), wide(Add, 2, offset), helper(MAP_LOOKUP_ELEM)];
    let mut lines = vec![Address(1, "flows")];
    lines.extend(key(-28));
    lines.extend([wide_by(Mov, 6, 0), EXIT]);
    assert_eq!(frame(lines), (28, true));
}

#[test]
fn functions_leave_values_in_frames_of_callers() {
    // A function stores the packet's address in its caller's frame, and both functions use it.
    let code = program(vec![
        vec![
            load(W, 2, 1, 0),
            wide_by(Mov, 1, 10),
            wide(Add, 1, -40),
            call(7),
            load(DW, 3, 10, -32),
            load(B, 4, 3, 3),
            wide_by(Mov, 1, 10),
            wide(Add, 1, -40),
            load(W, 5, 10, -16),
            call(4),
            EXIT,
        ],
        vec![store(DW, 1, 8, 2), word(Mov, 0, 0), EXIT],
        vec![load(DW, 2, 1, 8), load(H, 0, 2, 12), EXIT],
    ]);
    let analysis = analysis(&code);
    let passed = Origin::Passed { register: 1, start: Some(-40) };
    assert_eq!(*state(&analysis, 11, 1), Value::pointer(Kind::Stack, passed, Some(0)));
    assert_eq!(state(&analysis, 5, 3).kind, Kind::Packet);
    assert_eq!(state(&analysis, 15, 2).kind, Kind::Packet);
    assert_eq!(analysis.frames()[0].function.stack, 32);
    let found = describe(&code, &[CONTEXT], &BTreeMap::new());
    let firsts: Vec<_> = found[2].1.iter().map(|token| token.words[..2].join(" / ")).collect();
    assert_eq!(firsts, ["load / stack", "load / packet", "exit / saves False"]);
    assert_eq!(found[0].1[3].words, ["call", "own"]);
}

#[test]
fn a_store_at_an_unknown_place_discards_all_facts() {
    let code = program(vec![vec![
        store(DW, 10, -16, 1),
        load(B, 2, 10, -1),
        wide_by(Mov, 3, 10),
        wide_by(Add, 3, 2),
        store(B, 3, -32, 2),
        load(DW, 4, 10, -16),
        EXIT,
    ]]);
    let analysis = analysis(&code);
    assert!(state(&analysis, 4, 3).varies);
    assert_eq!(*state(&analysis, 6, 4), NUMBER);
}

#[test]
fn elements_are_reached_at_constant_places_of_one_map() {
    let key = || [wide_by(Mov, 2, 10), wide(Add, 2, -8), helper(MAP_LOOKUP_ELEM)];
    let mut lines = vec![Address(1, "flows")];
    lines.extend(key());
    lines.extend([
        load(B, 2, 10, -1),
        wide_by(Mov, 3, 0),
        wide_by(Add, 3, 2),
        load(W, 4, 3, 8),
        load(W, 5, 0, 8),
        load(DW, 6, 0, 16),
        load(W, 7, 6, 4),
        EXIT,
    ]);
    let found = described(vec![lines]).remove(0);
    let loads = found.iter().filter(|token| token.words[0] == "load");
    let from: Vec<_> = loads.map(|token| token.words[1].as_str()).collect();
    assert_eq!(from, ["stack", "global", "element", "element", "global"]);

    for (first, reached) in [("ports", "global"), ("flows", "element")] {
        let mut lines = vec![load(W, 7, 10, -4), Address(1, first)];
        lines.extend(key());
        lines.extend([wide_by(Mov, 6, 0), if_equal(7, 0, 6), Address(1, "flows")]);
        lines.extend(key());
        lines.extend([wide_by(Mov, 6, 0), load(W, 3, 6, 4), EXIT]);
        let found = words(lines);
        assert!(found[found.len() - 2].starts_with(&format!("load / {reached}")), "{first}");
    }
    // The map of this look-up differs between two paths.
    let mut lines = vec![Address(1, "ports"), if_equal(7, 0, 2), Address(1, "flows")];
    lines.extend(key());
    lines.extend([load(W, 3, 0, 4), EXIT]);
    assert!(words(lines)[6].starts_with("load / global"));
}

#[test]
fn a_pointer_to_one_of_several_stack_places_needs_equal_alignment() {
    // The access uses the pointer if both places have the same alignment; otherwise it is refused.
    for (other, pieces) in [(-16, 6), (-12, 6), (-14, 0), (-13, 0)] {
        let found = described(vec![vec![
            load(B, 7, 10, -1),
            wide_by(Mov, 2, 10),
            wide(Add, 2, -24),
            if_equal(7, 0, 2),
            wide_by(Mov, 2, 10),
            wide(Add, 2, other),
            load(H, 3, 2, 2),
            EXIT,
        ]]);
        assert_eq!(found[0][6].words, ["load", "stack"]);
        assert_eq!(found[0][6].pieces, pieces, "{other}");
    }
}

#[test]
fn unaligned_places_in_callers_frames_are_refused() {
    // The card refuses places before the function's own frame that are not aligned to words.
    for (start, offset, pieces) in [(-64, 0, 6), (-64, 2, 0), (-6, 2, 6)] {
        let found = described(vec![
            vec![wide_by(Mov, 1, 10), wide(Add, 1, start), call(1), EXIT],
            vec![load(H, 0, 1, offset), EXIT],
        ]);
        // The first instruction of a function stores the return address.
        assert_eq!(found[1][0].pieces, pieces + 1, "{start} {offset}");
    }
}

#[test]
fn lengths_of_packets_are_small() {
    let code = program(vec![vec![
        load(W, 2, 1, 0),
        load(W, 3, 1, 4),
        wide_by(Sub, 3, 2),
        wide(Add, 2, 14),
        EXIT,
    ]]);
    assert_eq!(state(&analysis(&code), 3, 3).high, 65535);
}

#[test]
fn invalid_pointers() {
    let found = described(vec![vec![
        load(W, 2, 1, 4),
        load(B, 3, 2, 1),
        load(DW, 2, 10, -8),
        load(B, 3, 2, 1),
        EXIT,
    ]]);
    for (slot, pointee) in [(1, "packet"), (3, "unknown")] {
        assert_eq!(found[0][slot].words[..2], ["load", "returned"]);
        assert_eq!(found[0][slot].pointee, Some(pointee));
    }
}

#[test]
fn narrow_products_are_half_words_in_any_width() {
    for by in [word_by, wide_by] {
        let found = words(vec![
            load(B, 2, 10, -1),
            load(H, 3, 10, -4),
            by(Mul, 2, 3),
            load(W, 4, 10, -8),
            by(Mul, 4, 3),
            EXIT,
        ]);
        assert!(found[2].starts_with("* / half") && found[2].ends_with("register"));
        assert!(found[4].starts_with("* / word") && found[4].ends_with("register"));
    }
}

#[test]
fn words_have_no_names() {
    let found = words(vec![
        wide_by(Mov, 6, 1),
        load(W, 7, 6, 0),
        load(H, 2, 7, 12),
        word(Add, 2, -1),
        Address(1, "total"),
        load(DW, 3, 1, 0),
        if_equal(2, 300, 0),
        word(Mov, 0, 0),
        EXIT,
    ]);
    assert_eq!(
        found,
        [
            "context",
            "load / context / 0",
            "load / packet / fetched / 16 / 0 / bare / short / small",
            "+ / 32 / zeros / constant / positive / small",
            "wide / global",
            "load / global / 64 / 0 / bare / plain",
            "branch / equal / 64 / constant / positive / one",
            "move / constant 32 / positive / 0",
            "exit / main",
        ]
    );
}

#[test]
fn fields_of_the_context_may_have_other_offsets() {
    let code = program(vec![vec![load(DW, 2, 1, 0), load(DW, 3, 1, 8), load(DW, 4, 1, 16), EXIT]]);
    let moved = Given::Context { data: 0, end: 8 };
    let arguments = calls::arguments(vec![value(moved, Origin::None)]);
    let analysis = Analysis::new(&code, &arguments, &BTreeMap::new());
    let kinds = [2, 3, 4].map(|register| state(&analysis, 3, register).kind);
    assert_eq!(kinds, [Kind::Packet, Kind::PacketEnd, Kind::Field]);
    let found = describe(&code, &[moved], &BTreeMap::new());
    let places: Vec<_> = found[0].1[..3].iter().map(|token| token.words[2].as_str()).collect();
    assert_eq!(places, ["0", "4", "16"]);
}

#[test]
fn results_of_helpers() {
    let code = program(vec![vec![
        helper(GET_PRANDOM_U32),
        wide_by(Mov, 6, 0),
        helper(slowpath_bpf::insn::helper::number("bpf_sk_fullsock")),
        load(W, 2, 0, 4),
        EXIT,
    ]]);
    let analysis = analysis(&code);
    assert_eq!(state(&analysis, 1, 0).kind, Kind::Number);
    assert_eq!(state(&analysis, 3, 0).kind, Kind::Returned);
}
