//! Tests shifts, byte fields and immediates. The expected values are worked out by hand.

use crate::common;

use common::{refusal, run};

/// Runs the instructions `body` with initial values of registers, and returns the content of gprA_0
/// afterwards.
fn result(body: &str, start: &[(&str, u32)]) -> u32 {
    run(&format!("{body}\nalu[*l$index0, --, B, gprA_0]\nbr[.15000]"), start).stack(0)
}

fn check(body: &str, start: &[(&str, u32)], expected: u32) {
    let found = result(body, start);
    assert_eq!(found, expected, "{body} {start:x?}: {found:#x} is not {expected:#x}");
}

const A: u32 = 0x8765_4321;
const B: u32 = 0xfedc_ba98;
const START: [(&str, u32); 2] = [("gprA_1", A), ("gprB_2", B)];

#[test]
fn the_second_operand_is_shifted_first() {
    for (shift, b) in [
        ("", B),
        (", <<4", 0xedcb_a980),
        (", >>4", 0x0fed_cba9),
        (", <<31", 0),
        (", >>31", 1),
        (", <<rot4", 0xedcb_a98f),
        (", >>rot4", 0x8fed_cba9),
        (", >>0", B),
    ] {
        let case = |op: &str, expected| {
            check(&format!("alu_shf[gprA_0, gprA_1, {op}, gprB_2{shift}]"), &START, expected);
        };
        case("B", b);
        case("~B", !b);
        case("AND", A & b);
        case("~AND", !A & b);
        case("AND~", A & !b);
        case("OR", A | b);
        case("XOR", A ^ b);
    }
}

#[test]
fn shifts_of_pairs() {
    check("dbl_shf[gprA_0, gprA_1, gprB_2, >>4]", &START, 0x1fed_cba9);
    check("dbl_shf[gprA_0, gprA_1, gprB_2, >>31]", &START, 0x0eca_8643);
    check("dbl_shf[gprA_0, gprA_1, gprB_2, >>0]", &START, B);
}

#[test]
fn arithmetic_shifts_take_the_sign_of_the_previous_result() {
    let negative = "alu[--, gprA_1, OR, 0x0]\n";
    let positive = "alu[--, gprA_9, OR, 0x0]\n";
    check(&format!("{negative}asr[gprA_0, gprB_2, >>8]"), &START, 0xfffe_dcba);
    check(&format!("{positive}asr[gprA_0, gprB_2, >>8]"), &START, 0x00fe_dcba);
    check(&format!("{negative}asr[gprA_0, 0x70, >>4]"), &START, 0xf000_0007);
    // The results of shifts, fields and immediates count as well. `nop` has no result.
    check("immed[gprA_3, 0xffff0000]\nnop\nasr[gprA_0, 0x0, >>1]", &START, 0x8000_0000);
    check("immed[--, 0x1]\nasr[gprA_0, gprB_2, >>31]", &START, 1);
    check("immed_w1[gprA_3, 0x8000]\nasr[gprA_0, 0x0, >>1]", &START, 0x8000_0000);
    check("ld_field[gprA_1, 1000, 0x0]\nasr[gprA_0, 0x0, >>1]", &START, 0);
    check("alu_shf[--, --, B, gprB_2, <<4]\nasr[gprA_0, 0x0, >>1]", &START, 0x8000_0000);
    check("dbl_shf[--, gprA_1, gprB_2, >>4]\nasr[gprA_0, 0x0, >>1]", &START, 0);
    let twice = format!("{negative}asr[gprA_3, gprB_2, >>24]\nasr[gprA_0, gprB_2, >>31]");
    check(&twice, &START, 0xffff_ffff);
}

#[test]
fn indirect_shifts_take_their_amount_from_the_first_operand() {
    let amount = |value: u32| [("gprA_1", A), ("gprB_2", B), ("gprA_3", value)];
    let after = |op: &str, shift: &str| format!("alu[--, gprA_3, {op}, gprB_4]\n{shift}");
    for op in ["B", "~B", "AND", "~AND", "AND~", "OR", "XOR"] {
        let body = after(op, "alu_shf[gprA_0, --, B, gprB_2, <<indirect]");
        check(&body, &amount(4), 0xedcb_a980);
        check(&body, &amount(0), B);
        // Only the low five bits count.
        check(&body, &amount(0xffff_ffe4), 0xedcb_a980);
    }
    check(&after("OR", "alu_shf[gprA_0, --, B, gprB_2, >>indirect]"), &amount(4), 0x0fed_cba9);
    check(&after("OR", "dbl_shf[gprA_0, gprA_1, gprB_2, >>indirect]"), &amount(4), 0x1fed_cba9);
    check(&after("OR", "dbl_shf[gprA_0, gprA_1, gprB_2, >>indirect]"), &amount(0), B);
    check(&after("OR", "asr[gprA_0, gprB_2, >>indirect]"), &amount(4), 0x0fed_cba9);
    let negative = [("gprB_2", B), ("gprA_3", 4), ("gprB_4", 0x8000_0000)];
    check(&after("OR", "asr[gprA_0, gprB_2, >>indirect]"), &negative, 0xffed_cba9);
    // Arithmetic, immediates and other shifts in between do not change the amount.
    let between =
        "alu[gprA_5, gprA_1, +, 0x3]\nimmed[gprA_6, 0x9]\ndbl_shf[--, gprA_1, 0x0, >>3]\n";
    let body = after("OR", &format!("{between}alu_shf[gprA_0, --, B, gprB_2, <<indirect]"));
    check(&body, &amount(4), 0xedcb_a980);
    // Nor does a branch.
    let body = "alu[--, gprA_3, OR, 0x0]\nbr[.2]\nalu_shf[gprA_0, --, B, gprB_2, <<indirect]";
    check(body, &amount(4), 0xedcb_a980);
}

#[test]
fn indirect_shifts_by_an_undocumented_amount_are_refused() {
    let shift = "alu_shf[*l$index0, --, B, gprB_2, <<indirect]\nbr[.15000]";
    for before in ["alu[gprA_1, --, B, gprB_2]", "alu_shf[gprA_1, gprA_3, AND, gprB_2, <<3]"] {
        let message = refusal(&format!("{before}\n{shift}"));
        assert!(message.starts_with("instruction .0 (line 1)"), "{message}");
        assert!(message.contains("the amount of indirect shifts"), "{message}");
    }
}

#[test]
fn shifts_clear_carry_and_overflow() {
    let prepare = "alu[--, gprA_3, -, 0x1]\n";
    let start = [("gprA_1", A), ("gprB_2", B), ("gprA_3", 0x8000_0000)];
    for (shift, zero, negative) in [
        ("alu_shf[--, gprA_1, AND, gprB_2, <<4]", false, true),
        ("alu_shf[--, --, B, gprB_2, <<31]", true, false),
        ("dbl_shf[--, gprA_1, gprB_2, >>4]", false, false),
        ("dbl_shf[--, 0x8, 0x0, >>4]", false, true),
        ("asr[--, gprB_2, >>4]", false, false),
        ("asr[--, 0x0, >>4]", true, false),
        ("ld_field[gprA_1, 0001, 0x0]", false, true),
        ("ld_field_w_clr[gprA_1, 0001, 0x0]", true, false),
    ] {
        let exit = |branch: &str| {
            let body = format!("{prepare}{shift}\n{branch}[.15004]\nbr[.15000]");
            run(&body, &start).exit == 15_004
        };
        assert_eq!((exit("bcs"), exit("bvs")), (false, false), "{shift}");
        assert_eq!(exit("beq"), zero, "{shift}");
        assert_eq!(exit("bmi"), negative, "{shift}");
        assert_eq!(exit("blt"), negative, "{shift}");
    }
}

#[test]
fn byte_fields() {
    let start = [("gprA_0", 0x1122_3344), ("gprB_2", B)];
    let case = |operands: &str, kept, cleared| {
        check(&format!("ld_field[gprA_0, {operands}]"), &start, kept);
        check(&format!("ld_field_w_clr[gprA_0, {operands}]"), &start, cleared);
    };
    case("0001, gprB_2", 0x1122_3398, 0x98);
    case("0010, gprB_2", 0x1122_ba44, 0xba00);
    case("1000, gprB_2", 0xfe22_3344, 0xfe00_0000);
    case("0110, gprB_2", 0x11dc_ba44, 0x00dc_ba00);
    case("1001, gprB_2", 0xfe22_3398, 0xfe00_0098);
    case("0101, gprB_2", 0x11dc_3398, 0x00dc_0098);
    case("1111, gprB_2", B, B);
    case("0000, gprB_2", 0x1122_3344, 0);
    case("0001, gprB_2, >>8", 0x1122_33ba, 0xba);
    case("0011, gprB_2, >>16", 0x1122_fedc, 0xfedc);
    case("0011, gprB_2, >>24", 0x1122_00fe, 0xfe);
    case("1000, gprB_2, >>8", 0x0022_3344, 0);
    case("1100, gprB_2, <<16", 0xba98_3344, 0xba98_0000);
    case("0011, gprB_2, <<8", 0x1122_9800, 0x9800);
    case("0100, gprB_2, <<4", 0x11cb_3344, 0x00cb_0000);
    case("1111, gprB_2, >>rot8", 0x98fe_dcba, 0x98fe_dcba);
    case("0101, gprB_2, >>rot16", 0x1198_33dc, 0x0098_00dc);
    case("1001, gprB_2, >>rot8", 0x9822_33ba, 0x9800_00ba);
    case("1111, gprB_2, <<rot8", 0xdcba_98fe, 0xdcba_98fe);
}

#[test]
fn fields_of_both_banks_and_of_local_memory() {
    let body = "ld_field[gprB_0, 0001, gprA_1], gpr_wrboth";
    check(body, &[("gprA_0", 1), ("gprB_0", 0x1100), ("gprA_1", 0x22)], 0x1122);
    let body = "immed_w1[gprB_0, 0xabcd], gpr_wrboth";
    check(body, &[("gprA_0", 1), ("gprB_0", 0x1100)], 0xabcd_1100);
    let body = "alu[*l$index0[2], --, B, gprA_1]
        ld_field[*l$index0[2], 0100, gprB_2, <<16]
        alu[gprA_0, --, B, *l$index0[2]]";
    check(body, &START, 0x8798_4321);
}

#[test]
fn immediates() {
    for (operands, expected) in [
        ("0x3fff", 0x3fff),
        ("0xfffffffe", 0xffff_fffe),
        ("0x8000, <<16", 0x8000_0000),
        ("0x1234, <<8", 0x0012_3400),
        // The complement of a shifted constant has ones in its low bits.
        ("0xffff003f, <<16", 0x003f_ffff),
        ("0xffff1234, <<8", 0xff12_34ff),
    ] {
        check(&format!("immed[gprA_0, {operands}]"), &[], expected);
    }
    check("immed[gprA_0, 0x2282]\nimmed_w1[gprA_0, 0x4411]", &[], 0x4411_2282);
}
