use crate::{AluOp, Bank, BranchCondition, Insn, Listing, Operand};

fn branch(target: u32) -> Insn {
    Insn::Branch { condition: BranchCondition::CarryClear, target, defer: 0 }
}

#[test]
fn addresses_and_numbers_are_aligned() {
    let mut insns = vec![Insn::Nop; 101];
    insns[1] = branch(152);
    let text = Listing::new(insns).to_string();
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines[0], "   0:\t  .0  nop");
    assert_eq!(lines[1], "   8:\t  .1  bcc[.152]");
    assert_eq!(lines[20], "  a0:\t .20  nop");
    assert_eq!(lines[100], " 320:\t.100  nop");
    assert!(text.ends_with("nop\n"));
}

#[test]
fn long_listings_are_aligned_to_the_last_number() {
    let text = Listing::new(vec![Insn::Nop; 1001]).to_string();
    assert!(text.starts_with("   0:\t   .0  nop\n"), "{}", &text[..40]);
    assert!(text.ends_with("1f40:\t.1000  nop\n"));
}

#[test]
fn attributes_follow_the_operands() {
    let insn = Insn::Alu {
        dst: Operand::Gpr(Bank::A, 10),
        a: Operand::Gpr(Bank::A, 10),
        op: AluOp::Or,
        b: Operand::Gpr(Bank::B, 8),
        both_banks: true,
    };
    assert_eq!(insn.to_string(), "alu[gprA_10, gprA_10, OR, gprB_8], gpr_wrboth");
}
