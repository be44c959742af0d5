//! Reading instructions with effects outside the ALU: memory, local memory bases,
//! multiplications, branches.

use super::attributes::{Attributes, attributes};
use super::cursor::Cursor;
use super::error::{ParseCause, ParseError};
use super::operands::{REGISTERS, Role, number, operand, out_of_range, source};
use super::suggest::suggest;
use crate::{Address, BranchCondition, Insn, MemCommand, MulStep, Operand};

pub(super) fn local_csr_wr(cursor: &mut Cursor) -> Result<Insn, ParseError> {
    const NAMES: [&str; 4] = ["ActLMAddr0", "ActLMAddr1", "ActLMAddr2", "ActLMAddr3"];
    cursor.expect('[')?;
    cursor.skip_space();
    let column = cursor.column();
    let word = cursor.word();
    let Some(index) = NAMES.iter().position(|&name| name == word) else {
        let cause = ParseCause::Unknown { what: "control register", found: word.to_owned() };
        let hint = "only ActLMAddr0 to ActLMAddr3 are supported".to_owned();
        return Err(ParseError::at_column(column, cause).with_hint(hint));
    };
    cursor.expect(',')?;
    let src = source(cursor)?;
    cursor.expect(']')?;
    attributes(cursor, "local_csr_wr", &[])?;
    Ok(Insn::LocalCsrWr { index: index as u8, src })
}

pub(super) fn mem(cursor: &mut Cursor) -> Result<Insn, ParseError> {
    cursor.expect('[')?;
    cursor.skip_space();
    let column = cursor.column();
    let word = cursor.word();
    let Some(command) = MemCommand::from_text(word) else {
        let names = MemCommand::ALL.iter().map(|command| command.text());
        let hint = suggest(word, names.clone()).unwrap_or_else(|| {
            format!("supported commands are {}", names.collect::<Vec<_>>().join(", "))
        });
        let cause = ParseCause::Unknown { what: "memory command", found: word.to_owned() };
        return Err(ParseError::at_column(column, cause).with_hint(hint));
    };
    cursor.expect(',')?;
    cursor.skip_space();
    if !cursor.eat_text("$xfer_") {
        return Err(cursor.expected("a transfer register such as $xfer_0"));
    }
    let xfer = number(cursor, "transfer register", REGISTERS)?;
    cursor.expect(',')?;
    let x = operand(cursor, Role::Address)?;
    cursor.expect(',')?;
    cursor.skip_space();
    let dram = cursor.rest().starts_with("<<");
    if dram {
        if !cursor.eat_text("<<8") {
            return Err(cursor.expected("`<<8`"));
        }
        cursor.expect(',')?;
    }
    let y = operand(cursor, Role::Address)?;
    cursor.expect(',')?;
    cursor.skip_space();
    let count = number(cursor, "count", 1..=31)?;
    cursor.expect(']')?;
    let Attributes { indirect, signal, .. } =
        attributes(cursor, "mem", &["indirect_ref", "ctx_swap"])?;
    let address = if dram { Address::Dram(x, y) } else { Address::Sram(x, y) };
    Ok(Insn::Mem { command, xfer, address, count, indirect, signal })
}

pub(super) fn mul_step(cursor: &mut Cursor) -> Result<Insn, ParseError> {
    cursor.expect('[')?;
    // Which of the operands are sources depends on the step behind them.
    let before_a = cursor.clone();
    let a = operand(cursor, Role::OptionalSource)?;
    cursor.expect(',')?;
    let before_b = cursor.clone();
    let b = operand(cursor, Role::OptionalSource)?;
    cursor.expect(']')?;
    let Attributes { step, both, .. } = attributes(cursor, "mul_step", &["step", "gpr_wrboth"])?;
    let Some(step) = step else {
        let names: Vec<_> = MulStep::ALL.iter().map(|step| step.text()).collect();
        let error = cursor.expected("a multiplication step");
        return Err(error.with_hint(format!("steps are {}", names.join(", "))));
    };
    if step.delivers() {
        operand(&mut before_a.clone(), Role::Destination)?;
        if b != Operand::None {
            let mut at = before_b;
            at.skip_space();
            let hint = format!("`{}` takes no second operand", step.text());
            return Err(at.expected("`--`").with_hint(hint));
        }
    } else {
        operand(&mut before_a.clone(), Role::Source)?;
        operand(&mut before_b.clone(), Role::Source)?;
    }
    if both && !(step.delivers() && matches!(a, Operand::Gpr(..))) {
        let cause = ParseCause::WrongAttribute {
            mnemonic: format!("mul_step {}", step.text()),
            attribute: "gpr_wrboth".into(),
        };
        return Err(ParseError::at_column(cursor.column(), cause));
    }
    Ok(Insn::MulStep { a, b, step, both })
}

pub(super) fn branch(
    cursor: &mut Cursor,
    mnemonic: &str,
    condition: BranchCondition,
) -> Result<Insn, ParseError> {
    cursor.expect('[')?;
    cursor.skip_space();
    let column = cursor.column();
    if !cursor.eat('.') {
        return Err(cursor.expected("a branch target such as .12"));
    }
    let digits = cursor.clone().take_while(|c| c.is_ascii_digit());
    if digits.is_empty() {
        return Err(cursor.expected("a branch target such as .12"));
    }
    let Some(target) = cursor.decimal().and_then(|target| u32::try_from(target).ok()) else {
        return Err(out_of_range(column, "branch target", format!(".{digits}"), "of 32 bits"));
    };
    cursor.expect(']')?;
    let Attributes { defer, .. } = attributes(cursor, mnemonic, &["defer"])?;
    Ok(Insn::Branch { condition, target, defer })
}
