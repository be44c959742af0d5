//! Parses instructions that do more than arithmetic: memory commands, accesses to control
//! registers, and multiplications.

use super::attributes::{Attributes, attributes};
use super::cursor::Cursor;
use super::error::{ParseCause, ParseError};
use super::operands::{REGISTERS, Role, hexadecimal, number, operand, out_of_range, source};
use super::suggest::suggest;
use crate::csr;
use crate::insn::{ADD_NARROW_COUNTS, ADD_WIDE};
use crate::{Address, Insn, MemCommand, MulStep, Operand};

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

/// Highest valid byte address of a control register.
const LAST_CSR: u32 = 0x1ffc;

pub(super) fn local_csr_rd(cursor: &mut Cursor) -> Result<Insn, ParseError> {
    cursor.expect('[')?;
    cursor.skip_space();
    let column = cursor.column();
    let csr = if cursor.rest().starts_with("0x") {
        let address = hexadecimal(cursor)?;
        if address > LAST_CSR || !address.is_multiple_of(4) {
            let range = format!("a multiple of 4 up to {LAST_CSR:#x}");
            return Err(out_of_range(column, "control register", format!("{address:#x}"), range));
        }
        address as u16
    } else {
        let word = cursor.word();
        csr::address(word).ok_or_else(|| {
            let hint = suggest(word, csr::names()).unwrap_or_else(|| {
                format!("choose one of {}", csr::names().collect::<Vec<_>>().join(", "))
            });
            let cause = ParseCause::Unknown { what: "control register", found: word.to_owned() };
            ParseError::at_column(column, cause).with_hint(hint)
        })?
    };
    cursor.expect(']')?;
    attributes(cursor, "local_csr_rd", &[])?;
    Ok(Insn::LocalCsrRd { csr })
}

pub(super) fn mem(cursor: &mut Cursor) -> Result<Insn, ParseError> {
    cursor.expect('[')?;
    cursor.skip_space();
    let column = cursor.column();
    let word = cursor.word();
    let wide = (word == ADD_WIDE).then_some(MemCommand::Add);
    let Some(command) = wide.or_else(|| MemCommand::from_text(word)) else {
        let names = MemCommand::ALL.iter().map(|command| command.text()).chain([ADD_WIDE]);
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
    let counts = match (command, wide) {
        (_, Some(_)) => ADD_NARROW_COUNTS + 1..=31,
        (MemCommand::Add, None) => 1..=ADD_NARROW_COUNTS,
        _ => 1..=31,
    };
    let count = number(cursor, "count", counts)?;
    cursor.expect(']')?;
    let Attributes { indirect, signal, defer, .. } =
        attributes(cursor, "mem", &["indirect_ref", "ctx_swap", "defer"])?;
    if defer > 0 && signal.is_none() {
        return Err(cursor.expected("ctx_swap[sigN], which `defer` puts off"));
    }
    if defer > 2 {
        let slots = defer.to_string();
        return Err(out_of_range(cursor.column(), "number of delay slots", slots, "1 to 2"));
    }
    let address = if dram { Address::Dram(x, y) } else { Address::Sram(x, y) };
    Ok(Insn::Mem { command, xfer, address, count, indirect, signal, defer })
}

pub(super) fn mul_step(cursor: &mut Cursor) -> Result<Insn, ParseError> {
    cursor.expect('[')?;
    // The step follows the operands and decides their roles, so they are parsed again later.
    let before_a = cursor.clone();
    let mut a = operand(cursor, Role::OptionalSource)?;
    cursor.expect(',')?;
    let before_b = cursor.clone();
    let b = operand(cursor, Role::OptionalSource)?;
    cursor.expect(']')?;
    let Attributes { step, both_banks, .. } =
        attributes(cursor, "mul_step", &["step", "gpr_wrboth"])?;
    let Some(step) = step else {
        let names: Vec<_> = MulStep::ALL.iter().map(|step| step.text()).collect();
        let error = cursor.expected("a multiplication step");
        return Err(error.with_hint(format!("steps are {}", names.join(", "))));
    };
    if step.writes_result() {
        // The disassembler prints a missing result as the constant 0.
        if a == Operand::Immediate(0) {
            a = Operand::None;
        } else {
            operand(&mut before_a.clone(), Role::Destination)?;
        }
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
    if both_banks && !(step.writes_result() && matches!(a, Operand::Gpr(..))) {
        let cause = ParseCause::WrongAttribute {
            mnemonic: format!("mul_step {}", step.text()),
            attribute: "gpr_wrboth".into(),
        };
        return Err(ParseError::at_column(cursor.column(), cause));
    }
    Ok(Insn::MulStep { a, b, step, both_banks })
}
