//! Tests the results and condition codes of arithmetic instructions. The expected values are worked
//! out by hand.

use crate::common;

use common::{refusal, run};

/// A function that takes condition codes and returns true if a branch is taken with them.
type Taken = fn(&Flags) -> bool;
const BRANCHES: [(&str, Taken); 12] = [
    ("beq", |f| f.z),
    ("bne", |f| !f.z),
    ("bcs", |f| f.c),
    ("bcc", |f| !f.c),
    ("bmi", |f| f.n),
    ("bpl", |f| !f.n),
    ("bvs", |f| f.v),
    ("bvc", |f| !f.v),
    ("blt", |f| f.n != f.v),
    ("bge", |f| f.n == f.v),
    ("ble", |f| f.z || f.n != f.v),
    ("bgt", |f| !f.z && f.n == f.v),
];

#[derive(Debug)]
struct Flags {
    z: bool,
    n: bool,
    c: bool,
    v: bool,
}

/// Parses the condition codes `zncv`, given as four letters. A letter in upper case stands for a
/// set condition code.
fn flags(text: &str) -> Flags {
    let set = |letter: &str| text.contains(letter);
    assert_eq!(text.to_lowercase(), "zncv");
    Flags { z: set("Z"), n: set("N"), c: set("C"), v: set("V") }
}

/// Checks the result in gprA_0, and the condition codes: runs every conditional branch after `body`
/// and checks whether it is taken.
fn check(body: &str, start: &[(&str, u32)], result: u32, codes: &str) {
    let store = format!("{body}\nalu[*l$index0, --, B, gprA_0]\nbr[.15000]");
    let found = run(&store, start).stack(0);
    assert_eq!(found, result, "{body} {start:x?}: {found:#x} is not {result:#x}");
    let codes = flags(codes);
    for (branch, taken) in BRANCHES {
        let exit = run(&format!("{body}\n{branch}[.15004]\nbr[.15000]"), start).exit;
        assert_eq!(exit == 15_004, taken(&codes), "{body} {start:x?} {branch} {codes:?}");
    }
}

fn check_alu(op: &str, a: u32, b: u32, result: u32, codes: &str) {
    let body = format!("alu[gprA_0, gprA_1, {op}, gprB_2]");
    check(&body, &[("gprA_1", a), ("gprB_2", b)], result, codes);
}

#[test]
fn sums() {
    check_alu("+", 1, 2, 3, "zncv");
    check_alu("+", 0xffff_ffff, 1, 0, "ZnCv");
    check_alu("+", 0x7fff_ffff, 1, 0x8000_0000, "zNcV");
    check_alu("+", 0x8000_0000, 0x8000_0000, 0, "ZnCV");
    check_alu("+", 0xffff_ffff, 0xffff_ffff, 0xffff_fffe, "zNCv");
    check_alu("+", 0, 0, 0, "Zncv");
}

#[test]
fn sums_with_the_low_half_word_of_the_second_operand() {
    for op in ["+8", "+16"] {
        check_alu(op, 1, 0xabcd_0102, 0x103, "zncv");
        check_alu(op, 0xffff_ff00, 0x0001_0100, 0, "ZnCv");
        check_alu(op, 0x7fff_ffff, 0xffff_0001, 0x8000_0000, "zNcV");
    }
}

#[test]
fn differences() {
    check_alu("-", 5, 3, 2, "znCv");
    check_alu("-", 3, 5, 0xffff_fffe, "zNcv");
    check_alu("-", 7, 7, 0, "ZnCv");
    check_alu("-", 0x8000_0000, 1, 0x7fff_ffff, "znCV");
    check_alu("-", 0x7fff_ffff, 0xffff_ffff, 0x8000_0000, "zNcV");
    check_alu("B-A", 3, 5, 2, "znCv");
    check_alu("B-A", 5, 3, 0xffff_fffe, "zNcv");
    check_alu("B-A", 1, 0x8000_0000, 0x7fff_ffff, "znCV");
}

#[test]
fn logical_operators_clear_carry_and_overflow() {
    let (a, b) = (0xf0f0_00ff, 0xff00_0f0f);
    // These operands set C and V.
    let prepare = "alu[--, gprA_3, -, gprB_4]";
    for (op, result) in [
        ("B", 0xff00_0f0f),
        ("~B", 0x00ff_f0f0),
        ("AND", 0xf000_000f),
        ("~AND", 0x0f00_0f00),
        ("AND~", 0x00f0_00f0),
        ("OR", 0xfff0_0fff),
        ("XOR", 0x0ff0_0ff0),
    ] {
        let codes = if result >> 31 == 1 { "zNcv" } else { "zncv" };
        let body = format!("{prepare}\nalu[gprA_0, gprA_1, {op}, gprB_2]");
        let start = [("gprA_1", a), ("gprB_2", b), ("gprA_3", 0x8000_0000), ("gprB_4", 1)];
        check(&body, &start, result, codes);
    }
    check_alu("XOR", 0x1234, 0x1234, 0, "Zncv");
    check_alu("AND", 0xf0, 0x0f, 0, "Zncv");
    check_alu("~B", 0, 0xffff_ffff, 0, "Zncv");
}

/// Returns the names and values of the four registers that hold the halves of two 64-bit numbers.
fn halves(a: u64, b: u64) -> [(&'static str, u32); 4] {
    [
        ("gprA_1", a as u32),
        ("gprA_2", (a >> 32) as u32),
        ("gprB_1", b as u32),
        ("gprB_2", (b >> 32) as u32),
    ]
}

/// Instruction pairs of 64-bit operations. The first two pairs are in one block, where the lifter
/// recognises them; the last pair spans two blocks, where it does not.
const PAIRS: [&str; 3] = [
    "alu[--, gprA_1, FIRST, gprB_1]\nalu[gprA_0, gprA_2, SECOND, gprB_2]",
    "alu[--, gprA_1, FIRST, gprB_1]\nimmed[gprA_9, 0x1]\nalu[gprA_0, gprA_2, SECOND, gprB_2]",
    "alu[--, gprA_1, FIRST, gprB_1]\nbr[.2]\nalu[gprA_0, gprA_2, SECOND, gprB_2]",
];

#[test]
fn differences_of_64_bits() {
    for pair in PAIRS {
        let body = pair.replace("FIRST", "-").replace("SECOND", "-carry");
        let case = |a, b, high, codes| check(&body, &halves(a, b), high, codes);
        case(0x1_0000_0000, 1, 0, "ZnCv");
        case(0x1_0000_0000, 0x1_0000_0001, 0xffff_ffff, "zNcv");
        case(0x5_0000_0002, 0x5_0000_0002, 0, "ZnCv");
        case(0x7_0000_0000, 0x5_0000_0001, 1, "znCv");
        case(0x8000_0000_0000_0000, 1, 0x7fff_ffff, "znCV");
        case(0x7fff_ffff_ffff_ffff, u64::MAX, 0x8000_0000, "zNcV");
        case(0, u64::MAX, 0, "Zncv");
        case(u64::MAX, 0, 0xffff_ffff, "zNCv");
    }
}

#[test]
fn sums_of_64_bits() {
    for pair in PAIRS {
        let body = pair.replace("FIRST", "+").replace("SECOND", "+carry");
        let case = |a, b, high, codes| check(&body, &halves(a, b), high, codes);
        case(0xffff_ffff, 1, 1, "zncv");
        case(u64::MAX, 1, 0, "ZnCv");
        case(u64::MAX, u64::MAX, 0xffff_ffff, "zNCv");
        case(0x7fff_ffff_ffff_ffff, 1, 0x8000_0000, "zNcV");
        case(0x8000_0000_0000_0000, 0x8000_0000_0000_0000, 0, "ZnCV");
        case(2, 3, 0, "Zncv");
    }
}

#[test]
fn mixed_pairs_use_the_carry_flag_as_it_is() {
    // "No borrow" is a carry of one.
    let body = "alu[--, gprA_1, -, gprB_1]\nimmed[gprA_3, 0x0]\nalu[gprA_0, gprA_3, +carry, 0x0]";
    check(body, &[("gprA_1", 9), ("gprB_1", 9)], 1, "zncv");
    check(body, &[("gprA_1", 8), ("gprB_1", 9)], 0, "Zncv");
    // A sum without carry leaves C clear, which the difference interprets as a borrow.
    let body = "alu[--, gprA_1, +, gprB_1]\nalu[gprA_0, gprA_2, -carry, gprB_2]";
    check(body, &[("gprA_2", 9), ("gprB_2", 3)], 5, "znCv");
    check(body, &[("gprA_2", 3), ("gprB_2", 3)], 0xffff_ffff, "zNcv");
    check(body, &[("gprA_1", 0xffff_ffff), ("gprB_1", 1)], 0, "ZnCv");
    check(body, &[("gprA_2", 0x8000_0000), ("gprB_2", 0)], 0x7fff_ffff, "znCV");
    // A third instruction in the chain.
    let body = "alu[--, gprA_1, -, gprB_1]\nalu[--, gprA_2, -carry, gprB_2]\n\
                alu[gprA_0, gprA_3, -carry, gprB_3]";
    check(body, &[("gprB_1", 1)], 0xffff_ffff, "zNcv");
    check(body, &[("gprB_1", 1), ("gprA_2", 1)], 0, "ZnCv");
}

#[test]
fn low_halves_are_those_of_the_first_instruction() {
    // The registers change between the two instructions.
    let body = "alu[gprA_1, gprA_1, -, gprB_1], gpr_wrboth\nalu[gprA_0, gprA_2, -carry, gprB_2]";
    check(body, &halves(0x1_0000_0000, 1), 0, "ZnCv");
    let body = "alu[gprA_1, gprA_1, +, gprB_1], gpr_wrboth\nalu[gprA_0, gprA_2, +carry, gprB_2]";
    check(body, &halves(u64::MAX, 1), 0, "ZnCv");
}

#[test]
fn immediates_set_no_condition_codes() {
    check("alu[--, gprA_1, -, 0x1]\nimmed[gprA_0, 0xffff8000]", &[], 0xffff_8000, "zNcv");
    check("alu[--, gprA_1, -, 0x1]\nimmed_w1[gprA_0, 0x1]", &[], 0x1_0000, "zNcv");
    check("alu[--, gprA_1, -, 0x1]\nnop", &[], 0, "zNcv");
}

#[test]
fn destinations() {
    let body = "alu[gprA_0, gprA_1, +, 0x2]DST
        alu[*l$index0[1], --, B, gprA_0]
        alu[*l$index0[2], --, B, gprB_0]
        br[.15000]";
    let start = [("gprA_1", 5), ("gprA_0", 100), ("gprB_0", 200)];
    let both = run(&body.replace("DST", ", gpr_wrboth"), &start);
    assert_eq!((both.stack(1), both.stack(2)), (7, 7));
    let one = run(&body.replace("DST", ""), &start);
    assert_eq!((one.stack(1), one.stack(2)), (7, 200));
    let other = run(&body.replace("gprA_0, gprA_1", "gprB_0, gprA_1").replace("DST", ""), &start);
    assert_eq!((other.stack(1), other.stack(2)), (100, 7));
}

#[test]
fn transfer_registers_have_separate_files() {
    let body = "alu[$xfer_3, --, B, gprA_1]
        alu[*l$index0, --, B, $xfer_3]
        mem[write32_swap, $xfer_3, gprA_22, 0x4, 1], ctx_swap[sig1]
        br[.15000]";
    let run = run(body, &[("gprA_1", 5), ("$xfer_3 (read)", 7)]);
    assert_eq!((run.stack(0), run.stack(1)), (7, 5));
}

#[test]
fn products() {
    let steps = |last: &str| {
        format!(
            "mul_step[gprA_1, gprB_2], start
            mul_step[gprA_1, gprB_2], 32x32_step1
            mul_step[gprA_1, gprB_2], 32x32_step2
            mul_step[gprA_1, gprB_2], 32x32_step3
            mul_step[gprA_1, gprB_2], 32x32_step4
            {last}
            alu[*l$index0, --, B, gprA_0]
            alu[*l$index0[1], --, B, gprB_3]
            br[.15000]"
        )
    };
    let start = [("gprA_1", 0xffff_fffe), ("gprB_2", 0x1234_5678)];
    let body =
        steps("mul_step[gprA_0, --], 32x32_last\nmul_step[gprA_3, --], 32x32_last2, gpr_wrboth");
    let product = 0xffff_fffe_u64 * 0x1234_5678;
    let found = run(&body, &start);
    assert_eq!((found.stack(0), found.stack(1)), (product as u32, (product >> 32) as u32));
    // The product uses the factors at the time of `start`.
    let body = body.replacen("mul_step[gprA_1, gprB_2], 32x32_step1", "immed[gprA_1, 0x0]\n$0", 1);
    let body = body.replace("$0", "mul_step[gprA_1, gprB_2], 32x32_step1");
    assert_eq!(run(&body, &start).stack(0), product as u32);

    let small = "mul_step[gprA_1, gprB_2], start
        mul_step[gprA_1, gprB_2], 16x16_step1
        mul_step[gprA_1, gprB_2], 16x16_step2
        mul_step[gprA_0, --], 16x16_last, gpr_wrboth
        beq[.15004]
        bmi[.15005]
        alu[*l$index0, --, B, gprB_0]
        br[.15000]";
    let case = |a, b| run(small, &[("gprA_1", a), ("gprB_2", b)]);
    assert_eq!(case(300, 70).stack(0), 21_000);
    assert_eq!(case(0, 70).exit, 15_004);
    assert_eq!(case(0xffff, 0xffff).exit, 15_005);
}

#[test]
fn multiplications_out_of_order_are_refused() {
    let start = "mul_step[gprA_1, gprB_2], start\n";
    for (body, words) in [
        ("mul_step[gprA_0, --], 32x32_last", "`32x32_last` cannot follow a block without `start`"),
        (&format!("{start}mul_step[gprA_0, --], 16x16_last"), "cannot follow `start`"),
        (
            &format!(
                "{start}mul_step[gprA_1, gprB_2], 16x16_step1\n\
                 mul_step[gprA_1, gprB_2], 32x32_step2"
            ),
            "`32x32_step2` cannot follow `16x16_step1`",
        ),
        (&format!("{start}mul_step[gprA_1, gprB_3], 16x16_step1"), "other factors"),
        (&format!("{start}br[.2]\nmul_step[gprA_1, gprB_2], 16x16_step1"), "without `start`"),
        (&format!("{start}mul_step[gprA_1, gprB_2], 24x8_step1"), "24 by 8 bits"),
    ] {
        let message = refusal(&format!("{body}\nbr[.15000]"));
        assert!(message.contains(words), "{message}");
    }
}

#[test]
fn values_that_a_multiplication_leaves_undefined_must_not_be_read() {
    let product = "mul_step[gprA_1, gprB_2], start
        mul_step[gprA_1, gprB_2], 16x16_step1
        mul_step[gprA_1, gprB_2], 16x16_step2
        mul_step[gprA_0, --], 16x16_last";
    let message = refusal(&format!("{product}\nbcs[.15004]\nbr[.15000]"));
    assert!(message.contains(".3 (line 4)") && message.contains("carry"), "{message}");
    let message = refusal(
        "mul_step[gprA_1, gprB_2], start
        asr[gprA_0, gprB_1, >>1]
        alu[*l$index0, --, B, gprA_0]
        br[.15000]",
    );
    assert!(message.contains(".0 (line 1)") && message.contains("previous ALU"), "{message}");
}
