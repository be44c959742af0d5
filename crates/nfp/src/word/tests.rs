use super::*;
use crate::parse;

fn insn(text: &str) -> Insn {
    let listing = parse(&format!("0: .0 {text}")).unwrap_or_else(|error| panic!("{error}"));
    listing.numbered()[0].insn
}

#[test]
fn known_words() {
    // Encoded by hand from the layout in the driver.
    for (text, word) in [
        ("nop", 0x00f0_000c_0300),
        ("br[.15000]", 0x01de_a600_8038),
        ("br[.15000], defer[2]", 0x01de_a620_8038),
        ("beq[.3]", 0x00d8_00c0_8120),
        ("immed[gprA_0, 0x0], gpr_wrboth", 0x02f0_000c_0000),
        ("immed[gprA_2, 0xfffff000]", 0x00f0_80ff_fc02),
        ("immed[gprB_21, 0x1234, <<8]", 0x00f2_0120_5734),
        ("alu[gprA_10, gprA_10, OR, gprB_8], gpr_wrboth", 0x02aa_00a0_200a),
        ("alu[*l$index3[2], --, B, gprA_4]", 0x08a0_6220_0004),
        ("rtn[gprB_21], defer[3]", 0x00e8_0030_5700),
    ] {
        assert_eq!(encode(&insn(text)), Ok(word), "{text}: {:x?}", encode(&insn(text)));
        assert_eq!(decode(word), Ok(insn(text)), "{text}");
    }
}

#[test]
fn instructions_without_a_word() {
    for (text, expected) in [
        ("alu[gprA_0, gprA_1, +, gprA_2]", "`gprA_1` and `gprA_2` cannot be sources of one"),
        ("alu[gprA_0, gprB_1, +, gprB_2]", "both are in bank B"),
        ("alu[gprA_0, 0x1, +, 0x2]", "`0x1` and `0x2` cannot be sources of one instruction: both"),
        ("alu[gprA_0, *l$index0, +, *l$index1]", "both are in local memory"),
        ("alu[gprA_0, $xfer_0, +, $xfer_1]", "both are transfer registers"),
        ("alu[gprA_0, gprA_1, B, gprB_2]", "`gprA_1` cannot be the first source of an operator"),
        ("alu_shf[gprA_0, gprA_1, XOR, gprB_1, <<1]", "`alu_shf` has no operator XOR"),
        ("alu_shf[gprA_0, --, B, gprB_1]", "no shift is given (for no shift write `>>rot0`)"),
        ("alu_shf[gprA_0, --, B, gprB_1, <<0]", "the shift `<<0` has no encoding here (its word"),
        ("alu_shf[gprA_0, --, B, gprB_1, <<rot3]", "(rotate to the right by 32 bits less)"),
        ("alu_shf[gprA_0, --, B, *l$index0[8], <<3]", "`*l$index0[8]` cannot be an operand of"),
        ("alu_shf[gprA_0, --, B, *l$index0++, <<3]", "++ and -- need `alu`"),
        ("ld_field[gprA_0, 0001, gprA_1]", "`gprA_0` and `gprA_1` cannot be sources"),
        ("ld_field_w_clr[--, 0001, gprA_1]", "`--` cannot be a source here"),
        ("ld_field[gprA_0, 0001, gprB_1, >>rot0]", "(leave it out)"),
        ("immed[--, 0x0]", "its word is that of `nop`"),
        ("immed[--, 0xffffffff]", "its word is that of `nop`"),
        ("local_csr_rd[0xc0]", "the control register at 0xc0 is not supported"),
        ("br[.16384]", "branch target 16384 is not 0 to 16383"),
        ("br[.1], defer[3]", "number of delay slots 3 is not 0 to 2"),
        ("br_bset[0x1, 1, .1]", "`0x1` cannot be the word whose bit is tested"),
        ("rtn[0x1]", "`0x1` cannot be the register of `rtn`"),
        ("mem[read8, $xfer_0, gprB_0, 0x1, 1]", "`gprB_0` cannot be the first part of an address"),
        ("mem[read8, $xfer_0, 0x1, gprA_0, 1]", "`gprA_0` cannot be the second part of an"),
        (
            "mem[read8, $xfer_0, gprA_0, 0x80, 1]",
            "the constant 0x80 is larger than 0x7f (load larger",
        ),
        ("mem[read8, $xfer_0, gprA_0, 0x1, 9]", "count 9 is not 1 to 8"),
        ("mem[add_imm, $xfer_0, gprA_0, 0x1, 5]", "count 5 is not 1 to 4"),
        ("mem[read8, $xfer_0, gprA_0, 0x1, 1], ctx_swap[sig0]", "signal 0 is not 1 to 15"),
    ] {
        let error = encode(&insn(text)).expect_err(text).to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
}

#[test]
fn instructions_that_cannot_be_written_down() {
    use crate::{AluOp, Bank, LocalAccess, Operand};
    let alu =
        |b| Insn::Alu { dst: Operand::None, a: Operand::None, op: AluOp::B, b, both_banks: false };
    let local = |index, word| Operand::Local { index, access: LocalAccess::Word(word) };
    for operand in [
        Operand::Gpr(Bank::A, 32),
        Operand::Xfer(200),
        Operand::Immediate(0x100),
        local(0, 16),
        local(4, 0),
        Operand::None,
    ] {
        assert!(encode(&alu(operand)).is_err(), "{operand}");
    }
    let dst = Operand::Gpr(Bank::A, 0);
    for (value, shift) in [(0x1_0000, 0), (0x1234_5678, 0), (1, 4), (1, 32)] {
        assert!(
            encode(&Insn::Immed { dst, value, shift, both_banks: false }).is_err(),
            "{value:#x}"
        );
    }
    let none = Operand::None;
    assert_eq!(
        encode(&Insn::Immed { dst: none, value: 1, shift: 0, both_banks: true }),
        Err(WordError::BothBanks { operand: none })
    );
    assert!(encode(&Insn::LocalCsrWr { index: 4, src: dst }).is_err());
}

#[test]
fn words_without_an_instruction() {
    // Byte branches, `no_cc`, predicates, check bits, other control registers, unused operators.
    for word in [0, u64::MAX, 0x00c8_0000_0000, 0x01aa_00a0_200a, 0x10aa_00a0_200a, 1 << 45] {
        assert_eq!(decode(word), Err(WordError::Unknown { word }), "{word:#x}");
    }
    assert_eq!(
        decode(1).expect_err("no instruction").to_string(),
        "0x00000000001 is not an instruction that the compiler emits"
    );
}
