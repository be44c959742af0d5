//! Parses one instruction: its mnemonic, operands and attributes.

use super::attributes::attributes;
use super::branches::{branch, branch_bit, rtn};
use super::cursor::Cursor;
use super::effects::{local_csr_rd, local_csr_wr, mem, mul_step};
use super::error::{ParseCause, ParseError};
use super::operands::{Role, hexadecimal, operand, out_of_range, shift, source};
use super::suggest::suggest;
use crate::{AluOp, BranchCondition, Insn, Operand, Shift, ShiftAmount, ShiftKind};

const MNEMONICS: [&str; 16] = [
    "alu",
    "alu_shf",
    "asr",
    "br_bclr",
    "br_bset",
    "dbl_shf",
    "immed",
    "immed_w1",
    "ld_field",
    "ld_field_w_clr",
    "local_csr_rd",
    "local_csr_wr",
    "mem",
    "mul_step",
    "nop",
    "rtn",
];

/// Parses the rest of a line after the number of the instruction.
pub(super) fn parse_insn(cursor: &mut Cursor) -> Result<Insn, ParseError> {
    cursor.skip_space();
    let column = cursor.column();
    let mnemonic = cursor.word();
    if let Some(condition) = BranchCondition::from_text(mnemonic) {
        return branch(cursor, mnemonic, condition);
    }
    match mnemonic {
        "alu" => alu(cursor),
        "alu_shf" => alu_shf(cursor),
        "asr" => asr(cursor),
        "br_bclr" => branch_bit(cursor, mnemonic, false),
        "br_bset" => branch_bit(cursor, mnemonic, true),
        "dbl_shf" => dbl_shf(cursor),
        "immed" => immed(cursor),
        "immed_w1" => immed_w1(cursor),
        "ld_field" => ld_field(cursor, false),
        "ld_field_w_clr" => ld_field(cursor, true),
        "local_csr_rd" => local_csr_rd(cursor),
        "local_csr_wr" => local_csr_wr(cursor),
        "mem" => mem(cursor),
        "mul_step" => mul_step(cursor),
        "nop" => attributes(cursor, "nop", &[]).map(|_| Insn::Nop),
        "rtn" => rtn(cursor),
        "" => Err(ParseError::at_column(column, ParseCause::NoMnemonic)),
        _ => {
            let branches = BranchCondition::ALL.iter().map(|condition| condition.text());
            let hint = suggest(mnemonic, MNEMONICS.into_iter().chain(branches));
            let all = || format!("known mnemonics are {} and branches", MNEMONICS.join(", "));
            let cause = ParseCause::UnknownMnemonic(mnemonic.to_owned());
            Err(ParseError::at_column(column, cause).with_hint(hint.unwrap_or_else(all)))
        }
    }
}

/// Parses `]` and the attributes of an instruction with a result. `gpr_wrboth` is allowed only if
/// the destination is in a register bank.
fn result_attributes(
    cursor: &mut Cursor,
    mnemonic: &str,
    dst: Operand,
) -> Result<bool, ParseError> {
    cursor.expect(']')?;
    let accepted: &[&str] = if matches!(dst, Operand::Gpr(..)) { &["gpr_wrboth"] } else { &[] };
    let result = attributes(cursor, mnemonic, accepted).map_err(|error| match error.cause {
        ParseCause::WrongAttribute { ref attribute, .. } if attribute == "gpr_wrboth" => {
            error.with_hint("only results that go to gprA_n or gprB_n can go to both".to_owned())
        }
        _ => error,
    })?;
    Ok(result.both_banks)
}

fn destination(cursor: &mut Cursor) -> Result<Operand, ParseError> {
    cursor.expect('[')?;
    operand(cursor, Role::Destination)
}

/// Parses `, a, op, b`, the operands of an ALU instruction.
fn alu_operands(
    cursor: &mut Cursor,
    what: &'static str,
    possible: impl Fn(AluOp) -> bool,
) -> Result<(Operand, AluOp, Operand), ParseError> {
    cursor.expect(',')?;
    let before_a = cursor.clone();
    let a = operand(cursor, Role::OptionalSource)?;
    cursor.expect(',')?;
    cursor.skip_space();
    let column = cursor.column();
    let word = cursor.word();
    let operators = || AluOp::ALL.iter().copied().filter(|&op| possible(op));
    let Some(op) = AluOp::from_text(word).filter(|&op| possible(op)) else {
        let hint = suggest(word, operators().map(AluOp::text)).unwrap_or_else(|| {
            let list: Vec<_> = operators().map(AluOp::text).collect();
            format!("operators are {}", list.join(" "))
        });
        let cause = ParseCause::Unknown { what, found: word.to_owned() };
        return Err(ParseError::at_column(column, cause).with_hint(hint));
    };
    if a == Operand::None && !op.ignores_first() {
        let mut at = before_a;
        at.skip_space();
        let cause = ParseCause::Misplaced { operand: "--".into(), role: "a source" };
        return Err(ParseError::at_column(at.column(), cause)
            .with_hint("only the operators B and ~B need no first operand".to_owned()));
    }
    cursor.expect(',')?;
    Ok((a, op, source(cursor)?))
}

fn alu(cursor: &mut Cursor) -> Result<Insn, ParseError> {
    let dst = destination(cursor)?;
    let (a, op, b) = alu_operands(cursor, "ALU operator", |_| true)?;
    let both_banks = result_attributes(cursor, "alu", dst)?;
    Ok(Insn::Alu { dst, a, op, b, both_banks })
}

fn alu_shf(cursor: &mut Cursor) -> Result<Insn, ParseError> {
    let dst = destination(cursor)?;
    let (a, op, b) = alu_operands(cursor, "operator of a shift", AluOp::is_logical)?;
    let shift = optional_shift(cursor)?;
    let both_banks = result_attributes(cursor, "alu_shf", dst)?;
    Ok(Insn::AluShf { dst, a, op, b, shift, both_banks })
}

fn optional_shift(cursor: &mut Cursor) -> Result<Option<Shift>, ParseError> {
    cursor.skip_space();
    if cursor.eat(',') { shift(cursor).map(Some) } else { Ok(None) }
}

/// Parses the shift amount of `asr` or `dbl_shf`: `, >>n`.
fn right_shift(cursor: &mut Cursor) -> Result<ShiftAmount, ParseError> {
    cursor.expect(',')?;
    cursor.skip_space();
    let column = cursor.column();
    let shift = shift(cursor)?;
    if shift.kind == ShiftKind::Right {
        return Ok(shift.amount);
    }
    let cause =
        ParseCause::Expected { expected: "a shift to the right".into(), found: shift.to_string() };
    Err(ParseError::at_column(column, cause))
}

fn asr(cursor: &mut Cursor) -> Result<Insn, ParseError> {
    let dst = destination(cursor)?;
    cursor.expect(',')?;
    let b = source(cursor)?;
    let amount = right_shift(cursor)?;
    let both_banks = result_attributes(cursor, "asr", dst)?;
    Ok(Insn::Asr { dst, b, amount, both_banks })
}

fn dbl_shf(cursor: &mut Cursor) -> Result<Insn, ParseError> {
    let dst = destination(cursor)?;
    cursor.expect(',')?;
    let a = source(cursor)?;
    cursor.expect(',')?;
    let b = source(cursor)?;
    let amount = right_shift(cursor)?;
    let both_banks = result_attributes(cursor, "dbl_shf", dst)?;
    Ok(Insn::DblShf { dst, a, b, amount, both_banks })
}

fn immed(cursor: &mut Cursor) -> Result<Insn, ParseError> {
    let dst = destination(cursor)?;
    cursor.expect(',')?;
    cursor.skip_space();
    let column = cursor.column();
    let value = hexadecimal(cursor)?;
    if value > 0xffff && value < 0xffff_0000 {
        let text = format!("{value:#x}");
        return Err(out_of_range(column, "constant", text, "16 bits or their complement"));
    }
    cursor.skip_space();
    let column = cursor.column();
    let shift = match optional_shift(cursor)? {
        None => 0,
        Some(Shift { kind: ShiftKind::Left, amount: ShiftAmount::Bits(bits @ (8 | 16)) }) => bits,
        Some(other) => {
            let found = format!("`{other}`");
            let cause = ParseCause::Expected { expected: "`<<8` or `<<16`".into(), found };
            return Err(ParseError::at_column(column, cause));
        }
    };
    let both_banks = result_attributes(cursor, "immed", dst)?;
    Ok(Insn::Immed { dst, value, shift, both_banks })
}

fn immed_w1(cursor: &mut Cursor) -> Result<Insn, ParseError> {
    cursor.expect('[')?;
    let dst = operand(cursor, Role::Merged)?;
    cursor.expect(',')?;
    cursor.skip_space();
    let column = cursor.column();
    let value = hexadecimal(cursor)?;
    let value = u16::try_from(value)
        .map_err(|_| out_of_range(column, "constant", format!("{value:#x}"), "at most 0xffff"))?;
    let both_banks = result_attributes(cursor, "immed_w1", dst)?;
    Ok(Insn::ImmedW1 { dst, value, both_banks })
}

fn ld_field(cursor: &mut Cursor, clear: bool) -> Result<Insn, ParseError> {
    cursor.expect('[')?;
    let role = if clear { Role::Destination } else { Role::Merged };
    let dst = operand(cursor, role)?;
    cursor.expect(',')?;
    cursor.skip_space();
    let column = cursor.column();
    let digits = cursor.word();
    let binary = digits.len() == 4 && digits.chars().all(|c| c == '0' || c == '1');
    let Some(mask) = u8::from_str_radix(digits, 2).ok().filter(|_| binary) else {
        let found = format!("`{digits}`");
        let expected = "a byte mask of four binary digits such as 0011".into();
        return Err(ParseError::at_column(column, ParseCause::Expected { expected, found }));
    };
    cursor.expect(',')?;
    let src = source(cursor)?;
    let shift = optional_shift(cursor)?;
    let both_banks =
        result_attributes(cursor, if clear { "ld_field_w_clr" } else { "ld_field" }, dst)?;
    Ok(Insn::LdField { dst, mask, src, shift, clear, both_banks })
}
